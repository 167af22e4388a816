/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_ATTENTION_MODEL_H
#define GPUPARITY_CASES_ATTENTION_MODEL_H

#include "attention.h"

/* Candidates of how attention may really be computed (model.def), for O and the log-sum-exp;
 * see struct family. */
extern const struct case_model attention_models[]; /* ends with a NULL name */

bool attention_model(const struct case_id *id, const struct case_plan *plan,
                     const struct tensor *const *input, int which, int model, int64_t n,
                     const int64_t *index, uint64_t *ret_bits);

#endif
