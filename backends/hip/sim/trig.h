/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_TRIG_H
#define GPUPARITY_HIP_SIM_TRIG_H

#include <stdint.h>

/* Instructions of which the silicon's bits are not publicly known. The result here is the exact
 * answer rounded to nearest, which lies inside the documented bound; a launch whose code has
 * one carries a mark with that bound (trig_mark).
 *
 * sin and cos take turns (x * 2 pi), valid for |x| <= 256; beyond it sin gives 0 and cos 1. */
uint32_t trig_sin_f32(uint32_t x);
uint32_t trig_cos_f32(uint32_t x);
uint32_t trig_sin_f16(uint32_t x);
uint32_t trig_cos_f16(uint32_t x);

/* Seeds of iterations, documented to 2^29 ulp; compiled code refines them. */
uint64_t trig_rcp_f64(uint64_t x);
uint64_t trig_rsq_f64(uint64_t x);
uint64_t trig_sqrt_f64(uint64_t x);

/* "v_sin_f32: ..." for an instruction of this kind, else NULL. */
const char *trig_mark(const char *instruction);

#endif
