/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_DRAWS_H
#define GPUPARITY_DRAWS_H

#include <stdbool.h>
#include <stdint.h>

/* Are two sequences of n numbers drawn at random, each on its own, or are they one sequence?
 * Nothing here knows where the numbers come from. A test that chance fails once in a thousand
 * is taken as passed or failed there; the numbers are choices. */

/* Pearson's correlation; 1 where one side is constant. */
double draws_correlation(const double *x, const double *y, int64_t n);

/* Kolmogorov-Smirnov distance of their distributions; 1 when out of memory. */
double draws_distance(const double *x, const double *y, int64_t n);

/* Two independent draws of one distribution: the same distribution (Kolmogorov-Smirnov), no
 * correlation with each other nor of either with itself one element on. Needs 64 numbers;
 * false when out of memory. */
struct draws_test {
    double p;    /* of the distance of the distributions */
    double pair; /* correlation with each other */
    double next; /* the larger of those with the next element */
};
bool draws_alike(const double *x, const double *y, int64_t n, struct draws_test *ret_test);

/* Are the numbers spread evenly from the least to the greatest (or are there but two)? */
bool draws_even(const double *x, int64_t n);

/* Do both hold the same numbers, in any order? Not when nearly all numbers are one. */
bool draws_permuted(const double *x, const double *y, int64_t n);

/* Is y, from element `from` on, x some elements on or back: y[i] = x[i + shift]? Needs an
 * overlap of 64 elements and a quarter of the rest that agree. 0: no. */
int64_t draws_shift(const double *x, const double *y, int64_t n, int64_t from);

/* Zeros of one where the other is not zero, and the reverse: as many of these as of those, and
 * in no order? (Wald and Wolfowitz' test of runs.) `only_x[i]`, of m elements that differ.
 * Needs 8 of each. */
bool draws_mixed(const bool *only_x, int64_t m);

#endif
