/* SPDX-License-Identifier: Apache-2.0 */
#include "softmax.h"

#include <math.h>

/* How far a right device may be from the exact outputs of a row of d logits.
 *
 * Notation: u, f0, v (division): roundoff.h. t = x - m, m the largest, which a device has
 * exactly. w = exp(t), S = sum w >= 1. D = ceil(d / 256) + 8 bounds the additions any term goes
 * through: a thread's own and 8 steps of the tree.
 *
 * Weight. The rounded difference is t (1 + e) + f, and expf adds its documented error E:
 *   w^ = w (1 + r) + a, |r| <= exp(u |t| + 2 f0) (1 + E) - 1 and |a| <= 4 f0,
 * the latter where w is subnormal (2 1/2 of its ulps, or flushed). Below t = -110, where w <
 * 2^-158, w^ is 0 or at most 4 f0: r counts as 0.
 *
 * Sum. All terms are positive: S^ = S (1 + theta), with X = sum (w |r| + |a|) / S
 *   |theta| <= (1 + X) (1 + gamma(D)) - 1 + D f0.
 *
 * softmax. y = w / S: E = y ((1 + r) (1 + v) / (1 - theta) - 1) + |a| (1 + v) / (S (1 - theta))
 * + f0; approximate division may lose results below 2^-126, which f0 holds.
 *
 * log_softmax. log S^ = log S + log(1 + theta), and logf adds its own: L. The difference t is
 * rounded, then that with the logarithm: E = u |t| + L + u (|y| + u |t| + L) + 2 f0.
 *
 * cross. keep nll + share mean; nll errs as log_softmax's y does, E; mean is the sum of d such
 * and gamma(D) sum |y|, divided: Em = mean of E + gamma(D) mean (|y| + E) + v (|mean| + those).
 * Both products and the sum round: at most keep E (1 + u) + share Em (1 + u) + u (keep |nll| +
 * share |mean|) + u |loss|, and 3 f0. The loss is f32.
 *
 * NaN and Inf. A NaN or +Inf logit, or nothing but -Inf, makes the row NaN (Inf - Inf); -Inf
 * has no weight and the logarithm -Inf. A loss that counts it is Inf. Approximate modes promise
 * none of this. Differences that overflow are not judged.
 *
 * Lost terms. The sum without the row's last element; in 16-bit formats and long rows this is
 * below one rounding. The other small fault is the element of the next column. `drop` is the
 * larger of the two. */

enum { THREADS = 256, TREE = 8 };

static double depth(const struct softmax *s)
{
    return (double)((s->d + THREADS - 1) / THREADS + TREE);
}

/* |r| and |a| of the weight at t. */
struct weight_off {
    double relative, absolute;
};

static struct weight_off weight_off(const struct softmax *s, double t)
{
    double least = roundoff_least(&s->mode);
    if (t < -110)
        return (struct weight_off){0, 4 * least};
    double error = roundoff_exp(&s->mode, t);
    double stretched = expm1(ROUNDOFF_U * fabs(t) + 2 * least);
    return (struct weight_off){stretched * (1 + error) + error, 4 * least};
}

/* --- the row ---------------------------------------------------------------------------------
 */

static enum softmax_row_kind kind_of(const struct softmax *s, const double *x, double *ret_most)
{
    double most = -INFINITY, least = INFINITY;
    bool odd = false;
    for (int64_t i = 0; i < s->d; i++) {
        odd |= isnan(x[i]);
        most = fmax(most, x[i]);
        least = isfinite(x[i]) ? fmin(least, x[i]) : least;
    }
    *ret_most = most;
    odd |= isinf(most);
    for (int64_t i = 0; i < s->d; i++)
        if (!isfinite(x[i]) && s->mode.approximate)
            return SOFTMAX_UNSURE;
    if (odd)
        return SOFTMAX_NANS;
    return most - least < 0x1p127 ? SOFTMAX_NUMBERS : SOFTMAX_UNSURE;
}

static struct wide difference(const struct softmax_row *r, int64_t i)
{
    return isfinite(r->x[i]) ? wide_sum(r->x[i], -r->most) : wide_of(r->x[i]);
}

void softmax_row_make(const struct softmax *s, const double *x, struct softmax_row *ret_row)
{
    struct softmax_row r = {.x = x, .lost = 1};
    double spread = 0, last = 0;
    r.kind = kind_of(s, x, &r.most);
    for (int64_t i = 0; i < s->d && r.kind == SOFTMAX_NUMBERS; i++) {
        struct wide t = difference(&r, i), w = isinf(t.hi) ? wide_of(0) : wide_exp(t);
        struct weight_off off = weight_off(s, t.hi);
        r.sum = wide_add(r.sum, w);
        spread += isinf(t.hi) ? 0 : w.hi * off.relative + off.absolute;
        last = w.hi;
    }
    if (r.kind == SOFTMAX_NUMBERS) {
        double n = depth(s), sum = r.sum.hi;
        r.log = wide_log(r.sum);
        r.sum_error = WIDE_EXP + (double)s->d * 0x1p-104 + WIDE_LOG * (1 + r.log.hi);
        r.theta = (1 + spread / sum) * (1 + roundoff_gamma(n)) - 1 +
                  n * roundoff_least(&s->mode);
        if (r.theta > 0.25)
            r.kind = SOFTMAX_UNSURE;
        double shift = -log1p(-fmin(r.theta, 0.25));
        r.log_off = shift + roundoff_log(&s->mode, r.log.hi + shift);
        r.lost = sum > last ? last / (sum - last) : 1;
    }
    *ret_row = r;
}

/* --- elements --------------------------------------------------------------------------------
 */

static struct element weight_output(const struct softmax *s, const struct softmax_row *r,
                                    int64_t i)
{
    struct wide t = difference(r, i), w = isinf(t.hi) ? wide_of(0) : wide_exp(t);
    struct wide y = wide_div(w, r->sum);
    if (isinf(t.hi))
        return element_exact(0);
    struct weight_off off = weight_off(s, t.hi);
    double v = roundoff_division(&s->mode);
    double e = y.hi * ((1 + off.relative) * (1 + v) / (1 - r->theta) - 1) +
               off.absolute * (1 + v) / (r->sum.hi * (1 - r->theta)) +
               roundoff_least(&s->mode);
    struct element x =
        element_make(s->dtype, y.hi, y.lo, (r->sum_error + 0x1p-90) * y.hi + 0x1p-900, e);
    double next = exp(difference(r, (i + 1) % s->d).hi) / r->sum.hi;
    x.drop = fmax(fabs(y.hi - next), y.hi * r->lost);
    return x;
}

/* A logarithm of a weight and how far a device's f32 may be from it, in ret_off. */
static struct wide log_weight(const struct softmax *s, const struct softmax_row *r, int64_t i,
                              double *ret_off)
{
    struct wide t = difference(r, i), y = wide_sub(t, r->log);
    double off = ROUNDOFF_U * fabs(t.hi) + r->log_off;
    *ret_off = off + ROUNDOFF_U * (fabs(y.hi) + off) + 2 * roundoff_least(&s->mode);
    return y;
}

static struct element log_output(const struct softmax *s, const struct softmax_row *r,
                                 int64_t i)
{
    double off;
    struct wide y = log_weight(s, r, i, &off);
    if (isinf(y.hi))
        return element_exact(y.hi);
    struct element x =
        element_make(s->dtype, y.hi, y.lo, 2 * r->sum_error + 0x1p-100 * fabs(y.hi), off);
    double next = r->x[(i + 1) % s->d];
    x.drop = fmax(isfinite(next) ? fabs(next - r->x[i]) : 0, log1p(r->lost));
    return x;
}

struct element softmax_output(const struct softmax *s, const struct softmax_row *r, int64_t i)
{
    if (r->kind != SOFTMAX_NUMBERS)
        return r->kind == SOFTMAX_NANS ? element_exact((double)NAN) : element_open(0);
    return s->kind == SOFTMAX_LOG ? log_output(s, r, i) : weight_output(s, r, i);
}

/* --- losses ----------------------------------------------------------------------------------
 */

struct loss_mean {
    struct wide sum; /* of y */
    double size, off;
};

static struct loss_mean mean_make(const struct softmax *s, const struct softmax_row *r)
{
    struct loss_mean m = {.sum = {0, 0}};
    double d = (double)s->d, v = roundoff_division(&s->mode), off;
    for (int64_t i = 0; i < s->d; i++) {
        struct wide y = log_weight(s, r, i, &off);
        m.sum = wide_add(m.sum, y);
        m.size += fabs(y.hi) / d;
        m.off += off / d;
    }
    m.off += roundoff_gamma(depth(s)) * (m.size + m.off);
    m.off += v * (m.size + m.off) + 2 * roundoff_least(&s->mode);
    m.sum = wide_div(m.sum, wide_of(d));
    return m;
}

struct element softmax_loss(const struct softmax *s, const struct softmax_row *r, int64_t label)
{
    if (label < 0)
        return element_exact(0);
    if (r->kind != SOFTMAX_NUMBERS)
        return r->kind == SOFTMAX_NANS ? element_exact((double)NAN) : element_open(0);
    double keep = (double)s->keep, share = (double)s->share, off;
    struct wide y = log_weight(s, r, label, &off);
    struct loss_mean m = {.sum = {0, 0}};
    if (share != 0)
        m = mean_make(s, r);
    if (isinf(y.hi) || isinf(m.sum.hi))
        return keep == 0 && isinf(y.hi) ? element_exact((double)NAN) : element_exact(INFINITY);
    struct wide loss = wide_add(wide_mul(wide_of(-keep), y), wide_mul(wide_of(-share), m.sum));
    double parts = keep * (fabs(y.hi) + off) + share * (m.size + m.off);
    double e = (keep * off + share * m.off) + ROUNDOFF_U * (parts + fabs(loss.hi) + parts * 2e-7) +
               3 * roundoff_least(&s->mode);
    double error = 4 * r->sum_error + 0x1p-90 * parts;
    struct element x = element_make(DTYPE_F32, loss.hi, loss.lo, error, e);
    double next = r->x[(label + 1) % s->d] - r->x[label];
    double fewer = s->d > 1 ? share * fabs(m.sum.hi) / (double)(s->d - 1) : 0;
    x.drop = fmax(isfinite(next) ? keep * fabs(next) : 0, fewer);
    return x;
}
