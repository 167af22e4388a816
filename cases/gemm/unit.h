/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_GEMM_UNIT_H
#define GPUPARITY_CASES_GEMM_UNIT_H

#include "gemm.h"

/* What the matrix units make of one dot product, as published studies of the hardware describe
 * them: candidates for gemm_models, not promises of the vendors. `in` is f16, bf16 or tf32
 * (gfx11: not tf32), `acc` f32 or f16. The operands have k elements and are continued with
 * zeros to a multiple of 16. NaN and Inf take the way of IEEE arithmetic. */

/* NVIDIA Ampere: groups of 8 products (tf32: 4) and the sum so far are cut to 24 bits below the
 * largest exponent and added; the result is truncated to f32, or rounded to f16. */
double gemm_unit_ampere(enum dtype in, enum dtype acc, int64_t k, const double *a,
                        const double *b);

/* AMD gfx11: two products and the sum so far; terms of the sum's other sign are taken as ones'
 * complements, a unit too large; rounded to nearest. */
double gemm_unit_gfx11(enum dtype in, enum dtype acc, int64_t k, const double *a,
                       const double *b);

#endif
