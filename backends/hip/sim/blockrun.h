/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_BLOCKRUN_H
#define GPUPARITY_HIP_SIM_BLOCKRUN_H

#include "../../sim/grid.h"
#include "launch.h"

/* One block from its first instruction to its last. */

struct block_launch {
    const struct launch_request *request;
    uint64_t kernarg, packet, queue; /* device addresses */
    struct sim_trace *trace;         /* NULL: nothing is traced */
};

/* Bytes a thread works in: the block's LDS, the waves and their registers. */
size_t block_workspace_size(const struct block_launch *b);

/* For struct sim_grid; context is the block_launch. */
int block_run(void *context, void *workspace, const uint32_t id[3],
              const struct sim_grid_turn *turn, uint64_t *instructions, struct sim_fault *f);
void block_workspace_release(void *workspace);

#endif
