/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_SIM_GRID_H
#define GPUPARITY_SIM_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fault.h"
#include "order.h"

/* One block's turn: how far it may run. */
struct sim_grid_turn {
    uint64_t number;              /* which one it is in the order of blocks */
    uint64_t limit;               /* instructions this block may execute */
    const uint64_t *lowest_fault; /* number of the lowest block that failed so far */
    const struct sim_order *order; /* of the block's warps; not NULL */
};

/* Must the block stop? True when its instructions are used up, or when a block before it has
 * failed, so that its own result does not count any more. Cheap, but not free: ask at branches
 * backwards, or every thousand instructions. The block then leaves SIM_FAULT_BUDGET. */
static inline bool sim_grid_over(const struct sim_grid_turn *t, uint64_t instructions)
{
    return instructions >= t->limit ||
           __atomic_load_n(t->lowest_fault, __ATOMIC_RELAXED) < t->number;
}

/* Runs the blocks of a grid over host threads. What a simulator supplies is one function that
 * runs one block to its end in a workspace of its own (registers, shared memory, scratch).
 *
 * Results do not depend on the number of threads: blocks share only global memory, and a kernel
 * whose blocks meet there through atomics with an order-dependent result sets `ordered`: its
 * blocks then run one after the other in linear order. Blocks start in linear order in any
 * case; one that waits for a later one never ends (no cooperative launch). GPUPARITY_SIM_ORDER
 * (order.h) chooses another order, in which one thread runs all blocks. */
struct sim_grid {
    uint32_t grid[3], block[3];
    bool ordered;
    int threads;           /* 0: GPUPARITY_SIM_THREADS, else as many as the machine has */
    size_t workspace_size; /* bytes, zeroed once a thread, 64-byte aligned */
    uint64_t budget;       /* instructions all blocks together may execute; 0: the default */

    /* Runs block `id`. *instructions is this block's own counter and starts at 0. Nonzero with
     * `f` filled: the launch stops. `f` comes with `block` set and `lane` -1. */
    int (*run)(void *context, void *workspace, const uint32_t id[3],
               const struct sim_grid_turn *turn, uint64_t *instructions, struct sim_fault *f);
    void *context;
    void (*workspace_release)(void *workspace); /* optional: before the memory is freed */
};

/* The fault of the lowest-numbered faulting block comes back; instructions executed are added
 * to *instructions. 0 = every block ended; else `ret_fault` is filled (it is not touched on 0).
 */
int sim_grid_run(const struct sim_grid *g, uint64_t *instructions, struct sim_fault *ret_fault);

/* The default budget: GPUPARITY_SIM_BUDGET, else 2^40. */
uint64_t sim_grid_budget(void);

#endif
