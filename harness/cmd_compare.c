/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"
#include "command.h"
#include "judge.h"
#include "tensorfile.h"

enum err cmd_compare(const struct options *o, int *ret_exit, struct errinfo *e)
{
    if (o->n_word != 2)
        return err_set(e, ERR_USAGE,
                       "compare wants two records or files of tensors: gpuparity compare A B");
    if (tensorfile_is_record(o->word[0]) && tensorfile_is_record(o->word[1]))
        return judge_files(o, "text", NULL, ret_exit, e);
    bool captures = capture_is(o->word[0]) && capture_is(o->word[1]);
    return captures ? judge_captures(o, "text", NULL, ret_exit, e)
                    : judge_plain(o, "text", NULL, ret_exit, e);
}
