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
 * depends on the number of threads. */

enum {
    STATS_QUANTILES = DISTRIBUTION_QUANTILES,
    STATS_HIST = DISTRIBUTION_HIST,
    STATS_EXAMPLES = 8,
    STATS_EXACT =
        1 << 22, /* elements up to which quantiles, KS and Wasserstein are exact; above,
                    from log histograms that keep each value within 2^-7 of itself */
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

/* `b` may be NULL (verify), `o` may be NULL (no reference). Same format and shape of a and b is
 * the caller's promise. `poison` is the bit pattern outputs start with; one wider than the
 * format (such as UINT64_MAX) is never met. `threads` >= 1. ERR_USAGE if the reference has
 * another number of elements, or one with a bound that is negative or NaN or a value with an
 * infinite tail; ERR_NOMEM. */
enum err stats_compute(const struct tensor *a, const struct tensor *b, const struct oracle *o,
                       uint64_t poison, int threads, struct output_stats *ret_stats,
                       struct errinfo *e);

#endif
