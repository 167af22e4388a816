/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "judge.h"

enum err cmd_compare(const struct options *o, int *ret_exit, struct errinfo *e)
{
    if (o->n_word != 2)
        return err_set(e, ERR_USAGE, "compare wants two records: gpuparity compare A.h5 B.h5");
    return judge_files(o, "text", NULL, ret_exit, e);
}
