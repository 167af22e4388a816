/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_STATS_H
#define GPUPARITY_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "case.h"
#include "tally.h"
#include "tensor.h"

/* What one pass over an output says: each side against the reference, and the sides against
 * each other. Counts of classes come first: NaN against number and Inf against finite are never
 * distances. Elements are taken in fixed blocks whose results are merged in order, so nothing
 * depends on the number of threads, nor on how an output comes in windows. */

enum {
    STATS_QUANTILES = DISTRIBUTION_QUANTILES,
    STATS_HIST = DISTRIBUTION_HIST,
    STATS_EXAMPLES = 8,
    STATS_EXACT = CASE_WINDOW, /* elements up to which quantiles, KS and Wasserstein are exact;
                                  above, from log histograms that keep each value within 2^-7 of
                                  itself */
    STATS_BLOCK = 1 << 14
};

struct output_stats {
    bool has_reference;
    struct side_stats a, b;
    struct pair_stats pair;
    double power; /* share of judged elements whose oracle.drop exceeds 2 * bound; judged means
                     a finite reference and bound */
    bool reference_constant; /* two or more elements, and every reference has the same value */
};

/* What is to be compared, window by window. */
struct stats_subject {
    enum dtype dtype;
    int64_t count;
    bool two_sided, reference;
    uint64_t poison; /* the bit pattern outputs start with; one wider than the format (such as
                        UINT64_MAX) is never met */
    int threads;     /* >= 1 */
};

/* Under way: about 14 MB, or 48 bytes an element where that is less. */
struct stats;
enum err stats_begin(const struct stats_subject *s, struct stats **ret_stats, struct errinfo *e);

/* Adds elements from <= i < to: the windows come in order, without gaps, each but the last a
 * multiple of STATS_BLOCK. `b` NULL when one-sided, `o` without a reference. The tensors are those
 * of all elements, of which only the window is looked at. ERR_USAGE if the reference has a bound
 * that is negative or NaN or a value with an infinite tail; ERR_NOMEM. */
enum err stats_add(struct stats *s, const struct tensor *a, const struct tensor *b,
                   const struct oracle *o, struct case_span window, struct errinfo *e);

/* So far: wrong elements of A (side 0) or B; without a reference, of B those that differ from A. */
int64_t stats_bad(const struct stats *s, int side);

enum err stats_end(struct stats *s, struct output_stats *ret_stats, struct errinfo *e);
void stats_close(struct stats *s); /* NULL: nothing */

/* All at once. Same format and shape of a and b is the caller's promise. ERR_USAGE as well if the
 * reference has another number of elements. */
enum err stats_compute(const struct tensor *a, const struct tensor *b, const struct oracle *o,
                       uint64_t poison, int threads, struct output_stats *ret_stats,
                       struct errinfo *e);

#endif
