/* SPDX-License-Identifier: Apache-2.0 */
#include "step.h"

#include <float.h>
#include <math.h>

/* --- f32, one operation at a time ------------------------------------------------------------
 */

static float mul(const struct step *s, float a, float b)
{
    return flushed(&s->freedom, flushed(&s->freedom, a) * flushed(&s->freedom, b));
}

static float add(const struct step *s, float a, float b)
{
    return flushed(&s->freedom, flushed(&s->freedom, a) + flushed(&s->freedom, b));
}

static float fuse(const struct step *s, float a, float b, float c)
{
    if (s->rounded_products)
        return add(s, mul(s, a, b), c);
    return flushed(&s->freedom, fmaf(flushed(&s->freedom, a), flushed(&s->freedom, b),
                                     flushed(&s->freedom, c)));
}

bool step_has_slow(enum rule rule)
{
    return rule == RULE_ADEMAMIX;
}

bool step_has_v(enum rule rule)
{
    return rule == RULE_ADAM || rule == RULE_ADEMAMIX;
}

/* --- scalars ---------------------------------------------------------------------------------
 */

bool step_is_wide(const struct case_id *id)
{
    enum group g = trait_of(id)->group;
    return g == GROUP_STEP32 || g == GROUP_CLIP32;
}

struct step step_make(const struct case_id *id)
{
    const union param_value *v = id->value;
    struct step s = {.rule = trait_of(id)->rule,
                     .wide = step_is_wide(id),
                     .freedom = freedom_of(&id->mode),
                     .d = dtype_of(id),
                     .beta1 = (float)v[P_BETA1].r,
                     .beta2 = (float)v[P_BETA2].r,
                     .beta3 = (float)v[P_BETA3].r,
                     .alpha = (float)v[P_ALPHA].r,
                     .eps = (float)v[P_EPS].r,
                     .lr = (float)v[P_LR].r,
                     .wd = (float)v[P_WD].r,
                     .gnorm = (float)v[P_GNORM].r,
                     .factor = 1};
    if (trait_of(id)->group == GROUP_CLIP32)
        s.limit = (float)v[P_MAX_UNORM].r * (float)v[P_PNORM].r;
    step_at(&s, v[P_STEP].i);
    return s;
}

/* By squaring, so that every machine gets the same bits; within t 2^-52 of x^t. */
static double power(double x, int64_t t)
{
    double y = 1;
    for (; t; t /= 2, x *= x)
        if (t & 1)
            y *= x;
    return y;
}

void step_at(struct step *s, int64_t t)
{
    s->t = t;
    s->c1 = 1 - (float)power((double)s->beta1, t);
    s->c2 = sqrtf(1 - (float)power((double)s->beta2, t));
    s->size = -s->lr * s->c2 / s->c1;
    s->floor = s->c2 * s->eps;
}

/* --- states ----------------------------------------------------------------------------------
 */

static bool is_coupled(enum rule r)
{
    return r == RULE_MOMENTUM || r == RULE_RMSPROP || r == RULE_ADAGRAD;
}

static double narrow(enum dtype d, double x)
{
    return isfinite(x) ? dtype_value(d, dtype_round(d, x)) : x;
}

float step_gradient(const struct step *s, float p, float g)
{
    enum dtype d = s->wide ? s->d : DTYPE_F32;
    float scaled = (float)narrow(d, (double)mul(s, s->gnorm, g));
    bool coupled = is_coupled(s->rule) && s->wd > 0;
    return coupled ? (float)narrow(d, (double)fuse(s, p, s->wd, scaled)) : scaled;
}

/* b x + (1-b) g */
static float blend(const struct step *s, float b, float x, float g)
{
    if (s->wide)
        return fuse(s, x, b, mul(s, 1 - b, g));
    return fuse(s, 1 - b, g, mul(s, x, b));
}

/* b x + (1-b) g g; the kernels multiply from the left, but that of Adam with f32 states squares
 * first. */
static float blend_square(const struct step *s, float b, float x, float g)
{
    if (s->wide && s->rule == RULE_ADAM)
        return fuse(s, x, b, mul(s, 1 - b, mul(s, g, g)));
    if (s->wide)
        return fuse(s, x, b, mul(s, mul(s, 1 - b, g), g));
    return fuse(s, mul(s, 1 - b, g), g, mul(s, x, b));
}

struct state step_state(const struct step *s, float p, float g, const struct state *old)
{
    struct state n = {0};
    float h = step_gradient(s, p, g);
    if (step_has_v(s->rule) && !isfinite(g))
        return n;
    switch (s->rule) {
    case RULE_ADEMAMIX:
        n.slow = blend(s, s->beta3, old->slow, h);
        /* fall through */
    case RULE_ADAM:
        n.m = blend(s, s->beta1, old->m, h);
        n.v = blend_square(s, s->beta2, old->v, h);
        break;
    case RULE_MOMENTUM:
        n.m = s->t == 1 ? h : fuse(s, old->m, s->beta1, h);
        break;
    case RULE_RMSPROP:
        n.m = s->wide ? blend_square(s, s->beta1, old->m, h)
                      : fuse(s, 1 - s->beta1, mul(s, h, h), mul(s, old->m, s->beta1));
        break;
    case RULE_ADAGRAD:
        n.m = fuse(s, h, h, old->m);
        break;
    default:
        n.m = blend(s, s->beta2, old->m, h);
    }
    return n;
}

/* --- parameters ------------------------------------------------------------------------------
 *
 * The states are known to the bit, so the exact update U follows from them in double. What a
 * device makes of it, with u = 2^-24 and every operation either rounded or fused into the next:
 *
 *   sqrt         u (fast: CUDA 2 u, AMD 2 u; taken as 4 u)
 *   + floor      u
 *   division     u (fast: CUDA 2 ulp = 4 u, AMD 2.5 ulp = 5 u)
 *   * size       u
 *
 * so U (1 +- 4u), fast 11 u; ademamix has two divisions, a product and a sum more: 8 u, fast
 * 20 u. A denominator below 2^126 is assumed (beyond it CUDA's fast division gives 0). Adding U
 * to p rounds once more; then the format rounds. Rounding is monotonic: the ends of the
 * interval are rounded like the value, and mostly meet again. */

static const double unit = 0x1p-24;

/* p + u, u known to within `relative`, in f32 and then in the format. */
static struct range update(const struct step *s, const struct range *p, double u,
                           double relative)
{
    double tiny = s->freedom.flush || !s->freedom.exact ? 2 * (double)FLT_MIN : 0x1p-148;
    double slack = fabs(u) * relative +
                   unit * fmax(fabs(p->low + u), fabs(p->high + u)) * (1 + 0x1p-20) + tiny;
    struct range r = {narrow(s->d, p->value) + u, p->low + u - slack, p->high + u + slack,
                      fabs(u)};
    if (s->d != DTYPE_F32) {
        r.low = narrow(s->d, r.low);
        r.high = narrow(s->d, r.high);
    }
    return r;
}

/* p (1 - lr wd): the factor is fused by one vendor and rounded twice by the other; the product
 * rounds once. */
static struct range decay(const struct step *s, const struct range *p)
{
    float fused = fmaf(-s->lr, s->wd, 1), split = 1 - s->lr * s->wd;
    double f = (double)fused, move = p->move + fabs(p->value * (1 - f));
    double relative = (unit + fabs((double)split / f - 1)) * (1 + 0x1p-20);
    double a = p->low * f, b = p->high * f;
    double slack = relative * fmax(fabs(a), fabs(b)) + 0x1p-148;
    struct range r = {narrow(s->d, p->value) * f, fmin(a, b) - slack, fmax(a, b) + slack, move};
    if (s->d != DTYPE_F32) {
        r.low = narrow(s->d, r.low);
        r.high = narrow(s->d, r.high);
    }
    return r;
}

static int sign(float x)
{
    return (x > 0) - (x < 0);
}

static struct range lion(const struct step *s, const struct range *p, float g,
                         const struct state *old)
{
    struct range r = s->wd > 0 ? decay(s, p) : *p;
    int direction = sign(blend(s, s->beta1, old->m, step_gradient(s, 0, g)));
    double u = -narrow(s->d, (double)s->lr) * direction;
    return update(s, &r, u, 0);
}

static double quotient(const struct step *s, float g, const struct state *new)
{
    double m = (double)new->m, v = (double)new->v;
    switch (s->rule) {
    case RULE_ADAM:
        return s->factor * (double)s->size * (m / (sqrt(v) + (double)s->floor));
    case RULE_ADEMAMIX:
        return -(double)s->lr * ((m / (double)s->c1 + (double)s->alpha * (double)new->slow) /
                                 (sqrt(v) / (double)s->c2 + (double)s->eps));
    case RULE_MOMENTUM:
        return -s->factor * (double)s->lr * m;
    default:
        return -(double)s->lr * ((double)g / (sqrt(m) + (double)s->eps));
    }
}

/* The sum in ademamix may cancel: its error is relative to the terms. */
static double relative_error(const struct step *s, const struct state *new)
{
    bool exact = s->freedom.exact;
    double factor = s->limit > 0 ? s->factor_relative + unit : 0;
    if (s->rule == RULE_MOMENTUM)
        return unit + factor;
    if (s->rule != RULE_ADEMAMIX)
        return (exact ? 4 : 11) * unit + factor;
    double a = (double)new->m / (double)s->c1, b = (double)s->alpha *(double)new->slow;
    double terms = a + b != 0 ? (fabs(a) + fabs(b)) / fabs(a + b) : 1;
    return ((exact ? 5 : 16) + (exact ? 2 : 6) * terms) * unit;
}

struct range step_param(const struct step *s, const struct range *p, float g,
                        const struct state *old, const struct state *new)
{
    if (s->rule == RULE_LION)
        return lion(s, p, g, old);
    if (step_has_v(s->rule) && !isfinite(g))
        return *p;
    if (s->wide)
        g = step_gradient(s, (float)p->value, g);
    struct range r = update(s, p, quotient(s, g, new), relative_error(s, new) * (1 + 0x1p-20));
    return step_has_v(s->rule) && s->wd > 0 ? decay(s, &r) : r;
}
