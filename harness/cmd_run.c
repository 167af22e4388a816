/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "quote.h"
#include "session.h"
#include "wrap.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Why cases did not run or end well: one line a reason, not one a case. */
enum { REASONS_MAX = 32 };

struct reason {
    enum record_status status;
    char text[768], first[512]; /* the first case it befell */
    int64_t count;
};

static void reason_count(struct reason *list, int *n, const struct record_case *c)
{
    for (int i = 0; i < *n; i++)
        if (list[i].status == c->status && !strcmp(list[i].text, c->reason)) {
            list[i].count++;
            return;
        }
    if (*n == REASONS_MAX)
        return;
    struct reason *r = &list[(*n)++];
    *r = (struct reason){.status = c->status, .count = 1};
    snprintf(r->text, sizeof r->text, "%s", c->reason);
    snprintf(r->first, sizeof r->first, "%s", c->id);
}

static void reasons_print(const struct reason *list, int n)
{
    for (int i = 0; i < n; i++) {
        const struct reason *r = &list[i];
        fprintf(stderr, "%s  ", record_status_name(r->status));
        quote_line(stderr, r->first, "");
        if (r->count > 1)
            fprintf(stderr, " and %" PRId64 " more", r->count - 1);
        fprintf(stderr, "\n    ");
        wrap_print(stderr, r->text, 4, 4, 79);
    }
}

/* One line of what came out, and what to do with it. */
static enum err summarise(struct session *s, int *ret_exit, struct errinfo *e)
{
    int64_t count = record_case_count(s->record, s->run[0]);
    int64_t by_status[RECORD_STATUS_COUNT_] = {0}, ran = 0;
    struct record_case c;
    struct reason reasons[REASONS_MAX];
    int n_reason = 0;
    for (int64_t i = 0; i < count; i++) {
        TRY(record_read_case(s->record, s->run[0], i, &c, e));
        by_status[c.status]++;
        if (c.status != RECORD_OK)
            reason_count(reasons, &n_reason, &c);
    }
    reasons_print(reasons, n_reason);
    ran = count - by_status[RECORD_SKIPPED];
    printf("%s: %" PRId64 " case%s on %s:", s->path, count, count == 1 ? "" : "s",
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
