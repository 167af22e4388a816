/* SPDX-License-Identifier: Apache-2.0 */
#include "caseid.h"
#include "command.h"
#include "fingerprint.h"
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

static void text_print(char *text, bool all)
{
    size_t size = strlen(text);
    bool cut = !all && size > TEXT_SHOWN;
    if (cut)
        text[TEXT_SHOWN] = 0;
    wrap_print(stdout, text, 0, 2, 79);
    if (cut)
        printf("  ... (%zu characters left out; --verbose shows them)\n", size - TEXT_SHOWN);
}

static enum err tree_print(const struct session *s, const struct case_sum *sum,
                           const struct tree *t, bool all, struct errinfo *e)
{
    char *text = treetext(t);
    if (!text)
        return err_set(e, ERR_NOMEM, "out of memory");
    const struct record_run *run = record_run_at(s->record, s->run[0]);
    char id[CASEID_TEXT_MAX];
    caseid_print(&sum->id, id);
    printf("%s\non %s%s\n\n", id, run->device, run->simulated ? " (simulated)" : "");
    text_print(text, all);
    free(text);
    int additions = tree_additions(t), fused = tree_fused(t);
    printf("\n%d terms, %d additions, a term goes through at most %d of them;\n", t->leaves,
           additions, tree_depth(t));
    if (fused)
        printf("%d of the additions take more than two terms at once\n", fused);
    else
        printf("each addition takes two terms\n");
    return ERR_OK;
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
        err = tree_print(&s, &sum, &t, o->verbose, e);
    tree_release(&t);
    session_release(&s);
    free(run);
    return err;
}

/* --- a fingerprint ---------------------------------------------------------------------------
 */

/* Before anything is run: a family that is named must answer questions. */
static enum err words_check(const struct options *o, struct errinfo *e)
{
    for (int i = 0; i < o->n_word; i++) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(o->word[i], "/:"), o->word[i]);
        const struct family *f = family_find(name);
        if (f && !f->readings)
            return err_set(e, ERR_USAGE,
                           "%s says nothing about a device; probe's cases do: gpuparity list "
                           "probe. For the order of a case's sums: probe --tree %s",
                           name, o->word[i]);
    }
    return ERR_OK;
}

static bool nothing_ran(const struct fingerprint *f)
{
    for (int i = 0; i < f->count; i++)
        if (f->row[i].ran)
            return false;
    return true;
}

static enum err probe_device(const struct options *o, int *ret_exit, struct errinfo *e)
{
    TRY(words_check(o, e));
    struct options *run = malloc(sizeof *run);
    if (!run)
        return err_set(e, ERR_NOMEM, "out of memory");
    *run = *o;
    if (!run->n_word)
        run->word[run->n_word++] = "probe";
    struct session s;
    struct fingerprint f = {.count = 0};
    enum err err = session_run(&s, run, 1, "cuda", true, e);
    if (!err)
        err = fingerprint_read(s.record, s.run[0], "this run", &f, e);
    if (!err)
        fingerprint_print(stdout, &f, o->verbose);
    if (!err && nothing_ran(&f))
        *ret_exit = COMMAND_NOTHING;
    else if (!err && !o->verbose)
        printf("\nWith --verbose each line comes with the inputs and outputs that show it.\n");
    fingerprint_release(&f);
    session_release(&s);
    free(run);
    return err;
}

static void difference_print(const struct fingerprint *a, const struct fingerprint *b)
{
    int same, alone, differ = fingerprint_compare(stdout, a, b, &same, &alone);
    printf("\n%d answers differ, %d are the same", differ, same);
    if (alone)
        printf(", %d are there on one side only", alone);
    printf("\n");
}

/* One record, alone or its two runs with each other; or the first runs of two. */
static enum err probe_records(const struct options *o, struct errinfo *e)
{
    struct record *r[2] = {NULL, NULL};
    struct fingerprint f[2] = {{.count = 0}, {.count = 0}};
    enum err err = record_open(o->word[0], &r[0], e);
    if (!err && o->n_word == 2)
        err = record_open(o->word[1], &r[1], e);
    if (!err)
        err = fingerprint_read(r[0], 0, o->word[0], &f[0], e);
    bool two = r[1] || (r[0] && record_run_count(r[0]) > 1);
    if (!err && two)
        err = fingerprint_read(r[1] ? r[1] : r[0], r[1] ? 0 : 1, o->word[o->n_word - 1], &f[1],
                               e);
    if (!err && two)
        difference_print(&f[0], &f[1]);
    else if (!err)
        fingerprint_print(stdout, &f[0], o->verbose);
    for (int i = 0; i < 2; i++) {
        fingerprint_release(&f[i]);
        record_close(r[i]);
    }
    return err;
}

static bool is_record(const char *word)
{
    size_t n = strlen(word);
    return n > 3 && !strcmp(word + n - 3, ".h5");
}

enum err cmd_probe(const struct options *o, int *ret_exit, struct errinfo *e)
{
    int records = 0;
    for (int i = 0; i < o->n_word; i++)
        records += is_record(o->word[i]);
    if (o->tree)
        return probe_tree(o, e);
    if (!records)
        return probe_device(o, ret_exit, e);
    if (records != o->n_word || records > 2 || o->on)
        return err_set(e, ERR_USAGE,
                       "probe wants a device (gpuparity probe --on cuda) or one or two records "
                       "(gpuparity probe A.h5 B.h5)");
    return probe_records(o, e);
}
