/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_EXPRNODE_H
#define GPUPARITY_EXPRNODE_H

#include <stdint.h>

#include "tensor.h"

/* Private to expr*.c: an expression is a list of nodes, arguments before their operation. */

enum expr_op {
    EXPR_NUMBER,
    EXPR_VALUE,   /* of a name */
    EXPR_TENSOR,  /* its only element, or the one that stands where the result will */
    EXPR_ELEMENT, /* x[i,j] */
    EXPR_INDEX,   /* i as a number */
    EXPR_NEGATE,
    EXPR_PLUS,
    EXPR_MINUS,
    EXPR_TIMES,
    EXPR_DIVIDE,
    EXPR_MODULO,
    EXPR_SUM, /* over an index, like the next three */
    EXPR_MEAN,
    EXPR_LOWEST,
    EXPR_HIGHEST,
#define FUNCTION(id, name, arity, where, ulp, meaning) EXPR_##id,
#include "expr.def"
#undef FUNCTION
};

struct expr_node {
    enum expr_op op;
    int name;         /* VALUE; TENSOR and ELEMENT: which tensor */
    int arg[3];       /* indices of earlier nodes; those that are not used repeat the first */
    int slot;         /* INDEX; SUM and its like: the index it runs over */
    int n_slot;       /* ELEMENT: */
    int8_t slots[TENSOR_RANK_MAX];
    unsigned depends; /* bit s: the value changes with index s */
    int64_t whole;    /* NUMBER */
    long double real; /* NUMBER */
};

struct expr_env;

/* The element that a TENSOR or an ELEMENT stands for. */
int64_t expr_place(const struct expr_env *v, const struct expr_node *n);

#endif
