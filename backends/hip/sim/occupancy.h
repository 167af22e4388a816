/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_OCCUPANCY_H
#define GPUPARITY_HIP_SIM_OCCUPANCY_H

#include "codeobject.h"

/* What fits on one work-group processor of the card: 2048 threads, 128 KiB of shared memory for
 * blocks of at most 64 KiB, 1536 vector registers of 32 lanes on each of four SIMDs. */
int occupancy_blocks(const struct kernel *k, unsigned threads, size_t dynamic_lds);
void occupancy_best(const struct kernel *k, size_t dynamic_lds, int limit, int *ret_grid,
                    int *ret_block);

/* hipFunction_attribute; a HIP error number. */
int occupancy_attribute(const struct kernel *k, int attribute, int *ret_value);

#endif
