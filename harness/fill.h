/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_FILL_H
#define GPUPARITY_FILL_H

#include "rng.h"
#include "tensor.h"

/* How an input tensor is made. One row a distribution: fill.c's table is what parsing, --help and
 * the error text read. Only SPECIAL makes NaN or Inf; elsewhere what would not fit becomes the
 * format's largest finite value.
 *
 * Integer formats: NORMAL has a standard deviation of 32 (one byte) or 4096; UNIFORM is the whole
 * range of a byte, or 2^16 values around 0 (unsigned: from 0) of a wider format, POSITIVE its
 * upper half; LOGNORMAL and WIDE spread their bit lengths; SUBNORMAL is -1, 0, 1; SPECIAL brings
 * the ends of the range. Unsigned formats hold magnitudes. CODE formats are uniform codes, except
 * for ONEHOT and ZERO. */
enum dist {
    DIST_NORMAL,    /* N(0,1) */
    DIST_UNIFORM,   /* [-1,1) */
    DIST_POSITIVE,  /* [0,1): same signs, exposes truncating accumulators */
    DIST_LOGNORMAL, /* sign * exp2(3 N): heavy tail */
    DIST_WIDE,      /* random sign and fraction, exponent uniform over half the format's range
                       (f32: -63..53, so that 2^20 products still sum to a finite value) */
    DIST_CANCEL,    /* large terms, tiny sum: 8 segments of the row repeat one normal vector with
                       the signs of a row of the 8x8 Hadamard matrix and a relative perturbation of
                       up to 2^-min(fraction, 12). The matrix row is drawn for each tensor row and
                       is never the constant one, so plain sums cancel always, and sums of products
                       of two such tensors in 6 of 7 cases. Rows of 2 to 7 elements: +x, -x */
    DIST_INTEGER,   /* integers -4..4, fewer where row * m^2 would exceed 2^24: every summation
                       order is exact in f32 */
    DIST_TIES,      /* integers sized so that sums of `row` products of two such tensors spread over
                       2^11: about one in seven is a midpoint of f16, and of bf16 */
    DIST_SUBNORMAL, /* each row is of a kind: subnormal itself (1/4), tiny so that two factors
                       multiply to a subnormal (1/2), near 1 (1/4); row 0 mixes the first two */
    DIST_SPECIAL,   /* normal with specials. Row 0: one in eight, of all kinds. Other rows: 1/16 of
                       +-0, +-smallest, +-smallest normal, and one row in four has a single element
                       that may be +-largest, +-Inf or NaN */
    DIST_ONEHOT,    /* a single 1 in each row, 0 elsewhere: shows where data goes */
    DIST_MASK,      /* each row for another pair of places i < j, in the order of j, then i: +big at
                       i, -big at j, `one` elsewhere; see fill_mask. The sum tells how many terms
                       are added outside the smallest partial sum that has both: probe --tree */
    DIST_ZERO,      /* all +0: a case that can catch nothing, for testing MISTRUSTED */
    DIST_COUNT_
};

const char *dist_name(enum dist d);
const char *dist_summary(enum dist d);
enum dist dist_find(const char *name); /* DIST_COUNT_ if there is none */

/* Element `index` of the tensor, as bits of format `d`. `row` is the length of the contracted
 * axis, at least 1 (CANCEL segments and ONEHOT rows follow it); `index` counts so that the
 * contracted axis is the fastest. Pure: (key, distribution, format, row, index) decide the bits,
 * forever. */
uint64_t fill_bits(struct rng_key key, enum dist dist, enum dtype d, int64_t row, int64_t index);

/* What MASK puts into rows of `row` elements. big is so large that any sum of `one`s vanishes
 * beside it in f32 (and what is shorter), also where a sum is cut or off by one unit of 2^-24 big,
 * which is a multiple of 4 2^ceil(log2 row) ones. Both and the sum of the ones fit into f16. */
struct fill_mask {
    double big, one;
};
struct fill_mask fill_mask(enum dtype d, int64_t row);
/* The pair of row `outer`: 0 <= i < j < row. There are row (row - 1) / 2. row >= 2. */
void fill_mask_pair(int64_t row, int64_t outer, int64_t *ret_i, int64_t *ret_j);

/* Fills all of `t`, on the calling thread. `axis` is the contracted dimension: element
 * (..., i_axis, ...) gets index outer * dim[axis] + i_axis, `outer` counting the other dimensions
 * row-major. So a matrix and its transposed storage hold the same numbers. Rank 0: ignored. */
void fill_tensor(struct tensor *t, struct rng_key key, enum dist dist, int axis);

/* Elements from <= i < to alone. */
void fill_span(struct tensor *t, struct rng_key key, enum dist dist, int axis, int64_t from,
               int64_t to);

#endif
