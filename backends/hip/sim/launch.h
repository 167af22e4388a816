/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_LAUNCH_H
#define GPUPARITY_HIP_SIM_LAUNCH_H

#include "codeobject.h"

enum { LDS_BYTES = 65536, THREADS_MAX = 1024 };

/* A kernel's start: what the command processor does on the card. */
struct launch_request {
    struct codeobject *object;
    struct kernel *kernel;
    uint32_t grid[3], block[3]; /* blocks; threads */
    uint32_t dynamic_lds;
    const void *args; /* the explicit arguments as they lie in the argument segment */
    size_t args_size;
    struct watch *watch; /* NULL: nothing beyond addresses is looked at */
};

enum launch_status {
    LAUNCH_OK,
    LAUNCH_BAD_SHAPE, /* grid, block or shared memory: see the text */
    LAUNCH_NOMEM,
    LAUNCH_FAULT /* ret_fault tells */
};

/* Runs to the end. Adds to *instructions. On any failure ret_fault->text is one line. */
enum launch_status launch_run(const struct launch_request *p, uint64_t *instructions,
                              struct sim_fault *ret_fault);

/* Puts argument values (one pointer each, in order) where the metadata says; `room` has
 * kernarg_size bytes. False: unknown layout. */
bool launch_gather(const struct kernel *k, void *const *values, uint8_t *room);

#endif
