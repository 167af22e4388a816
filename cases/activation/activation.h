/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_ACTIVATION_H
#define GPUPARITY_CASES_ACTIVATION_H

#include "../../harness/case.h"
#include "../roundoff.h"
#include "../wide.h"

/* Private to the family.
 *
 *   activation.c  parameters, plan, oracle
 *   bound.c       the reference of an element and how far a device may be off
 *   model.c       ways in which a device may really compute */

enum activation_kind { ACTIVATION_GELU, ACTIVATION_GELU_TANH, ACTIVATION_SILU };

/* A case, decoded. x is [rows][d]; with `mul` [rows][2 d], and y is f(first) second. */
struct activation {
    enum activation_kind kind;
    bool mul;
    enum dtype dtype;
    int64_t rows, d;
    struct case_mode mode;
};

void activation_decode(const struct case_id *id, struct activation *ret_activation);

enum { ACTIVATION_X, ACTIVATION_Y };

/* Where in x the element i of y comes from; its partner is d later. */
int64_t activation_place(const struct activation *a, int64_t i);

/* f(x) factor, factor 1 without mul; `drop` is an approximation of 11 bits, or for the caller
 * to enlarge. */
struct element activation_output(const struct activation *a, double x, double factor);

/* --- model.c ---------------------------------------------------------------------------------
 */

extern const struct case_model activation_models[]; /* ends with a NULL name */

bool activation_model(const struct case_id *id, const struct case_plan *plan,
                      const struct tensor *const *input, int which, int model, int64_t n,
                      const int64_t *index, uint64_t *ret_bits);

#endif
