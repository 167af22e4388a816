/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce.h"

#include <math.h>

/* Mean and variance of a row: exact, and how far a right device may be off.
 *
 * Two passes. The mean as in bound.c, off by at most m. The squares are of distances from a
 * mean off by t, |t| <= m: sum (a - t)^2 = sum a^2 + n t^2, since sum a = 0. Two roundings come
 * from squaring the rounded distance, one from the square, D from the sums, then the division:
 *   (V + m^2) ((1 + u)^(D + 3) (1 + w) - 1) + m^2 + 8 f0.
 *
 * One pass. A bound over all rows would be far from what happens (it has n times the square of
 * mean over deviation in it), so the errors are followed through the computation on the row's
 * own numbers, step by step, each operation with its worst error. With the mean of k - 1 terms
 * off by E and A its exact distance from x:
 *   away:    A' = u (|A| + E) + f0                                 (rounding of x - mean)
 *   mean:    E_k = (1 - 1/k) E + A' / k + w (|A| + E) / k + u (|mean| + ...) + 2 f0
 *   squares: |A| off2 + |B| off1 + off1 off2 for the product of both distances A and B, off by
 *            off1 and off2, then a rounding for the product (fused: none) and one for the sum.
 * E shrinks by 1 - 1/k, since the new mean takes only 1/k of an error in the distance. Two
 * parts join with weights that sum to 1, so their errors do as well. A part's first term is its
 * mean without any error: x - 0, divided by 1. All this in double: its own roundings are below
 * 2^-20 of the result, by which the bound is enlarged. */

enum { LANES = 32, SHUFFLES = 5 };

struct track {
    double count, mean, squares;
    double mean_off, squares_off;
};

struct rules {
    double division, least;
};

/* Off by `off` before the operation, rounded to f32 after it. */
static double rounded(const struct rules *q, double value, double off)
{
    return off + ROUNDOFF_U * (fabs(value) + off) + q->least;
}

static double product_off(double a, double a_off, double b, double b_off)
{
    return fabs(a) * b_off + fabs(b) * a_off + a_off * b_off;
}

static void track_add(const struct rules *q, struct track *p, double x)
{
    if (p->count == 0 && q->division == ROUNDOFF_U) {
        *p = (struct track){1, x, 0, q->least, 2 * q->least};
        return;
    }
    double k = p->count + 1, away = x - p->mean, mean = p->mean + away / k;
    double away_off = rounded(q, away, p->mean_off);
    double own = away_off - p->mean_off;
    double step = own / k + q->division * (fabs(away) + away_off) / k + q->least;
    double mean_off = rounded(q, mean, (1 - 1 / k) * p->mean_off + step);
    double rest = x - mean, rest_off = rounded(q, rest, mean_off);
    double squares = p->squares + away * rest;
    double off = rounded(q, away * rest, product_off(away, away_off, rest, rest_off));
    *p = (struct track){k, mean, squares, mean_off, rounded(q, squares, p->squares_off + off)};
}

static void track_join(const struct rules *q, struct track *a, const struct track *b)
{
    if (b->count == 0)
        return;
    double count = a->count + b->count, share = b->count / count, away = b->mean - a->mean;
    double both = a->mean_off + b->mean_off, away_off = rounded(q, away, both);
    double mean = a->mean + away * share;
    double step = share * (away_off - both) +
                  (q->division + ROUNDOFF_U * 1.01) * share * (fabs(away) + away_off) +
                  q->least;
    double mean_off =
        rounded(q, mean, a->mean_off * a->count / count + b->mean_off * share + step);
    double part = away * away * a->count * share;
    double part_off = product_off(away, away_off, away, away_off) * a->count * share;
    part_off += (q->division + 3.01 * ROUNDOFF_U) * (part + part_off) +
                q->least * (2 + a->count * share + share);
    double sum = a->squares + b->squares, sum_off = a->squares_off + b->squares_off;
    sum_off = rounded(q, sum, sum_off);
    *a = (struct track){count, mean, sum + part, mean_off,
                        rounded(q, sum + part, sum_off + part_off)};
}

static struct track welford(const struct reduce *r, const struct rules *q, const double *x)
{
    struct track lane[LANES] = {0};
    for (int64_t i = 0; i < r->n; i++)
        track_add(q, &lane[i % LANES], x[i]);
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            track_join(q, &lane[l], &lane[l + half]);
    return lane[0];
}

/* --- the result ------------------------------------------------------------------------------
 */

struct exact {
    struct wide mean, var;
    double size; /* mean of |x| */
};

static struct exact exact_make(const struct reduce *r, const double *x)
{
    struct wide sum = {0, 0}, squares = {0, 0}, n = wide_of((double)r->n);
    struct exact s = {.size = 0};
    for (int64_t i = 0; i < r->n; i++) {
        sum = wide_add(sum, wide_of(x[i]));
        s.size += fabs(x[i]) / n.hi;
    }
    s.mean = wide_div(sum, n);
    for (int64_t i = 0; i < r->n; i++) {
        struct wide a = wide_sub(wide_of(x[i]), s.mean);
        squares = wide_add(squares, wide_mul(a, a));
    }
    s.var = wide_div(squares, n);
    return s;
}

static double grown(double n)
{
    return exp(n * log1p(ROUNDOFF_U)) * (1 + 0x1p-40);
}

static void twopass_off(const struct reduce *r, const struct rules *q, const struct exact *s,
                        double *ret_mean, double *ret_var)
{
    double d = (double)((r->n + LANES - 1) / LANES + SHUFFLES), w = q->division;
    double m = (grown(d) - 1) * s->size + 2 * q->least;
    m += w * (fabs(s->mean.hi) + m) + q->least;
    *ret_mean = m;
    *ret_var = (s->var.hi + m * m) * (grown(d + 3) * (1 + w) - 1) + m * m + 8 * q->least;
}

static void welford_off(const struct reduce *r, const struct rules *q, const double *x,
                        double *ret_mean, double *ret_var)
{
    struct track t = welford(r, q, x);
    double n = (double)r->n, off = t.squares_off / n, var = t.squares / n;
    *ret_mean = t.mean_off;
    *ret_var = off + q->division * (var + off) + q->least;
}

static struct element element(struct wide y, double error, double off, double scale,
                              double drop)
{
    return (struct element){.value = y.hi,
                            .tail = y.lo,
                            .error = error,
                            .bound = off * (1 + 0x1p-20) + error,
                            .scale = scale,
                            .drop = drop};
}

void reduce_spread(const struct reduce *r, const double *x, struct element *ret_mean,
                   struct element *ret_var)
{
    bool finite = true;
    double n = (double)r->n, mean_off, var_off, squares = 0;
    for (int64_t i = 0; i < r->n; i++) {
        finite = finite && isfinite(x[i]);
        squares += x[i] * x[i];
    }
    if ((r->mode.approximate && !finite) || (finite && squares >= 0x1p120)) {
        *ret_mean = *ret_var = element_open(0);
        return;
    }
    if (!finite) {
        /* Inf - Inf comes up in every variance; a mean in one pass meets it too, unless the Inf
         * is a lane's first and only one: not judged. */
        bool nan = false;
        for (int64_t i = 0; i < r->n; i++)
            nan = nan || isnan(x[i]);
        *ret_mean = nan ? element_exact((double)NAN) : element_open(0);
        *ret_var = element_exact((double)NAN);
        return;
    }
    struct rules q = {roundoff_division(&r->mode), reduce_least(r)};
    struct exact s = exact_make(r, x);
    if (r->order == REDUCE_WELFORD)
        welford_off(r, &q, x, &mean_off, &var_off);
    else
        twopass_off(r, &q, &s, &mean_off, &var_off);
    double rough = (8 * n + 64) * 0x1p-106;
    *ret_mean = element(s.mean, rough * s.size + 0x1p-900, mean_off, s.size, s.size / n);
    *ret_var = element(s.var, rough * (s.var.hi + s.size * s.size) + 0x1p-900, var_off,
                       s.var.hi, s.var.hi / n);
}
