/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_EXPRNODE_H
#define GPUPARITY_EXPRNODE_H

#include <stdint.h>

/* Private to expr*.c: an expression is a list of nodes, arguments before their operation. */

enum expr_op {
    EXPR_NUMBER,
    EXPR_VALUE, /* of a name */
    EXPR_NEGATE,
    EXPR_PLUS,
    EXPR_MINUS,
    EXPR_TIMES,
    EXPR_DIVIDE,
    EXPR_MODULO,
#define FUNCTION(id, name, arity, where, ulp, meaning) EXPR_##id,
#include "expr.def"
#undef FUNCTION
};

struct expr_node {
    enum expr_op op;
    int name;         /* VALUE */
    int arg[3];       /* indices of earlier nodes; those that are not used repeat the first */
    int64_t whole;    /* NUMBER */
    long double real; /* NUMBER */
};

#endif
