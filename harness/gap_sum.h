/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_GAP_SUM_H
#define GPUPARITY_GAP_SUM_H

#include "gap.h"

/* How single findings go into a gap, whatever their order. */

void gap_square_add(struct gap_square *s, unsigned __int128 x);

/* Keeps the lowest index. */
void gap_note_first(struct gap_element *first, int64_t index, uint64_t a, uint64_t b);

/* Keeps the largest distance, and of these the lowest index. */
void gap_note_worst(struct gap *g, uint64_t far, const struct gap_element *x);

#endif
