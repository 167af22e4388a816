/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_EXPR_H
#define GPUPARITY_EXPR_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

/* Expressions of case files: sizes in whole numbers, formulas in real ones.
 *
 *   sum     = product { (+|-) product }
 *   product = factor { (*|/|%) factor }
 *   factor  = number | name | function ( sum {, sum} ) | ( sum ) | - factor
 *
 * % is for whole numbers only. Functions are the rows of expr.def. */

enum { EXPR_NODES_MAX = 256, EXPR_NAME_MAX = 32 };

/* A zeroed struct is none. The text is not kept. */
struct expr {
    int count;
    struct expr_node *node; /* owned; the last one is the root */
};
void expr_release(struct expr *x); /* accepts a zeroed struct */

/* `name[i]` is what index i of the values below stands for. With `real`, the functions of
 * formulas are known, else those of sizes. ERR_USAGE: column, what is wrong, the nearest name. */
enum err expr_parse(const char *text, bool real, int n_name, const char *const *name,
                    struct expr *ret_expr, struct errinfo *e);

/* Does it use that name? */
bool expr_uses(const struct expr *x, int name);

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
struct expr_real expr_real(const struct expr *x, const struct expr_rules *r,
                           const long double *value);

#endif
