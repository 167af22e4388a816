/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_SUMMATION_H
#define GPUPARITY_SUMMATION_H

#include "case.h"
#include "record.h"
#include "tree.h"

/* From a case to the tree of its additions: what to run, and what its result means. */

/* The family's `summation`; ERR_USAGE naming families that have one when it has none, or where
 * the output's format cannot count the terms. */
enum err summation_plan(const struct case_id *id, struct case_sum *ret_sum, struct errinfo *e);

/* How many terms met below the node of pair (i, j), from the sum that was computed with big at
 * i and -big at j: n minus the ones that are left. Ones count as `mask->one` over `factor`;
 * what a unit of the accumulator adds or takes is a multiple of 4 2^ceil(log2 n) ones and drops
 * out. -1 if the value is no such sum. */
int32_t summation_met(const struct case_sum *s, double value, double one);

/* Reads the case's output from a run of a record. ERR_FORMAT where it did not run (with the
 * reason), or where sums are no counts of any tree. */
enum err summation_tree(struct record *r, int run, const struct case_sum *s,
                        struct tree *ret_tree, struct errinfo *e);

#endif
