/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "session.h"

#include <inttypes.h>
#include <stdio.h>

/* One line of what came out, and what to do with it. */
static enum err summarise(struct session *s, int *ret_exit, struct errinfo *e)
{
    int64_t count = record_case_count(s->record, s->run[0]);
    int64_t by_status[RECORD_STATUS_COUNT_] = {0}, ran = 0;
    struct record_case c;
    for (int64_t i = 0; i < count; i++) {
        TRY(record_read_case(s->record, s->run[0], i, &c, e));
        by_status[c.status]++;
        if (c.status != RECORD_OK)
            fprintf(stderr, "%s  %s\n    %s\n", record_status_name(c.status), c.id, c.reason);
    }
    ran = count - by_status[RECORD_SKIPPED];
    printf("%s: %" PRId64 " cases on %s:", s->path, count,
           record_run_at(s->record, s->run[0])->device);
    for (int i = 0; i < RECORD_STATUS_COUNT_; i++)
        if (by_status[i])
            printf(" %" PRId64 " %s", by_status[i], record_status_name((enum record_status)i));
    printf("\nnext: gpuparity verify %s, or gpuparity compare %s OTHER.h5\n", s->path, s->path);
    if (!ran)
        *ret_exit = COMMAND_NOTHING;
    else if (ran > by_status[RECORD_OK])
        *ret_exit = COMMAND_FAILS;
    return ERR_OK;
}

enum err cmd_run(const struct options *o, int *ret_exit, struct errinfo *e)
{
    struct session s;
    enum err err = session_run(&s, o, 1, "cuda", false, e);
    if (!err)
        err = summarise(&s, ret_exit, e);
    session_release(&s);
    return err;
}
