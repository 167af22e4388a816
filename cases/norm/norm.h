/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_NORM_H
#define GPUPARITY_CASES_NORM_H

#include "../../harness/case.h"
#include "../roundoff.h"
#include "../wide.h"

/* Private to the family.
 *
 *   norm.c    parameters, plan
 *   bound.c   from a row to the reference of its elements and how far a device may be off
 *   oracle.c  reads rows, joins
 *   model.c   ways in which a device may really compute */

enum norm_kind { NORM_RMS, NORM_LAYER };

/* A case, decoded: with h = x, or x + r rounded to f32 and then to the format,
 *   rms    y = h / sqrt(mean(h^2) + eps) w
 *   layer  y = (h - mean(h)) / sqrt(mean((h - mean(h))^2) + eps) w + b */
struct norm {
    enum norm_kind kind;
    enum dtype dtype;
    int64_t rows, d;
    float eps;
    bool add;
    struct case_mode mode;
};

void norm_decode(const struct case_id *id, struct norm *ret_norm);

/* Places of the tensors in the plan; those that a case lacks take no place. */
enum { NORM_X, NORM_W, NORM_Y };
int norm_b(const struct norm *n); /* layer */
int norm_r(const struct norm *n); /* add: the residual */
int norm_h(const struct norm *n); /* add: the sum */

/* x + r as the family defines it: rounded twice. */
double norm_sum(enum dtype d, double x, double r);

/* --- bound.c ---------------------------------------------------------------------------------
 */

enum norm_row_kind { NORM_NUMBER, NORM_NAN, NORM_INFINITE, NORM_UNSURE };

/* One row: h is borrowed, `d` values of the format. */
struct norm_row {
    enum norm_row_kind kind;
    const double *h;
    struct wide mean, scale; /* 1 / sqrt(... + eps); rms: mean is 0 */
    double wide_error;       /* relative, of scale */
    double sum_error;        /* absolute, of mean */
    double mean_off;         /* a device's mean, absolute */
    double theta;            /* a device's scale, relative */
    double lost;             /* scale without the row's last element, relative change */
    double lost_mean;        /* the same for the mean, absolute */
};

void norm_row_make(const struct norm *n, const double *h, struct norm_row *ret_row);

/* Element i of y; w and b are rows of d values, b NULL for rms. */
struct element norm_output(const struct norm *n, const struct norm_row *r, int64_t i,
                                const double *w, const double *b);

/* An element of h. */
struct element norm_added(const struct norm *n, double x, double r);

/* --- oracle.c --------------------------------------------------------------------------------
 */

enum err norm_oracle(const struct case_id *id, const struct case_plan *plan,
                     const struct tensor *const *input, int which, struct case_span span,
                     int threads, struct oracle *o, struct errinfo *e);

/* --- model.c ---------------------------------------------------------------------------------
 */

extern const struct case_model norm_models[]; /* ends with a NULL name */

bool norm_model(const struct case_id *id, const struct case_plan *plan,
                const struct tensor *const *input, int which, int model, int64_t n,
                const int64_t *index, uint64_t *ret_bits);

#endif
