/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_TREETEXT_H
#define GPUPARITY_TREETEXT_H

#include "tree.h"

/* A tree in words, repetitions taken together. A[+d] is A with every term's number larger by d.
 *
 *   7                     term 7
 *   (A + B)               one addition
 *   {A + B + C}           one addition of more than two: fused, rounded once
 *   pair +d of A          (A + A[+d]); `pair +1,+2 of A` is pair +1 of pair +2 of A
 *   {k x +d of A}         {A + A[+d] + ... + A[+(k-1)d]}
 *   chain n x +d of A     A + A[+d] + A[+2d] ... n of them, one after the other
 *   chain n x +d of {k x +e of A}   each time k terms enter together with the sum so far
 *   chain B then ...      the same, begun with B
 *
 * Owned by the caller (free); NULL if there is no memory. */
char *treetext(const struct tree *t);

#endif
