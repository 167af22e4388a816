/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_DIVERGETEXT_H
#define GPUPARITY_DIVERGETEXT_H

#include "diverge.h"

/* What diverge found, in words. */

/* "fma 0x3f800000 (1) 0x40000000 (2) 0x40400000 (3) = 0x40a00000 (5)" */
void divergetext_print(const struct op_event *x, char *ret_text, size_t size);

/* One sentence: what the two operations mean. */
void divergetext_meaning(const struct optrace *a, const struct optrace *b,
                         const struct diverge *d, char *ret_text, size_t size);

/* The kind alone. */
void divergetext_kind(enum diverge_kind k, char *ret_text, size_t size);

/* The operation that made an operand of this one and says what it is: the reciprocal of a
 * product, the function whose result is scaled by a power of two. NULL: none. */
const struct op_event *divergetext_before(const struct optrace *t, const struct op_event *x);

#endif
