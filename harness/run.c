/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "casekernel.h"
#include "caselibrary.h"
#include "runinfo.h"
#include "worker.h"

enum { RUN_JOBS_MAX = 64, RUN_TIMEOUT = 300, RUN_TICK_MS = 200 };

struct run {
    const struct caselist *list;
    const struct device_choice *device;
    const struct run_options *options;
    struct record *record;
    int index; /* of the run in the record */
    double timeout;
    struct worker_setup setup;
    int n_worker;
    struct worker worker[RUN_JOBS_MAX];
    int64_t next;        /* first place not yet given out */
    int64_t done, total; /* cases of this shard */
    int signals;         /* descriptor of what would end this process */
};

/* --- which cases -----------------------------------------------------------------------------
 */

static bool in_shard(const struct run_options *o, int64_t place)
{
    if (o->shards && o->part)
        return o->part[place] == o->shard;
    return o->shards == 0 || place % o->shards == o->shard - 1;
}

static bool is_finished(const struct run *r, const struct case_id *id, const char *text)
{
    struct record_case c;
    if (!record_has_id(r->record, r->index, text))
        return false;
    caserun_describe(id, &c);
    return record_has_case(r->record, r->index, &c);
}

/* The next case that is this shard's and not in the record; -1 at the end. */
static int64_t next_place(struct run *r)
{
    char id[CASEID_TEXT_MAX];
    for (; r->next < r->list->count; r->next++) {
        if (!in_shard(r->options, r->next))
            continue;
        caseid_print(&r->list->id[r->next], id);
        if (!is_finished(r, &r->list->id[r->next], id))
            return r->next++;
    }
    return -1;
}

static void count_cases(struct run *r)
{
    char id[CASEID_TEXT_MAX];
    for (int64_t i = 0; i < r->list->count; i++) {
        if (!in_shard(r->options, i))
            continue;
        caseid_print(&r->list->id[i], id);
        r->total++;
        r->done += is_finished(r, &r->list->id[i], id);
    }
}

/* --- results ---------------------------------------------------------------------------------
 */

static enum err put_result(struct run *r, int64_t place, const struct worker_result *w,
                           struct errinfo *e)
{
    struct record_code code = {w->code, w->code_size, w->log};
    TRY(record_put_case(r->record, r->index, place, &w->c, w->n_out, w->out,
                        w->code ? &code : NULL, e));
    r->done++;
    if (r->options->progress)
        r->options->progress(r->options->context, r->done, r->total, &w->c);
    return ERR_OK;
}

/* A case whose worker gave no result. */
static enum err put_failure(struct run *r, int64_t place, enum record_status status,
                            double seconds, const char *reason, struct errinfo *e)
{
    struct worker_result w = {0};
    caserun_describe(&r->list->id[place], &w.c);
    w.c.status = status;
    w.c.seconds = seconds;
    snprintf(w.c.reason, sizeof w.c.reason, "%s", reason);
    return put_result(r, place, &w, e);
}

/* --- workers ---------------------------------------------------------------------------------
 */

/* The next case starts before this one is stored, which takes a while. */
static enum err worker_done(struct run *r, struct worker *w, struct worker_result *result,
                            struct errinfo *e)
{
    int64_t place = w->place;
    int64_t next = w->state == WORKER_IDLE ? next_place(r) : -1;
    if (next >= 0)
        worker_give(w, next);
    enum err err = put_result(r, place, result, e);
    worker_result_release(result);
    return err;
}

static enum err worker_event(struct run *r, struct worker *w, enum worker_event event,
                             struct worker_result *result, struct errinfo *e)
{
    double seconds = child_clock() - w->since;
    enum err err = ERR_OK;
    switch (event) {
    case WORKER_READY:
        worker_give(w, w->place);
        break;
    case WORKER_DONE:
        err = worker_done(r, w, result, e);
        break;
    case WORKER_FAILED:
        err = put_failure(r, w->place, RECORD_SKIPPED, seconds, w->words, e);
        break;
    case WORKER_DIED:
        err = put_failure(r, w->place, RECORD_CRASHED, seconds, w->words, e);
        break;
    case WORKER_NOTHING:
        break;
    }
    return err;
}

/* A worker that takes too long is killed with everything it started. */
static enum err worker_overdue(struct run *r, struct worker *w, struct errinfo *e)
{
    char phase[CASERUN_PHASE_MAX], reason[400];
    double seconds = child_clock() - w->since;
    worker_phase(w, phase, sizeof phase);
    snprintf(reason, sizeof reason, "not finished after %g s while %s; --timeout S allows more",
             r->timeout, phase);
    worker_kill(w);
    return put_failure(r, w->place, RECORD_TIMED_OUT, seconds, reason, e);
}

/* Every worker without work gets some; the case waits in `place` until the device is open. */
static enum err give_work(struct run *r, bool *ret_busy, struct errinfo *e)
{
    *ret_busy = false;
    for (int i = 0; i < r->n_worker; i++) {
        struct worker *w = &r->worker[i];
        int64_t place = -1;
        if (w->state == WORKER_NONE || w->state == WORKER_IDLE)
            place = next_place(r);
        if (place >= 0 && w->state == WORKER_NONE) {
            TRY(worker_start(w, &r->setup, e));
            w->place = place;
        } else if (place >= 0) {
            worker_give(w, place);
        }
        *ret_busy |= w->state == WORKER_STARTING || w->state == WORKER_BUSY;
    }
    return ERR_OK;
}

static enum err interrupted(const struct run *r, struct errinfo *e)
{
    return err_set(e, ERR_IO,
                   "interrupted: %" PRId64 " of %" PRId64
                   " cases are finished and kept; the same command with --resume goes on",
                   r->done, r->total);
}

/* Sleeps until something happens, a tick at most. */
static enum err wait_events(struct run *r, struct errinfo *e)
{
    struct pollfd p[1 + 2 * RUN_JOBS_MAX];
    nfds_t n = 0;
    p[n++] = (struct pollfd){.fd = r->signals, .events = POLLIN};
    for (int i = 0; i < r->n_worker; i++) {
        const struct worker *w = &r->worker[i];
        if (w->state == WORKER_NONE)
            continue;
        p[n++] = (struct pollfd){.fd = w->socket, .events = POLLIN};
        p[n++] = (struct pollfd){.fd = w->child.output, .events = POLLIN};
    }
    if (poll(p, n, RUN_TICK_MS) < 0 && errno != EINTR)
        return err_set(e, ERR_IO, "cannot wait for the workers: %s", strerror(errno));
    struct signalfd_siginfo info;
    if (read(r->signals, &info, sizeof info) == sizeof info)
        return interrupted(r, e);
    return ERR_OK;
}

static enum err hear_workers(struct run *r, struct errinfo *e)
{
    for (int i = 0; i < r->n_worker; i++) {
        struct worker *w = &r->worker[i];
        struct worker_result result = {0};
        bool was_busy = w->state == WORKER_BUSY || w->state == WORKER_STARTING;
        if (w->state == WORKER_IDLE) /* died between two cases: nothing is lost */
            (void)worker_listen(w, &result);
        else if (was_busy)
            TRY(worker_event(r, w, worker_listen(w, &result), &result, e));
        bool busy = w->state == WORKER_BUSY || w->state == WORKER_STARTING;
        if (busy && child_clock() - w->since > r->timeout)
            TRY(worker_overdue(r, w, e));
    }
    return ERR_OK;
}

static enum err run_loop(struct run *r, struct errinfo *e)
{
    bool busy;
    TRY(give_work(r, &busy, e));
    while (busy) {
        TRY(wait_events(r, e));
        TRY(hear_workers(r, e));
        TRY(give_work(r, &busy, e));
    }
    return ERR_OK;
}

/* --- the first worker tells what the device is -----------------------------------------------
 */

static enum err first_worker(struct run *r, struct errinfo *e)
{
    struct worker *w = &r->worker[0];
    struct worker_result none;
    char name[32];
    device_print(r->device, name);
    TRY(worker_start(w, &r->setup, e));
    while (w->state == WORKER_STARTING) {
        TRY(wait_events(r, e));
        enum worker_event event = worker_listen(w, &none);
        if (event == WORKER_FAILED || event == WORKER_DIED)
            return err_set(e, ERR_MISSING, "%s: %.480s", name, w->words);
        if (w->state == WORKER_STARTING && child_clock() - w->since > r->timeout)
            return err_set(e, ERR_MISSING, "%s: no answer within %g s while opening the device",
                           name, r->timeout);
    }
    return ERR_OK;
}

static enum err run_all(struct run *r, int *ret_run, struct errinfo *e)
{
    struct record_run info;
    TRY(first_worker(r, e));
    const struct device_info *d = &r->worker[0].info;
    TRY(casekernel_check(r->list, r->device->backend, d->arch, !d->simulated, e));
    TRY(caselibrary_check(r->list, r->device->backend, e));
    runinfo_fill(r->device, &r->worker[0].info, r->options->shard, r->options->shards, &info);
    if (r->options->split) {
        size_t used = strlen(info.shard);
        snprintf(info.shard + used, sizeof info.shard - used, ":%s", r->options->split);
    }
    TRY(record_add_run(r->record, &info, &r->index, e));
    count_cases(r);
    TRY(run_loop(r, e));
    *ret_run = r->index;
    return ERR_OK;
}

/* Simulated devices compute with threads of their own: the machine is shared out. */
static int threads_each(const struct device_choice *d, int jobs)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (d->kind != DEVICE_CHOICE_SIMULATED || jobs < 2)
        return 0;
    return cores > jobs ? (int)(cores / jobs) : 1;
}

enum err run_cases(const struct caselist *l, const struct device_choice *d,
                   const struct run_options *o, struct record *r, int *ret_run,
                   struct errinfo *e)
{
    sigset_t ending, before;
    struct run run = {.list = l, .device = d, .options = o, .record = r};
    run.timeout = o->timeout > 0 ? o->timeout : RUN_TIMEOUT;
    run.n_worker = o->jobs < 1 ? 1 : o->jobs > RUN_JOBS_MAX ? RUN_JOBS_MAX : o->jobs;
    run.setup =
        (struct worker_setup){.device = d,
                              .list = l,
                              .code = o->code,
                              .keep_code = o->keep_code,
                              .repeats = o->repeats,
                              .threads = threads_each(d, run.n_worker)};

    /* A signal becomes something to read, so that it is never in the midst of a case's file. */
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGHUP);
    sigprocmask(SIG_BLOCK, &ending, &before);
    run.signals = signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);
    enum err err = run.signals < 0
                       ? err_set(e, ERR_IO, "cannot watch for signals: %s", strerror(errno))
                       : run_all(&run, ret_run, e);
    for (int i = 0; i < run.n_worker; i++)
        worker_kill(&run.worker[i]);
    if (run.signals >= 0)
        close(run.signals);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return err;
}
