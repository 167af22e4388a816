/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_SOFTMAX_H
#define GPUPARITY_CASES_SOFTMAX_H

#include "../../harness/case.h"
#include "../roundoff.h"
#include "../wide.h"

/* Private to the family.
 *
 *   softmax.c  parameters, plan, labels
 *   bound.c    from a row to the reference of its elements and how far a device may be off
 *   oracle.c   reads rows, joins
 *   model.c    ways in which a device may really compute */

enum softmax_kind { SOFTMAX_ROWS, SOFTMAX_LOG, SOFTMAX_CROSS };

/* A case, decoded. For cross the loss of a row is keep nll + share mean, see softmax.cu. */
struct softmax {
    enum softmax_kind kind;
    enum dtype dtype;
    int64_t rows, d;
    float keep, share; /* 1 - smooth and smooth, both rounded */
    struct case_mode mode;
};

void softmax_decode(const struct case_id *id, struct softmax *ret_softmax);

/* Places of the tensors in the plan. */
enum { SOFTMAX_X, SOFTMAX_TARGET, SOFTMAX_LOSS };

/* --- bound.c ---------------------------------------------------------------------------------
 */

enum softmax_row_kind { SOFTMAX_NUMBERS, SOFTMAX_NANS, SOFTMAX_UNSURE };

/* One row: x is borrowed, `d` values of the format. */
struct softmax_row {
    enum softmax_row_kind kind;
    const double *x;
    double most;
    struct wide sum, log; /* of exp(x - most), and its logarithm */
    double sum_error;     /* relative, of sum; absolute, of log */
    double theta;         /* a device's sum, relative */
    double log_off;       /* a device's logarithm, absolute */
    double lost;          /* sum without the row's last element, relative change */
};

void softmax_row_make(const struct softmax *s, const double *x, struct softmax_row *ret_row);

/* Element i of y (softmax, log_softmax). */
struct element softmax_output(const struct softmax *s, const struct softmax_row *r, int64_t i);

/* The loss of a row (cross). */
struct element softmax_loss(const struct softmax *s, const struct softmax_row *r, int64_t label);

/* --- oracle.c --------------------------------------------------------------------------------
 */

enum err softmax_oracle(const struct case_id *id, const struct case_plan *plan,
                        const struct tensor *const *input, int which, struct case_span span,
                        int threads, struct oracle *o, struct errinfo *e);

/* --- model.c ---------------------------------------------------------------------------------
 */

extern const struct case_model softmax_models[]; /* ends with a NULL name */

bool softmax_model(const struct case_id *id, const struct case_plan *plan,
                   const struct tensor *const *input, int which, int model, int64_t n,
                   const int64_t *index, uint64_t *ret_bits);

#endif
