/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "merge.h"

#include <inttypes.h>
#include <stdio.h>

enum err cmd_merge(const struct options *o, int *ret_exit, struct errinfo *e)
{
    int64_t cases = 0;
    (void)ret_exit;
    if (o->n_word < 1 || !o->output)
        return err_set(
            e, ERR_USAGE,
            "merge wants all shards of a run and where the whole shall go: gpuparity "
            "merge S1.h5 S2.h5 -o REC.h5");
    TRY(merge_records(o->n_word, o->word, o->output, o->replace, &cases, e));
    printf("%s: %" PRId64
           " case%s of %d shards\nnext: gpuparity verify %s, or gpuparity compare "
           "%s OTHER.h5\n",
           o->output, cases, cases == 1 ? "" : "s", o->n_word, o->output, o->output);
    return ERR_OK;
}
