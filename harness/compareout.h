/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_COMPAREOUT_H
#define GPUPARITY_COMPAREOUT_H

#include "finding.h"
#include "gap.h"
#include "limit.h"

/* What is said of one output beside verdict and cause. */

/* The elements to show: of the side that is worse, or of the pair when both are right; -1: none. */
void compareout_places(const struct output_stats *s, bool one_sided, int64_t *ret_worst,
                       int64_t *ret_first);

/* Fills `x` for element `index`; not shown for -1. `b` may be NULL; of `oracle` its values may be. */
void compareout_element(struct finding_element *x, const struct tensor *a, const struct tensor *b,
                        const struct oracle *oracle, int64_t index);

/* Both elements into o->worst and o->first. */
void compareout_elements(struct finding_out *o, const struct tensor *a, const struct tensor *b,
                         const struct oracle *oracle);

/* Adds a window to what the limits are held against. */
void compareout_gap(struct gap *g, const struct tensor *a, const struct tensor *b,
                    const struct limits *l, struct case_span window);

/* An output that is right by its bounds, but whose sides are farther apart than the user allows, is
 * DIFFERENT. `g` is of the whole output. */
void compareout_limits(const struct limits *l, const struct gap *g, struct finding_out *o);

#endif
