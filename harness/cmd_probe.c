/* SPDX-License-Identifier: Apache-2.0 */
#include "caseid.h"
#include "command.h"
#include "session.h"
#include "summation.h"
#include "treetext.h"
#include "wrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_SHOWN = 1500 };

/* --- the order of a sum ----------------------------------------------------------------------
 */

static void tree_text_print(const struct tree *t, bool all, struct errinfo *e)
{
    char *text = treetext(t);
    (void)e;
    if (!text)
        return;
    size_t size = strlen(text);
    if (!all && size > TEXT_SHOWN) {
        strcpy(text + TEXT_SHOWN, " ...");
        wrap_print(stdout, text, 0, 2, 79);
        printf("  (%zu characters left out; --verbose shows them)\n", size - TEXT_SHOWN);
    } else {
        wrap_print(stdout, text, 0, 2, 79);
    }
    free(text);
}

static void tree_print(const struct session *s, const struct case_sum *sum,
                       const struct tree *t, bool all, struct errinfo *e)
{
    const struct record_run *run = record_run_at(s->record, s->run[0]);
    char id[CASEID_TEXT_MAX];
    caseid_print(&sum->id, id);
    printf("%s\non %s%s\n\n", id, run->device, run->simulated ? " (simulated)" : "");
    tree_text_print(t, all, e);
    int additions = tree_additions(t), fused = tree_fused(t);
    printf("\n%d terms, %d additions, a term goes through at most %d of them;\n", t->leaves,
           additions, tree_depth(t));
    if (fused)
        printf("%d of the additions take more than two terms at once, without rounding between\n",
               fused);
    else
        printf("each addition takes two terms\n");
}

static enum err probe_tree(const struct options *o, struct errinfo *e)
{
    struct case_id id;
    struct case_sum sum;
    char text[CASEID_TEXT_MAX];
    if (o->n_word)
        return err_set(e, ERR_USAGE, "probe --tree takes one case, not also '%s'", o->word[0]);
    TRY(caseid_parse(o->tree, &id, e));
    TRY(summation_plan(&id, &sum, e));
    caseid_print(&sum.id, text);
    struct options *run = malloc(sizeof *run);
    if (!run)
        return err_set(e, ERR_NOMEM, "out of memory");
    *run = *o;
    run->n_word = 1;
    run->word[0] = text;
    struct session s;
    struct tree t = {0};
    enum err err = session_run(&s, run, 1, "cuda", true, e);
    if (!err)
        err = summation_tree(s.record, s.run[0], &sum, &t, e);
    if (!err)
        tree_print(&s, &sum, &t, o->verbose, e);
    tree_release(&t);
    session_release(&s);
    free(run);
    return err;
}

enum err cmd_probe(const struct options *o, int *ret_exit, struct errinfo *e)
{
    (void)ret_exit;
    if (o->tree)
        return probe_tree(o, e);
    return err_set(e, ERR_USAGE, "probe wants a case: gpuparity probe --tree gemm/mma:dtype=f16,k=64");
}
