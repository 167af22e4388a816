/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_SIM_FPWARP_H
#define GPUPARITY_SIM_FPWARP_H

#include <stdint.h>

#include "fp.h"

/* f32 arithmetic on the 32 lanes of a warp or wave at once, on the host's IEEE unit. The bits
 * are those of fp_add ... of fp.h for every operand and every env; an env whose rounding is not
 * FP_RNE goes lane by lane. All 32 lanes are computed, whatever the mask: the caller stores
 * those it wants. `d` may be any of the operands. The host must be in its default rounding
 * mode. */

enum { FP_WARP = 32 };

void fp_warp_add(const struct fp_env *v, uint32_t *d, const uint32_t *a, const uint32_t *b);
void fp_warp_sub(const struct fp_env *v, uint32_t *d, const uint32_t *a, const uint32_t *b);
void fp_warp_mul(const struct fp_env *v, uint32_t *d, const uint32_t *a, const uint32_t *b);
void fp_warp_fma(const struct fp_env *v, uint32_t *d, const uint32_t *a, const uint32_t *b,
                 const uint32_t *c);
void fp_warp_div(const struct fp_env *v, uint32_t *d, const uint32_t *a, const uint32_t *b);
void fp_warp_sqrt(const struct fp_env *v, uint32_t *d, const uint32_t *a);
void fp_warp_min(const struct fp_env *v, uint32_t *d, const uint32_t *a, const uint32_t *b);
void fp_warp_max(const struct fp_env *v, uint32_t *d, const uint32_t *a, const uint32_t *b);

#endif
