/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_EXPR_H
#define GPUPARITY_EXPR_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "tensor.h"

/* Expressions of case files: sizes in whole numbers, formulas in real ones.
 *
 *   sum     = product { (+|-) product }
 *   product = factor { (*|/|%) factor }
 *   factor  = number | name | function ( sum {, sum} ) | ( sum ) | - factor
 *           | tensor [ index {, index} ] | (sum|mean|min|max) ( index , sum )
 *
 * % is for whole numbers only; tensors, and what runs over an index, for formulas only. Functions
 * are the rows of expr.def. */

enum { EXPR_NODES_MAX = 256, EXPR_NAME_MAX = 32, EXPR_INDEX_MAX = 8 };

/* A zeroed struct is none. The text is not kept. */
struct expr {
    int count;
    struct expr_node *node; /* owned; the last one is the root */
    int n_index;            /* first those of the result, then those that sums run over */
    char index[EXPR_INDEX_MAX][EXPR_NAME_MAX];
};

/* What may stand in an expression besides numbers and functions; borrowed for the call. An empty
 * name is none. */
struct expr_names {
    int n_value, n_tensor, n_index;
    const char *const *value;
    const char *const *tensor; /* formulas only, like the next two */
    const int *rank;
    const char *const *index; /* of the result: y[i,j] = ... */
};

void expr_release(struct expr *x); /* accepts a zeroed struct */

/* With `real`, the functions of formulas are known, else those of sizes. ERR_USAGE: where, what
 * is wrong, the nearest name. */
enum err expr_parse(const char *text, bool real, const struct expr_names *names,
                    struct expr *ret_expr, struct errinfo *e);

/* Does it use functions that each vendor computes in its own way? */
bool expr_uses_functions(const struct expr *x);

/* Does it sum over an index? */
bool expr_has_sum(const struct expr *x);

/* Does it use that tensor without saying which element? */
bool expr_uses_whole(const struct expr *x, int tensor);

/* Does it use elements of that tensor by their indices? */
bool expr_uses_places(const struct expr *x, int tensor);

/* In 64-bit whole numbers; / and % as in C. ERR_USAGE for overflow, a division by zero, a
 * ceildiv of negative numbers. */
enum err expr_whole(const struct expr *x, const int64_t *value, int64_t *ret_value,
                    struct errinfo *e);

/* How a device computes a formula: what the bound is made of. */
struct expr_rules {
    double unit;     /* half the spacing of its numbers at 1; 0: exact (integers) */
    double tiny;     /* largest error of a result that is subnormal: the smallest subnormal, or
                        with `flush` the smallest normal number */
    double largest;  /* what it can hold: beyond, nothing is known */
    double sum_unit; /* as `unit`, of an addition within a sum; 0: `unit` */
    bool hardware;   /* exp and log may be the hardware's exp2 and log2 of a rounded product, as
                        __expf or Triton's exp is, and division and square root approximations */
    bool flush, exact_div, exact_sqrt, approximate; /* as struct case_mode */
};

/* The exact value lies within value +- error. A device that computes every operation in its
 * format, in the order written, with or without fused multiply-adds, comes within value +-
 * (error + slack): each operation adds its rounding, or its function's documented error, to what
 * its arguments bring along. INFINITY when nothing can be said: an intermediate result that
 * overflows, functions in the mode `approximate`. */
struct expr_real {
    long double value, error, slack;
};

/* Where a formula is computed. Sums are taken in any order: of n terms each loses at most n - 1
 * roundings of the sum of all sizes. */
struct expr_env {
    const long double *value;
    const struct tensor *const *tensor;
    int64_t element;               /* of the result, for tensors without indices */
    int64_t index[EXPR_INDEX_MAX]; /* those of the result are set */
    int64_t range[EXPR_INDEX_MAX]; /* expr_ranges */
    struct expr_memo *memo;        /* owned: expr_env_init */
    int64_t looks;                 /* counts nodes computed: what it has cost */
};
enum err expr_env_init(struct expr_env *v, const struct expr *x, struct errinfo *e);
void expr_env_release(struct expr_env *v);

/* How far each index runs, by the tensors it stands in; `range` begins with what is known, -1 for
 * the others. ERR_USAGE when two tensors disagree, or none says. */
enum err expr_ranges(const struct expr *x, const struct tensor *const *tensor,
                     const char *const *name, int64_t range[EXPR_INDEX_MAX],
                     struct errinfo *e);

struct expr_real expr_real(const struct expr *x, const struct expr_rules *r, struct expr_env *v);

#endif
