/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_COMPAREOUT_H
#define GPUPARITY_COMPAREOUT_H

#include "finding.h"
#include "limit.h"

/* What is said of one output beside verdict and cause. */

/* Fills o->worst and o->first from o->stats: the elements of the side that is worse, or of the pair
 * when both are right. `b` may be NULL; of `oracle` its values may be. */
void compareout_elements(struct finding_out *o, const struct tensor *a, const struct tensor *b,
                         const struct oracle *oracle);

/* Counts for the plots into o->charts. ERR_NOMEM. */
enum err compareout_draw(const struct tensor *a, const struct tensor *b, const struct oracle *oracle,
                         bool sequence, struct finding_out *o, struct errinfo *e);

/* An output that is right by its bounds, but whose sides are farther apart than the user allows, is
 * DIFFERENT. `l` and `b` may be NULL. ERR_NOMEM. */
enum err compareout_limits(const struct limits *l, const struct tensor *a, const struct tensor *b,
                           struct finding_out *o, struct errinfo *e);

#endif
