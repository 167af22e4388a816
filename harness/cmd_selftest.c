/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "plantrun.h"

#include <stdio.h>
#include <stdlib.h>

/* The instrument itself: planted faults on simulated devices. */
enum err cmd_selftest(const struct options *o, int *ret_exit, struct errinfo *e)
{
    struct device_choice device[2];
    int n;
    if (o->n_word)
        return err_set(
            e, ERR_USAGE,
            "selftest takes no words, not '%.60s'; gpuparity selfcheck CASE compares "
            "with a real card",
            o->word[0]);
    TRY(device_parse_list("cuda-sim,hip-sim", 2, device, &n, e));
    for (int i = 0; i < n; i++)
        TRY(device_settle(&device[i], e));
    struct plantrun *r = calloc(1, sizeof *r);
    if (!r)
        return err_set(e, ERR_NOMEM, "out of memory");
    r->device = device;
    r->threads = o->threads ? o->threads : 1;
    r->trial = (struct trial){.code = RUN_CODE_GOLDEN, .timeout = o->timeout};
    r->out = o->quiet ? NULL : stdout;
    enum err err = plantrun_all(r, e);
    if (!err) {
        printf(
            "\n%d faults planted on simulated devices, %d of them as in public reports: %d "
            "caught, %d missed; %d have the right cause%s",
            r->planted, r->reported, r->planted - r->missed, r->missed,
            r->planted - r->misnamed, r->untested ? ";" : "\n");
        if (r->untested)
            printf(" %d UNTESTED\n", r->untested);
        printf("%d pairs without a fault: %d accused of one\n", r->clean, r->accused);
        bool fails = r->missed || r->misnamed * 20 > r->planted || r->accused;
        *ret_exit = fails ? COMMAND_FAILS : r->planted ? COMMAND_GOOD : COMMAND_NOTHING;
    }
    plantrun_release(r);
    free(r);
    return err;
}
