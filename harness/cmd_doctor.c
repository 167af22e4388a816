/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "doctor.h"

enum err cmd_doctor(const struct options *o, int *ret_exit, struct errinfo *e)
{
    (void)ret_exit;
    if (o->n_word)
        return err_set(e, ERR_USAGE, "doctor takes no arguments, but '%s' was given",
                       o->word[0]);
    return doctor_report(stdout, e);
}
