/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "expr.h"
#include "exprnode.h"

/* Where the operands of formulas lie, and how far indices run. */

int64_t expr_place(const struct expr_env *v, const struct expr_node *n)
{
    const struct tensor *t = v->tensor[n->name];
    int64_t at = 0;
    if (n->op == EXPR_TENSOR)
        return t->count == 1 ? 0 : v->element;
    for (int i = 0; i < n->n_slot; i++)
        at = at * t->dim[i] + v->index[n->slots[i]];
    return at;
}

/* --- how a changed node computes -------------------------------------------------------------
 */

/* The place of an operand in each dimension. */
static void coordinates(const struct expr_node *n, const struct tensor *t, int64_t element,
                        const int64_t *index, int64_t *ret_at)
{
    if (n->op == EXPR_ELEMENT)
        for (int a = 0; a < t->rank; a++)
            ret_at[a] = index[n->slots[a]];
    else
        for (int a = t->rank - 1; a >= 0; a--) {
            ret_at[a] = element % t->dim[a];
            element /= t->dim[a];
        }
}

int64_t expr_changed_place(const struct expr_node *n, const struct tensor *t, int64_t element,
                           const int64_t *index)
{
    int64_t at[TENSOR_RANK_MAX] = {0}, dim[TENSOR_RANK_MAX], place = 0;
    int a = n->axis;
    coordinates(n, t, element, index, at);
    memcpy(dim, t->dim, sizeof dim);
    if (n->change == EXPR_MOVED)
        at[a] = (at[a] + n->by + dim[a]) % dim[a];
    if (n->change == EXPR_WRAPPED && a >= 0)
        at[a] %= n->by;
    if (n->change == EXPR_TRANSPOSED) {
        int64_t x = at[a];
        at[a] = at[a + 1];
        at[a + 1] = x;
        dim[a] = t->dim[a + 1];
        dim[a + 1] = t->dim[a];
    }
    for (int d = 0; d < t->rank; d++)
        place = place * dim[d] + at[d];
    if (n->change == EXPR_WRAPPED && a < 0)
        place %= n->by;
    return place < 0 || place >= t->count ? -1 : place;
}

bool expr_changed_term(const struct expr_node *n, int64_t k)
{
    return n->change == EXPR_BEGINS   ? k >= n->by
           : n->change == EXPR_HALVED ? k / n->by % 2 == 0
                                      : true;
}

/* --- how far indices run ---------------------------------------------------------------------
 */

static enum err range_meet(const struct expr *x, const struct expr_node *n,
                           const struct tensor *t, const char *name, int64_t *range,
                           struct errinfo *e)
{
    for (int i = 0; i < n->n_slot; i++) {
        int64_t *known = &range[n->slots[i]];
        if (*known >= 0 && *known != t->dim[i])
            return err_set(e, ERR_USAGE,
                           "the index %s runs to %lld elsewhere, but dimension %d of "
                           "%s is %lld",
                           x->index[n->slots[i]], (long long)*known, i, name,
                           (long long)t->dim[i]);
        *known = t->dim[i];
    }
    return ERR_OK;
}

enum err expr_ranges(const struct expr *x, const struct tensor *const *tensor,
                     const char *const *name, int64_t range[EXPR_INDEX_MAX], struct errinfo *e)
{
    for (int i = 0; i < x->count; i++)
        if (x->node[i].op == EXPR_ELEMENT)
            TRY(range_meet(x, &x->node[i], tensor[x->node[i].name], name[x->node[i].name],
                           range, e));
    for (int i = 0; i < x->n_index; i++)
        if (range[i] < 0)
            return err_set(e, ERR_USAGE,
                           "how far does the index %s run? It stands in no tensor",
                           x->index[i]);
    return ERR_OK;
}
