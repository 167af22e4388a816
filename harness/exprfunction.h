/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_EXPRFUNCTION_H
#define GPUPARITY_EXPRFUNCTION_H

#include "exprnode.h"

/* The functions of expressions (expr.def). */

struct expr_function {
    const char *name;
    enum expr_op op;
    int arity;
    int ulp;          /* the larger of the vendors' documented errors */
    bool whole, real; /* where it may be used */
};
enum {
#define FUNCTION(id, name, arity, where, ulp, meaning) EXPR_FUNCTION_##id,
#include "expr.def"
#undef FUNCTION
    EXPR_FUNCTIONS
};
extern const struct expr_function expr_functions[EXPR_FUNCTIONS];

/* NULL: there is none of that name for such expressions. */
const struct expr_function *expr_function_find(const char *name, bool real);

/* 0 for what is no function. */
int expr_function_ulp(enum expr_op op);

#endif
