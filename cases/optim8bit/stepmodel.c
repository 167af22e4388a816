/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Optimizer steps, computed another way. */

struct view {
    enum way way;
    const char *name;
    enum dtype d;
    uint64_t *bits; /* of the whole output */
};

static float stored(const struct step *s, float x)
{
    return (float)dtype_value(s->d, dtype_round(s->d, (double)x));
}

/* a b + c */
static float join(bool fused, float a, float b, float c)
{
    volatile float p = a * b;
    return fused ? fmaf(a, b, c) : p + c;
}

static float decayed(const struct step *s, bool fused, float p)
{
    volatile float r = p * join(fused, -s->lr, s->wd, 1);
    return stored(s, r);
}

static float lion(const struct step *s, bool fused, float p, float old, float g)
{
    float h = step_gradient(s, 0, g), b = s->beta1;
    float z = s->wide ? fmaf(old, b, (1 - b) * h) : fmaf(1 - b, h, old * b);
    float u = stored(s, s->lr) * (float)((z > 0) - (z < 0));
    volatile float f = join(fused, -s->lr, s->wd, 1);
    if (s->wd > 0 && fused && s->d == DTYPE_F32)
        return fmaf(p, f, -u);
    return stored(s, (s->wd > 0 ? decayed(s, fused, p) : p) - u);
}

static float moved(const struct step *s, bool fused, float p, float g, const struct state *x)
{
    volatile float a, b;
    switch (s->rule) {
    case RULE_ADAM:
        b = sqrtf(x->v);
        b = x->m / (b + s->floor);
        return stored(s, join(fused, s->size, b, p));
    case RULE_ADEMAMIX:
        a = join(fused, s->alpha, x->slow, x->m / s->c1);
        b = sqrtf(x->v) / s->c2;
        b = a / (b + s->eps);
        return stored(s, join(fused, -s->lr, b, p));
    case RULE_MOMENTUM:
        return stored(s, join(fused, -s->lr, x->m, p));
    default:
        b = sqrtf(x->m);
        b = (s->wide ? step_gradient(s, p, g) : g) / (b + s->eps);
        return stored(s, join(fused, -s->lr, b, p));
    }
}

static float way_param(const struct step *as, enum way way, float p, float g, float old,
                       const struct state *x)
{
    struct step s = *as;
    bool fused = way == WAY_FUSED, guarded = step_has_v(s.rule);
    if (way == WAY_NO_BIAS) {
        s.c1 = s.c2 = 1;
        s.size = -s.lr;
        s.floor = s.eps;
    }
    if (s.rule == RULE_LION)
        return lion(&s, fused, p, old, g);
    if (guarded && !isfinite(g))
        return p;
    bool decays = guarded && s.wd > 0 && way != WAY_NO_DECAY;
    if (decays && way == WAY_DECAY_FIRST)
        return moved(&s, fused, decayed(&s, fused, p), g, x);
    p = moved(&s, fused, p, g, x);
    return decays ? decayed(&s, fused, p) : p;
}

static uint8_t way_code(const struct walk *w, enum way way, int k, int i,
                        const struct block_result *r)
{
    float x = r->number[k][i];
    if (way == WAY_NO_SIGN)
        return (uint8_t)book_place(&w->b.of[k], x / r->next.most[k]);
    if (way == WAY_BOOK2 && k == WALK_V)
        return (uint8_t)book_place(&w->b.of[WALK_M], x / r->next.most[k]);
    return r->next.code[k][i];
}

static void view_take(struct walk *w, int64_t row, int64_t block, int count,
                      const struct block_result *r)
{
    struct view *v = w->context;
    bool second = strchr(v->name, '2') != NULL;
    for (int i = 0; i < count && v->name[0] == 'p'; i++) {
        int64_t at = row * w->n + block * WALK_SIZE + i;
        struct state x = {r->number[WALK_M][i], r->number[WALK_SLOW][i], r->number[WALK_V][i]};
        float p = way_param(&w->s, v->way, (float)tensor_value(w->p, at),
                            (float)tensor_value(w->g, at), r->old[WALK_M][i], &x);
        v->bits[at] = dtype_round(v->d, (double)p);
    }
    for (int k = second ? WALK_V : WALK_M; k <= (second ? WALK_V : WALK_SLOW); k++) {
        if (!walk_has(w->s.rule, k) || v->name[0] == 'p')
            continue;
        if (v->name[0] == 'a')
            v->bits[walk_scale_at(w, row, k, block)] =
                dtype_round(DTYPE_F32, (double)r->next.most[k]);
        for (int i = 0; i < count && v->name[0] == 'c'; i++)
            v->bits[walk_code_at(w, row, k, block * WALK_SIZE + i)] =
                way_code(w, v->way, k, i, r);
    }
}

static float number_at(const struct tensor *const *input, const struct case_plan *plan,
                       const char *name, int64_t i)
{
    int at = walk_find(plan, name);
    return at < 0 ? 0 : (float)tensor_value(input[at], i);
}

/* The step with the update scaled as the norm of all updates wants it. */
static struct step clipped(const struct step *as, const struct case_plan *plan,
                           const struct tensor *const *input, int64_t n)
{
    struct step s = *as;
    int v = walk_find(plan, "v");
    const struct walk_tensors t = {input[walk_find(plan, "p")], input[walk_find(plan, "g")],
                                   input[walk_find(plan, "m")], v < 0 ? NULL : input[v]};
    float factor = (float)clip_make(&s, &t, n).factor;
    s.size *= factor;
    s.lr *= s.rule == RULE_MOMENTUM ? factor : 1; /* adam's rate also decays */
    return s;
}

static bool wide_model(const struct case_id *id, const struct case_plan *plan,
                       const struct tensor *const *input, int which, enum way way, int64_t n,
                       const int64_t *index, uint64_t *ret_bits)
{
    struct step s = step_make(id);
    const struct case_tensor *t = &plan->tensor[which];
    if (way == WAY_SCALES || way == WAY_BOOK2 || way == WAY_NO_SIGN || t->name[0] == 'u')
        return false;
    if (s.limit > 0 && way != WAY_UNCLIPPED)
        s = clipped(&s, plan, input, id->value[P_N].i);
    s.rounded_products = way == WAY_UNFUSED;
    for (int64_t k = 0; k < n; k++) {
        int64_t i = index[k];
        float p = number_at(input, plan, "p", i), g = number_at(input, plan, "g", i);
        struct state old = {number_at(input, plan, "m", i), number_at(input, plan, "slow", i),
                            number_at(input, plan, "v", i)};
        struct state x = step_state(&s, p, g, &old);
        float y = t->name[0] == 'p'   ? way_param(&s, way, p, g, old.m, &x)
                  : t->name[0] == 'm' ? x.m
                  : t->name[0] == 'v' ? x.v
                                      : x.slow;
        ret_bits[k] = dtype_round(t->dtype, (double)y);
    }
    return true;
}

bool step_model(const struct case_id *id, const struct case_plan *plan,
                const struct tensor *const *input, int which, enum way way, int64_t n,
                const int64_t *index, uint64_t *ret_bits)
{
    struct errinfo e;
    struct walk w = walk_make(id, plan);
    const struct case_tensor *t = &plan->tensor[which];
    bool two = step_has_v(w.s.rule), crossed = way == WAY_SCALES;
    if ((way == WAY_UNCLIPPED && !(w.s.limit > 0)) || (crossed && w.s.rule != RULE_ADAM) || (way == WAY_BOOK2 && !two) ||
        ((way == WAY_NO_BIAS || way == WAY_DECAY_FIRST || way == WAY_NO_DECAY) && !two))
        return false;
    if (w.s.wide)
        return wide_model(id, plan, input, which, way, n, index, ret_bits);
    struct view v = {way, t->name, t->dtype, NULL};
    v.bits = calloc((size_t)(t->dim[0] * t->dim[1]) + 1, sizeof *v.bits);
    if (!v.bits)
        return false;
    w.p = input[walk_find(plan, "p")];
    w.g = input[walk_find(plan, "g")];
    w.code1 = input[walk_find(plan, "code1")];
    w.code2 = two ? input[walk_find(plan, "code2")] : NULL;
    w.absmax1 = input[walk_find(plan, crossed ? "absmax2" : "absmax1")];
    w.absmax2 = two ? input[walk_find(plan, crossed ? "absmax1" : "absmax2")] : NULL;
    w.s.rounded_products = way == WAY_UNFUSED;
    w.take = view_take;
    w.context = &v;
    bool done = !walk_all(&w, &e);
    for (int64_t k = 0; k < n && done; k++)
        ret_bits[k] = v.bits[index[k]];
    free(v.bits);
    return done;
}
