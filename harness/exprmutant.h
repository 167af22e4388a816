/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_EXPRMUTANT_H
#define GPUPARITY_EXPRMUTANT_H

#include "cause.h"
#include "expr.h"

/* A formula as a faulty kernel would compute it: an operand read elsewhere, left out, or a sum
 * that does not have the terms it should. Which of them gives what a device gave names the
 * fault. */

enum { EXPR_MUTANTS_MAX = 512 };

struct expr_mutant {
    enum cause cause;
    int node, change, axis; /* private */
    int64_t by;
    int8_t slots[TENSOR_RANK_MAX];
    char words[112]; /* what is done otherwise: "the sum over k ends at 200 of 203" */
};

/* All mutants of a formula over tensors of such names, whose indices run so far; `n_result` of
 * them are the result's. Lost terms come first. Returns how many, at most EXPR_MUTANTS_MAX. */
int expr_mutants(const struct expr *x, const char *const *name,
                 const struct tensor *const *tensor, const int64_t *range, int n_result,
                 struct expr_mutant *ret_mutant);

/* A copy of x that computes so; expr_release. ERR_NOMEM. */
enum err expr_mutate(const struct expr *x, const struct expr_mutant *m, struct expr *ret_copy,
                     struct errinfo *e);

#endif
