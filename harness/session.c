/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "progress.h"

static void case_finished(void *context, int64_t done, int64_t total,
                          const struct record_case *c)
{
    progress_show(context, done, total, c->id);
}

/* "2/5": the user's --shard, or what a scheduler's environment says. */
static enum err parse_shard(const char *text, struct run_options *r, struct errinfo *e)
{
    int used = 0;
    if (sscanf(text, "%d/%d%n", &r->shard, &r->shards, &used) != 2 || text[used] ||
        r->shard < 1 || r->shards < r->shard)
        return err_set(e, ERR_USAGE,
                       "--shard wants I/N with 1 <= I <= N, for instance 2/5, not "
                       "'%s'",
                       text);
    return ERR_OK;
}

/* Does not guess: a task that took the whole selection for its part would look right. */
static enum err environment_shard(const char *index, const char *total, int first, int step,
                                  struct run_options *r, struct errinfo *e)
{
    const char *i = getenv(index), *n = getenv(total);
    if (r->shards || !i || !n || !*i || !*n)
        return ERR_OK;
    int away = atoi(i) - first, tasks = atoi(n);
    if (away < 0 || step < 1 || away % step || away / step >= tasks)
        return err_set(
            e, ERR_USAGE,
            "%s is %s and %s is %s, which names no part of the selection; number the "
            "tasks one after the other, or say --shard I/N",
            index, i, total, n);
    r->shard = away / step + 1;
    r->shards = tasks;
    return ERR_OK;
}

static int environment_number(const char *name, int standard)
{
    const char *text = getenv(name);
    return text && *text ? atoi(text) : standard;
}

static enum err make_run_options(const struct options *o, struct run_options *r,
                                 struct errinfo *e)
{
    *r = (struct run_options){.timeout = o->timeout,
                              .jobs = o->jobs,
                              .repeats = o->repeat,
                              .keep_code = o->keep_code};
    static const char *const names[] = {"auto", "toolchain", "golden"};
    char hint[NEAREST_HINT_MAX];
    if (o->code) {
        int which = -1;
        for (int i = 0; i < 3; i++)
            if (!strcmp(o->code, names[i]))
                which = i;
        if (which < 0)
            return err_set(e, ERR_USAGE, "--code wants auto, toolchain or golden, not '%s'%s",
                           o->code, nearest_hint(o->code, names, 3, hint));
        r->code = (enum run_code)which;
    }
    if (o->shard)
        return parse_shard(o->shard, r, e);
    TRY(environment_shard("GTEST_SHARD_INDEX", "GTEST_TOTAL_SHARDS", 0, 1, r, e));
    return environment_shard("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT",
                             environment_number("SLURM_ARRAY_TASK_MIN", 0),
                             environment_number("SLURM_ARRAY_TASK_STEP", 1), r, e);
}

static enum err settle_devices(struct session *s, const char *text, int n_device,
                               struct errinfo *e)
{
    TRY(device_parse_list(text, SESSION_DEVICES_MAX, s->device, &s->n_device, e));
    if (s->n_device != n_device)
        return err_set(e, ERR_USAGE, "--on %s names %d device%s, this command wants %d%s", text,
                       s->n_device, s->n_device == 1 ? "" : "s", n_device,
                       n_device == 2 ? ": for instance --on cuda,hip" : "");
    for (int i = 0; i < s->n_device; i++)
        TRY(device_settle(&s->device[i], e));
    char a[32], b[32];
    device_print(&s->device[0], a);
    device_print(&s->device[s->n_device - 1], b);
    if (s->n_device == 2 && !strcmp(a, b))
        return err_set(e, ERR_USAGE, "--on %s: both sides are %s; name two different devices",
                       text, a);
    return ERR_OK;
}

/* Both sides of a check are split alike: by the times on the first. */
static enum err split_by_times(struct session *s, const struct options *o,
                               struct run_options *r, struct errinfo *e)
{
    struct record *times = NULL;
    char device[32];
    if (!o->times)
        return ERR_OK;
    if (!r->shards)
        return err_set(e, ERR_USAGE,
                       "--times splits a selection into parts: say which one, --shard I/N");
    s->part = malloc(sizeof *s->part * (size_t)s->cases.count + 1);
    if (!s->part)
        return err_set(e, ERR_NOMEM, "out of memory");
    device_print(&s->device[0], device);
    enum err err = record_open(o->times, &times, e);
    if (!err)
        err = balance_make(&s->cases, times, device, r->shards, s->part, s->split, e);
    record_close(times);
    r->part = s->part;
    r->split = s->split;
    return err ? err_context(e, err, "--times %s", o->times) : ERR_OK;
}

static enum err choose_path(struct session *s, const struct options *o, bool may_be_temporary,
                            struct errinfo *e)
{
    if (o->output) {
        if (strlen(o->output) >= sizeof s->path)
            return err_set(e, ERR_USAGE, "--output: the path is too long");
        snprintf(s->path, sizeof s->path, "%s", o->output);
        return ERR_OK;
    }
    if (!may_be_temporary)
        return err_set(e, ERR_USAGE, "say where the record goes: --output FILE.h5");
    const char *folder = getenv("TMPDIR");
    char made[3072];
    snprintf(made, sizeof made, "%s/gpuparity-XXXXXX", folder && *folder ? folder : "/tmp");
    if (!mkdtemp(made))
        return err_set(e, ERR_IO,
                       "cannot make a temporary folder %s: %s; set TMPDIR or use "
                       "--output FILE.h5",
                       made, strerror(errno));
    s->temporary = true;
    snprintf(s->path, sizeof s->path, "%s/record.h5", made);
    return ERR_OK;
}

static enum err run_device(struct session *s, int which, struct run_options *r,
                           const struct options *o, struct errinfo *e)
{
    struct progress p;
    char device[32];
    device_print(&s->device[which], device);
    progress_init(&p, device, o->quiet);
    r->progress = case_finished;
    r->context = &p;
    enum err err = run_cases(&s->cases, &s->device[which], r, s->record, &s->run[which], e);
    progress_hide(&p);
    return err;
}

enum err session_plan(struct session *s, const struct options *o, struct run_options *ret_run,
                      int n_device, const char *standard, struct errinfo *e)
{
    memset(s, 0, sizeof *s);
    TRY(make_run_options(o, ret_run, e));
    TRY(caselist_select(&s->cases, o->n_word, o->word, o->tags, e));
    return settle_devices(s, o->on ? o->on : standard, n_device, e);
}

enum err session_run(struct session *s, const struct options *o, int n_device,
                     const char *standard, bool may_be_temporary, struct errinfo *e)
{
    struct run_options r;
    TRY(session_plan(s, o, &r, n_device, standard, e));
    TRY(choose_path(s, o, may_be_temporary, e));
    TRY(split_by_times(s, o, &r, e));
    TRY(record_create(s->path, o->resume, o->replace, &s->record, e));
    for (int i = 0; i < s->n_device; i++)
        TRY(run_device(s, i, &r, o, e));
    TRY(record_finish(s->record, e));
    record_close(s->record);
    s->record = NULL;
    return record_open(s->path, &s->record, e);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st, (void)type, (void)where;
    return remove(path);
}

void session_release(struct session *s)
{
    record_close(s->record);
    caselist_release(&s->cases);
    free(s->part);
    if (s->temporary) {
        *strrchr(s->path, '/') = 0;
        nftw(s->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    }
    memset(s, 0, sizeof *s);
}
