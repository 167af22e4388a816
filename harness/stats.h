/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_STATS_H
#define GPUPARITY_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "case.h"
#include "tensor.h"

/* What one pass over an output says: each side against the reference, and the sides against each
 * other. Counts of classes come first: NaN against number and Inf against finite are never
 * distances. All results are independent of thread count and block size. */

enum { STATS_QUANTILES = 5, STATS_HIST = 64, STATS_EXAMPLES = 8 };

/* 50 %, 90 %, 99 %, 99.9 %, 100 % */
extern const double stats_quantile_at[STATS_QUANTILES];

/* A distribution of a signed quantity. `hist` counts by magnitude: bin 0 is exact zero, bin b >= 1
 * holds 2^(b-34) <= |x| < 2^(b-33), the ends take the rest; `hist_negative` the negative ones. */
struct distribution {
    int64_t count;
    double mean, rms, minimum, maximum;      /* signed extremes */
    double quantile[STATS_QUANTILES];        /* of |x|; exact up to STATS_EXACT elements */
    double median;                           /* of signed x */
    int64_t positive, negative, zero;        /* for the sign test */
    uint64_t hist[STATS_HIST], hist_negative[STATS_HIST];
};

/* One side against the reference. */
struct side_stats {
    int64_t count;
    int64_t nan_wrong;   /* NaN where a number is right, or a number where NaN is right */
    int64_t inf_wrong;   /* Inf where finite is right, the other Inf, or finite where Inf is right */
    int64_t over_bound;  /* finite, judged, and outside the element's bound */
    int64_t unwritten;   /* still the poison pattern */
    int64_t correctly_rounded; /* equal to the reference rounded once to the format */
    int64_t unjudged;    /* bound is INFINITY */
    double  worst_bound; /* largest |error| / bound over judged elements */
    int64_t worst_index; /* where; -1 if none. NaN/Inf wrong elements come first */
    int64_t first_wrong; /* first element that is wrong by any of the above; -1 */
    struct distribution ulp;   /* fractional ULP error */
    struct distribution bound; /* error in units of the element's bound */
};

/* The sides against each other. */
struct pair_stats {
    int64_t count;
    int64_t bits_equal;   /* NaN equals NaN whatever the payload; +0 and -0 are not bit-equal */
    int64_t nan_differs;  /* exactly one is NaN */
    int64_t inf_differs;  /* one Inf, the other finite or the other Inf */
    int64_t worst_index, first_index; /* largest distance, first unequal; -1 if none */
    uint64_t worst_ulp;
    double  worst_absolute;
    struct distribution ulp; /* signed distance, position(b) - position(a) */
    double ks;            /* two-sample Kolmogorov-Smirnov statistic of the sides' ULP errors */
    double ks_p;          /* its asymptotic p-value */
    double wasserstein;   /* W1 distance of the sides' ULP error distributions, in ULP */
};

struct output_stats {
    bool has_reference;
    struct side_stats a, b;
    struct pair_stats pair;
    double power; /* share of judged elements whose oracle.drop exceeds 2 * bound */
    bool reference_constant; /* every reference element has the same value */
};

/* `b` may be NULL (verify), `o` may be NULL (no reference). Same format and shape is the caller's
 * promise. `poison` is the bit pattern outputs start with. */
enum err stats_compute(const struct tensor *a, const struct tensor *b, const struct oracle *o,
                       uint64_t poison, int threads, struct output_stats *ret_stats,
                       struct errinfo *e);

#endif
