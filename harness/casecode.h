/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASECODE_H
#define GPUPARITY_CASECODE_H

#include "../backends/backend.h"
#include "case.h"
#include "record.h"

/* Which code runs: AUTO takes the toolchain where it is present and can compile for the device,
 * else golden/code. */
enum run_code { RUN_CODE_AUTO, RUN_CODE_TOOLCHAIN, RUN_CODE_GOLDEN };

/* The code objects of one worker: each kernel file and mode is compiled or read once. For use
 * in a worker process only, since compilers may crash. Zero but for the first three is empty.
 */
struct casecode {
    const struct backend *backend;
    char device_arch[32];
    enum run_code which;

    bool probed;
    bool toolchain;               /* one is here that compiles for `arch` */
    char arch[32];                /* what it compiles for */
    char probe_words[600];        /* why not */
    struct casecode_entry *entry; /* owned, a list */
};

/* The code for a case, owned by `c`; launches of a case file are completed in `plan` by what
 * the code says (casekernel_fit). Anything but RECORD_OK comes with the reason: BUILD_FAILED
 * (the compiler refused, or the kept code is stale or damaged) or SKIPPED (nothing here can
 * make it). A failure is remembered like a success. */
enum record_status casecode_get(struct casecode *c, const struct case_id *id,
                                struct case_plan *plan, const struct code **ret_code, char *ret_reason, size_t size);

/* Code that was made before, for the same file and mode: a copy is kept, and casecode_get gives
 * it. False: out of memory. */
bool casecode_put(struct casecode *c, const struct case_id *id, const struct code *code);

void casecode_release(struct casecode *c);

/* A case's mode as the compilers are told it. */
struct fp_mode casecode_mode(const struct case_mode *m);

#endif
