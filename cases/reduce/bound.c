/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce.h"

#include <math.h>

/* How far a right device may be from the exact sum of n terms.
 *
 * Notation: u = 2^-24; every f32 operation gives x (1 + e) + f, |e| <= u, |f| <= f0 (0 for
 * sums, 2^-150 for squares; 2^-125 where subnormals are flushed, operands included; the atomic
 * adds of NVIDIA flush in any mode). S = sum |x|. D = the additions a term goes through at
 * most, as the variant says; where the mode lets compilers reorder, n.
 *
 * Sum. Each term carries at most D factors (1 + e): E = ((1 + u)^D - 1) S + 2 n f0.
 *
 * Partial sums rounded to the format (hop). A worst case over all inputs would hide every fault
 * behind n roundings of 8 bits, so errors are followed along the declared order on the inputs
 * themselves: a partial sum s off by E becomes, after its own two roundings, off by
 *   E + (|s| + E) ((1 + u) (1 + v) - 1) + a + f0,
 * v the format's unit roundoff, a half its smallest subnormal; two that meet add their errors.
 * Done in double, whose own roundings are far below 2^-20 of that. Where the mode lets
 * compilers reorder: ((1 + u)^n (1 + v)^n - 1) S + n (a + f0) (1 + u)^n (1 + v)^n.
 *
 * Mean: the division adds w (|mean| + E / n) + f0 to E / n, w = u, or 5 u where it may be
 * inexact (2 ulp of a quotient, or a reciprocal and a product).
 *
 * Norm: all squares are positive: T = sum x^2 comes out between T (1 - u)^(D + 1) - 2 n f0 and
 * T (1 + u)^(D + 1) + 2 n f0; fused or not. The root of both ends, rounded: u, or 4 u where it
 * may be approximated.
 *
 * At the end a rounding to the format: half the spacing there at |y| + E. A sum with hop is of
 * the format already.
 *
 * NaN and Inf follow IEEE in any order as long as no finite partial sum can overflow: S or T up
 * to 2^120 (hop: the format's largest number). Otherwise an element is not judged, nor is one
 * whose own rounding may overflow; approximate modes promise nothing of NaN and Inf.
 *
 * `drop` is what the loss of one term of mean size would change. */

enum { THREADS = 256, TREE = 8, LANES = 32, SHUFFLES = 5 };

double reduce_least(const struct reduce *r)
{
    return r->order == REDUCE_ATOMIC ? 0x1p-125 : roundoff_least(&r->mode);
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static double depth(const struct reduce *r)
{
    if (r->mode.approximate)
        return (double)r->n;
    switch (r->order) {
    case REDUCE_TREE:
        return (double)(ceil_div(r->n, THREADS) + TREE);
    case REDUCE_WARP:
        return (double)(ceil_div(r->n, LANES) + SHUFFLES);
    case REDUCE_ATOMIC:
        return (double)(REDUCE_CHUNK / THREADS + TREE + ceil_div(r->n, REDUCE_CHUNK));
    case REDUCE_PAIRS:
        return ceil(log2((double)r->n));
    default:
        return (double)r->n;
    }
}

/* (1 + x)^n */
static double grown(double x, double n)
{
    return exp(n * log1p(x)) * (1 + 0x1p-40);
}

/* --- what comes before the bound -------------------------------------------------------------
 */

struct terms {
    struct wide sum; /* of x, or of their squares */
    double size;     /* S or T */
    bool nan, plus, minus;
};

static struct terms terms_add(const struct reduce *r, const double *x)
{
    struct terms t = {.size = 0};
    for (int64_t i = 0; i < r->n; i++) {
        bool norm = r->op == REDUCE_NORM;
        t.nan |= isnan(x[i]);
        t.plus |= isinf(x[i]) && (norm || x[i] > 0);
        t.minus |= isinf(x[i]) && !norm && x[i] < 0;
        if (!isfinite(x[i]))
            continue;
        struct wide v = norm ? wide_product(x[i], x[i]) : wide_of(x[i]);
        t.sum = wide_add(t.sum, v);
        t.size += fabs(v.hi);
    }
    return t;
}

static struct wide sqrt_wide(struct wide x)
{
    if (x.hi <= 0)
        return wide_of(0);
    double q = sqrt(x.hi);
    return wide_add(wide_of(q), wide_div(wide_sub(x, wide_product(q, q)), wide_of(2 * q)));
}

/* --- the three results -----------------------------------------------------------------------
 */

struct partial {
    double sum, off;
};

static struct partial meet(const struct reduce *r, struct partial a, struct partial b)
{
    double v = dtype_unit(r->dtype), sum = a.sum + b.sum, off = a.off + b.off;
    double lost = dtype_min_subnormal(r->dtype) / 2 + 2 * reduce_least(r);
    off += (fabs(sum) + off) * (v + ROUNDOFF_U + v * ROUNDOFF_U) + lost;
    return (struct partial){sum, off};
}

static double hops_bound(const struct reduce *r, const double *x, int64_t first)
{
    struct partial part[REDUCE_RANKS];
    for (int64_t i = 0; i < r->n; i++)
        part[i] = (struct partial){x[(first + i) % r->n], 0};
    for (int64_t d = 1; r->order == REDUCE_PAIRS && d < r->n; d *= 2)
        for (int64_t i = 0; i + d < r->n; i += 2 * d)
            part[i] = meet(r, part[i], part[i + d]);
    for (int64_t i = 1; r->order != REDUCE_PAIRS && i < r->n; i++)
        part[0] = meet(r, part[0], part[i]);
    return part[0].off;
}

static double sum_bound(const struct reduce *r, const struct terms *t, const double *x,
                        int64_t first)
{
    double d = depth(r), growth = grown(ROUNDOFF_U, d), n = (double)r->n;
    double lost = 2 * n * reduce_least(r);
    if (!r->hop || r->dtype == DTYPE_F32)
        return (growth - 1) * t->size + lost;
    if (!r->mode.approximate)
        return hops_bound(r, x, first) + lost;
    growth *= grown(dtype_unit(r->dtype), d);
    return (growth - 1) * t->size + (n * dtype_min_subnormal(r->dtype) + lost) * growth;
}

static void sum_make(const struct reduce *r, const struct terms *t, bool mean, double bound,
                     struct element *x)
{
    double n = (double)r->n, part = mean ? n : 1;
    struct wide y = mean ? wide_div(t->sum, wide_of(n)) : t->sum;
    x->value = y.hi;
    x->tail = y.lo;
    x->error = (4 * n + 16) * 0x1p-106 * t->size / part;
    x->scale = t->size / part;
    x->drop = t->size / n / part;
    x->bound = bound / part;
    if (mean)
        x->bound += roundoff_division(&r->mode) * (fabs(y.hi) + x->bound) + reduce_least(r);
}

static void norm_make(const struct reduce *r, const struct terms *t, struct element *x)
{
    double n = (double)r->n, total = t->sum.hi, d = depth(r) + 1, f = 2 * n * reduce_least(r);
    struct wide y = sqrt_wide(t->sum);
    double high = sqrt(total * grown(ROUNDOFF_U, d) + f) - y.hi;
    double low = y.hi - sqrt(fmax(0, total * grown(-ROUNDOFF_U, d) - f));
    double root = (r->mode.exact_sqrt && !r->mode.approximate ? 1 : 4) * ROUNDOFF_U;
    x->value = y.hi;
    x->tail = y.lo;
    x->error = y.hi * (4 * n + 64) * 0x1p-106 + 0x1p-900;
    x->scale = y.hi;
    x->drop = y.hi - sqrt(total - total / n);
    x->bound = fmax(high, low) * (1 + 0x1p-30) + y.hi * 0x1p-50;
    x->bound += root * (y.hi + x->bound);
}

struct element reduce_sum(const struct reduce *r, const double *x, int64_t first, bool raw)
{
    struct terms t = terms_add(r, x);
    double limit = r->hop && r->dtype != DTYPE_F32 ? dtype_max(r->dtype) / 2 : 0x1p120;
    if (r->mode.approximate && (t.nan || t.plus || t.minus))
        return element_open(0);
    if (t.nan || (t.plus && t.minus))
        return element_exact((double)NAN);
    if (t.size >= limit)
        return element_open(t.sum.hi);
    if (t.plus || t.minus)
        return element_exact(t.plus ? (double)INFINITY : -(double)INFINITY);
    struct element y = {0};
    enum dtype d = raw ? DTYPE_F32 : r->dtype;
    if (r->op == REDUCE_NORM && !raw)
        norm_make(r, &t, &y);
    else
        sum_make(r, &t, r->op == REDUCE_MEAN && !raw, sum_bound(r, &t, x, first), &y);
    bool narrow = r->hop && r->op == REDUCE_SUM; /* already */
    y.bound += (narrow ? 0 : roundoff_store(d, fabs(y.value) + y.bound)) + y.error;
    y.bound *= 1 + 0x1p-20;
    return fabs(y.value) + 2 * y.bound >= dtype_max(d) ? element_open(y.value) : y;
}
