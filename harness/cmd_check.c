/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "judge.h"
#include "session.h"

static enum err check(struct session *s, const struct options *o, int *ret_exit,
                      struct errinfo *e)
{
    TRY(session_run(s, o, 2, "cuda,hip", true, e));
    const char *path = s->temporary ? "" : s->path;
    struct compare_run a = {s->record, s->run[0], path}, b = {s->record, s->run[1], path};
    return judge_runs(&a, &b, o, "text", NULL, ret_exit, e);
}

enum err cmd_check(const struct options *o, int *ret_exit, struct errinfo *e)
{
    TRY(judge_check(o, "text", e));
    struct session s;
    enum err err = check(&s, o, ret_exit, e);
    session_release(&s);
    return err;
}
