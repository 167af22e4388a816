/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_PLAINMARK_H
#define GPUPARITY_PLAINMARK_H

#include "finding.h"
#include "plainpass.h"

/* What can be told of a difference between two tensors without a reference: where it is, and
 * those causes that leave a mark in the values or places themselves. */

/* Adds the claims to `o`, whose format and shape are set. */
void plainmark_claims(const struct plainpass_side *a, const struct plainpass_side *b,
                      const struct gap *g, struct finding_out *o);

/* ", all in [3..5,0..127]", or between which indices; "" when all over the tensor. */
void plainmark_where(const struct plainpass_side *a, const struct plainpass_side *b,
                     const struct gap *g, char *ret_text, size_t size);

#endif
