/* SPDX-License-Identifier: Apache-2.0 */
#include "activation.h"

#include <math.h>

/* How far a right device may be from the exact y.
 *
 * Notation: u, f0, v (division), documented errors of functions: roundoff.h.
 *
 * gelu. z = x / sqrt 2: the constant and the product are rounded, so z is off by zeta = |z| ((1 +
 * u)^2 - 1) + f0. erf moves by at most 2 / sqrt(pi) exp(-(|z| - zeta)^2) zeta and erff adds its
 * error: T. 1 + erf rounds: u (h + T), h = 1 + erf z. The product with x / 2 (exact but for f0)
 * rounds once more: E = |x| / 2 (T + u (h + T)) (1 + u) + u |y| + 2 f0. Where erf nears -1 that is
 * much more than an ulp of y: the cancellation is in the formula that libraries use.
 *
 * gelu_tanh. x^3 has two roundings, times a rounded constant 4; the sum 1; times a rounded constant
 * 2 more. Both terms have one sign: the argument z = k (x + c x^3) is off by zeta = |k x| ((1 + u)^3
 * - 1) + |k c x^3| ((1 + u)^7 - 1) + 4 f0. tanh moves by at most its slope times that, 1 / cosh^2 <= min(1, 4 exp(-2 (|z| -
 * zeta))); tanhf adds its error: T. The rest is as above.
 *
 * silu. e = exp(-x) with expf's documented E; 1 + e is off by s E, s = e / (1 + e), and rounds; the
 * quotient has v: relative (1 + v) / ((1 - s E) (1 - u)) - 1, and f0 (that of e is below u). Where e may overflow (or, with inexact division,
 * where the divisor is beyond 2^126), y may be 0: E = |y|.
 *
 * mul. Times g: |g| E + u |g| (|y| + E) + f0 (1 + |g|). Then y is rounded to its format.
 *
 * NaN and Inf: as the formulas give them. -Inf is NaN in all three (Inf times 0, Inf / Inf),
 * as in PyTorch. Approximate modes promise none of this; nor is Inf times a result that may
 * underflow judged. */

static const struct wide root_half = {0x1.6a09e667f3bcdp-1, -0x1.bdd3413b26456p-55};
static const struct wide root_2_by_pi = {0x1.9884533d43651p-1, -0x1.cbc0d30ebfd15p-55};
static const struct wide cubic = {0x1.6e4e26d4801f7p-5, 0x1.441355475a31ap-59};

/* The activation of a finite x: exact within `error`, a device within `off`. */
struct activated {
    struct wide y;
    double error, off;
};

/* x / 2 (1 + t), t known to `error`, a device's to `off`. */
static struct activated half_times(double x, struct wide t, double error, double off,
                                   const struct case_mode *m)
{
    struct wide h = wide_add(wide_of(1), t);
    struct activated a = {.y = wide_mul(wide_of(x / 2), h)};
    double half = fabs(x) / 2;
    a.error = half * (error + 0x1p-104) + 0x1p-900;
    a.off = half * (off + ROUNDOFF_U * (h.hi + off)) * (1 + ROUNDOFF_U) +
            ROUNDOFF_U * fabs(a.y.hi) + 2 * roundoff_least(m);
    return a;
}

static struct activated gelu(double x, const struct case_mode *m)
{
    struct wide z = wide_mul(wide_of(x), root_half), t = wide_erf(z);
    double zeta = fabs(z.hi) * (2 + ROUNDOFF_U) * ROUNDOFF_U + roundoff_least(m);
    double near = fmax(fabs(z.hi) - zeta, 0);
    double off = 1.1283792 * exp(-near * near) * zeta + roundoff_erf(t.hi);
    return half_times(x, t, WIDE_ERF * 2, off, m);
}

static struct activated gelu_tanh(double x, const struct case_mode *m)
{
    struct wide cube = wide_mul(wide_mul(wide_product(x, x), wide_of(x)), cubic);
    struct wide z = wide_mul(root_2_by_pi, wide_add(wide_of(x), cube));
    struct wide t = wide_tanh(z);
    double linear = fabs(root_2_by_pi.hi * x), step = log1p(ROUNDOFF_U);
    double zeta = linear * expm1(3 * step) + fabs(z.hi - root_2_by_pi.hi * x) * expm1(7 * step) +
                  4 * roundoff_least(m);
    double near = fmax(fabs(z.hi) - zeta, 0), slope = fmin(1, 4 * exp(-2 * near));
    double off = slope * zeta + roundoff_tanh(m, t.hi);
    return half_times(x, t, WIDE_TANH + 0x1p-100 * fmin(fabs(z.hi), 100), off, m);
}

static struct activated silu(double x, const struct case_mode *m)
{
    struct wide e = wide_exp(wide_of(-x)), s = wide_add(wide_of(1), e);
    struct activated a = {.y = isinf(s.hi) ? wide_of(0) : wide_div(wide_of(x), s)};
    double part = isinf(s.hi) ? 1 : e.hi / s.hi, v = roundoff_division(m);
    double error = part * roundoff_exp(m, x) + 4 * roundoff_least(m);
    double relative = (1 + v) / ((1 - error) * (1 - ROUNDOFF_U)) - 1;
    bool exact = v == ROUNDOFF_U;
    a.error = fabs(a.y.hi) * 0x1p-90 + (isinf(s.hi) ? fabs(x) * exp(-650) : 0x1p-900);
    a.off = fabs(a.y.hi) * relative + roundoff_least(m);
    if (s.hi > (exact ? 0x1p127 : 0x1p125))
        a.off = fabs(a.y.hi) + roundoff_least(m);
    return a;
}

static struct activated activate(const struct activation *a, double x)
{
    switch (a->kind) {
    case ACTIVATION_GELU:
        return gelu(x, &a->mode);
    case ACTIVATION_GELU_TANH:
        return gelu_tanh(x, &a->mode);
    default:
        return silu(x, &a->mode);
    }
}

/* x or factor is NaN or Inf. */
static struct element special(const struct activation *a, double x, double factor)
{
    if (a->mode.approximate)
        return element_open(0);
    if (isnan(factor) || !isfinite(x))
        return element_exact(isnan(x) || x < 0 ? (double)NAN : x * factor);
    double y = activate(a, x).y.hi;
    if (x == 0 || fabs(y) > 0x1p-20)
        return element_exact(y * factor);
    return element_open(0);
}

struct element activation_output(const struct activation *a, double x, double factor)
{
    if (!isfinite(x) || !isfinite(factor))
        return special(a, x, factor);
    struct activated v = activate(a, x);
    if (!a->mul) {
        struct element y = element_make(a->dtype, v.y.hi, v.y.lo, v.error, v.off);
        y.drop = 0x1p-11 * fabs(v.y.hi);
        return y;
    }
    double g = fabs(factor), size = fabs(v.y.hi) + v.off;
    struct wide p = wide_mul(v.y, wide_of(factor));
    double off = g * v.off + ROUNDOFF_U * g * size + roundoff_least(&a->mode) * (2 + g);
    struct element y =
        element_make(a->dtype, p.hi, p.lo, v.error * g + 0x1p-100 * fabs(p.hi), off);
    y.drop = 0x1p-11 * fabs(p.hi);
    return y;
}
