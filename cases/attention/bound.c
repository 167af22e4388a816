/* SPDX-License-Identifier: Apache-2.0 */
#include "attention.h"

#include <math.h>

/* How far a right device may be from the exact outputs of a row.
 *
 * Notation: p_j = w_j / sum w the exact weights, o = sum p_j v_j. A device has weights
 * w_j e^c (1 + x_j), |x_j| <= theta_j (row.c), and computes
 *   N = sum w_j (1 + x_j) (1 + y_j) v_j,  D = sum w_j (1 + x_j) (1 + y'_j)   (times e^c),
 * |y_j| <= G, |y'_j| <= G'. Since sum w_j (v_j - o) = 0,
 *   N/D - o = (sum w_j x_j (v_j - o) + sum w_j (1 + x_j) (y_j v_j - y'_j o)) / D,
 * so with X = sum p_j theta_j, for X + G' < 1/2,
 *   |N/D - o| <= (sum p_j theta_j |v_j - o| + sum p_j (1 + theta_j) (G |v_j| + G' |o|))
 *               / ((1 - X) (1 - G')).
 * Errors common to all values of V thus cancel. However large theta is, N/D without y and y' is
 * a mean of the v_j with other weights:
 *   |N/D - o| <= max |v_j - o| + (G + G') (1 + 2 (G + G')) max |v_j|;
 * the smaller of the two holds.
 *
 * Roundings. Three launches: D has n - 1 additions, G' = gamma(n); the quotient w/D is rounded
 * (1 u, or 5 u where division may be inexact), then multiplied and added n times: G = gamma(n +
 * 1) and the quotient's. Flash: 15 additions within a tile, and a multiplication and an
 * addition in each later one, G' = gamma(16 + 2 tiles); G has one multiplication and one
 * addition more, and the rounding of the weight to V's format (2^-11 f16, 2^-8 bf16; f32 none);
 * the quotient comes last, on O.
 *
 * Small numbers. A device's weights below 2^-126 may be 0, relative to the largest, which is 1;
 * so may products, sums and rescaled sums, and V's subnormals: each operation loses at most
 * 2^-126 of a unit or of |v_j|. Weights rounded to f16 err by 2^-25 where that is more. With at
 * most 4 + tiles operations an element the loss is below
 *   (4 + tiles) 2^-125 sum (1 + |v_j| + |o|) + 2^-25 sum |v_j| (flash in f16), over sum w >= 1.
 *
 * Matrix units (cases/gemm/bound.c, K = 16): each tile's product adds 16 u (3/2 P + 7/4 S) to O, P the
 * largest weight times the largest |v| (each at least the smallest normal), S the magnitudes of the
 * sum so far and of the products. Rescaled like the weights, neither exceeds the sum of weights times
 * max |v|, so the quotient is off by at most 53 u max |v| a tile (52 and the weights' rounding), and by
 * 2^-120 where units flush.
 *
 * O is then rounded to its format: half the spacing there at |o| + error.
 *
 * The log-sum-exp, most + log(D). By log's slope, |log D - log sum w| <= -log(1 - X - G' (1 +
 * X)), and also <= max log(1 + theta_j) + 1.1 G'. logf: both stacks document 2 ulp or less of
 * the result, 4 u; the fast ones 2^-21.4 and 3 ulp. The addition rounds once.
 *
 * Scores: row.c. Weights: p (1 + theta) (1 + quotient) / ((1 - X) (1 - G')) - p, and between 0
 * and 1 anyway.
 *
 * NaN. A NaN or +Inf score makes the sum NaN: Inf - Inf. -Inf has no weight. A NaN in V among
 * the visible keys makes its column NaN, since 0 NaN is NaN; Inf in V is not judged (its weight
 * may be 0 on one device and not on the other), nor is a column with a special value in V that
 * is not visible, which tiles may multiply by 0. */

static double gamma_of(double n)
{
    double nu = n * ATTENTION_U;
    return nu / (1 - nu);
}

struct rounding {
    double sum, values, quotient; /* G', G, the division's */
    double tiles, weight_least;
};

static struct rounding rounding_of(const struct attention *a, double n)
{
    double tiles = attention_tiled(a) ? ceil(n / ATTENTION_TILE) + 1 : 0;
    struct rounding g = {.tiles = tiles};
    g.quotient = (a->mode.exact_div ? 1 : 5) * ATTENTION_U;
    if (!attention_tiled(a)) {
        g.sum = gamma_of(n);
        double factor = a->kind == ATTENTION_DROPOUT ? ATTENTION_U : 0;
        g.values = (1 + gamma_of(n + 1)) * (1 + g.quotient) * (1 + factor) - 1;
        return g;
    }
    double narrow = a->dtype == DTYPE_F32 ? 0 : dtype_unit(a->dtype);
    g.sum = gamma_of(16 + 2 * tiles);
    g.values = (1 + gamma_of(18 + 2 * tiles)) * (1 + narrow) - 1;
    g.weight_least = a->dtype == DTYPE_F16 ? 0x1p-25 : 0;
    return g;
}

/* Half the spacing of the output format at x; f32 results are not rounded again. */
static double narrowing(enum dtype d, double x)
{
    if (d == DTYPE_F32)
        return 0;
    int fraction = dtype_info(d)->fraction, least = d == DTYPE_F16 ? -14 : -126, e;
    frexp(x, &e);
    return ldexp(1, (e - 1 > least ? e - 1 : least) - fraction - 1);
}

static struct element element_special(double value)
{
    return (struct element){.value = value};
}

static struct element element_unsure(double value)
{
    return (struct element){.value = value, .bound = INFINITY};
}

static double share(const struct row *r, int64_t j)
{
    return r->w[j].hi / r->sum.hi;
}

/* --- O ---------------------------------------------------------------------------------------
 */

/* The sums over the row that the bound needs. */
struct column {
    double moved, mixed, magnitude; /* sum p theta |v - o|, sum p (1 + theta) |v|, sum p |v| */
    double all, farthest, largest;  /* sum |v|, max |v - o|, max |v| */
    double mean_drop, last_drop;
};

static struct column column_make(const struct row *r, const double *v, double o)
{
    struct column c = {0};
    for (int64_t j = 0; j < r->n; j++) {
        double p = share(r, j), away = fabs(v[j] - o), size = fabs(v[j]);
        c.moved += p == 0 ? 0 : p * r->theta[j] * away;
        c.mixed += p == 0 ? 0 : p * (1 + r->theta[j]) * size;
        c.magnitude += p * size;
        c.all += size;
        c.farthest = fmax(c.farthest, away);
        c.largest = fmax(c.largest, size);
        c.mean_drop += p * away / (double)r->n;
    }
    double p = share(r, r->n - 1);
    c.last_drop = r->n == 1 ? fabs(v[0]) : p < 1 ? p * fabs(v[r->n - 1] - o) / (1 - p) : 0;
    return c;
}

static double column_bound(const struct row *r, const struct rounding *g,
                           const struct column *c, double o)
{
    double both = g->sum + g->values;
    double mean = c->farthest + both * (1 + 2 * both) * c->largest;
    if (r->spread + g->sum >= 0.5)
        return mean;
    double top = c->moved + g->values * c->mixed + g->sum * (1 + r->spread) * fabs(o);
    return fmin(mean, top / ((1 - r->spread) * (1 - g->sum)));
}

static struct element output_number(const struct attention *a, const struct row *r,
                                    const double *v)
{
    struct wide top = {0, 0};
    for (int64_t j = 0; j < r->n; j++)
        top = wide_add(top, wide_mul(r->w[j], wide_of(v[j])));
    struct wide o = wide_div(top, r->sum);
    double size = fabs(o.hi), n = (double)r->n;
    struct column c = column_make(r, v, o.hi);
    struct rounding g = rounding_of(a, n);
    if (c.all >= 0x1p126)
        return element_unsure(o.hi);
    struct element x = {.value = o.hi, .tail = o.lo, .scale = c.magnitude};
    x.error = 4 * r->wide_error * c.magnitude + 0x1p-900;
    double least = (4 + g.tiles) * 0x1p-125 * (n * (1 + size) + c.all);
    double error = column_bound(r, &g, &c, o.hi);
    error += (least + g.weight_least * c.all) / r->sum.hi * 1.01;
    if (a->kind == ATTENTION_MMA)
        error += g.tiles * (53 * ATTENTION_U * fmax(c.largest, dtype_min_normal(a->dtype)) + 0x1p-120);
    if (attention_tiled(a))
        error += g.quotient * (size + error) + 0x1p-126;
    x.bound = (error + narrowing(a->out, size + error) + x.error) * (1 + 0x1p-16);
    x.drop = fmax(c.mean_drop, c.last_drop);
    return x;
}

struct element attention_output(const struct attention *a, const struct row *r, const double *v)
{
    bool nan = r->kind == ROW_NAN, inf = false;
    if (r->kind == ROW_EMPTY)
        return element_special(0);
    for (int64_t j = 0; j < r->n; j++) {
        nan |= isnan(v[j]);
        inf |= isinf(v[j]);
    }
    if (r->kind == ROW_UNSURE)
        return element_unsure(0);
    if (nan)
        return element_special((double)NAN);
    return inf ? element_unsure(0) : output_number(a, r, v);
}

/* --- the other outputs -----------------------------------------------------------------------
 */

struct element attention_lse(const struct attention *a, const struct row *r)
{
    if (r->kind == ROW_EMPTY)
        return element_special(-INFINITY);
    if (r->kind != ROW_NUMBER)
        return r->kind == ROW_NAN ? element_special((double)NAN) : element_unsure(0);
    struct wide l = wide_log(r->sum), lse = wide_add(r->most, l);
    struct rounding g = rounding_of(a, (double)r->n);
    double worst = 0, size = fabs(lse.hi), t_error = 0;
    for (int64_t j = 0; j < r->n; j++) {
        worst = fmax(worst, r->log_theta[j]);
        t_error = fmax(t_error, r->t_error[j]);
    }
    double off = worst + 1.1 * g.sum, near = r->spread + g.sum * (1 + r->spread);
    if (near < 0.5)
        off = fmin(off, -log1p(-near));
    off += (4 + g.tiles) * 0x1p-125 * (double)r->n;
    double logf_error = (a->mode.approximate ? 8 : 4) * ATTENTION_U;
    double error =
        off + logf_error * (l.hi + off + r->most_bound) + (a->mode.approximate ? 0x1p-21 : 0);
    error += ATTENTION_U * (size + error) + 0x1p-126;
    struct element x = {.value = lse.hi, .tail = lse.lo, .scale = fabs(r->most.hi) + l.hi};
    x.error = t_error + 4 * r->wide_error + 4 * WIDE_LOG * (1 + l.hi) + 0x1p-104 * size;
    x.bound = (error + x.error) * (1 + 0x1p-16);
    double p = share(r, r->n - 1);
    /* The last key, or one of mean weight. */
    x.drop = fmax(p < 1 ? -log1p(-p) : 1, 1 / (double)r->n);
    return x;
}

struct element attention_score(const struct attention *a, const struct row *r, int64_t j)
{
    (void)a;
    int64_t at = j - r->from;
    if (at < 0 || at >= r->n)
        return element_special(-INFINITY);
    if (r->kind == ROW_UNSURE)
        return element_unsure(r->t[at].hi);
    if (!isfinite(r->t[at].hi))
        return element_special(r->t[at].hi);
    double size = fabs(r->t[at].hi);
    return (struct element){.value = r->t[at].hi,
                            .tail = r->t[at].lo,
                            .error = r->t_error[at],
                            .bound = (r->t_bound[at] + r->t_error[at]) * (1 + 0x1p-16),
                            .drop = r->last[at],
                            .scale = size};
}

struct element attention_weight(const struct attention *a, const struct row *r, int64_t j)
{
    int64_t at = j - r->from;
    if (at < 0 || at >= r->n)
        return element_special(0);
    if (r->kind != ROW_NUMBER)
        return r->kind == ROW_NAN ? element_special((double)NAN) : element_unsure(0);
    struct wide p = wide_div(r->w[at], r->sum);
    struct rounding g = rounding_of(a, (double)r->n);
    double off = fmax(p.hi, 1 - p.hi) + g.quotient + g.sum;
    if (r->spread + g.sum < 0.5) {
        double grown = (1 + r->theta[at]) * (1 + g.quotient) / ((1 - r->spread) * (1 - g.sum));
        off = fmin(off, p.hi * (grown - 1));
    }
    off += 0x1p-124 + (4 + (double)r->n) * 0x1p-125 * p.hi;
    struct element x = {.value = p.hi, .tail = p.lo, .scale = p.hi};
    x.error = 4 * r->wide_error * p.hi + 0x1p-900;
    x.bound = (off + x.error) * (1 + 0x1p-16);
    double last = share(r, r->n - 1);
    last = fmax(last, 1 / (double)r->n);
    x.drop = last >= 1 ? p.hi : p.hi * last / (1 - last);
    return x;
}
