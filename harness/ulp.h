/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_ULP_H
#define GPUPARITY_ULP_H

#include <stdint.h>

#include "dtype.h"

/* Position of a finite value in the ordered list of its format's finite values: 0 for both
 * zeros, +n / -n for the n-th value above / below zero. Subnormals count. INT and UINT: the
 * value; u64: the value - 2^63. The bits must be finite (dtype_is_finite). */
int64_t ulp_position(enum dtype d, uint64_t bits);

/* |position(a) - position(b)|: how many values lie between, crossing zero counts every one.
 * Both finite. Up to 2^64 - 2 for f64, hence unsigned. */
uint64_t ulp_distance(enum dtype d, uint64_t a, uint64_t b);

/* The spacing of the format at x: 2^(e - fraction) for 2^e <= |x| < 2^(e+1), at least the
 * smallest subnormal; x beyond the largest finite value counts as in its binade. INT: 1. */
double ulp_size(enum dtype d, double x);

/* Fractional error of `bits` against the unrounded reference value + tail:
 * (bits - value - tail) / ulp_size(value + tail), signed. The difference is taken without loss.
 * At a power of two the ulp is the one of the binade the reference lies in (the sign of the
 * tail decides when value is a power of two; |tail| <= ulp(value)/2). `bits` and value must be
 * finite. Within 2^-51 relative; saturates at +-ULP_ERROR_MAX, which only f64 can reach, so
 * that squares can be summed. INT and UINT: the difference. */
#define ULP_ERROR_MAX 0x1p480
double ulp_error(enum dtype d, uint64_t bits, double value, double tail);

#endif
