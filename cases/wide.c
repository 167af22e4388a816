/* SPDX-License-Identifier: Apache-2.0 */
#include "wide.h"

#include <math.h>

/* Sums and products of pairs: Joldes, Muller, Popescu, Tight and rigorous error bounds for
 * basic building blocks of double-word arithmetic, ACM TOMS 44 (2017). */

struct wide wide_of(double x)
{
    return (struct wide){x, 0};
}

struct wide wide_sum(double x, double y)
{
    double s = x + y, part = s - x;
    double lo = (x - (s - part)) + (y - part);
    return (struct wide){s, isfinite(s) ? lo : 0};
}

/* |x| >= |y|, or x = 0. */
static struct wide sum_ordered(double x, double y)
{
    double s = x + y;
    return (struct wide){s, isfinite(s) ? y - (s - x) : 0};
}

struct wide wide_product(double x, double y)
{
    double p = x * y;
    return (struct wide){p, isfinite(p) ? fma(x, y, -p) : 0};
}

struct wide wide_negate(struct wide x)
{
    return (struct wide){-x.hi, -x.lo};
}

struct wide wide_scale(struct wide x, int e)
{
    return (struct wide){ldexp(x.hi, e), ldexp(x.lo, e)};
}

/* AccurateDWPlusDW: 3 u^2 / (1 - 4 u). */
struct wide wide_add(struct wide x, struct wide y)
{
    struct wide s = wide_sum(x.hi, y.hi), t = wide_sum(x.lo, y.lo);
    s = sum_ordered(s.hi, s.lo + t.hi);
    return sum_ordered(s.hi, s.lo + t.lo);
}

struct wide wide_sub(struct wide x, struct wide y)
{
    return wide_add(x, wide_negate(y));
}

/* DWTimesDW2: 5 u^2. */
struct wide wide_mul(struct wide x, struct wide y)
{
    struct wide p = wide_product(x.hi, y.hi);
    return sum_ordered(p.hi, p.lo + fma(x.hi, y.lo, x.lo * y.hi));
}

/* q1 is within 2.1 u of the quotient, so the rest x - q1 y is below 2.1 u |x|. Its parts are
 * exact but for x.lo - p.lo - q1 y.lo, whose terms are below u |x| each: three roundings, 4 u^2
 * together, and one more in the sum, 2.1 u^2. Dividing the rest by y.hi alone, rounded, adds
 * 2 u 2.1 u at most; the last sum is exact. */
struct wide wide_div(struct wide x, struct wide y)
{
    double q1 = x.hi / y.hi;
    if (!isfinite(q1) || !isfinite(y.hi))
        return wide_of(q1);
    struct wide p = wide_product(q1, y.hi), d = wide_sum(x.hi, -p.hi);
    double rest = d.hi + (d.lo + ((x.lo - p.lo) - q1 * y.lo));
    return sum_ordered(q1, rest / y.hi);
}

double wide_value(struct wide x)
{
    return x.hi + x.lo;
}

int wide_compare(struct wide x, struct wide y)
{
    double d = x.hi != y.hi ? x.hi - y.hi : x.lo - y.lo;
    return (d > 0) - (d < 0);
}

/* --- exp -------------------------------------------------------------------------------------
 *
 * x = k ln 2 + r, |r| <= 0.35; |k| < 2^10. ln 2 = A + B + C with A and B of 40 bits, so that k
 * A and k B are exact and C k is off by less than 2^-134 2^10: r is within 2^-125 + three
 * roundings 3.1 u^2 of terms below 0.7 (after the first, where x and k A cancel exactly or
 * nearly), so within 2^-103 altogether. With s = r / 2^8, |s| < 2^-9.5,
 * expm1(s) = s + s^2/2 + ... + s^10/10!, the rest below 2^-126. Horner's steps each err by
 * 8.2 u^2 of what they hold; those errors are multiplied by s but for the last: expm1(s) is
 * within 2^-102 relative. Eight times e -> e (2 + e) errs by another 3 . 8.2 u^2 each, all
 * relative errors of expm1 counting at most once more each time: in all 2^-102 + 8 . 2^-101.4
 * and the argument's 2^-103 below 2^-98. The addition of 1 makes it relative to exp, a factor
 * below 1.5. */

static const double ln2_a = 0x1.62e42fefa2p-1;
static const double ln2_b = 0x1.9ef35793c6p-41;
static const double ln2_c = 0x1.673007e5ed5e8p-81;

/* 1/n!, n = 10 down to 3, as pairs. */
static struct wide factorial_inverse(int n)
{
    double f = 1;
    for (int i = 2; i <= n; i++)
        f *= i;
    return wide_div(wide_of(1), wide_of(f));
}

static struct wide expm1_small(struct wide s)
{
    struct wide p = factorial_inverse(10);
    for (int n = 9; n >= 1; n--)
        p = wide_add(factorial_inverse(n), wide_mul(p, s));
    return wide_mul(p, s);
}

struct wide wide_exp(struct wide x)
{
    if (isnan(x.hi))
        return x;
    if (x.hi > 690)
        return wide_of(INFINITY);
    if (x.hi < -700)
        return wide_of(0);
    double k = rint(x.hi * 0x1.71547652b82fep0);
    struct wide r = wide_add(x, wide_of(-k * ln2_a));
    r = wide_add(r, wide_of(-k * ln2_b));
    r = wide_add(r, wide_product(-k, ln2_c));
    struct wide e = expm1_small(wide_scale(r, -8));
    for (int i = 0; i < 8; i++)
        e = wide_mul(e, wide_add(wide_of(2), e));
    return wide_scale(wide_add(wide_of(1), e), (int)k);
}

/* --- log -------------------------------------------------------------------------------------
 *
 * x = m 2^e, m from 1/2 to 1. Any libm's y = log(m) is within 2^-45, so m exp(-y) = 1 + d with
 * |d| < 2^-44, and log(m) = y + d - d^2/2 + d^3/3, the rest below 2^-170. d is known to
 * WIDE_EXP and 8.2 u^2, the corrections to far less; the sums err by 3.1 u^2 of |log x| + 1
 * each. */
struct wide wide_log(struct wide x)
{
    double y = log(x.hi);
    if (!isfinite(y))
        return wide_of(y);
    int e;
    frexp(x.hi, &e);
    struct wide m = wide_scale(x, -e);
    y = log(m.hi);
    struct wide d = wide_sub(wide_mul(m, wide_exp(wide_of(-y))), wide_of(1));
    double t = d.hi;
    struct wide l = wide_add(wide_of(y), wide_add(d, wide_of(-t * t / 2 + t * t * t / 3)));
    struct wide k = wide_add(wide_of(e * ln2_a), wide_of(e * ln2_b));
    return wide_add(wide_add(k, wide_product(e, ln2_c)), l);
}

/* 1 - 2 / (exp(2 |x|) + 1): absolute errors 2 WIDE_EXP and u^2. */
struct wide wide_tanh(struct wide x)
{
    if (isnan(x.hi))
        return x;
    struct wide a = x.hi < 0 ? wide_negate(x) : x;
    if (a.hi > 100)
        return wide_of(x.hi < 0 ? -1 : 1);
    struct wide e = wide_add(wide_exp(wide_scale(a, 1)), wide_of(1));
    struct wide t = wide_sub(wide_of(1), wide_div(wide_of(2), e));
    return x.hi < 0 ? wide_negate(t) : t;
}
