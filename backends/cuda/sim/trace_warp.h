/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_TRACE_WARP_H
#define GPUPARITY_CUDA_SIM_TRACE_WARP_H

#include "exec.h"

/* Runs one instruction and writes down what sim/trace.h wants to know of it. */
int trace_run(struct warp *w, const struct inst *i, uint32_t mask);

#endif
