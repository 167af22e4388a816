/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "judge.h"

enum err cmd_report(const struct options *o, int *ret_exit, struct errinfo *e)
{
    if (o->n_word < 1 || o->n_word > 2)
        return err_set(e, ERR_USAGE,
                       "report wants one record of a check, or two records of runs");
    enum err err = judge_files(o, o->format ? o->format : "text", o->output, ret_exit, e);
    /* A report that was written is a success, whatever it says. */
    if (!err && *ret_exit == COMMAND_FAILS && o->output)
        *ret_exit = COMMAND_GOOD;
    return err;
}
