/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_TALLY_H
#define GPUPARITY_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "case.h"
#include "distribution.h"
#include "tensor.h"

/* One side against the reference; what is right says reference.h. Without a reference only
 * `count` and `unwritten` mean anything and the indices are -1, except that an unwritten
 * element is a wrong one.
 *
 * An element is wrong by one of nan_wrong, inf_wrong, over_bound, unwritten: it is counted
 * once. Unwritten is an element that holds the poison pattern, and in one-byte formats (where
 * any pattern may be a result) is wrong otherwise.
 *
 * `ulp` takes in all elements that are finite against a reference that rounds to a finite
 * number, judged or not; `bound` those of them that are judged, an error against a bound of 0
 * counting as
 * +-ULP_ERROR_MAX. Neither takes in unwritten ones. */
struct side_stats {
    int64_t count;
    int64_t nan_wrong; /* NaN where a number is right, or a number where NaN is right */
    int64_t
        inf_wrong; /* Inf where finite is right, the other Inf, or finite where Inf is right */
    int64_t over_bound;        /* finite, judged, and outside the element's bound */
    int64_t unwritten;         /* still the poison pattern */
    int64_t correctly_rounded; /* equal to the reference rounded once to the format; zeros of
                                  either sign and all NaNs are equal */
    int64_t unjudged;          /* bound is INFINITY */
    double worst_bound;  /* largest |error| / bound over judged elements; INFINITY for an error
                            against a bound of 0 */
    int64_t worst_index; /* where; -1 if no element has an error. Elements that are NaN, Inf or
                            unwritten and wrong come first; then the lowest index */
    int64_t first_wrong; /* first element that is wrong by any of the above; -1 */
    struct distribution ulp;   /* fractional ULP error */
    struct distribution bound; /* error in units of the element's bound */
};

/* The sides against each other. */
struct pair_stats {
    int64_t count;
    int64_t bits_equal;  /* NaN equals NaN whatever the payload; +0 and -0 are not bit-equal */
    int64_t nan_differs; /* exactly one is NaN */
    int64_t inf_differs; /* one Inf, the other finite or the other Inf */
    int64_t worst_index, first_index; /* of the unequal elements: one that differs in class,
                                         else the largest distance, lowest index; the first; -1
                                         if all are equal */
    uint64_t worst_ulp;    /* over elements finite on both sides, as are the next two */
    double worst_absolute; /* largest |b - a| */
    struct distribution
        ulp;     /* signed distance, position(b) - position(a), equal ones included */
    double ks;   /* two-sample Kolmogorov-Smirnov statistic of the sides' ULP errors, each
                    side's own finite elements */
    double ks_p; /* its asymptotic p-value, as if the two samples were independent */
    double wasserstein; /* W1 distance of the sides' ULP error distributions, in ULP */
};

/* The quantities of which distributions are made; a side's bound follows its ulp. */
enum {
    TALLY_A_ULP,
    TALLY_A_BOUND,
    TALLY_B_ULP,
    TALLY_B_BOUND,
    TALLY_PAIR_ULP,
    TALLY_QUANTITIES
};

/* What is compared; see stats_compute. */
struct tally_subject {
    const struct tensor *a, *b;
    const struct oracle *o;
    uint64_t poison;
    double first; /* value of the reference's first element */
};

/* The values of some elements, for a distribution each: x has room for one per element. */
struct tally_values {
    double *x[TALLY_QUANTITIES];
    int64_t n[TALLY_QUANTITIES];
};

/* What a run of elements gives: everything but the distributions. */
struct tally {
    struct side_stats a, b;
    struct pair_stats pair;
    int64_t a_class, b_class, pair_class; /* first element wrong (different) in class; -1 */
    int64_t judged, powerful;             /* see output_stats.power */
    int64_t broken;                       /* first element whose reference makes no sense; -1 */
    bool constant;
};
void tally_init(struct tally *k);

/* Adds elements from <= i < to. */
void tally_elements(struct tally *k, const struct tally_subject *s, int64_t from, int64_t to,
                    struct tally_values *values);

/* Adds the tally of the elements that follow. */
void tally_merge(struct tally *k, const struct tally *next);

#endif
