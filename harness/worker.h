/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_WORKER_H
#define GPUPARITY_WORKER_H

#include <stdint.h>

#include "caseid.h"
#include "caserun.h"
#include "child.h"
#include "device.h"

/* A worker process: opens one device and runs one case after another on it. Everything of the
 * vendors happens in there. The parent never blocks on it: it sends the place of a case in the
 * list, polls worker_descriptors, and asks worker_listen what came. */

enum { WORKER_ENV_MAX = 8 };

struct worker_env {
    const char *name, *value; /* borrowed */
};

struct worker_setup {
    const struct device_choice *device; /* settled */
    const struct caselist *list;
    enum run_code code;
    bool keep_code; /* send the code objects along */
    int repeats;    /* how often each case runs; 0: once */
    int threads;    /* of a simulated device; 0: its own choice */
    int n_env;      /* environment variables of the process alone */
    const struct worker_env *env;
    const struct case_id *known_id; /* with `known`: whose code it is */
    struct caserun_trace trace;
    const struct tensor *const *input; /* by plan tensor, instead of what an id makes; NULL: none */
    const struct code *known;       /* code that need not be made again; NULL: none */
};

enum worker_state {
    WORKER_NONE,     /* no process */
    WORKER_STARTING, /* opening the device */
    WORKER_IDLE,
    WORKER_BUSY
};

enum worker_event {
    WORKER_NOTHING,
    WORKER_READY,  /* the device is open: `info` is filled */
    WORKER_DONE,   /* a result came; the state is IDLE, or NONE if the worker is used up */
    WORKER_FAILED, /* the device cannot be opened: `words` says why; the state is NONE */
    WORKER_DIED    /* crashed or exited: `words` says how and during what; NONE */
};

/* A zeroed struct is a worker without a process. */
struct worker {
    enum worker_state state;
    struct child child;
    int socket;
    char *phase;   /* shared with the process */
    int64_t place; /* BUSY: the case, as in struct caselist */
    double since;  /* when the state began, child_clock */
    struct device_info info;
    char words[768];
    char *buffer; /* owned: an incomplete message */
    size_t used, room;
};

/* A finished case, as the parent gets it. */
struct worker_result {
    struct record_case c;
    int n_out;
    struct record_out out[RECORD_OUT_MAX]; /* owned */
    void *code;                            /* owned; NULL if there was none or it is not kept */
    size_t code_size;
    char *log; /* owned, with code */
};

void worker_result_release(struct worker_result *r); /* accepts a zeroed struct */

/* NONE -> STARTING. `setup` must outlive the worker. ERR_IO if there can be no process. */
enum err worker_start(struct worker *w, const struct worker_setup *setup, struct errinfo *e);

/* IDLE -> BUSY. */
void worker_give(struct worker *w, int64_t place);

/* Takes in what there is, without blocking. DONE fills *ret_result, which is the caller's. Call
 * again until NOTHING. */
enum worker_event worker_listen(struct worker *w, struct worker_result *ret_result);

/* What a worker that is to be given up was doing: "running the kernel tiled_f32". Then kill. */
void worker_phase(const struct worker *w, char *ret_text, size_t size);
void worker_kill(struct worker *w); /* any state -> NONE; frees all */

#endif
