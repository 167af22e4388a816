/* SPDX-License-Identifier: Apache-2.0 */
#include "attention.h"

#include <math.h>
#include <stdlib.h>

/* References of the gradients and of the two matrices on the way to them.
 *
 * A device's P is within b_p of p (bound.c), its dP within b of dp (row.c, as a score without
 * scale). delta = sum p dp, n visible keys: with terms off by
 *   d_k = b_p |dp_k| + (p_k + b_p) b_k,
 * and n products and additions, it is off by D = sum d + gamma(n + 1) sum (p + b_p) (|dp| + b).
 * dS = p (dp - delta), a difference and a product:
 *   b_s = b_p |dp - delta| + (p + b_p) (e + u (|dp - delta| + e)) + u |dS|, e = b + D,
 * the last with all errors in it.
 *
 * dQ, dK and dV are sums of n products x y, x from P or dS and off by b_x, y an input:
 *   E = sum b_x |y| + gamma(n + 1) sum (|x| + b_x) |y|,
 * then times scale, one rounding, and narrowed. Keys that are not seen add exact zeros.
 *
 * With dropout, dP and the P that dV takes are the kept ones times a factor, rounded once.
 *
 * Every operation may also lose 2^-126, a flushed input 2^-126 |x|. */

static const double least = 0x1p-126;

/* One number on the way. */
struct known {
    struct wide x;
    double error, bound, drop;
};

/* The matrices of plane z = batch * heads + head. */
struct plane {
    struct row row;
    struct known *p, *dp, *ds; /* owned; queries x keys, zero where not seen */
    bool unsure;
};

static void plane_release(struct plane *g)
{
    row_release(&g->row);
    free(g->p);
    free(g->dp);
    free(g->ds);
}

static enum err plane_init(struct plane *g, const struct attention *a, struct errinfo *e)
{
    size_t n = (size_t)(a->queries * a->keys);
    *g = (struct plane){.p = calloc(n, sizeof *g->p),
                        .dp = calloc(n, sizeof *g->dp),
                        .ds = calloc(n, sizeof *g->ds)};
    enum err code = row_init(&g->row, a->keys, e);
    if (!code && (!g->p || !g->dp || !g->ds))
        code = err_set(e, ERR_NOMEM, "no memory for gradients of %lld x %lld",
                       (long long)a->queries, (long long)a->keys);
    if (code)
        plane_release(g);
    return code;
}

static double gamma_of(double n)
{
    double nu = n * ATTENTION_U;
    return nu / (1 - nu);
}

static double narrowing(enum dtype d, double x)
{
    return d == DTYPE_F32 ? 0 : dtype_unit(d) * fmax(x, dtype_min_normal(d));
}

/* Number `at` of the weights dropped, or what makes up for those that are: one rounding. */
static void known_drop(const struct attention *a, int64_t at, struct known *k)
{
    double f = (double)dropout_factor(a);
    if (!dropout_keeps(a, at)) {
        *k = (struct known){.x = {0, 0}};
        return;
    }
    k->x = wide_mul(k->x, wide_of(f));
    k->error = f * k->error + 0x1p-102 * fabs(k->x.hi);
    k->bound = f * k->bound * (1 + ATTENTION_U) + ATTENTION_U * fabs(k->x.hi) + least + k->error;
    k->drop *= f;
}

/* --- P, dP, dS -------------------------------------------------------------------------------
 */

static void row_inputs(const struct attention *a, const struct tensor *const *input, int64_t z,
                       int64_t i, struct plane *g)
{
    struct row *r = &g->row;
    int64_t b = z / a->heads, head = z % a->heads / (a->heads / a->kv_heads);
    row_make(a, input, z * a->queries + i, r);
    g->unsure |= r->kind != ROW_NUMBER && r->kind != ROW_EMPTY;
    for (int64_t j = r->from; j < r->from + r->n; j++) {
        struct element w = attention_weight(a, r, j);
        struct known *p = &g->p[i * a->keys + j], *dp = &g->dp[i * a->keys + j];
        *p = (struct known){{w.value, w.tail}, w.error, w.bound, w.drop};
        row_dot(a, input[ATTENTION_DO], (z * a->queries + i) * a->d, input[ATTENTION_V],
                attention_key_row(a, input, b, head, j) * a->d, &dp->x, &dp->error, &dp->bound,
                &dp->drop);
        dp->bound += dp->error;
        if (attention_drops(a))
            known_drop(a, (z * a->queries + i) * a->keys + j, dp);
    }
}

static struct known row_delta(const struct attention *a, const struct plane *g, int64_t i)
{
    struct known delta = {.x = {0, 0}};
    double size = 0, n = (double)g->row.n;
    for (int64_t j = g->row.from; j < g->row.from + g->row.n; j++) {
        const struct known *p = &g->p[i * a->keys + j], *dp = &g->dp[i * a->keys + j];
        double w = p->x.hi + p->bound, away = fabs(dp->x.hi);
        delta.x = wide_add(delta.x, wide_mul(p->x, dp->x));
        delta.error += p->error * away + w * dp->error + 0x1p-100 * w * away;
        delta.bound += p->bound * away + w * dp->bound;
        size += w * (away + dp->bound);
    }
    delta.bound += gamma_of(n + 1) * size + 2 * (n + 1) * least;
    return delta;
}

static struct known ds_of(const struct known *p, const struct known *dp,
                          const struct known *delta)
{
    struct wide away = wide_sub(dp->x, delta->x);
    double size = fabs(away.hi), u = ATTENTION_U, e = dp->bound + delta->bound;
    struct known s = {.x = wide_mul(p->x, away)};
    double w = p->x.hi + p->bound;
    s.error = p->error * size + w * (dp->error + delta->error) +
              0x1p-100 * w * (size + fabs(delta->x.hi));
    s.bound = p->bound * size + w * (e + u * (size + e));
    s.bound += u * (fabs(s.x.hi) + s.bound) + 2 * least + s.error;
    s.bound *= 1 + 0x1p-16;
    s.drop = p->x.hi * dp->drop;
    return s;
}

static void plane_make(const struct attention *a, const struct tensor *const *input, int64_t z,
                       struct plane *g)
{
    g->unsure = false;
    for (int64_t i = 0; i < a->queries; i++) {
        row_inputs(a, input, z, i, g);
        struct known delta = row_delta(a, g, i);
        for (int64_t j = g->row.from; j < g->row.from + g->row.n; j++) {
            int64_t at = i * a->keys + j;
            g->ds[at] = ds_of(&g->p[at], &g->dp[at], &delta);
        }
    }
}

/* --- sums ------------------------------------------------------------------------------------
 */

struct sum {
    struct wide x;
    double error, off, size, inputs, n, last;
    bool unsure;
};

static void sum_add(struct sum *s, const struct known *x, double y)
{
    double size = fabs(x->x.hi) + x->bound;
    s->x = wide_add(s->x, wide_mul(x->x, wide_of(y)));
    s->error += (x->error + 0x1p-100 * size) * fabs(y);
    s->off += x->bound * fabs(y);
    s->size += size * fabs(y);
    s->inputs += size;
    s->last = fabs(x->x.hi * y);
    s->n++;
}

static void oracle_put(struct oracle *o, int64_t at, const struct known *k, double size,
                       bool unsure)
{
    o->value[at] = k->x.hi;
    o->tail[at] = k->x.lo;
    o->error[at] = k->error;
    o->bound[at] = unsure ? (double)INFINITY : k->bound;
    o->drop[at] = unsure ? 0 : k->drop;
    o->scale[at] = size;
}

static void sum_put(const struct attention *a, const struct sum *s, double scale,
                    struct oracle *o, int64_t at)
{
    struct known k = {.x = wide_mul(s->x, wide_of(scale))};
    double e = s->off + gamma_of(s->n + 1) * s->size + least * (2 * s->n + s->inputs);
    double size = fabs(k.x.hi);
    e = fabs(scale) * e * (1 + 0x1p-16);
    if (scale != 1)
        e += ATTENTION_U * (size + e) + least;
    k.error = fabs(scale) * s->error + 0x1p-102 * size + 0x1p-900;
    k.bound = (e + narrowing(a->dtype, size + e) + k.error) * (1 + 0x1p-16);
    k.drop = fabs(scale) * fmax(s->last, s->n > 0 ? s->size / s->n : 0);
    oracle_put(o, at, &k, fabs(scale) * s->size, s->unsure);
}

/* --- outputs ---------------------------------------------------------------------------------
 */

static void plane_matrix(const struct attention *a, const struct plane *g, int which, int64_t z,
                         struct oracle *o)
{
    int64_t n = a->queries * a->keys;
    const struct known *from = which == ATTENTION_DP ? g->dp : g->ds;
    for (int64_t at = 0; at < n; at++)
        oracle_put(o, z * n + at, &from[at], fabs(from[at].x.hi), g->unsure);
}

static void plane_dq(const struct attention *a, const struct tensor *const *input,
                     const struct plane *g, int64_t z, struct oracle *o)
{
    int64_t b = z / a->heads, head = z % a->heads / (a->heads / a->kv_heads), from, to;
    for (int64_t i = 0; i < a->queries; i++)
        for (int64_t c = 0; c < a->d; c++) {
            struct sum s = {.unsure = g->unsure};
            attention_visible(a, i, &from, &to);
            for (int64_t j = from; j < to; j++)
                sum_add(&s, &g->ds[i * a->keys + j],
                        tensor_value(input[ATTENTION_K],
                                     attention_key_row(a, input, b, head, j) * a->d + c));
            sum_put(a, &s, (double)a->scale, o, (z * a->queries + i) * a->d + c);
        }
}

/* Adds query head z's share to the sums of its kv head's keys. */
static void plane_keys(const struct attention *a, const struct tensor *const *input, int which,
                       const struct plane *g, int64_t z, struct sum *sums)
{
    const struct tensor *t = input[which == ATTENTION_DV ? ATTENTION_DO : ATTENTION_Q];
    const struct known *x = which == ATTENTION_DV ? g->p : g->ds;
    int64_t from, to;
    for (int64_t i = 0; i < a->queries; i++) {
        attention_visible(a, i, &from, &to);
        for (int64_t j = from; j < to; j++) {
            struct known term = x[i * a->keys + j];
            if (attention_drops(a) && which == ATTENTION_DV)
                known_drop(a, (z * a->queries + i) * a->keys + j, &term);
            for (int64_t c = 0; c < a->d; c++)
                sum_add(&sums[j * a->d + c], &term,
                        tensor_value(t, (z * a->queries + i) * a->d + c));
        }
    }
    for (int64_t at = 0; at < a->keys * a->d; at++)
        sums[at].unsure |= g->unsure;
}

static enum err keys_oracle(const struct attention *a, const struct tensor *const *input,
                            int which, struct case_span span, struct plane *g,
                            struct oracle *o, struct errinfo *e)
{
    int64_t n = a->keys * a->d, group = a->heads / a->kv_heads;
    struct sum *sums = calloc((size_t)n, sizeof *sums);
    if (!sums)
        return err_set(e, ERR_NOMEM, "no memory for gradients of %lld keys",
                       (long long)a->keys);
    for (int64_t kv = span.from / n; kv * n < span.to; kv++) {
        for (int64_t at = 0; at < n; at++)
            sums[at] = (struct sum){.unsure = false};
        for (int64_t h = 0; h < group; h++) {
            plane_make(a, input, kv * group + h, g);
            plane_keys(a, input, which, g, kv * group + h, sums);
        }
        for (int64_t at = 0; at < n; at++)
            sum_put(a, &sums[at], which == ATTENTION_DV ? 1 : (double)a->scale, o, kv * n + at);
    }
    free(sums);
    return ERR_OK;
}

static enum err all_planes(const struct attention *a, const struct tensor *const *input,
                           int which, struct case_span span, struct plane *g,
                           struct oracle *o, struct errinfo *e)
{
    int64_t n = a->queries * (which == ATTENTION_DQ ? a->d : a->keys);
    if (which == ATTENTION_DK || which == ATTENTION_DV)
        return keys_oracle(a, input, which, span, g, o, e);
    for (int64_t z = span.from / n; z * n < span.to; z++) {
        plane_make(a, input, z, g);
        if (which == ATTENTION_DQ)
            plane_dq(a, input, g, z, o);
        else
            plane_matrix(a, g, which, z, o);
    }
    return ERR_OK;
}

enum err attention_gradient_oracle(const struct case_id *id, const struct case_plan *plan,
                                   const struct tensor *const *input, int which,
                                   struct case_span span, int threads, struct oracle *o,
                                   struct errinfo *e)
{
    (void)plan, (void)threads;
    struct attention a;
    struct plane g;
    attention_decode(id, &a);
    TRY(plane_init(&g, &a, e));
    enum err code = all_planes(&a, input, which, span, &g, o, e);
    plane_release(&g);
    return code;
}
