/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_GEMM_MODEL_H
#define GPUPARITY_CASES_GEMM_MODEL_H

#include "../../harness/case.h"

/* Candidates of how a GEMM may really be computed (model.def); see struct family. */
extern const struct case_model gemm_models[]; /* ends with a NULL name */

bool gemm_model(const struct case_id *id, const struct case_plan *plan,
                const struct tensor *const *input, int which, int model, int64_t n,
                const int64_t *index, uint64_t *ret_bits);

#endif
