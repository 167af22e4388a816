/* SPDX-License-Identifier: Apache-2.0 */
#include "casefile.h"
#include "command.h"
#include "judge.h"
#include "session.h"

#include <string.h>
#include <unistd.h>

static bool names_record(const char *word)
{
    size_t n = strlen(word);
    if (casefile_path_length(word))
        return false;
    return (n > 3 && !strcmp(word + n - 3, ".h5")) || access(word, R_OK) == 0;
}

static enum err verify_record(const struct options *o, int *ret_exit, struct errinfo *e)
{
    struct record *r;
    TRY(record_open(o->word[0], &r, e));
    int runs = record_run_count(r);
    enum err err = runs ? ERR_OK : err_set(e, ERR_FORMAT, "%s has no runs in it", o->word[0]);
    for (int i = 0; !err && i < runs; i++) {
        struct compare_run a = {r, i, o->word[0]};
        int status = COMMAND_GOOD;
        err = judge_runs(&a, NULL, o, "text", NULL, &status, e);
        if (status == COMMAND_FAILS || i == 0)
            *ret_exit = status;
    }
    record_close(r);
    return err;
}

enum err cmd_verify(const struct options *o, int *ret_exit, struct errinfo *e)
{
    TRY(judge_check(o, "text", e));
    if (o->n_word == 1 && names_record(o->word[0]))
        return verify_record(o, ret_exit, e);
    struct session s;
    enum err err = session_run(&s, o, 1, "cuda", true, e);
    if (!err) {
        struct compare_run a = {s.record, s.run[0], s.temporary ? "" : s.path};
        err = judge_runs(&a, NULL, o, "text", NULL, ret_exit, e);
    }
    session_release(&s);
    return err;
}
