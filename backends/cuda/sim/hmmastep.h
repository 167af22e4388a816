/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_HMMASTEP_H
#define GPUPARITY_CUDA_SIM_HMMASTEP_H

#include <stdint.h>

#include "hmma.h"

/* Inside hmma*.c: one group of products and c, taken with care for every operand.
 *
 * The model of public studies of A100 and GA10x: products are exact and keep the sum of their
 * factors' exponents, never normalised; all terms are aligned to the largest exponent and cut
 * toward zero 24 bits below it; the sum is exact; the result is cut (f32) or rounded to nearest
 * even (f16). Where the studies disagree this is what happens here:
 *   - a zero factor or a zero c does not take part in the largest exponent;
 *   - the largest exponent is at least -126;
 *   - a sum of 0 is +0 whatever the signs of its terms. */
enum { HMMA_BITS = 24, HMMA_FLOOR = -126, HMMA_GROUP_MAX = 8 };

static inline int hmma_group(enum hmma_format f)
{
    return f == HMMA_TF32 ? 4 : 8;
}

/* Formats of operands and sums; tf32 operands come without their low 13 bits. */
struct hmma_layout {
    int exponent, fraction;
};
static inline struct hmma_layout hmma_layout(enum hmma_format f)
{
    return f == HMMA_F16 ? (struct hmma_layout){5, 10}
                         : (struct hmma_layout){8, f == HMMA_BF16 ? 7 : 10};
}

/* Count products of a and b (right-aligned bits of format f) and c. */
uint32_t hmma_f32_step(enum hmma_format f, int count, const uint32_t *a, const uint32_t *b,
                       uint32_t c);
uint16_t hmma_f16_step(int count, const uint32_t *a, const uint32_t *b, uint16_t c);

/* sum * 2^(largest - 24) as f16, to nearest even. */
uint16_t hmma_f16_make(int64_t sum, int largest);

#endif
