/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_INPUTS_H
#define GPUPARITY_INPUTS_H

#include "case.h"

/* The inputs of a case, of which only those elements are there that some elements of an output
 * depend on (family.needs); inputs of which the family does not say are made once, whole. */
struct inputs {
    const struct case_id *id;
    const struct case_plan *plan;
    const struct tensor *at[CASE_TENSOR_MAX]; /* by plan tensor; NULL for OUT */
    struct tensor own[CASE_TENSOR_MAX];
    struct case_span loaded[CASE_TENSOR_MAX];
};

/* `given`: by plan tensor, instead of what the id makes; or NULL. ERR_NOMEM. */
enum err inputs_open(struct inputs *x, const struct case_id *id, const struct case_plan *plan,
                     const struct tensor *const *given, struct errinfo *e);
void inputs_release(struct inputs *x); /* accepts a zeroed struct */

/* From now on what the spans of output `which` depend on is there, and nothing else. */
void inputs_load(struct inputs *x, int which, int n, const struct case_span *span);

/* As many elements from span.from on as may be loaded at once: an output of rows may depend on far
 * more input than it has elements. At least one. */
struct case_span inputs_piece(const struct inputs *x, int which, struct case_span span);

#endif
