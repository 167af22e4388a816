/* SPDX-License-Identifier: Apache-2.0 */
#include "norm.h"

#include <math.h>

/* How far a right device may be from the exact y of a row h of d elements.
 *
 * Notation: u = 2^-24; every f32 operation gives x (1 + e) + f, |e| <= u, |f| <= f0, which is
 * 2^-149, or 2^-125 where subnormals are flushed (operands too). gamma(n) = n u / (1 - n u).
 * S = sum |h|. D = ceil(d / 256) + 8 bounds the additions any term goes through: a thread's own
 * and 8 steps of the tree. v = the division's error: 1 u, or 5 u where it may be inexact (2 ulp
 * of a quotient, or a reciprocal and a product). rsqrtf: both stacks document 2 ulp or less: 4
 * u.
 *
 * Mean (layer). |mean^ - mean| <= gamma(D) (1 + v) S / d + v |mean| + 4 f0 =: m: each of the d
 * terms loses at most f0 on its way in and in its addition, over d.
 *
 * Square. The distance from a wrong mean is a - t, a = h - mean exactly, |t| <= m, then
 * rounded. Since sum a = 0, sum (a - t)^2 = sum a^2 + d t^2 <= d V + d m^2, V the mean of
 * squares. Two roundings come from squaring the rounded distance, one from the square, D from
 * the sum, then division and eps. All terms are positive, so with M = V + eps the relative
 * error of M is theta_M = (1 + m^2 / M) (1 + gamma(D + 3)) (1 + v) (1 + u) - 1 + 8 f0 / M (rms:
 * m = 0). eps >= 10^-12 keeps the last term below 2^-82. 1 / sqrt is off by at most theta = (1
 * - theta_M)^(-1/2) (1 + 4 u) - 1. A row for which theta_M > 1/4 is not judged, nor one whose
 * squares come near overflow.
 *
 * Element. y = a q w + b, q the scale; three roundings (distance, two products; in any order):
 *   E = |a q w| ((1 + theta) (1 + u)^3 - 1) + m q |w| (1 + theta) (1 + u)^3
 *     + f0 (2 + |w| + 2 q |w| + |a q|)
 * the last for small numbers in the products, each times what multiplies it later. Adding b
 * rounds once more: u (|y| + E). Contraction only removes roundings. Then y is rounded to its
 * format: half the spacing there at |y| + E.
 *
 * The stored sum h is defined with its two roundings, so devices have no freedom but flushing.
 * Where that changes h, by at most 2^-124, y changes by as much times q |w|: in f0's term.
 *
 * NaN and Inf. A NaN makes its row NaN, and so does an Inf in layer: Inf - Inf. In rms an Inf
 * makes the scale 0: Inf elements give NaN, others 0. Approximate modes promise none of this.
 *
 * Lost terms. A row that lost its last element shows that; in 16-bit formats and long rows this
 * is below one rounding. The other small fault is a weight (and bias) of the next column.
 * `drop` is the larger of the two. */

enum { THREADS = 256, TREE = 8 };

static double depth(const struct norm *n)
{
    return (double)((n->d + THREADS - 1) / THREADS + TREE);
}

/* --- the row ---------------------------------------------------------------------------------
 */

/* One Newton step from double: the relative error e of 1/sqrt becomes 1.5 e^2 < 2^-101. */
static struct wide rsqrt_wide(struct wide x)
{
    double q = 1 / sqrt(x.hi);
    struct wide rest = wide_sub(wide_of(1), wide_mul(x, wide_product(q, q)));
    return wide_add(wide_of(q), wide_mul(wide_of(q / 2), rest));
}

static enum norm_row_kind kind_of(const struct norm *n, const double *h)
{
    bool nan = false, inf = false;
    double squares = 0;
    for (int64_t i = 0; i < n->d; i++) {
        nan |= isnan(h[i]);
        inf |= isinf(h[i]);
        squares += h[i] * h[i];
    }
    if ((nan || inf) && n->mode.approximate)
        return NORM_UNSURE;
    if (nan || (inf && n->kind == NORM_LAYER))
        return NORM_NAN;
    if (inf)
        return NORM_INFINITE;
    return squares < 0x1p120 ? NORM_NUMBER : NORM_UNSURE;
}

/* Mean and its errors; returns S / d. */
static double mean_make(const struct norm *n, struct norm_row *r)
{
    double size = 0, count = (double)n->d;
    struct wide sum = {0, 0};
    for (int64_t i = 0; i < n->d; i++) {
        sum = wide_add(sum, wide_of(r->h[i]));
        size += fabs(r->h[i]) / count;
    }
    r->mean = wide_div(sum, wide_of(count));
    r->sum_error = (4 * count + 16) * 0x1p-106 * size;
    double v = roundoff_division(&n->mode);
    r->mean_off = (roundoff_gamma(depth(n)) * (1 + v) * size + v * fabs(r->mean.hi)) * (1 + 0x1p-30) +
                  4 * roundoff_least(&n->mode);
    double others = count > 1 ? (sum.hi - r->h[n->d - 1]) / (count - 1) : 0;
    r->lost_mean = fabs(others - r->mean.hi) * (count - 1) / count;
    return size;
}

void norm_row_make(const struct norm *n, const double *h, struct norm_row *ret_row)
{
    struct norm_row r = {.kind = kind_of(n, h), .h = h};
    double count = (double)n->d;
    if (r.kind == NORM_NUMBER && n->kind == NORM_LAYER)
        mean_make(n, &r);
    struct wide sum = {0, 0}, a = {0, 0};
    for (int64_t i = 0; i < n->d && r.kind == NORM_NUMBER; i++) {
        a = wide_sub(wide_of(h[i]), r.mean);
        sum = wide_add(sum, wide_mul(a, a));
    }
    struct wide m = wide_add(wide_div(sum, wide_of(count)), wide_of((double)n->eps));
    r.scale = rsqrt_wide(m);
    double root = sqrt(m.hi), off = r.mean_off / root, near = r.sum_error / root;
    r.wide_error = (4 * count + 64) * 0x1p-106 + 0x1p-100 + 2 * near + near * near;
    double theta =
        (1 + off * off) * (1 + roundoff_gamma(depth(n) + 3)) * (1 + roundoff_division(&n->mode)) * (1 + ROUNDOFF_U) - 1 +
        8 * roundoff_least(&n->mode) / m.hi;
    if (theta > 0.25 && r.kind == NORM_NUMBER)
        r.kind = NORM_UNSURE;
    r.theta = (1 + 4 * ROUNDOFF_U) / sqrt(1 - fmin(theta, 0.25)) - 1;
    double left = m.hi - a.hi * a.hi / count;
    r.lost = left > 0 ? root / sqrt(left) - 1 : 1;
    *ret_row = r;
}

/* --- elements --------------------------------------------------------------------------------
 */

static struct element number(const struct norm *n, const struct norm_row *r, int64_t i,
                                  const double *w, const double *b)
{
    struct wide a = wide_sub(wide_of(r->h[i]), r->mean);
    struct wide part = wide_mul(wide_mul(a, r->scale), wide_of(w[i]));
    struct wide y = wide_add(part, wide_of(b ? b[i] : 0));
    double q = r->scale.hi, gain = q * fabs(w[i]), size = fabs(part.hi);
    double three = (1 + ROUNDOFF_U) * (1 + ROUNDOFF_U) * (1 + ROUNDOFF_U);
    struct element x = {.value = y.hi, .tail = y.lo};
    x.scale = size + (b ? fabs(b[i]) : 0);
    x.error = (r->wide_error + 0x1p-100) * x.scale +
              (r->sum_error + 0x1p-100 * fabs(r->mean.hi)) * gain * 2 + 0x1p-900;
    double error = size * ((1 + r->theta) * three - 1) + r->mean_off * gain * 1.25;
    error += roundoff_least(&n->mode) * (2 + fabs(w[i]) + 2 * gain + fabs(a.hi * q)) * 1.25;
    if (b)
        error += ROUNDOFF_U * (fabs(y.hi) + error);
    x.bound = (error + roundoff_store(n->dtype, fabs(y.hi) + error) + x.error) * (1 + 0x1p-16);
    if (fabs(y.hi) + 2 * x.bound >= dtype_max(n->dtype) || gain > 0x1p120)
        return element_open(y.hi);
    int64_t next = (i + 1) % n->d;
    double other = n->d > 1 ? a.hi * q * w[next] + (b ? b[next] : 0) : 0;
    x.drop = fmax(fabs(y.hi - other), size * r->lost + r->lost_mean * gain);
    return x;
}

struct element norm_output(const struct norm *n, const struct norm_row *r, int64_t i,
                                const double *w, const double *b)
{
    if (r->kind == NORM_NUMBER && isfinite(w[i]) && (!b || isfinite(b[i])))
        return number(n, r, i, w, b);
    if (r->kind == NORM_UNSURE || !isfinite(w[i]) || (b && !isfinite(b[i])))
        return element_open(0);
    return element_exact(r->kind == NORM_NAN || isinf(r->h[i]) ? (double)NAN : 0);
}

struct element norm_added(const struct norm *n, double x, double r)
{
    double h = norm_sum(n->dtype, x, r);
    if (!isfinite(h))
        return n->mode.approximate ? element_open(h) : element_exact(h);
    bool flushes = n->mode.flush || n->mode.approximate;
    return (struct element){.value = h,
                                 .bound = flushes ? 0x1p-124 : 0,
                                 .drop = fabs(r),
                                 .scale = fabs(x) + fabs(r)};
}
