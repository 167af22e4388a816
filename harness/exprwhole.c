/* SPDX-License-Identifier: Apache-2.0 */
#include "expr.h"

#include "exprnode.h"

static enum err whole_divide(enum expr_op op, int64_t a, int64_t b, int64_t *ret_value,
                             struct errinfo *e)
{
    if (b == 0)
        return err_set(e, ERR_USAGE, "a division by zero");
    if (op == EXPR_CEILDIV && (a < 0 || b < 0))
        return err_set(e, ERR_USAGE, "ceildiv(%lld, %lld) of a negative number", (long long)a,
                       (long long)b);
    if (a == INT64_MIN && b == -1)
        return err_set(e, ERR_USAGE, "a result that does not fit into 64 bits");
    *ret_value = op == EXPR_MODULO ? a % b : a / b + (op == EXPR_CEILDIV && a % b);
    return ERR_OK;
}

static enum err whole_node(const struct expr_node *n, const int64_t *value, const int64_t *done,
                           int64_t *ret_value, struct errinfo *e)
{
    int64_t a = done[n->arg[0]], b = done[n->arg[1]];
    bool overflow = false;
    switch (n->op) {
    case EXPR_NUMBER:
        *ret_value = n->whole;
        break;
    case EXPR_VALUE:
        *ret_value = value[n->name];
        break;
    case EXPR_PLUS:
        overflow = __builtin_add_overflow(a, b, ret_value);
        break;
    case EXPR_MINUS:
        overflow = __builtin_sub_overflow(a, b, ret_value);
        break;
    case EXPR_NEGATE:
        overflow = __builtin_sub_overflow((int64_t)0, a, ret_value);
        break;
    case EXPR_TIMES:
        overflow = __builtin_mul_overflow(a, b, ret_value);
        break;
    case EXPR_ABS:
        overflow = a < 0 ? __builtin_sub_overflow((int64_t)0, a, ret_value)
                         : (*ret_value = a, false);
        break;
    case EXPR_MIN:
        *ret_value = a < b ? a : b;
        break;
    case EXPR_MAX:
        *ret_value = a > b ? a : b;
        break;
    default:
        return whole_divide(n->op, a, b, ret_value, e);
    }
    return overflow ? err_set(e, ERR_USAGE, "a result that does not fit into 64 bits") : ERR_OK;
}

enum err expr_whole(const struct expr *x, const int64_t *value, int64_t *ret_value,
                    struct errinfo *e)
{
    int64_t done[EXPR_NODES_MAX] = {0};
    for (int i = 0; i < x->count; i++)
        TRY(whole_node(&x->node[i], value, done, &done[i], e));
    *ret_value = done[x->count - 1];
    return ERR_OK;
}
