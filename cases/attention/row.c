/* SPDX-License-Identifier: Apache-2.0 */
#include "attention.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* --- a score ---------------------------------------------------------------------------------
 *
 * How far a device's f32 score may be from the exact t. u = 2^-24; every operation gives
 * x (1 + d) + w, |d| <= u, |w| <= w0, w0 being 2^-150 or, where subnormals are flushed, 2^-126.
 *
 * The product of the two vectors, S = sum |q k|, W = sum of the magnitudes of the exact partial
 * sums: E = min(gamma(d) S, (1 + gamma(d)) u (W + S)) + 2 d w0 + lost, as derived for gemm; the
 * second form needs ascending order, which both kernels have and no mode gives up. `lost`:
 * subnormal inputs that are flushed, 2^-126 (sum |q| + sum |k|).
 *
 * On matrix units, whose arithmetic and bound cases/gemm/bound.c has: with P the largest |q| times
 * the largest |k|, each at least the smallest normal, and d rounded up to D, a multiple of 16,
 *   E = (D u 3/2 P + min(7/4 D u S, 11 u W) + 2 D 2^-126 + 2^-126 (sum |q| + sum |k|)) / (1 - 7/4 D u).
 *
 * times scale:         E1 = |scale| E + u (|t| + |scale| E) + w0
 * softcap c tanh(t/c): tanh does not stretch, so E1 stays; the quotient adds 1 u (correctly
 *                      rounded) or 5 u (2 ulp and a rounding) of |t|, the documented 2 ulp of
 *                      both stacks' tanhf (tanh.approx: 2^-11) and the product's u come as
 * parts of |c tanh| minus slope * |..|:  u of the product and u of the difference
 *
 * Terms of second order are covered by a factor 1 + 2^-16. */

struct score {
    struct wide t;
    double t_error, bound, last;
    bool unsure;
};

static double least_loss(const struct attention *a)
{
    return a->mode.flush ? 0x1p-126 : 0x1p-150;
}

static double larger(double x, double y)
{
    return x > y ? x : y;
}

/* Finite inputs; the exact products' sum, its magnitude, and the bound of the f32 sum. */
struct dot {
    struct wide sum;
    double magnitude, walk, inputs, last;
    double x_largest, y_largest;
    double special; /* NaN or Inf, if `is_special` */
    bool is_special;
};

static struct dot dot_make(const struct attention *a, const struct tensor *q, int64_t q_at,
                           const struct tensor *k, int64_t k_at)
{
    struct dot d = {.sum = {0, 0}};
    double plain = 0;
    for (int64_t l = 0; l < a->d; l++) {
        double x = tensor_value(q, q_at + l), y = tensor_value(k, k_at + l), p = x * y;
        plain += p;
        d.is_special |= !isfinite(p);
        if (!isfinite(p))
            continue;
        d.sum = wide_add(d.sum, wide_of(p));
        d.magnitude += fabs(p);
        d.walk += fabs(d.sum.hi);
        d.inputs += fabs(x) + fabs(y);
        d.x_largest = larger(d.x_largest, fabs(x));
        d.y_largest = larger(d.y_largest, fabs(y));
        d.last = fabs(p);
    }
    d.special = plain;
    return d;
}

static double unit_bound(const struct attention *a, const struct dot *d)
{
    double least = dtype_min_normal(a->dtype), k = (double)((a->d + 15) / 16 * 16);
    double peak = larger(d->x_largest, least) * larger(d->y_largest, least);
    double any = 1.75 * k * ATTENTION_U * d->magnitude;
    double ordered = 11 * ATTENTION_U * (d->walk + k * k * 0x1p-53 * d->magnitude);
    double fixed = 1.5 * k * ATTENTION_U * peak + (any < ordered ? any : ordered);
    return (fixed + 2 * k * 0x1p-126 + 0x1p-126 * d->inputs) / (1 - 1.75 * k * ATTENTION_U);
}

static double dot_bound(const struct attention *a, const struct dot *d)
{
    if (a->kind == ATTENTION_MMA)
        return unit_bound(a, d);
    double nu = (double)a->d * ATTENTION_U, gamma = nu / (1 - nu);
    double any = gamma * d->magnitude;
    double ordered = (1 + gamma) * ATTENTION_U * (d->walk + d->magnitude);
    double lost = a->mode.flush ? 0x1p-126 * d->inputs : 0;
    return (any < ordered ? any : ordered) + 2 * (double)a->d * least_loss(a) + lost;
}

static void score_cap(const struct attention *a, struct score *s)
{
    double c = (double)a->softcap, size = fabs(s->t.hi);
    double divide = (a->mode.exact_div ? 1 : 5) * ATTENTION_U;
    double tanh_error = a->mode.approximate ? 0x1p-11 : 4 * ATTENTION_U;
    struct wide y = wide_mul(wide_of(c), wide_tanh(wide_div(s->t, wide_of(c))));
    double stretched = isfinite(size) ? s->bound + divide * size : 0;
    s->bound = (stretched < 2 * c ? stretched : 2 * c) +
               (tanh_error + ATTENTION_U) * fabs(y.hi) + 4 * least_loss(a);
    s->t_error = (isfinite(size) ? s->t_error + 0x1p-100 * size : 0) + c * 2 * WIDE_TANH;
    s->t = y;
}

static void score_bias(const struct attention *a, double slope, int64_t distance,
                       struct score *s)
{
    struct wide bias = wide_product(slope, (double)distance);
    s->t = wide_sub(s->t, bias);
    s->t_error += 0x1p-104 * fabs(s->t.hi);
    s->bound +=
        ATTENTION_U * (2 * fabs(bias.hi) + fabs(s->t.hi) + s->bound) + 2 * least_loss(a);
}

static struct score score_make(const struct attention *a, const struct dot *d, double slope,
                               int64_t distance)
{
    double scale = (double)a->scale, size = fabs(scale) * d->magnitude;
    struct score s = {.last = fabs(scale) * d->last};
    s.unsure = larger(d->magnitude, size) >= 0x1p126 || (d->is_special && a->mode.flush);
    s.t = d->is_special ? wide_of(scale * d->special) : wide_mul(d->sum, wide_of(scale));
    if (!d->is_special) {
        s.bound = fabs(scale) * dot_bound(a, d);
        s.bound += ATTENTION_U * (fabs(s.t.hi) + s.bound) + least_loss(a);
        s.t_error = ((double)a->d * 0x1p-103 + 0x1p-102) * size;
    }
    if (a->softcap != 0)
        score_cap(a, &s);
    if (a->alibi)
        score_bias(a, slope, distance, &s);
    s.bound *= 1 + 0x1p-16;
    return s;
}

void row_dot(const struct attention *a, const struct tensor *x, int64_t x_at,
             const struct tensor *y, int64_t y_at, struct wide *ret_sum, double *ret_error,
             double *ret_bound, double *ret_last)
{
    struct dot d = dot_make(a, x, x_at, y, y_at);
    *ret_sum = d.sum;
    *ret_error = (double)a->d * 0x1p-103 * d.magnitude;
    *ret_bound = dot_bound(a, &d) * (1 + 0x1p-16);
    *ret_last = d.last;
}

/* --- the row ---------------------------------------------------------------------------------
 */

enum err row_init(struct row *r, int64_t keys, struct errinfo *e)
{
    size_t n = (size_t)keys + 1;
    *r = (struct row){.t = calloc(n, sizeof *r->t),
                      .t_error = calloc(n, sizeof *r->t_error),
                      .t_bound = calloc(n, sizeof *r->t_bound),
                      .last = calloc(n, sizeof *r->last),
                      .w = calloc(n, sizeof *r->w),
                      .theta = calloc(n, sizeof *r->theta),
                      .log_theta = calloc(n, sizeof *r->log_theta)};
    if (r->t && r->t_error && r->t_bound && r->last && r->w && r->theta && r->log_theta)
        return ERR_OK;
    row_release(r);
    return err_set(e, ERR_NOMEM, "no memory for the reference of %lld keys", (long long)keys);
}

void row_release(struct row *r)
{
    free(r->t);
    free(r->t_error);
    free(r->t_bound);
    free(r->last);
    free(r->w);
    free(r->theta);
    free(r->log_theta);
    *r = (struct row){.kind = ROW_EMPTY};
}

/* Weights of a device. In f32 exp(t - most): with x the errors of t, u (|t - most| + both
 * errors) of the difference and f of expf, a weight is off by the factor e^x (1 + f). Both
 * stacks document 2 ulp or less for expf (f = 4 u); NVIDIA's fast one 2 + 1.173 |t - most| ulp,
 * AMD's 6, so f = 2 u (6 + 1.2 |t - most|). The largest score is an f32 number common to all
 * weights: its own error cancels.
 *
 * Flash computes each weight relative to the maximum so far and multiplies it by
 * exp(old - new) in each later tile: the differences add up to |t - most| again, each is
 * rounded, and each exp errs once more: (1 + tiles) f. The multiplications' roundings are not
 * shared between O and the sum; bound.c has them. */
static void row_thetas(const struct attention *a, struct row *r)
{
    int64_t tiles = attention_tiled(a) ? (r->n + ATTENTION_TILE - 1) / ATTENTION_TILE + 1 : 0;
    for (int64_t j = 0; j < r->n; j++) {
        if (!isfinite(r->t[j].hi)) {
            r->theta[j] = r->log_theta[j] = 0;
            continue;
        }
        double away = fabs(r->most.hi - r->t[j].hi);
        double errors = r->t_bound[j] + r->most_bound;
        double f = (a->mode.approximate ? 12 : 4) * ATTENTION_U;
        double x = r->t_bound[j] + ATTENTION_U * (away + errors) + (double)(1 + tiles) * f;
        if (a->mode.approximate)
            x += 2.4 * ATTENTION_U * (away + errors);
        r->log_theta[j] = x * (1 + 0x1p-16);
        r->theta[j] = expm1(r->log_theta[j]);
    }
}

static void row_weights(struct row *r)
{
    double relative = 0, spread = 0;
    r->sum = wide_of(0);
    for (int64_t j = 0; j < r->n; j++) {
        if (isinf(r->t[j].hi)) {
            r->w[j] = wide_of(0);
            continue;
        }
        r->w[j] = wide_exp(wide_sub(r->t[j], r->most));
        r->sum = wide_add(r->sum, r->w[j]);
        relative = larger(relative, r->t_error[j] + 0x1p-104 * fabs(r->t[j].hi - r->most.hi));
    }
    r->wide_error = 4 * relative + 4 * WIDE_EXP + (double)r->n * 0x1p-104;
    for (int64_t j = 0; j < r->n; j++)
        spread += r->w[j].hi == 0 ? 0 : r->w[j].hi * r->theta[j];
    r->spread = spread / r->sum.hi * (1 + 0x1p-16);
}

static void row_settle(struct row *r)
{
    bool nan = false, unsure = r->kind == ROW_UNSURE, any = false;
    r->most = wide_of(-INFINITY);
    r->most_bound = 0;
    for (int64_t j = 0; j < r->n; j++) {
        double t = r->t[j].hi;
        nan |= isnan(t) || t == (double)INFINITY;
        any |= isfinite(t);
        if (!isfinite(t))
            continue;
        if (wide_compare(r->t[j], r->most) > 0)
            r->most = r->t[j];
        r->most_bound = larger(r->most_bound, r->t_bound[j]);
    }
    r->kind = unsure ? ROW_UNSURE : nan ? ROW_NAN : any ? ROW_NUMBER : ROW_UNSURE;
}

void row_make(const struct attention *a, const struct tensor *const *input, int64_t at,
              struct row *r)
{
    struct attention own;
    struct query q = attention_query(a, input, at, &own);
    int64_t to, kv = q.head / (a->heads / a->kv_heads);
    attention_visible(&own, q.i, &r->from, &to);
    r->n = to > r->from ? to - r->from : 0;
    r->kind = ROW_NUMBER;
    double slope = a->alibi ? tensor_value(input[attention_slopes(a)], q.head) : 0;
    for (int64_t j = 0; j < r->n; j++) {
        int64_t key = r->from + j, distance = q.i + own.diagonal - key;
        struct dot d = dot_make(a, input[ATTENTION_Q], at * a->d, input[ATTENTION_K],
                                attention_key_row(a, input, q.b, kv, key) * a->d);
        struct score s = score_make(a, &d, slope, distance < 0 ? -distance : distance);
        r->t[j] = s.t;
        r->t_error[j] = s.t_error;
        r->t_bound[j] = s.bound;
        r->last[j] = s.last;
        r->kind = s.unsure ? ROW_UNSURE : r->kind;
    }
    if (!r->n) {
        r->kind = ROW_EMPTY;
        return;
    }
    row_settle(r);
    if (r->kind != ROW_NUMBER)
        return;
    row_thetas(a, r);
    row_weights(r);
}
