/* SPDX-License-Identifier: Apache-2.0 */
#include "trial.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "casekernel.h"

enum { TRIAL_TIMEOUT = 300, TRIAL_TICK_MS = 100 };

static void fail(struct worker_result *r, const struct case_id *id, enum record_status status,
                 const char *reason)
{
    memset(r, 0, sizeof *r);
    caserun_describe(id, &r->c);
    r->c.status = status;
    snprintf(r->c.reason, sizeof r->c.reason, "%s", reason);
}

static void overdue(struct worker *w, double timeout, char *ret_text, size_t size)
{
    char phase[CASERUN_PHASE_MAX];
    worker_phase(w, phase, sizeof phase);
    snprintf(ret_text, size, "not finished after %g s while %s; --timeout S allows more",
             timeout, phase);
}

static void wait_worker(const struct worker *w)
{
    struct pollfd p[2] = {{.fd = w->socket, .events = POLLIN},
                          {.fd = w->child.output, .events = POLLIN}};
    poll(p, 2, TRIAL_TICK_MS);
}

/* Until `event` comes; false with a status and words when something else did. */
static bool await(struct worker *w, enum worker_event event, double timeout,
                  struct worker_result *result, enum record_status *ret_status, char *ret_words,
                  size_t size)
{
    for (;;) {
        wait_worker(w);
        enum worker_event came = worker_listen(w, result);
        if (came == event)
            return true;
        if (came == WORKER_FAILED || came == WORKER_DIED) {
            *ret_status = came == WORKER_FAILED ? RECORD_SKIPPED : RECORD_CRASHED;
            snprintf(ret_words, size, "%s", w->words);
            return false;
        }
        if (child_clock() - w->since > timeout) {
            *ret_status = RECORD_TIMED_OUT;
            overdue(w, timeout, ret_words, size);
            return false;
        }
    }
}

/* --- code that is known already --------------------------------------------------------------
 */

/* A case file's parameters may stand in its defines and in the names of its files. */
static bool same_kernel(const struct case_id *x, const struct case_id *y, const struct backend *b)
{
    struct casekernel kx, ky;
    if (x->family != y->family || strcmp(x->variant->source, y->variant->source) ||
        memcmp(&x->mode, &y->mode, sizeof x->mode))
        return false;
    return !x->family->file ||
           (!casekernel_describe(x, b, &kx, NULL) && !casekernel_describe(y, b, &ky, NULL) &&
            !memcmp(&kx, &ky, sizeof kx));
}

static const struct code *codes_find(const struct trial_codes *c, const struct trial *t,
                                     const struct case_id *id)
{
    for (int i = 0; c && i < c->n; i++)
        if (c->of[i].backend == t->device->backend &&
            same_kernel(&c->of[i].id, id, t->device->backend))
            return &c->of[i].code;
    return NULL;
}

/* Takes over the result's code. */
static void codes_add(struct trial_codes *c, const struct trial *t, const struct case_id *id,
                      struct worker_result *r)
{
    if (!c || !r->code || c->n == TRIAL_CODES_MAX || codes_find(c, t, id))
        return;
    struct code *code = &c->of[c->n].code;
    *code = (struct code){.bytes = r->code, .size = r->code_size, .log = r->log};
    code->options = strdup(r->c.options);
    snprintf(code->version, sizeof code->version, "%s", r->c.compiler);
    c->of[c->n].backend = t->device->backend;
    c->of[c->n++].id = *id;
    r->code = NULL;
    r->log = NULL;
}

void trial_codes_release(struct trial_codes *c)
{
    for (int i = 0; i < c->n; i++)
        code_release(&c->of[i].code);
    memset(c, 0, sizeof *c);
}

/* ---------------------------------------------------------------------------------------------
 */

enum err trial_run(const struct trial *t, const struct case_id *id,
                   struct worker_result *ret_result, struct errinfo *e)
{
    struct case_id one = *id;
    struct caselist list = {.count = 1, .room = 1, .id = &one};
    struct worker_setup setup = {.device = t->device,
                                 .list = &list,
                                 .code = t->code,
                                 .keep_code = t->codes != NULL,
                                 .repeats = t->repeats,
                                 .n_env = t->n_env,
                                 .env = t->env,
                                 .trace = t->trace,
                                 .input = t->input,
                                 .known_id = &one,
                                 .known = codes_find(t->codes, t, id)};
    struct worker w = {0};
    double timeout = t->timeout > 0 ? t->timeout : TRIAL_TIMEOUT;
    enum record_status status = RECORD_OK;
    char words[768];
    TRY(worker_start(&w, &setup, e));
    memset(ret_result, 0, sizeof *ret_result);
    bool good = await(&w, WORKER_READY, timeout, ret_result, &status, words, sizeof words);
    if (good) {
        worker_give(&w, 0);
        good = await(&w, WORKER_DONE, timeout, ret_result, &status, words, sizeof words);
    }
    if (good)
        codes_add(t->codes, t, id, ret_result);
    else
        fail(ret_result, id, status, words);
    worker_kill(&w);
    return ERR_OK;
}
