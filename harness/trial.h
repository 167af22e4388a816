/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_TRIAL_H
#define GPUPARITY_TRIAL_H

#include "worker.h"

/* One case, once, on one device, into memory: what explain and minimize do hundreds of times.
 * Nothing is kept on disk. */

/* Code that trials have made, so that a compiler is asked once a kernel, mode and device. */
enum { TRIAL_CODES_MAX = 64 };
struct trial_codes {
    int n;
    struct {
        const struct backend *backend;
        struct case_id id;
        struct code code; /* owned */
    } of[TRIAL_CODES_MAX];
};
void trial_codes_release(struct trial_codes *c); /* accepts a zeroed struct */

struct trial {
    const struct device_choice *device; /* settled */
    enum run_code code;
    double timeout; /* seconds; 0: 300 */
    int repeats;    /* how often the case runs; 0: once */
    int n_env;      /* set in the worker only; the user's own values of these give way */
    struct worker_env env[WORKER_ENV_MAX];
    struct trial_codes *codes; /* NULL: made anew each time */
    struct caserun_trace trace;
    const struct tensor *const
        *input; /* by plan tensor, instead of what the id makes; NULL: none */
};

/* Whatever happens in the case is in ret_result->c.status and reason, as in a record; ERR_IO
 * and ERR_NOMEM only where there can be no worker. Released by worker_result_release. */
enum err trial_run(const struct trial *t, const struct case_id *id,
                   struct worker_result *ret_result, struct errinfo *e);

#endif
