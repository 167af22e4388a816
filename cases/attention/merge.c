/* SPDX-License-Identifier: Apache-2.0 */
#include "attention.h"

#include <math.h>

/* O and the log-sum-exp joined from ranges of keys. The joint softmax over the ranges, with the
 * ranges' log-sum-exps as scores and their O as values, is exactly the whole one; so bound.c's
 * reasoning holds with theta from the errors L_r of the log-sum-exps (instead of scores'), and
 * each value off by its own bound B_r as well:
 *   + sum p_r (1 + theta_r) B_r (1 + G) / ((1 - X) (1 - G')), or at most max B_r.
 * n ranges are summed in order: G' = gamma(n), G = gamma(n + 1); a quotient ends it. Small
 * numbers: each of n weights, products and sums loses at most 2^-126, O's f32 values 2^-126
 * each. */

struct join {
    double moved, mixed, off, farthest, largest, largest_off; /* as bound.c's column */
    double spread, worst, sum, most, most_bound;
    bool special, unsure;
};

static double log_theta(const struct attention *a, const struct element *lse, double most,
                        double most_bound)
{
    double away = most - lse->value, errors = lse->bound + most_bound, u = ATTENTION_U;
    double f = a->mode.approximate ? 12 * u + 2.4 * u * (away + errors) : 4 * u;
    return (lse->bound + u * (away + errors) + f) * (1 + 0x1p-16);
}

static struct join join_make(const struct attention *a, int64_t n, const struct element *lse,
                             const struct element *o, double exact)
{
    struct join s = {.most = -INFINITY};
    for (int64_t r = 0; r < n; r++) {
        s.special |= isnan(lse[r].value) || (o && !isfinite(o[r].value));
        s.unsure |= isinf(lse[r].bound) || (o && isinf(o[r].bound));
        s.most = fmax(s.most, lse[r].value);
        s.most_bound = fmax(s.most_bound, lse[r].bound);
    }
    if (s.special || s.unsure)
        return s;
    for (int64_t r = 0; r < n; r++)
        s.sum += exp(lse[r].value - s.most);
    for (int64_t r = 0; r < n; r++) {
        double p = exp(lse[r].value - s.most) / s.sum;
        double x = log_theta(a, &lse[r], s.most, s.most_bound), theta = expm1(x);
        s.worst = fmax(s.worst, x);
        s.spread += p == 0 ? 0 : p * theta;
        if (!o)
            continue;
        double away = fabs(o[r].value - exact);
        s.moved += p == 0 ? 0 : p * theta * away;
        s.mixed += p == 0 ? 0 : p * (1 + theta) * fabs(o[r].value);
        s.off += p == 0 ? 0 : p * (1 + theta) * o[r].bound;
        s.farthest = fmax(s.farthest, away);
        s.largest = fmax(s.largest, fabs(o[r].value));
        s.largest_off = fmax(s.largest_off, o[r].bound);
    }
    return s;
}

static double gamma_of(double n)
{
    double nu = n * ATTENTION_U;
    return nu / (1 - nu);
}

static double narrowing(enum dtype d, double x)
{
    return d == DTYPE_F32 ? 0 : dtype_unit(d) * fmax(2 * x, 2 * dtype_min_normal(d));
}

static struct element as_unsure(struct element x)
{
    x.bound = INFINITY;
    x.drop = 0;
    return x;
}

struct element attention_merged(const struct attention *a, const struct element *whole,
                                int64_t n, const struct element *part_lse,
                                const struct element *part_o)
{
    struct element x = *whole;
    if (!n || isnan(x.value) || isinf(x.bound))
        return x;
    struct join s = join_make(a, n, part_lse, part_o, x.value);
    if (s.special || s.unsure)
        return as_unsure(x);
    double g1 = gamma_of((double)n), g = gamma_of((double)n + 1), size = fabs(x.value);
    double quotient = (a->mode.exact_div ? 1 : 5) * ATTENTION_U, both = g + g1;
    double error =
        s.farthest + s.largest_off + both * (1 + 2 * both) * (s.largest + s.largest_off);
    if (s.spread + g1 < 0.5) {
        double top = s.moved + g * s.mixed + g1 * (1 + s.spread) * size + (1 + g) * s.off;
        error = fmin(error, top / ((1 - s.spread) * (1 - g1)));
    }
    error += 4 * (double)n * 0x1p-125 * (1 + size + s.largest + s.largest_off);
    error += quotient * (size + error) + 0x1p-126;
    x.bound = (error + narrowing(a->dtype, size + error) + x.error) * (1 + 0x1p-16);
    return x;
}

struct element attention_merged_lse(const struct attention *a, const struct element *whole,
                                    int64_t n, const struct element *part_lse)
{
    struct element x = *whole;
    if (!n || isnan(x.value) || isinf(x.bound))
        return x;
    struct join s = join_make(a, n, part_lse, NULL, 0);
    if (s.special || s.unsure)
        return as_unsure(x);
    double g = gamma_of((double)n), near = s.spread + g * (1 + s.spread), size = fabs(x.value);
    double off = s.worst + 1.1 * g;
    if (near < 0.5)
        off = fmin(off, -log1p(-near));
    off += 4 * (double)n * 0x1p-125;
    double logf_error = (a->mode.approximate ? 8 : 4) * ATTENTION_U;
    double error = off + logf_error * (log(s.sum) + off + s.most_bound) +
                   (a->mode.approximate ? 0x1p-21 : 0);
    error += ATTENTION_U * (size + error) + 0x1p-126;
    x.bound = (error + x.error) * (1 + 0x1p-16);
    return x;
}
