/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_WATCH_H
#define GPUPARITY_CUDA_SIM_WATCH_H

#include "exec.h"
#include "shadow.h"

/* Uninitialised reads and races, looked for when GPUPARITY_SIM_CHECK=1. Such a launch runs its
 * blocks one after the other and is slower. */

/* Reports an access of the lanes in `mask` to checked host addresses. `value`, for writes: the
 * bytes of lane l at value + l * stride (NULL: unknown). RUN_NEXT or RUN_FAULT. */
int watch_access(struct warp *w, const struct inst *i, uint32_t mask, const uint64_t *address,
                 uint32_t bytes, enum shadow_use use, const void *value, size_t stride);

/* How an instruction uses memory. */
enum shadow_use watch_use(const struct inst *i);

#endif
