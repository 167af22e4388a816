/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CELLS_H
#define GPUPARITY_CELLS_H

#include <stdint.h>

#include "sample.h"

/* A log histogram: 64 cells of equal width a binade, for each sign, and one for zero. A value is
 * kept as the middle of its cell, within 2^-7 of itself; one below 2^-128 as zero, one above
 * 2^481 as in the last cell. Counts of several parts of the data are merged by adding. */
enum {
    CELLS_A_BINADE = 64,
    CELLS_ZERO = (128 + 481) * CELLS_A_BINADE,
    CELLS = 2 * CELLS_ZERO + 1,
    CELLS_QUANTILES = 16
};

/* The cell of x, 0 <= cell < CELLS, ascending with x. */
int cells_find(double x);

/* A sample whose entries are the cells that hold something. ERR_NOMEM. */
enum err cells_sample(const uint64_t *count, struct sample *ret_sample, struct errinfo *e);

/* A sample of n values of which only some quantiles are wanted, several times faster than
 * sorting: values are kept one by one where the quantiles at q[0] < q[1] < ..., at most
 * CELLS_QUANTILES, of x or of |x| lie and where |x| < 2^-128; elsewhere the cells are. So these
 * quantiles are exact, and so are counts below powers of two and zero. Takes `x` over in any
 * case. ERR_NOMEM. */
enum err cells_sample_values(double *x, int64_t n, const double *q, int n_q,
                             struct sample *ret_sample, struct errinfo *e);

#endif
