/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_DOT2STEP_H
#define GPUPARITY_HIP_SIM_DOT2STEP_H

#include <stdbool.h>
#include <stdint.h>

/* Inside dot2.c and wmma.c: one step of the two-product unit, d = a0 b0 + a1 b1 + c.
 *
 * All three terms are cut to multiples of one power of two, the grid: 24 bits below the larger
 * nominal exponent of the products or 26 below the largest leading bit, whichever is coarser.
 * In the sign frame of c a term of c's sign adds its units, one of the other sign the ones'
 * complement of them: it takes away one unit more, even if it is zero. */
enum dot2_format { DOT2_F16, DOT2_BF16 };

enum {
    DOT2_PRODUCT_BITS = 24, /* grid below the nominal exponent */
    DOT2_TERM_BITS = 26,    /* grid below the leading bit */
    DOT2_NOTHING = -4096    /* exponent of a zero */
};

static inline int dot2_fraction(enum dot2_format f)
{
    return f == DOT2_F16 ? 10 : 7;
}

static inline int dot2_field(enum dot2_format f, uint16_t x)
{
    return (x & 0x7fff) >> dot2_fraction(f);
}

/* Inf or NaN. */
static inline bool dot2_is_special(enum dot2_format f, uint16_t x)
{
    return dot2_field(f, x) == (f == DOT2_F16 ? 31 : 255);
}

/* Of a finite number; a subnormal bf16 counts as 0. */
static inline int dot2_significand(enum dot2_format f, uint16_t x)
{
    const int hidden = 1 << dot2_fraction(f), fraction = x & (hidden - 1);
    return dot2_field(f, x) ? hidden | fraction : f == DOT2_F16 ? fraction : 0;
}

static inline int dot2_exponent(enum dot2_format f, uint16_t x)
{
    const int field = dot2_field(f, x);
    return (field ? field : 1) - (f == DOT2_F16 ? 15 : 127);
}

uint32_t dot2_f32_step(enum dot2_format f, const uint16_t a[2], const uint16_t b[2],
                       uint32_t c);
uint16_t dot2_half_step(enum dot2_format f, const uint16_t a[2], const uint16_t b[2],
                        uint16_t c);

#endif
