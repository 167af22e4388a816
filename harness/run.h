/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_RUN_H
#define GPUPARITY_RUN_H

#include "casecode.h"
#include "caseid.h"
#include "device.h"
#include "record.h"

struct run_options {
    double timeout; /* seconds a case may take; 0: the default, 300 */
    int jobs;       /* worker processes; 0: 1 */
    int repeats;    /* how often each case runs; 0: once */
    enum run_code code;
    bool keep_code;    /* store the code object in the record */
    int shard, shards; /* 1-based; 0: all */
    const int *part;   /* the shard of each case (balance.h); NULL: in turn */
    const char *split; /* the digest of that; NULL: none */
    /* Called in the parent after each finished case; may be NULL. */
    void (*progress)(void *context, int64_t done, int64_t total, const struct record_case *c);
    void *context;
};

/* Runs the cases on one settled device, in worker processes, into `r` as one run. Whatever
 * happens inside a case (build failure, fault, crash, hang) is its status; `err` is only for
 * the record and the system. Cases that `r` already has (resume) are not run again. */
enum err run_cases(const struct caselist *l, const struct device_choice *d,
                   const struct run_options *o, struct record *r, int *ret_run,
                   struct errinfo *e);

#endif
