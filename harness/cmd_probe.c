/* SPDX-License-Identifier: Apache-2.0 */
#include "caseid.h"
#include "command.h"
#include "compare.h"
#include "fingerprint.h"
#include "session.h"
#include "summation.h"
#include "treetext.h"
#include "wrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_SHOWN = 1500 };

/* One device, or two that are compared. */
static int devices_named(const struct options *o)
{
    return o->on && strchr(o->on, ',') ? 2 : 1;
}

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

/* The tree of one run; its words are the caller's (free). */
static enum err tree_print(const struct session *s, int which, const struct case_sum *sum,
                           bool all, char **ret_text, struct errinfo *e)
{
    const struct record_run *run = record_run_at(s->record, s->run[which]);
    struct tree t;
    TRY(summation_tree(s->record, s->run[which], sum, &t, e));
    char *text = treetext(&t), *shown = text ? strdup(text) : NULL;
    int additions = tree_additions(&t), fused = tree_fused(&t), depth = tree_depth(&t);
    tree_release(&t);
    if (!shown) {
        free(text);
        return err_set(e, ERR_NOMEM, "out of memory");
    }
    printf("\non %s%s\n\n", run->device, run->simulated ? " (simulated)" : "");
    text_print(shown, all);
    free(shown);
    printf("\n%lld terms, %d additions, a term goes through at most %d of them;\n",
           (long long)sum->leaves, additions, depth);
    if (fused)
        printf("%d of the additions take more than two terms at once\n", fused);
    else
        printf("each addition takes two terms\n");
    *ret_text = text;
    return ERR_OK;
}

static enum err trees_print(const struct session *s, const struct case_sum *sum, bool all,
                            struct errinfo *e)
{
    char id[CASEID_TEXT_MAX], *text[SESSION_DEVICES_MAX] = {NULL};
    enum err err = ERR_OK;
    caseid_print(&sum->id, id);
    printf("%s\n", id);
    for (int i = 0; i < s->n_device && !err; i++)
        err = tree_print(s, i, sum, all, &text[i], e);
    if (!err && s->n_device == 2)
        printf("\n%s\n", strcmp(text[0], text[1]) ? "The two add in different orders."
                                                  : "The two add in the same order.");
    for (int i = 0; i < SESSION_DEVICES_MAX; i++)
        free(text[i]);
    return err;
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
    enum err err = session_run(&s, run, devices_named(o), "cuda", true, e);
    if (!err)
        err = trees_print(&s, &sum, o->verbose, e);
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

static void difference_print(const struct fingerprint *a, const struct fingerprint *b)
{
    int same, alone, differ = fingerprint_compare(stdout, a, b, &same, &alone);
    printf("\n%d answers differ, %d are the same", differ, same);
    if (alone)
        printf(", %d are there on one side only", alone);
    printf("\n");
}

/* What one run says, or where two differ. */
static enum err runs_show(const struct compare_run *run, int count, bool proofs, int *ret_exit,
                          struct errinfo *e)
{
    struct fingerprint f[2] = {{.count = 0}, {.count = 0}};
    enum err err = ERR_OK;
    for (int i = 0; i < count && !err; i++)
        err = fingerprint_read(run[i].record, run[i].run, run[i].path, &f[i], e);
    if (!err && count == 2)
        difference_print(&f[0], &f[1]);
    else if (!err)
        fingerprint_print(stdout, &f[0], proofs);
    if (!err && nothing_ran(&f[0]))
        *ret_exit = COMMAND_NOTHING;
    else if (!err && count == 1 && !proofs)
        printf("\nWith --verbose each line comes with the inputs and outputs that show it.\n");
    fingerprint_release(&f[0]);
    fingerprint_release(&f[1]);
    return err;
}

static enum err probe_devices(const struct options *o, int *ret_exit, struct errinfo *e)
{
    TRY(words_check(o, e));
    struct options *run = malloc(sizeof *run);
    if (!run)
        return err_set(e, ERR_NOMEM, "out of memory");
    *run = *o;
    if (!run->n_word)
        run->word[run->n_word++] = "probe";
    struct session s;
    enum err err = session_run(&s, run, devices_named(o), "cuda", true, e);
    const struct compare_run both[2] = {{s.record, s.run[0], "this run"},
                                        {s.record, s.run[1], "this run"}};
    if (!err)
        err = runs_show(both, s.n_device, o->verbose, ret_exit, e);
    session_release(&s);
    free(run);
    return err;
}

/* One record, alone or its two runs with each other; or the first runs of two. */
static enum err probe_records(const struct options *o, int *ret_exit, struct errinfo *e)
{
    struct record *r[2] = {NULL, NULL};
    enum err err = ERR_OK;
    for (int i = 0; i < o->n_word && !err; i++)
        err = record_open(o->word[i], &r[i], e);
    if (!err) {
        bool two = r[1] || record_run_count(r[0]) > 1;
        const struct compare_run run[2] = {
            {r[0], 0, o->word[0]}, {r[1] ? r[1] : r[0], r[1] ? 0 : 1, o->word[o->n_word - 1]}};
        err = record_run_count(r[0])
                  ? runs_show(run, two ? 2 : 1, o->verbose, ret_exit, e)
                  : err_set(e, ERR_FORMAT, "%s has no runs in it", o->word[0]);
    }
    record_close(r[0]);
    record_close(r[1]);
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
        return probe_devices(o, ret_exit, e);
    if (records != o->n_word || records > 2 || o->on)
        return err_set(e, ERR_USAGE,
                       "probe wants a device (gpuparity probe --on cuda) or one or two records "
                       "(gpuparity probe A.h5 B.h5)");
    return probe_records(o, ret_exit, e);
}
