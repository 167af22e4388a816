/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASERUN_H
#define GPUPARITY_CASERUN_H

#include "casecode.h"
#include "record.h"

/* One case on one open device: inputs, code, buffers, launches, outputs. For use in a worker
 * process only. */

enum { CASERUN_PHASE_MAX = 256 };

/* The element whose making a simulated device writes down (GPUPARITY_SIM_TRACE). */
struct caserun_trace {
    bool on;
    int output; /* plan tensor */
    int64_t element;
};

struct caserun_once;

struct caserun_place {
    const struct backend *backend;
    struct device *device;
    struct casecode *code;
    /* What is being done, for the message should this process die: "compiling tiled.cu". In
     * memory that the parent sees, CASERUN_PHASE_MAX bytes. */
    char *phase;
    int repeats; /* how often the case runs; 0: once */
    struct caserun_trace trace;
    struct caserun_once **once; /* what libraries' calls made once have given: a list */
    const struct tensor *const *input; /* by plan tensor, instead of what the id makes; NULL: none */
};

struct caserun_result {
    struct record_case c;
    int n_out;
    struct record_out out[RECORD_OUT_MAX]; /* owned */
    const struct code *code;               /* borrowed from the place's casecode; may be NULL */
    bool spoiled; /* the device cannot be relied on any more: a kernel faulted */
};

/* The parts of a record that follow from the id alone: id, mode, source digest. */
void caserun_describe(const struct case_id *id, struct record_case *ret_case);

/* Whatever happens is in ret_result->c.status and reason. */
void caserun_do(const struct caserun_place *p, const struct case_id *id,
                struct caserun_result *ret_result);

void caserun_release(struct caserun_result *r); /* accepts a zeroed struct */

#endif
