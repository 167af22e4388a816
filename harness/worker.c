/* SPDX-License-Identifier: Apache-2.0 */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "workerlink.h"

/* --- the process -----------------------------------------------------------------------------
 */

struct process {
    const struct worker_setup *setup;
    int socket;
    char *phase;
};

static struct device *process_open(const struct process *p, struct device_info *info)
{
    char folder[PATH_MAX];
    const struct device_choice *c = p->setup->device;
    struct device *d = NULL;
    struct backend_error e = {0};
    device_simulator_folder(folder, sizeof folder);
    enum backend_status s =
        c->backend->open(c->kind == DEVICE_CHOICE_SIMULATED ? DEVICE_SIMULATED : DEVICE_REAL,
                         folder, c->index, &d, &e);
    if (s) {
        workerlink_send_failed(p->socket, e.text);
        return NULL;
    }
    c->backend->describe(d, info);
    return d;
}

/* True while the device is good for more. */
static bool process_case(const struct process *p, const struct caserun_place *place,
                         int64_t which)
{
    struct caserun_result r;
    caserun_do(place, &p->setup->list->id[which], &r);
    bool good = workerlink_send_result(p->socket, &r, p->setup->keep_code) && !r.spoiled;
    caserun_release(&r);
    return good;
}

static int process_main(void *context)
{
    const struct process *p = context;
    const struct worker_setup *s = p->setup;
    struct device_info info = {0};
    int64_t which;
    if (s->threads > 0) {
        char text[16];
        snprintf(text, sizeof text, "%d", s->threads);
        setenv("GPUPARITY_SIM_THREADS", text, 0);
    }
    for (int i = 0; i < s->n_env; i++)
        setenv(s->env[i].name, s->env[i].value, 1);
    snprintf(p->phase, CASERUN_PHASE_MAX, "opening the device");
    struct device *d = process_open(p, &info);
    if (!d)
        return 0;
    snprintf(p->phase, CASERUN_PHASE_MAX, "being idle");
    struct casecode code = {.backend = s->device->backend, .which = s->code};
    snprintf(code.device_arch, sizeof code.device_arch, "%s", info.arch);
    if (s->known)
        casecode_put(&code, s->known_id, s->known);
    struct caserun_once *once = NULL;
    struct caserun_place place = {.backend = s->device->backend,
                                  .device = d,
                                  .code = &code,
                                  .phase = p->phase,
                                  .repeats = s->repeats,
                                  .trace = s->trace,
                                  .once = &once,
                                  .input = s->input};
    bool good = workerlink_send_ready(p->socket, &info);
    while (good && workerlink_receive_place(p->socket, &which))
        good = which >= 0 && which < s->list->count && process_case(p, &place, which);
    /* No tidying: a vendor's library that crashes while it ends must not spoil what is done. */
    return 0;
}

/* --- the parent's side -----------------------------------------------------------------------
 */

enum err worker_start(struct worker *w, const struct worker_setup *setup, struct errinfo *e)
{
    int fd[2];
    memset(w, 0, sizeof *w);
    w->phase = mmap(NULL, CASERUN_PHASE_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                    -1, 0);
    if (w->phase == MAP_FAILED) {
        w->phase = NULL;
        return err_set(e, ERR_NOMEM, "out of memory");
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd)) {
        worker_kill(w);
        return err_set(e, ERR_IO, "cannot make a socket: %s", strerror(errno));
    }
    struct process p = {setup, fd[1], w->phase};
    enum err err = child_start(&w->child, process_main, &p, e);
    close(fd[1]);
    w->socket = fd[0];
    w->state = WORKER_STARTING;
    w->since = child_clock();
    if (err) {
        worker_kill(w);
        return err;
    }
    fcntl(w->socket, F_SETFL, O_NONBLOCK);
    return ERR_OK;
}

void worker_give(struct worker *w, int64_t place)
{
    w->state = WORKER_BUSY;
    w->place = place;
    w->since = child_clock();
    /* Eight bytes into an empty socket: all or nothing. If it died meanwhile, listen says so.
     */
    ssize_t n = send(w->socket, &place, sizeof place, MSG_NOSIGNAL);
    (void)n;
}

void worker_phase(const struct worker *w, char *ret_text, size_t size)
{
    snprintf(ret_text, size, "%.*s", CASERUN_PHASE_MAX - 1, w->phase ? w->phase : "");
}

void worker_kill(struct worker *w)
{
    child_kill(&w->child);
    if (w->state != WORKER_NONE)
        close(w->socket);
    if (w->phase)
        munmap(w->phase, CASERUN_PHASE_MAX);
    free(w->buffer);
    w->phase = NULL;
    w->buffer = NULL;
    w->used = w->room = 0;
    w->state = WORKER_NONE;
}

static bool buffer_room(struct worker *w)
{
    if (w->room - w->used >= 65536)
        return true;
    size_t room = w->room ? 2 * w->room : 1 << 18;
    char *more = realloc(w->buffer, room);
    if (!more)
        return false;
    w->buffer = more;
    w->room = room;
    return true;
}

/* Reads what is there. False at the end of the stream, or on an error. */
static bool buffer_fill(struct worker *w)
{
    while (buffer_room(w)) {
        ssize_t n = recv(w->socket, w->buffer + w->used, w->room - w->used, 0);
        if (n == 0)
            return false;
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        w->used += (size_t)n;
    }
    return false;
}

static enum worker_event worker_died(struct worker *w)
{
    char how[500], phase[CASERUN_PHASE_MAX];
    int status = 0;
    worker_phase(w, phase, sizeof phase);
    /* Its socket is closed; the process itself may take a moment more. */
    double until = child_clock() + 0.5;
    bool ended = child_ended(&w->child, &status);
    while (!ended && child_clock() < until) {
        usleep(1000);
        child_listen(&w->child);
        ended = child_ended(&w->child, &status);
    }
    if (ended)
        child_explain(&w->child, status, how, sizeof how);
    else
        snprintf(how, sizeof how, "closed its connection");
    const char *last = strstr(how, "; its last words");
    int n = last ? (int)(last - how) : (int)strlen(how);
    snprintf(w->words, sizeof w->words, "%.*s while %s%s", n, how, phase, last ? last : "");
    worker_kill(w);
    return WORKER_DIED;
}

/* Ends every text where its room ends. */
static void info_end(struct device_info *i)
{
    i->name[sizeof i->name - 1] = 0;
    i->arch[sizeof i->arch - 1] = 0;
    i->library[sizeof i->library - 1] = 0;
    i->driver[sizeof i->driver - 1] = 0;
    i->runtime[sizeof i->runtime - 1] = 0;
}

static enum worker_event worker_message(struct worker *w, enum workerlink_kind kind,
                                        const char *payload, size_t size,
                                        struct worker_result *ret_result)
{
    bool spoiled = false;
    if (kind == WORKERLINK_READY && size == sizeof w->info && w->state == WORKER_STARTING) {
        memcpy(&w->info, payload, size);
        info_end(&w->info);
        w->state = WORKER_IDLE;
        return WORKER_READY;
    }
    if (kind == WORKERLINK_FAILED && w->state == WORKER_STARTING) {
        snprintf(w->words, sizeof w->words, "%.*s", (int)(size < 760 ? size : 760), payload);
        worker_kill(w);
        return WORKER_FAILED;
    }
    if (kind == WORKERLINK_RESULT && w->state == WORKER_BUSY &&
        workerlink_result(payload, size, &spoiled, ret_result)) {
        w->state = WORKER_IDLE;
        if (spoiled)
            worker_kill(w);
        return WORKER_DONE;
    }
    snprintf(w->words, sizeof w->words, "sent something that is not a result");
    worker_kill(w);
    return WORKER_DIED;
}

enum worker_event worker_listen(struct worker *w, struct worker_result *ret_result)
{
    enum workerlink_kind kind;
    const char *payload;
    size_t size;
    if (w->state == WORKER_NONE)
        return WORKER_NOTHING;
    child_listen(&w->child);
    bool open = buffer_fill(w);
    int64_t n = workerlink_message(w->buffer, w->used, &kind, &payload, &size);
    if (n == 0)
        return open ? WORKER_NOTHING : worker_died(w);
    if (n < 0) {
        snprintf(w->words, sizeof w->words, "its connection was written over");
        worker_kill(w);
        return WORKER_DIED;
    }
    enum worker_event event = worker_message(w, kind, payload, size, ret_result);
    if (w->state != WORKER_NONE) {
        memmove(w->buffer, w->buffer + n, w->used - (size_t)n);
        w->used -= (size_t)n;
    }
    return event;
}
