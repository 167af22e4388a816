/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_SIM_GRID_H
#define GPUPARITY_SIM_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fault.h"

/* Runs the blocks of a grid over host threads. What a simulator supplies is one function that runs
 * one block to its end in a workspace of its own (registers, shared memory, scratch).
 *
 * Results do not depend on the number of threads: blocks share only global memory, and a kernel
 * whose blocks meet there through atomics with an order-dependent result sets `ordered`: its
 * blocks then run one after the other in linear order. */
struct sim_grid {
    uint32_t grid[3], block[3];
    bool ordered;
    int threads;           /* 0: as many as the machine has, at most GPUPARITY_SIM_THREADS */
    size_t workspace_size; /* bytes, zeroed once a thread, 64-byte aligned */
    uint64_t budget;       /* instructions all blocks together may execute; 0: the default */

    /* Runs block `id`. Adds to *instructions as it goes and stops with SIM_FAULT_BUDGET when
     * `sim_grid_over` says so. Nonzero with `f` filled: the launch stops. */
    int (*run)(void *context, void *workspace, const uint32_t id[3], uint64_t *instructions,
               struct sim_fault *f);
    void *context;
    void (*workspace_release)(void *workspace); /* optional: before the memory is freed */
};

/* The fault of the lowest-numbered faulting block comes back; instructions executed are added to
 * *instructions. 0 = every block ended. */
int sim_grid_run(const struct sim_grid *g, uint64_t *instructions, struct sim_fault *ret_fault);

/* The default budget: GPUPARITY_SIM_BUDGET, else 2^40. */
uint64_t sim_grid_budget(void);

#endif
