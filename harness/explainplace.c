/* SPDX-License-Identifier: Apache-2.0 */
#include "explainplace.h"

#include <stdio.h>
#include <string.h>

#include "poison.h"

void explain_place_release(struct explain_place *p)
{
    for (int s = 0; s < EXPLAIN_SIDES; s++)
        optrace_release(&p->trace[s]);
    memset(p, 0, sizeof *p);
}

/* The worst element that differs, of the output that decides the verdict. */
static bool choose_element(const struct explain *x, struct explain_place *p)
{
    for (int i = 0; i < x->finding.n_out; i++) {
        const struct finding_out *o = &x->finding.out[i];
        if (o->stats.pair.first_index >= 0 && (!p->out || o->verdict > p->out->verdict))
            p->out = o;
    }
    if (!p->out)
        return false;
    bool differs = p->out->worst.shown && p->out->worst.a != p->out->worst.b;
    p->element = differs ? p->out->worst.index : p->out->stats.pair.first_index;
    return true;
}

static int output_place(const struct explain *x, const char *name)
{
    struct case_plan plan;
    struct errinfo e;
    if (x->id->family->plan(x->id, &plan, &e))
        return -1;
    for (int i = 0; i < plan.n_tensor; i++)
        if (!strcmp(plan.tensor[i].name, name))
            return i;
    return -1;
}

/* What the element was before the case ran. */
static uint64_t start_bits(const struct explain *x, const struct explain_place *p, int output)
{
    struct case_plan plan;
    struct tensor t = {0};
    struct errinfo e;
    uint64_t bits = poison_bits(p->out->dtype);
    if (x->id->family->plan(x->id, &plan, &e))
        return bits;
    if (plan.tensor[output].zeroed)
        bits = 0;
    else if (plan.tensor[output].role != TENSOR_OUT && !case_input(x->id, &plan, output, &t, &e))
        bits = tensor_bits(&t, p->element);
    tensor_release(&t);
    return bits;
}

/* Does the side's result hold that? */
static bool is_unwritten(const struct explain *x, const struct explain_place *p, int side,
                         int output)
{
    const struct worker_result *r = &x->side[side].base;
    for (int i = 0; i < r->n_out; i++)
        if (!strcmp(r->out[i].name, p->out->name))
            return tensor_bits(&r->out[i].tensor, p->element) == start_bits(x, p, output);
    return false;
}

/* What either side does for that element. */
static enum err take_traces(struct explain *x, struct explain_place *p, bool whole_block,
                            struct errinfo *e)
{
    int output = output_place(x, p->out->name);
    p->found = true;
    for (int s = 0; s < EXPLAIN_SIDES; s++) {
        struct trial t = x->trial;
        char reason[300];
        t.device = &x->device[s];
        t.codes = &x->codes;
        optrace_release(&p->trace[s]);
        TRY(optrace_take(&t, x->id, output, p->element, whole_block, &p->trace[s], &p->stored[s],
                         reason, sizeof reason, e));
        x->runs += 2;
        if (!p->stored[s] && p->found)
            snprintf(p->reason, sizeof p->reason, "%s: %s", x->side[s].name, reason);
        p->unwritten |= !p->stored[s] && is_unwritten(x, p, s, output);
        p->found &= p->stored[s];
    }
    if (p->found)
        diverge_find(&p->trace[0], &p->trace[1], &p->diverge);
    return ERR_OK;
}

/* Values that come from other threads of the block are followed there. */
static enum err follow_block(struct explain *x, struct explain_place *p, struct errinfo *e)
{
    struct explain_place q = {.out = p->out, .element = p->element};
    enum diverge_kind kind = p->diverge.kind;
    if (!p->found || (kind != DIVERGE_MEMORY && kind != DIVERGE_UNKNOWN && kind != DIVERGE_OPERANDS))
        return ERR_OK;
    enum err err = take_traces(x, &q, true, e);
    bool lost = q.diverge.kind == DIVERGE_MEMORY || q.diverge.kind == DIVERGE_UNKNOWN;
    bool better = !err && q.found && !lost &&
                  (kind != DIVERGE_OPERANDS || q.diverge.steps > p->diverge.steps);
    struct explain_place drop = better ? *p : q;
    if (better)
        *p = q;
    explain_place_release(&drop);
    return err;
}

enum err explain_place(struct explain *x, struct explain_place *ret_place, struct errinfo *e)
{
    struct explain_place p = {0};
    enum err err = ERR_OK;
    if (choose_element(x, &p))
        err = take_traces(x, &p, false, e);
    if (!err)
        err = follow_block(x, &p, e);
    if (err)
        explain_place_release(&p);
    else
        *ret_place = p;
    return err;
}
