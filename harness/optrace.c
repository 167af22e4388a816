/* SPDX-License-Identifier: Apache-2.0 */
#include "optrace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void optrace_release(struct optrace *t)
{
    for (int64_t i = 0; i < t->n_place; i++)
        free(t->place[i]);
    free(t->place);
    free(t->event);
    memset(t, 0, sizeof *t);
}

/* --- the file --------------------------------------------------------------------------------
 */

/* By how an instruction's name begins, the vendors' prefixes taken off; longer ones first. */
static const struct {
    const char *begin, *name;
} names[] = {
    {"div_scale", "div_scale"},
    {"div_fmas", "div_fmas"},
    {"div_fixup", "div"},
    {"fma_mix", "fma_mix"},
    {"fma", "fma"},
    {"atomic_add", "add"},
    {"add", "add"},
    {"subrev", "subrev"},
    {"sub", "sub"},
    {"mul", "mul"},
    {"div", "div"},
    {"rcp", "rcp"},
    {"rsq", "rsqrt"},
    {"sqrt", "sqrt"},
    {"ex2", "exp2"},
    {"exp", "exp2"},
    {"lg2", "log2"},
    {"log", "log2"},
    {"sin", "sin"},
    {"cos", "cos"},
    {"min", "min"},
    {"max", "max"},
    {"cvt", "cvt"},
    {"convert", "cvt"},
    {"wmma", "mma"},
    {"mma", "mma"},
};

static void common_name(const char *text, char ret[OPTRACE_NAME])
{
    const char *own = strncmp(text, "v_", 2) ? text : text + 2;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(own, names[i].begin, strlen(names[i].begin))) {
            snprintf(ret, OPTRACE_NAME, "%s", names[i].name);
            return;
        }
    snprintf(ret, OPTRACE_NAME, "%.23s", own);
}

static struct op_event *event_add(struct optrace *t)
{
    if (t->count == t->room) {
        int64_t room = t->room ? 2 * t->room : 256;
        struct op_event *more = realloc(t->event, (size_t)room * sizeof *more);
        if (!more)
            return NULL;
        t->event = more;
        t->room = room;
    }
    struct op_event *x = &t->event[t->count++];
    memset(x, 0, sizeof *x);
    return x;
}

/* Lanes of one instruction come one after the other. */
static const char *place_keep(struct optrace *t, const char *text)
{
    if (t->n_place && !strcmp(t->place[t->n_place - 1], text))
        return t->place[t->n_place - 1];
    if (t->n_place == t->place_room) {
        int64_t room = t->place_room ? 2 * t->place_room : 256;
        char **more = realloc(t->place, (size_t)room * sizeof *more);
        if (!more)
            return "";
        t->place = more;
        t->place_room = room;
    }
    char *copy = strdup(text);
    if (copy)
        t->place[t->n_place++] = copy;
    return copy ? copy : "";
}

/* Signs and copies are looked through: see diverge. */
static bool only_moves(const char *name)
{
    return !strncmp(name, "neg_", 4) || !strncmp(name, "abs_", 4) || strstr(name, "cndmask") ||
           strstr(name, "mov_");
}

/* Operands as the common name has them: functions of one have one, and the last step of a
 * division (quotient, denominator, numerator) is the division. */
static void operands_order(struct op_event *x, const char *own)
{
    static const char *const unary[] = {"rcp",  "rsqrt", "sqrt", "exp2",
                                        "log2", "sin",   "cos",  "cvt"};
    for (size_t i = 0; i < sizeof unary / sizeof *unary; i++)
        if (!strcmp(x->name, unary[i]) && x->n > 1)
            x->n = 1;
    if (strstr(own, "div_fixup") && x->n == 3) {
        x->operand[0] = x->operand[2];
        x->n = 2;
    }
}

static void take_op(struct optrace *t, const char *line, uint32_t thread)
{
    char name[64], operand[3][24];
    int bits, used = 0;
    uint64_t result;
    if (sscanf(line, "op %63s %d %" SCNx64 " %23s %23s %23s @%n", name, &bits, &result,
               operand[0], operand[1], operand[2], &used) != 6 ||
        !used || only_moves(name))
        return;
    struct op_event *x = event_add(t);
    if (!x)
        return;
    common_name(name, x->name);
    x->thread = thread;
    x->bits = bits;
    x->result = result;
    for (; x->n < 3 && operand[x->n][0] != '-'; x->n++)
        x->operand[x->n] = strtoull(operand[x->n], NULL, 16);
    operands_order(x, name);
    x->place = place_keep(t, line + used);
}

static void take_load(struct optrace *t, const char *line, uint32_t thread)
{
    int bits, used = 0;
    uint64_t value;
    if (sscanf(line, "load %d %" SCNx64 " @%n", &bits, &value, &used) != 2 || !used)
        return;
    struct op_event *x = event_add(t);
    if (!x)
        return;
    snprintf(x->name, sizeof x->name, "load");
    x->thread = thread;
    x->bits = bits;
    x->result = value;
    x->place = place_keep(t, line + used);
}

bool optrace_read(FILE *f, int launch, struct optrace *ret_trace)
{
    char line[1024];
    int at = -1;
    int64_t until = -1;
    uint32_t thread = 0;
    struct optrace t = {0};
    bool found = false;
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        at += !strncmp(line, "launch ", 7);
        if (launch >= 0 && at != launch)
            continue;
        if (sscanf(line, "thread %" SCNu32, &thread) == 1)
            t.whole_block = true;
        if (launch >= 0 && !strncmp(line, "op ", 3))
            take_op(&t, line, thread);
        else if (launch >= 0 && !strncmp(line, "load ", 5))
            take_load(&t, line, thread);
        else if (sscanf(line,
                        "store %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %d %" SCNx64,
                        &t.block[0], &t.block[1], &t.block[2], &t.thread, &t.bits,
                        &t.value) == 6) {
            t.launch = at;
            until = t.count;
            found = true;
        }
    }
    if (found)
        t.count = until;
    else
        optrace_release(&t);
    for (int64_t i = 0; i < t.count && !t.whole_block; i++)
        t.event[i].thread = t.thread;
    *ret_trace = t;
    return found;
}

/* --- runs ------------------------------------------------------------------------------------
 */

static enum err run_traced(const struct trial *t, const struct case_id *id, const char *path,
                           const char *thread, struct worker_result *ret_result,
                           struct errinfo *e)
{
    struct trial traced = *t;
    if (traced.n_env + 2 > WORKER_ENV_MAX)
        return err_set(e, ERR_USAGE, "too many environment variables");
    traced.env[traced.n_env++] = (struct worker_env){"GPUPARITY_SIM_TRACE", path};
    if (thread)
        traced.env[traced.n_env++] = (struct worker_env){"GPUPARITY_SIM_TRACE_THREAD", thread};
    return trial_run(&traced, id, ret_result, e);
}

/* One run and what it left in the file. */
static enum err run_and_read(const struct trial *t, const struct case_id *id, const char *path,
                             const char *thread, int launch, struct optrace *ret_trace,
                             bool *ret_found, char *ret_reason, size_t size, struct errinfo *e)
{
    struct worker_result r;
    if (truncate(path, 0))
        return err_set(e, ERR_IO, "cannot write a temporary file");
    TRY(run_traced(t, id, path, thread, &r, e));
    FILE *f = r.c.status ? NULL : fopen(path, "r");
    *ret_found = f && optrace_read(f, launch, ret_trace);
    if (f)
        fclose(f);
    if (!*ret_found)
        snprintf(ret_reason, size, "%s",
                 r.c.status ? r.c.reason
                            : "no thread stores this element in a way that is traced");
    worker_result_release(&r);
    return ERR_OK;
}

enum err optrace_take(const struct trial *t, const struct case_id *id, int output,
                      int64_t element, bool whole_block, struct optrace *ret_trace,
                      bool *ret_found, char *ret_reason, size_t size, struct errinfo *e)
{
    char name[] = "/tmp/gpuparity-trace-XXXXXX", path[64], thread[64];
    struct optrace who = {0};
    struct trial at = *t;
    int fd = mkstemp(name);
    if (fd < 0)
        return err_set(e, ERR_IO, "cannot make a temporary file in /tmp");
    /* Without a name, nothing is left when the program is ended. */
    unlink(name);
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)getpid(), fd);
    at.trace = (struct caserun_trace){true, output, element};
    enum err err = run_and_read(&at, id, path, NULL, -1, &who, ret_found, ret_reason, size, e);
    if (!err && *ret_found) {
        snprintf(thread, sizeof thread, "%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 "%s",
                 who.block[0], who.block[1], who.block[2], who.thread, whole_block ? "*" : "");
        err = run_and_read(&at, id, path, thread, who.launch, ret_trace, ret_found, ret_reason,
                           size, e);
    }
    close(fd);
    return err;
}
