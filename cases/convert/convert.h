/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_CONVERT_CONVERT_H
#define GPUPARITY_CASES_CONVERT_CONVERT_H

#include "../../harness/case.h"

/* Private to the family:
 *
 *   convert.c   parameters, variants, suites, plan, reference
 *   table.c     inputs: tie tables and sweeps over all bit patterns
 *   model.c     other ways of rounding, for diagnose */

enum { P_FROM, P_TO, P_TABLE, P_N };
enum table { TABLE_DIST, TABLE_TIES, TABLE_SWEEP };

enum dtype convert_from(const struct case_id *id);
enum dtype convert_to(const struct case_id *id);

/* The bits that a conversion of the number x gives:
 *
 *   to a float   the nearest, ties to even, subnormals kept, Inf beyond the largest
 *   to i32, u32  toward zero, saturating, NaN gives 0: what both vendors' instructions do
 *   to i64       toward zero; beyond the range and of NaN the vendors differ
 *   to i8, u8    the nearest, ties to even, saturating, NaN gives 0: written in the kernel */
bool convert_truncates(enum dtype to);

/* f64 goes to 16 bits through f32, as PyTorch and both vendors' headers do: rounded twice. */
double convert_step(enum dtype from, enum dtype to, double x);

uint64_t convert_bits(enum dtype to, double x);

/* family.fill: element i of a table.
 *
 *   ties    in sixes, the two signs of: the number before a point where the result changes,
 *           that point, the number after it. The points (midpoints of the result's format, the
 *           one before Inf among them; integers for i32) are spread evenly over their list,
 * both ends included; n = 6 times their count takes each once. sweep   the i-th of n equal
 * ranges of bit patterns, a random one in it; n = 65536 takes each 16-bit input once */
bool convert_fill(const struct case_id *id, const struct case_plan *plan, int i,
                  struct case_span span, struct tensor *t);

/* How many points the tie table has. */
uint64_t convert_points(enum dtype to);

/* family.models, family.model */
extern const struct case_model convert_models[];
bool convert_model(const struct case_id *id, const struct case_plan *plan,
                   const struct tensor *const *input, int which, int model, int64_t n,
                   const int64_t *index, uint64_t *ret_bits);

#endif
