/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_SAMPLE_H
#define GPUPARITY_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

/* The values of a distribution in ascending order, for quantiles and for distances between two
 * distributions. An entry is a value, or stands for several (cells.h). */
struct sample {
    int64_t n;     /* entries */
    int64_t total; /* values */
    double *x;     /* owned, ascending; no NaN */
    int64_t *upto; /* owned: how many values are <= x[i]; NULL: i + 1 */
};
void sample_release(struct sample *s); /* accepts a zeroed struct */

/* For qsort: doubles in ascending order. */
int sample_ascending(const void *x, const void *y);

/* Sorts n values (no NaN) that `x` holds; takes `x` over in any case. ERR_NOMEM. */
enum err sample_from_values(double *x, int64_t n, struct sample *ret_sample, struct errinfo *e);

/* The rank of the q-quantile among `total` values: the smallest whole number >= q * total, at
 * least 1. */
int64_t sample_rank(int64_t total, double q);

/* How many values are < x, or <= x. */
int64_t sample_count(const struct sample *s, double x, bool or_equal);

/* Nearest-rank quantiles: the smallest value that at least q * total values do not exceed; of x
 * itself and of |x|. q in (0,1]; 0 for an empty sample. */
double sample_quantile(const struct sample *s, double q);
double sample_quantile_abs(const struct sample *s, double q);

/* Largest distance between the two empirical distribution functions (two-sample Kolmogorov-
 * Smirnov), and the area between them (Wasserstein W1). Both 0 if either sample is empty. */
void sample_distance(const struct sample *a, const struct sample *b, double *ret_ks,
                     double *ret_wasserstein);

/* Asymptotic two-sided p-value of a KS statistic for sample sizes na and nb (Stephens'
 * correction); 1 for empty samples. */
double sample_ks_p(double ks, int64_t na, int64_t nb);

#endif
