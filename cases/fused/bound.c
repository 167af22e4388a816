/* SPDX-License-Identifier: Apache-2.0 */
#include "fused.h"

#include <math.h>
#include <string.h>

/* How far a right device may be off. Notation: u = 2^-24; every f32 operation gives x (1 + e) +
 * f, |e| <= u, |f| <= f0 (2^-149, or 2^-125 where subnormals are flushed); w = the division's
 * e: u, or 5 u where it may be inexact; a root's: u, or 4 u. Fusing only removes roundings.
 *
 * m: a rounding of each product and one of the sum: ((1 + u)^2 - 1) (|b1 m| + |a1 g|) + 4 f0.
 * v: all terms positive, at most three roundings: v ((1 + u)^3 - 1) + 5 f0.
 *
 * u: m / c1 is off by E = E_m / c1 + w (|m / c1| + E_m / c1) + f0. v / c2 lies between
 * v / c2 (1 - x) - y and (1 + x) + y, with x = (1 + u)^3 (1 + w) - 1 and y = 6 f0 / c2; so the
 * denominator lies between the ends of root and sum, each rounded, and is at least eps (1 - u).
 * The quotient's error is the larger distance of (|m / c1| +- E) / (its ends) from the exact
 * one, and w of that; then a rounding for wd p and one for the sum.
 *
 * part, norms: each square comes with 2 |x| E_x + E_x^2 from its x, a rounding, and D
 * additions, D = 4 + 8 for a part, ceil(blocks / 256) + 8 more for the norms; the root of both
 * ends.
 *
 * p: the ratio lies between the quotients of the norms' ends; it, lr and u are multiplied with
 * a rounding each, and the difference is rounded.
 *
 * `drop`: m, v: the gradient not entered. u, p: weight decay left out, or all where there is
 * none. part, norms: one element of mean size left out.
 *
 * Not judged: what may overflow (g^2 from 2^120 on), what approximate modes make of NaN and
 * Inf, and, with a trust ratio, everything after the norms if any u is not finite or a norm may
 * be 0. */

enum { PART_ADDITIONS = 12, THREADS = 256, TREE = 8 };

static double grown(double n)
{
    return exp(n * log1p(ROUNDOFF_U)) * (1 + 0x1p-40);
}

static double root_error(const struct fused *s)
{
    return (s->mode.exact_sqrt && !s->mode.approximate ? 1 : 4) * ROUNDOFF_U;
}

static struct wide sqrt_wide(struct wide x)
{
    if (x.hi <= 0)
        return wide_of(0);
    double q = sqrt(x.hi);
    return wide_add(wide_of(q), wide_div(wide_sub(x, wide_product(q, q)), wide_of(2 * q)));
}

static struct element element(struct wide y, double rough, double off, double drop)
{
    struct element x = element_make(DTYPE_F32, y.hi, y.lo, rough, off);
    x.drop = drop;
    x.scale = fabs(y.hi);
    return x;
}

/* --- moments and step ------------------------------------------------------------------------
 */

static struct wide moment_first(const struct fused *s, double m, double g)
{
    return wide_add(wide_product((double)s->b1, m), wide_product((double)s->a1, g));
}

static struct wide moment_second(const struct fused *s, double v, double g)
{
    return wide_add(wide_product((double)s->b2, v),
                    wide_mul(wide_of((double)s->a2), wide_product(g, g)));
}

/* |quotient| for the exact x / d and any |x'| <= |x| + e, low <= d' <= high: the most it is
 * off. */
static double quotient_off(double x, double e, double d, double low, double high)
{
    double above = (x + e) / low - x / d;
    double below = x / d - fmax(0, x - e) / high;
    return fmax(above, fmax(below, x < e ? x / d + (e - x) / low : 0));
}

static struct element fused_make(const struct fused *s, struct wide m, double m_off,
                                 struct wide v, double p)
{
    double f0 = roundoff_least(&s->mode), w = roundoff_division(&s->mode);
    double c1 = (double)s->c1, c2 = (double)s->c2, eps = (double)s->eps, wd = (double)s->wd;
    struct wide top = wide_div(m, wide_of(c1)), square = wide_div(v, wide_of(c2));
    struct wide away = wide_add(sqrt_wide(square), wide_of(eps)), q = wide_div(top, away);
    struct wide y = wide_add(q, wide_product(wd, p));
    double top_off = m_off / c1 + w * (fabs(top.hi) + m_off / c1) + f0;
    double x = grown(3) * (1 + w) - 1, lost = 6 * f0 / c2, root = root_error(s);
    double high = (sqrt(square.hi * (1 + x) + lost) * (1 + root) + eps) * (1 + ROUNDOFF_U);
    double low =
        (sqrt(fmax(0, square.hi * (1 - x) - lost)) * (1 - root) + eps) * (1 - ROUNDOFF_U);
    double off = quotient_off(fabs(top.hi), top_off, away.hi, low, high) + fabs(q.hi) * 0x1p-50;
    off += w * (fabs(q.hi) + off) + f0;
    off += ROUNDOFF_U * fabs(wd * p) + f0;
    off += ROUNDOFF_U * (fabs(y.hi) + off) + f0;
    double rough = (fabs(q.hi) + fabs(wd * p)) * 0x1p-96 + 0x1p-900;
    return element(y, rough, off, wd > 0 ? fabs(wd * p) : fabs(q.hi));
}

static struct fused_element fused_special(const struct fused *s, double g)
{
    if (s->mode.approximate)
        return (struct fused_element){element_open(0), element_open(0), element_open(0)};
    double nan = (double)NAN;
    return (struct fused_element){element_exact(isnan(g) ? nan : g),
                                  element_exact(isnan(g) ? nan : (double)INFINITY),
                                  element_exact(nan)};
}

struct fused_element fused_element(const struct fused *s, double p, double g, double m,
                                   double v)
{
    if (!isfinite(g))
        return fused_special(s, g);
    double f0 = roundoff_least(&s->mode);
    struct wide x = moment_first(s, m, g), y = moment_second(s, v, g);
    double size = fabs((double)s->b1 * m) + fabs((double)s->a1 * g);
    double m_off = (grown(2) - 1) * size + 4 * f0, v_off = (grown(3) - 1) * y.hi + 5 * f0;
    struct fused_element r;
    r.m = element(x, size * 0x1p-100, m_off, fabs((double)s->a1 * g));
    if (y.hi >= 0x1p120 || g * g >= 0x1p120) {
        r.v = r.u = element_open(0);
        return r;
    }
    r.v = element(y, y.hi * 0x1p-100, v_off, (double)s->a2 * g * g);
    r.u = fused_make(s, x, m_off, y, p);
    return r;
}

/* --- norms -----------------------------------------------------------------------------------
 */

void fused_square(struct fused_squares *q, const struct element *x)
{
    struct wide y = {x->value, x->tail};
    double off = x->bound;
    q->sum = wide_add(q->sum, wide_mul(y, y));
    q->error += 2 * fabs(y.hi) * x->error + x->error * x->error;
    q->off += 2 * fabs(y.hi) * off + off * off;
}

void fused_squares_end(const struct fused *s, struct fused_squares *q, double additions,
                       double count)
{
    double most = q->sum.hi + q->off;
    q->off += most * (grown(additions + 1) - 1) + 2 * count * roundoff_least(&s->mode);
    q->off *= 1 + 0x1p-30;
    q->error += (4 * count + 16) * 0x1p-106 * q->sum.hi + 0x1p-900;
}

/* The ends of a norm as a device may have it. */
struct norm {
    struct wide exact;
    double error, low, high;
};

static struct norm norm_make(const struct fused *s, const struct fused_squares *q)
{
    struct norm r = {.exact = sqrt_wide(q->sum)};
    double root = root_error(s);
    r.low = sqrt(fmax(0, q->sum.hi - q->off)) * (1 - root) * (1 - 0x1p-40);
    r.high = sqrt(q->sum.hi + q->off) * (1 + root) * (1 + 0x1p-40);
    r.error = r.exact.hi > 0 ? q->error / r.exact.hi + r.exact.hi * 0x1p-98 : sqrt(q->error);
    return r;
}

/* --- the oracle ------------------------------------------------------------------------------
 */

struct view {
    const struct fused *s;
    const struct tensor *const *input;
};

static struct fused_element element_at(const struct view *w, int64_t i)
{
    return fused_element(w->s, tensor_value(w->input[FUSED_P], i),
                         tensor_value(w->input[FUSED_G], i), tensor_value(w->input[FUSED_M], i),
                         tensor_value(w->input[FUSED_V], i));
}

/* Adds the squares of p and u over [first, last); false if some u is not judged or finite. */
static bool squares_add(const struct view *w, int64_t first, int64_t last,
                        struct fused_squares q[2])
{
    for (int64_t i = first; i < last; i++) {
        struct element p = {.value = tensor_value(w->input[FUSED_P], i)};
        struct element u = element_at(w, i).u;
        if (!isfinite(u.value) || !isfinite(u.bound) || fabs(u.value) > 0x1p50)
            return false;
        fused_square(&q[0], &p);
        fused_square(&q[1], &u);
    }
    return true;
}

static void parts_fill(const struct view *w, struct case_span span, struct oracle *o)
{
    for (int64_t b = span.from / 2; 2 * b < span.to; b++) {
        struct fused_squares q[2] = {{{0, 0}, 0, 0}, {{0, 0}, 0, 0}};
        int64_t first = b * FUSED_CHUNK, last = first + FUSED_CHUNK;
        last = last < w->s->n ? last : w->s->n;
        bool good = squares_add(w, first, last, q);
        for (int k = 0; k < 2; k++) {
            double count = (double)(last - first);
            fused_squares_end(w->s, &q[k], PART_ADDITIONS, count);
            struct element x = element(q[k].sum, q[k].error, q[k].off, q[k].sum.hi / count);
            if (!good)
                x = element_open(0);
            element_put(o, 2 * b + k, &x);
        }
    }
}

static bool norms_make(const struct view *w, struct norm r[2])
{
    struct fused_squares q[2] = {{{0, 0}, 0, 0}, {{0, 0}, 0, 0}};
    bool good = squares_add(w, 0, w->s->n, q);
    double additions =
        PART_ADDITIONS + TREE + (double)((fused_blocks(w->s) + THREADS - 1) / THREADS);
    for (int k = 0; k < 2; k++) {
        fused_squares_end(w->s, &q[k], additions, (double)w->s->n + 1);
        r[k] = norm_make(w->s, &q[k]);
    }
    return good;
}

static void norms_fill(const struct view *w, struct oracle *o)
{
    struct norm r[2];
    bool good = norms_make(w, r);
    for (int k = 0; k < 2; k++) {
        double y = r[k].exact.hi, off = fmax(r[k].high - y, y - r[k].low);
        double drop = y - y * sqrt(1 - 1 / (double)w->s->n);
        struct element x = element(r[k].exact, r[k].error, off, drop);
        if (!good)
            x = element_open(0);
        element_put(o, k, &x);
    }
}

/* lr r, and the ends of what a device may have for it. */
struct rate {
    struct wide exact;
    double error, low, high;
};

static struct rate rate_make(const struct fused *s, const struct norm r[2])
{
    struct wide lr = wide_of((double)s->lr);
    struct rate x = {lr, 0, lr.hi, lr.hi};
    double slack = (1 + roundoff_division(&s->mode)) * (1 + ROUNDOFF_U) * (1 + 0x1p-40);
    if (!s->lamb)
        return x;
    x.exact = wide_mul(lr, wide_div(r[0].exact, r[1].exact));
    x.error = x.exact.hi * (r[0].error / r[0].exact.hi + r[1].error / r[1].exact.hi + 0x1p-98);
    x.high = lr.hi * r[0].high / r[1].low * slack + 0x1p-125;
    x.low = lr.hi * r[0].low / r[1].high / slack - 0x1p-125;
    return x;
}

static struct element parameter(const struct fused *s, const struct rate *r, double p,
                                const struct element *u)
{
    struct wide step = wide_mul(r->exact, (struct wide){u->value, u->tail});
    struct wide y = wide_sub(wide_of(p), step);
    double f0 = roundoff_least(&s->mode), size = fabs(u->value) + u->bound, rate = r->exact.hi;
    double off = fmax(r->high - rate, rate - r->low) * size + rate * u->bound;
    off += ROUNDOFF_U * (fabs(step.hi) + off) + f0;
    off += ROUNDOFF_U * (fabs(y.hi) + off) + f0;
    double rough = r->error * fabs(u->value) + rate * u->error +
                   0x1p-98 * (fabs(p) + fabs(step.hi)) + 0x1p-900;
    return element(y, rough, off, rate * u->drop);
}

/* The rate is made of all elements: noted. False if there is none. */
static bool rate_find(const struct view *w, struct oracle *o, struct rate *ret_rate)
{
    struct norm n[2] = {{{0, 0}, 0, 0, 0}, {{0, 0}, 0, 0, 0}};
    struct rate r = {{o->note[1], o->note[2]}, o->note[3], o->note[4], o->note[5]};
    if (!o->noted) {
        bool good = !w->s->lamb || (norms_make(w, n) && n[0].low > 0 && n[1].low > 0);
        if (good)
            r = rate_make(w->s, n);
        const double note[] = {good, r.exact.hi, r.exact.lo, r.error, r.low, r.high};
        memcpy(o->note, note, sizeof note);
        o->noted = 1;
    }
    *ret_rate = r;
    return o->note[0] != 0;
}

static void parameters_fill(const struct view *w, struct case_span span, struct oracle *o)
{
    struct rate r;
    bool good = rate_find(w, o, &r);
    for (int64_t i = span.from; i < span.to; i++) {
        struct element u = element_at(w, i).u, x = u;
        if (!good)
            x = element_open(0);
        else if (isfinite(u.value) && isfinite(u.bound))
            x = parameter(w->s, &r, tensor_value(w->input[FUSED_P], i), &u);
        element_put(o, i, &x);
    }
}

static void elements_fill(const struct view *w, int which, struct case_span span,
                          struct oracle *o)
{
    for (int64_t i = span.from; i < span.to; i++) {
        struct fused_element x = element_at(w, i);
        element_put(o, i, which == FUSED_M ? &x.m : which == FUSED_V ? &x.v : &x.u);
    }
}

enum err fused_oracle(const struct case_id *id, const struct case_plan *plan,
                      const struct tensor *const *input, int which, struct case_span span,
                      int threads, struct oracle *o, struct errinfo *e)
{
    (void)plan, (void)threads, (void)e;
    struct fused s;
    fused_decode(id, &s);
    const struct view w = {&s, input};
    if (which == FUSED_PART)
        parts_fill(&w, span, o);
    else if (which == FUSED_NORMS)
        norms_fill(&w, o);
    else if (which == FUSED_P)
        parameters_fill(&w, span, o);
    else
        elements_fill(&w, which, span, o);
    return ERR_OK;
}
