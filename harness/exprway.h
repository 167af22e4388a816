/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_EXPRWAY_H
#define GPUPARITY_EXPRWAY_H

#include <stdbool.h>

#include "expr.h"

/* A formula as one particular device might compute it: what diagnose compares results with
 * (exprway.def lists the ways). Operations are rounded to `compute` one by one, as written;
 * functions are correctly rounded. */

enum expr_order {
    EXPR_FORWARD,
    EXPR_BACKWARD,
    EXPR_PAIRS, /* terms meet in pairs, then pairs of pairs */
    EXPR_LANES, /* every `parts`-th term goes to the same partial sum; these meet in pairs */
    EXPR_PARTS  /* `parts` ranges of terms, as long as each other, one after the other */
};

/* DTYPE_COUNT_ in a format: as `compute`. A zeroed struct is no way: use expr_way_plain. */
struct expr_way {
    enum dtype compute;
    enum expr_fuse { EXPR_FUSE_NONE, EXPR_FUSE_FIRST, EXPR_FUSE_SECOND } fuse; /* where both
        sides of an addition are products: which of them is not rounded */
    enum expr_order order;
    int parts;
    int lost;        /* terms at the end that are left out */
    int multiple;    /* the number of terms is cut to one of it; 0: not */
    enum dtype sum;  /* partial sums are kept so */
    enum dtype term; /* and what they are summed from */
    enum dtype step; /* the result of every operation */
    enum dtype last; /* what the last operation takes */
    bool wide;       /* nothing is rounded */
    bool hardware;   /* exp is exp2 of a rounded product, log likewise, sine and cosine are reduced
                        by a rounded 1 / (2 pi), tanh comes from exp, quotients and roots from
                        rounded reciprocals */
    int turns;         /* beyond, sine is 0 and cosine 1 (gfx11's instructions: 256); 0: none */
    int function_bits; /* that results of functions keep; 0: all */
};

/* The element of `v` (expr_env as for expr_real, its memo not needed), before it is stored.
 * ERR_NOMEM. */
enum err expr_way_value(const struct expr *x, const struct expr_way *w, struct expr_env *v,
                        double *ret_value, struct errinfo *e);

#endif
