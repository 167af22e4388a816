/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_FILL_H
#define GPUPARITY_FILL_H

#include "rng.h"
#include "tensor.h"

/* How an input tensor is made. One row a distribution: fill.c's table is what parsing, --help and
 * the error text read. */
enum dist {
    DIST_NORMAL,    /* N(0,1) */
    DIST_UNIFORM,   /* [-1,1) */
    DIST_POSITIVE,  /* [0,1): same signs, exposes truncating accumulators */
    DIST_LOGNORMAL, /* sign * exp2(3 N): heavy tail */
    DIST_WIDE,      /* random sign, exponent uniform over half the format's range */
    DIST_CANCEL,    /* neighbours along the contracted axis nearly cancel */
    DIST_INTEGER,   /* small integers: every summation order is exact */
    DIST_TIES,      /* values whose products and sums fall on midpoints of narrower formats */
    DIST_SUBNORMAL, /* magnitudes whose products or selves are subnormal */
    DIST_SPECIAL,   /* normal with NaN, +-Inf, +-0, largest, smallest sprinkled in */
    DIST_ONEHOT,    /* a single 1 in each row, 0 elsewhere: shows where data goes */
    DIST_ZERO,      /* all +0: a case that can catch nothing, for testing MISTRUSTED */
    DIST_COUNT_
};

const char *dist_name(enum dist d);
const char *dist_summary(enum dist d);
enum dist dist_find(const char *name); /* DIST_COUNT_ if there is none */

/* Element `index` of the tensor, as bits of format `d`. `row` is the length of the contracted
 * axis (CANCEL pairs and ONEHOT rows follow it); `index` counts so that the contracted axis is the
 * fastest. Pure: (key, distribution, format, row, index) decide the bits, forever. */
uint64_t fill_bits(struct rng_key key, enum dist dist, enum dtype d, int64_t row, int64_t index);

/* Fills all of `t`, on the calling thread. `axis` is the contracted dimension: element
 * (..., i_axis, ...) gets index outer * dim[axis] + i_axis, `outer` counting the other dimensions
 * row-major. So a matrix and its transposed storage hold the same numbers. */
void fill_tensor(struct tensor *t, struct rng_key key, enum dist dist, int axis);

#endif
