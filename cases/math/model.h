/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_MATH_MODEL_H
#define GPUPARITY_CASES_MATH_MODEL_H

#include "../../harness/case.h"
#include "exact.h"

/* The function that a case computes. */
enum function math_function_of(const struct case_id *id);

/* family.models, family.model: other ways of computing. */
extern const struct case_model math_models[];
bool math_model(const struct case_id *id, const struct case_plan *plan,
                const struct tensor *const *input, int which, int model, int64_t n,
                const int64_t *index, uint64_t *ret_bits);

#endif
