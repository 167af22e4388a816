/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_EMBEDDING_H
#define GPUPARITY_CASES_EMBEDDING_H

#include "../../harness/case.h"
#include "../roundoff.h"
#include "../wide.h"

/* Private to the family: embedding.c has parameters, plan, indices and oracle, model.c the ways in
 * which a device may really compute. */

/* A case, decoded. */
struct embedding {
    bool atomic;
    enum dtype dtype;
    int64_t tokens, vocab, d, padding;
    struct case_mode mode;
};

void embedding_decode(const struct case_id *id, struct embedding *ret_embedding);

enum { EMBEDDING_DY, EMBEDDING_INDEX, EMBEDDING_GRAD };

extern const struct case_model embedding_models[]; /* ends with a NULL name */

bool embedding_model(const struct case_id *id, const struct case_plan *plan,
                     const struct tensor *const *input, int which, int model, int64_t n,
                     const int64_t *index, uint64_t *ret_bits);

#endif
