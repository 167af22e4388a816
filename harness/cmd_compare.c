/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "judge.h"

/* The runs a comparison is about: run 0 of each of two records, or both runs of one. */
static enum err compare_files(struct record *a, struct record *b, const struct options *o,
                              const char *format, const char *output, int *ret_exit,
                              struct errinfo *e)
{
    struct compare_run x = {a, 0, o->word[0]}, y = {b ? b : a, b ? 0 : 1, o->word[b ? 1 : 0]};
    if (!record_run_count(a) || (b && !record_run_count(b)))
        return err_set(e, ERR_FORMAT, "%s has no runs in it",
                       record_run_count(a) ? o->word[1] : o->word[0]);
    bool single = !b && record_run_count(a) < 2;
    return judge_runs(&x, single ? NULL : &y, o, format, output, ret_exit, e);
}

static enum err open_and_compare(const struct options *o, const char *format,
                                 const char *output, int *ret_exit, struct errinfo *e)
{
    struct record *a = NULL, *b = NULL;
    enum err err = record_open(o->word[0], &a, e);
    if (!err && o->n_word == 2)
        err = record_open(o->word[1], &b, e);
    if (!err)
        err = compare_files(a, b, o, format, output, ret_exit, e);
    record_close(a);
    record_close(b);
    return err;
}

enum err cmd_compare(const struct options *o, int *ret_exit, struct errinfo *e)
{
    if (o->n_word != 2)
        return err_set(e, ERR_USAGE, "compare wants two records: gpuparity compare A.h5 B.h5");
    return open_and_compare(o, "text", NULL, ret_exit, e);
}

enum err cmd_report(const struct options *o, int *ret_exit, struct errinfo *e)
{
    if (o->n_word < 1 || o->n_word > 2)
        return err_set(e, ERR_USAGE,
                       "report wants one record of a check, or two records of runs");
    enum err err = open_and_compare(o, o->format ? o->format : "text", o->output, ret_exit, e);
    /* A report that was written is a success, whatever it says. */
    if (!err && *ret_exit == COMMAND_FAILS && o->output)
        *ret_exit = COMMAND_GOOD;
    return err;
}
