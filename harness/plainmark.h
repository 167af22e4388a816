/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_PLAINMARK_H
#define GPUPARITY_PLAINMARK_H

#include "plainseen.h"
#include "tensor.h"

/* What can be told of a difference between two tensors without a reference: where it is, and
 * the causes whose marks the rules of plainrule.h find. */

/* Both, and with `charts` the pictures, for two tensors in memory that have no reference.
 * ERR_NOMEM.
 */
enum err plainmark_tensors(const struct tensor *a, const struct tensor *b, bool charts,
                           struct finding_out *o, struct errinfo *e);

/* Adds the claims to s->o, the primary one first: at least one, CAUSE_UNEXPLAINED when nothing
 * fits. May take differences of rounding size out of `s`. */
void plainmark_claims(struct plainseen *s);

/* ", all in [3..5,0..127]", or between which indices; "" when all over the tensor. */
void plainmark_where(const struct plainseen *s, char *ret_text, size_t size);

#endif
