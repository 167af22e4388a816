/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_PLAN_H
#define GPUPARITY_CASES_PLAN_H

#include "../harness/case.h"

/* Building a case's plan. */

/* Adds a tensor, whose sums run over its last dimension; returns its place. */
int plan_tensor(struct case_plan *p, const char *name, enum tensor_role role, enum dtype d,
                int rank, const int64_t *dim, enum dist dist);

/* Adds a tensor [rows][columns], or [rows] if columns is 0, as the next argument of the first
 * launch. */
void plan_argument(struct case_plan *p, const char *name, enum tensor_role role, enum dtype d,
                   int64_t rows, int64_t columns, enum dist dist);

/* Adds a launch of one-dimensional grid and block. */
struct case_launch *plan_launch(struct case_plan *p, const char *entry, int64_t blocks,
                                int threads);

/* How many blocks of `size` hold n. */
uint32_t plan_blocks(int64_t n, int64_t size);

/* Add an argument. */
void push_tensor(struct case_launch *l, int tensor);
void push_i32(struct case_launch *l, int64_t i);
void push_i64(struct case_launch *l, int64_t i);
void push_f32(struct case_launch *l, float f);

#endif
