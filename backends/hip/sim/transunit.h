/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_TRANSUNIT_H
#define GPUPARITY_HIP_SIM_TRANSUNIT_H

#include <stdint.h>

/* Inside trans*.c only: what the five functions have in common. Each takes a piece of its
 * domain as a row of a table and evaluates c0 + c1 t + (c2 + c3 t) t^2 in fixed point. */

enum { TRANS_HIDDEN = 1 << 23 };
static const uint32_t TRANS_INFINITE = 0x7f800000, TRANS_INVALID = 0xffc00000,
                      TRANS_SMALLEST = 0x00800000, TRANS_SIGN = 0x80000000;

struct trans_row {
    int64_t c0, c1, c2, c3;
};

/* v / 2^s rounded to nearest, ties to even; s > 0. */
static inline int64_t trans_round(int64_t v, int s)
{
    int64_t whole = v >> s, rest = v & ((INT64_C(1) << s) - 1), half = INT64_C(1) << (s - 1);
    return whole + (rest > half || (rest == half && (whole & 1)));
}

/* The product of the second-order coefficient and the square, p / 2^23, kept to 24 bits. */
static inline int64_t trans_quadratic(int64_t p)
{
    return p >= INT64_C(1) << 47 ? trans_round(p, 24) * 2 : trans_round(p, 23);
}

#endif
