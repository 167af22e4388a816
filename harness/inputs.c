/* SPDX-License-Identifier: Apache-2.0 */
#include "inputs.h"

#include <string.h>

enum err inputs_open(struct inputs *x, const struct case_id *id, const struct case_plan *plan,
                     const struct tensor *const *given, struct errinfo *e)
{
    *x = (struct inputs){.id = id, .plan = plan};
    for (int i = 0; i < plan->n_tensor; i++) {
        const struct case_tensor *t = &plan->tensor[i];
        if (t->role == TENSOR_OUT)
            continue;
        x->at[i] = given && given[i] ? given[i] : &x->own[i];
        if (x->at[i] != &x->own[i])
            continue;
        enum err err = tensor_reserve(&x->own[i], t->dtype, t->rank, t->dim, e);
        if (err) {
            inputs_release(x);
            return err_context(e, err, "input %s", t->name);
        }
    }
    return ERR_OK;
}

void inputs_release(struct inputs *x)
{
    for (int i = 0; i < CASE_TENSOR_MAX; i++)
        tensor_release(&x->own[i]);
    memset(x, 0, sizeof *x);
}

static bool contains(struct case_span outer, struct case_span inner)
{
    return inner.from >= outer.from && inner.to <= outer.to;
}

static void input_load(struct inputs *x, int which, int i, int n, const struct case_span *span)
{
    bool there = true;
    for (int k = 0; k < n; k++)
        there &= contains(x->loaded[i], case_needs(x->id, x->plan, which, i, span[k]));
    if (there)
        return;
    tensor_drop(&x->own[i], 0, x->own[i].count);
    for (int k = 0; k < n; k++) {
        struct case_span need = case_needs(x->id, x->plan, which, i, span[k]);
        case_input_part(x->id, x->plan, i, need, &x->own[i]);
        x->loaded[i] = n == 1 || need.to - need.from == x->own[i].count
                           ? need
                           : (struct case_span){0, 0};
        if (need.to - need.from == x->own[i].count)
            return;
    }
}

void inputs_load(struct inputs *x, int which, int n, const struct case_span *span)
{
    for (int i = 0; i < x->plan->n_tensor; i++)
        if (x->own[i].data)
            input_load(x, which, i, n, span);
}

struct case_span inputs_piece(const struct inputs *x, int which, struct case_span span)
{
    for (int i = 0; i < x->plan->n_tensor; i++) {
        struct case_span need = case_needs(x->id, x->plan, which, i, span);
        bool parted = need.to - need.from < x->own[i].count;
        while (x->own[i].data && parted && need.to - need.from > 4 * CASE_WINDOW &&
               span.to - span.from > 1) {
            span.to = span.from + (span.to - span.from) / 2;
            need = case_needs(x->id, x->plan, which, i, span);
        }
    }
    return span;
}
