/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "golden.h"

#include <stdio.h>
#include <string.h>

static void print_tally(const struct golden_tally *t)
{
    printf("%d kept kernel files: %d fresh, %d stale, %d missing, %d damaged, %.1f KiB\n",
           t->files, t->fresh, t->stale, t->missing, t->damaged, (double)t->bytes / 1024);
}

static enum err golden_check(const struct backend *b, int *ret_exit, struct errinfo *e)
{
    struct golden_tally t;
    TRY(golden_code_check(stdout, b, &t, e));
    print_tally(&t);
    if (t.stale || t.missing || t.damaged) {
        printf("next: gpuparity golden code, on a machine with the compilers\n");
        *ret_exit = COMMAND_FAILS;
    }
    return ERR_OK;
}

static enum err golden_code(const struct options *o, const struct backend *b, int *ret_exit,
                            struct errinfo *e)
{
    struct golden_tally t;
    double seconds = o->timeout > 0 ? o->timeout : 300;
    TRY(golden_code_regenerate(stdout, b, o->force, seconds, &t, e));
    print_tally(&t);
    if (t.failed)
        *ret_exit = COMMAND_FAILS;
    return ERR_OK;
}

enum err cmd_golden(const struct options *o, int *ret_exit, struct errinfo *e)
{
    const struct backend *b = o->backend ? backend_find(o->backend) : NULL;
    if (o->backend && !b)
        return err_set(e, ERR_USAGE, "--backend wants cuda or hip, not '%s'", o->backend);
    if (o->n_word == 1 && !strcmp(o->word[0], "check"))
        return golden_check(b, ret_exit, e);
    if (o->n_word == 1 && !strcmp(o->word[0], "code"))
        return golden_code(o, b, ret_exit, e);
    return err_set(e, ERR_USAGE, "golden wants one word: code (compile) or check (look only)");
}
