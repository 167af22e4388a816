/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_TRACE_WAVE_H
#define GPUPARITY_HIP_SIM_TRACE_WAVE_H

#include "decode.h"

/* Runs one instruction and writes down what sim/trace.h wants to know of it. */
int trace_run(struct wave *w, const struct inst *i);

#endif
