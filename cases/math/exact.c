/* SPDX-License-Identifier: Apache-2.0 */
#include "exact.h"

#include <math.h>

/* The functions from those of wide.h. Errors are relative, but for what is said; u = 2^-53.
 * test_math holds all of them against MPFR. */

/* --- exp2, log2 ------------------------------------------------------------------------------
 *
 * x = k + r, exactly. r ln 2, |r| <= 1/2, is known to 2^-103, and exp of it to WIDE_EXP. The
 * quotient of log x (WIDE_LOG, relative to 1 + |log x|) by ln 2 adds 10 u^2. */

static const struct wide ln2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

static struct wide exp2_of(double x)
{
    if (isnan(x))
        return wide_of(x);
    if (fabs(x) > 600)
        return wide_of(x > 0 ? INFINITY : 0);
    double k = rint(x);
    return wide_scale(wide_exp(wide_mul(wide_of(x - k), ln2)), (int)k);
}

static struct wide log2_of(double x)
{
    return wide_div(wide_log(wide_of(x)), ln2);
}

/* --- tanh ------------------------------------------------------------------------------------
 *
 * WIDE_TANH is absolute, so below 2^-8 the series takes over: x (1 - x^2/3 + 2 x^4/15 -
 * 17 x^6/315 + 62 x^8/2835 - ...), the rest below 0.009 2^-80. */

static struct wide tanh_of(double x)
{
    static const double over[5] = {62, -17, 2, -1, 1}, under[5] = {2835, 315, 15, 3, 1};
    if (!(fabs(x) < 0x1p-8))
        return wide_tanh(wide_of(x));
    struct wide square = wide_product(x, x), sum = wide_of(0);
    for (int i = 0; i < 5; i++)
        sum = wide_add(wide_mul(sum, square), wide_div(wide_of(over[i]), wide_of(under[i])));
    return wide_mul(sum, wide_of(x));
}

/* --- roots -----------------------------------------------------------------------------------
 *
 * s = sqrt(x) rounded, x - s^2 is exact, and s + (x - s^2) / 2 s is off by (x - s^2)^2 / 8 s^3
 * and two roundings of the second term: below 2 u^2. */

static struct wide sqrt_of(double x)
{
    double s = sqrt(x);
    return s > 0 && isfinite(s) ? wide_sum(s, -fma(s, s, -x) / (2 * s)) : wide_of(s);
}

/* --- powers ----------------------------------------------------------------------------------
 *
 * |x|^y = exp(y log |x|). log is known to WIDE_LOG (1 + |log|), so the exponent to |y| times that
 * and 5.1 u^2 of itself; exp stretches by as much, if that is small. What C's Annex F defines
 * apart (zeros, Inf, NaN, y = 0) is the C library's. */

static struct wide power_of(double x, double y, double *ret_error)
{
    *ret_error = 0;
    if (x == 0 || x == 1 || y == 0 || !isfinite(x) || !isfinite(y))
        return wide_of(pow(x, y));
    if (x < 0 && y != rint(y))
        return wide_of((double)NAN);
    struct wide log = wide_log(wide_of(fabs(x))), t = wide_mul(log, wide_of(y));
    struct wide v = wide_exp(t);
    double off = fabs(y) * WIDE_LOG * (1 + fabs(log.hi)) + 0x1p-103 * fabs(t.hi);
    *ret_error = isfinite(v.hi) ? v.hi * (off * 2 + 0x1p-92) + 0x1p-900 : 0;
    return x < 0 && fmod(y, 2) != 0 ? wide_negate(v) : v;
}

/* ---------------------------------------------------------------------------------------------
 */

struct wide exact_value(enum function f, double x, double y, double *ret_error)
{
    struct wide v = wide_of(NAN);
    double error = -1;
    switch (f) {
    case FUNCTION_EXP:
        v = wide_exp(wide_of(x));
        break;
    case FUNCTION_EXP2:
        v = exp2_of(x);
        break;
    case FUNCTION_LOG:
        v = wide_log(wide_of(x));
        error = 2 * WIDE_LOG * (1 + fabs(v.hi));
        break;
    case FUNCTION_LOG2:
        v = log2_of(x);
        error = 4 * WIDE_LOG * (1 + fabs(v.hi));
        break;
    case FUNCTION_SIN:
        v = wide_turn(x, 0, &error);
        break;
    case FUNCTION_COS:
        v = wide_turn(x, 1, &error);
        break;
    case FUNCTION_TANH:
        v = tanh_of(x);
        error = 0x1p-81 * fabs(v.hi);
        break;
    case FUNCTION_ERF:
        v = wide_erf(wide_of(x));
        error = (fabs(x) < 9.5 ? WIDE_ERF : 0x1p-133) * fabs(v.hi);
        break;
    case FUNCTION_POW:
        v = power_of(x, y, &error);
        break;
    case FUNCTION_RSQRT:
        v = wide_div(wide_of(1), sqrt_of(x));
        break;
    case FUNCTION_SQRT:
        v = sqrt_of(x);
        break;
    default:
        v = wide_div(wide_of(x), wide_of(y));
    }
    *ret_error = error >= 0 ? error : 0x1p-92 * fabs(v.hi) + 0x1p-930;
    return v;
}
