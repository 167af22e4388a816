/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "show.h"

enum err cmd_show(const struct options *o, int *ret_exit, struct errinfo *e)
{
    (void)ret_exit;
    if (o->n_word < 1 || o->n_word > 2)
        return err_set(e, ERR_USAGE,
                       "show wants a record and at most one case or path in it: "
                       "gpuparity show REC.h5 [CASE or PATH]");
    return show_record(stdout, o->word[0], o->n_word == 2 ? o->word[1] : NULL, e);
}
