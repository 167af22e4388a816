/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_REDUCE_H
#define GPUPARITY_CASES_REDUCE_H

#include "../../harness/case.h"
#include "../roundoff.h"
#include "../wide.h"

/* Private to the family.
 *
 *   reduce.c  parameters, plan
 *   bound.c   sums, means and norms: reference and how far a device may be off
 *   spread.c  the same for mean and variance of a row
 *   oracle.c  reads terms, joins
 *   model.c   ways in which a device may really compute */

enum reduce_order {
    REDUCE_SERIAL,
    REDUCE_TREE,
    REDUCE_WARP,
    REDUCE_ATOMIC,
    REDUCE_RING,
    REDUCE_PAIRS,
    REDUCE_FLAT,
    REDUCE_WELFORD,
    REDUCE_TWOPASS
};

enum reduce_op { REDUCE_SUM, REDUCE_MEAN, REDUCE_NORM };

/* A case, decoded. x is [rows][n]; in an all-reduce it is [n][rows]: n ranks have a buffer of
 * `rows` elements each. y is [rows]: the sum of n terms, that over n, or the root of the sum of
 * their squares; welford and twopass give `mean` and `var` [rows] in f32 instead. */
struct reduce {
    enum reduce_order order;
    enum reduce_op op;
    enum dtype dtype;
    int64_t rows, n;
    bool hop; /* all-reduce: each partial sum is rounded to the format before it travels */
    struct case_mode mode;
};

void reduce_decode(const struct case_id *id, struct reduce *ret_reduce);

static inline bool reduce_is_all(const struct reduce *r)
{
    return r->order >= REDUCE_RING && r->order <= REDUCE_FLAT;
}

static inline bool reduce_is_spread(const struct reduce *r)
{
    return r->order >= REDUCE_WELFORD;
}

/* Place in x of a row's term. */
static inline int64_t reduce_at(const struct reduce *r, int64_t row, int64_t term)
{
    return reduce_is_all(r) ? term * r->rows + row : row * r->n + term;
}

/* Places of the tensors. SUM: atomic only, in f32. */
enum { REDUCE_X, REDUCE_Y, REDUCE_VAR, REDUCE_SUMS = REDUCE_VAR };
enum {
    REDUCE_CHUNK = 1024, /* terms a block of atomic sums */
    REDUCE_RANKS = 64    /* at most in an all-reduce */
};

/* The most any f32 operation may lose to underflow, operands included; atomic: in any mode. */
double reduce_least(const struct reduce *r);

/* In a ring, ranks are summed from `first` on, cyclically: chunk c of the n chunks ends at its
 * owner c. 0 in other orders. */
int64_t reduce_ring_first(const struct reduce *r, int64_t row);

/* y of one row; x has its n terms, a ring adds them from `first` on. `raw`: the f32 sum of
 * atomic before it is finished. */
struct element reduce_sum(const struct reduce *r, const double *x, int64_t first, bool raw);

/* Mean and variance of one row. */
void reduce_spread(const struct reduce *r, const double *x, struct element *ret_mean,
                   struct element *ret_var);

enum err reduce_oracle(const struct case_id *id, const struct case_plan *plan,
                       const struct tensor *const *input, int which, struct case_span span,
                       int threads, struct oracle *o, struct errinfo *e);

extern const struct case_model reduce_models[]; /* ends with a NULL name */

bool reduce_model(const struct case_id *id, const struct case_plan *plan,
                  const struct tensor *const *input, int which, int model, int64_t n,
                  const int64_t *index, uint64_t *ret_bits);

#endif
