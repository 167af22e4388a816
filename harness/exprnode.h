/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_EXPRNODE_H
#define GPUPARITY_EXPRNODE_H

#include <stdbool.h>
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

/* What a copy does otherwise (exprmutant.c). */
enum expr_change {
    EXPR_AS_WRITTEN,
    EXPR_TRANSPOSED, /* operand: axes `axis` and the next in the other order in memory */
    EXPR_MOVED,      /* operand: index of `axis` plus `by`, round the end */
    EXPR_WRAPPED,    /* operand: index of `axis` modulo `by`; axis < 0: of the element */
    EXPR_CONSTANT,   /* operand: `by` itself */
    EXPR_ENDS,       /* sum: runs to `by`, which may lie beyond */
    EXPR_BEGINS,     /* sum: begins at `by` */
    EXPR_HALVED      /* sum: only terms whose index modulo 2 `by` is below `by` */
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
    enum expr_change change;
    int axis;
    int64_t by;
};

struct expr_env;

/* The element that a TENSOR or an ELEMENT stands for. */
int64_t expr_place(const struct expr_env *v, const struct expr_node *n);

/* Where the operand of a changed node is read: -1 outside the tensor. */
int64_t expr_changed_place(const struct expr_node *n, const struct tensor *t, int64_t element,
                           const int64_t *index);

/* Does a changed sum have the term of index k? */
bool expr_changed_term(const struct expr_node *n, int64_t k);

#endif
