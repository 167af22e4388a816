/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_DISTRIBUTION_H
#define GPUPARITY_DISTRIBUTION_H

#include <stdint.h>

#include "sample.h"

enum { DISTRIBUTION_QUANTILES = 5, DISTRIBUTION_HIST = 64 };

/* 50 %, 90 %, 99 %, 99.9 %, 100 % */
extern const double distribution_quantile_at[DISTRIBUTION_QUANTILES];

/* A distribution of a signed quantity, all zero when count is but for sign_p. `hist` counts by magnitude: bin
 * 0 is exact zero, bin b >= 1 holds 2^(b-34) <= |x| < 2^(b-33), the ends take the rest;
 * `hist_negative` those of them that are negative. Quantiles are nearest-rank (sample.h):
 * values that occur, exact or, from a log histogram, within 2^-7 of themselves. */
struct distribution {
    int64_t count;
    double mean, rms, minimum, maximum;      /* signed extremes, exact always */
    double quantile[DISTRIBUTION_QUANTILES]; /* of |x| */
    double median;                           /* of signed x */
    int64_t positive, negative, zero;
    double lean;   /* (positive - negative) / (positive + negative): the sign test's effect size */
    double sign_p; /* its p-value, see distribution_sign_p; 1 when count is 0 */
    uint64_t hist[DISTRIBUTION_HIST], hist_negative[DISTRIBUTION_HIST];
};

/* Sums of values and squares with the rounding errors of the large additions kept. A zeroed
 * struct is empty. The result depends on how values are split into moments_add calls and on the
 * order of merges, by about 2^-48 of the sum of magnitudes: keep both fixed. */
struct moments {
    int64_t count;
    double sum, sum_low, square, square_low, minimum, maximum;
};
void moments_add(struct moments *m, const double *x, int64_t n);
void moments_merge(struct moments *m, const struct moments *other);

/* Two-sided p-value of the sign test: the chance that of positive + negative fair coins so few or
 * fewer fall on the rarer side, or as few on the other; at most 1. Exact but for rounding. */
double distribution_sign_p(int64_t positive, int64_t negative);

/* Of the same values. */
void distribution_make(const struct moments *m, const struct sample *s,
                       struct distribution *ret_distribution);

#endif
