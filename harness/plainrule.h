/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_PLAINRULE_H
#define GPUPARITY_PLAINRULE_H

#include "plainseen.h"

/* The rules by which a cause is named without a reference. Each looks for one kind of evidence
 * and says true when it has claimed what most of the elements looked at have in common.
 * plainmark.c asks them in turn. Thresholds are choices: a rule wants nearly all elements, and
 * so many that chance is out of the question. Which side is right is never said: a claim's side
 * is the one that has the mark. */

enum { RULE_FEW = 8, RULE_MANY = 16 };
#define RULE_NEARLY 0.97

/* values */
bool plainrule_pattern(struct plainseen *s); /* one side holds one bit pattern */
bool plainrule_garbage(struct plainseen *s); /* bits that are no numbers of this tensor */
bool plainrule_flush(struct plainseen *s);   /* zeros against the smallest numbers */
bool plainrule_classes(struct plainseen *s); /* NaN, Inf, the sign of zeros */
bool plainrule_zeros(struct plainseen *s);   /* one side is zero */
bool plainrule_negated(struct plainseen *s);

/* roundings */
bool plainrule_narrow(struct plainseen *s); /* one side is the other in a narrower format */
bool plainrule_step(struct plainseen *s);   /* one step, always the same way */

/* factors and offsets, of all or by axis or block */
bool plainrule_factor(struct plainseen *s);
bool plainrule_offset(struct plainseen *s);
bool plainrule_ratios(struct plainseen *s); /* few ratios, in no order: other tables */

/* codes and bytes */
bool plainrule_codes(struct plainseen *s);  /* a code always becomes the same other code */
bool plainrule_format(struct plainseen *s); /* one format's bits read as another's */
bool plainrule_values(struct plainseen *s); /* a value always becomes the same other one */

/* places */
bool plainrule_moved(struct plainseen *s);    /* values are found elsewhere on the other side */
bool plainrule_overflow(struct plainseen *s); /* from a power of two on */
bool plainrule_mask(struct plainseen *s);     /* diagonals; other elements are zero or -Inf */
bool plainrule_place(struct plainseen *s);    /* boxes, rows, columns, lanes, tails */

/* statistics */
bool plainrule_dropout(struct plainseen *s); /* zeros of the same rate elsewhere */
bool plainrule_random(struct plainseen *s);  /* the same distribution, unrelated */
bool plainrule_scattered(struct plainseen *s);
bool plainrule_noise(struct plainseen *s); /* differences of rounding size, or of inputs' */

#endif
