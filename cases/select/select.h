/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_SELECT_H
#define GPUPARITY_CASES_SELECT_H

#include "../../harness/case.h"
#include "../roundoff.h"

/* Private to the family: select.c has parameters, plan and oracle, model.c the ways in which a
 * device may really compute. */

/* A case, decoded. */
struct select {
    bool one; /* argmax: no values */
    enum dtype dtype;
    int64_t rows, d, k;
};

void select_decode(const struct case_id *id, struct select *ret_select);

enum { SELECT_X = 0 };
bool select_is_index(const struct select *s, int which);

struct picked {
    double value;
    int64_t at;
};

/* How elements may be ordered; all false is the family's rule. */
struct order {
    bool last, numbers, least; /* of equals the last; NaN smallest; smallest first */
};

/* The first k in that order of the n values, which it sorts. */
void select_sort(struct picked *x, int64_t n, const struct order *o);

extern const struct case_model select_models[]; /* ends with a NULL name */

bool select_model(const struct case_id *id, const struct case_plan *plan,
                  const struct tensor *const *input, int which, int model, int64_t n,
                  const int64_t *index, uint64_t *ret_bits);

#endif
