/* SPDX-License-Identifier: Apache-2.0 */
#include "wide.h"

#include <math.h>

/* --- sin, cos --------------------------------------------------------------------------------
 *
 * x = k pi/2 + r, |r| <= 0.79, k < 2^24. pi/2 = A + B + C + D, of 29 bits each but D, a pair
 * that is off by less than 2^-190: k A, k B and k C are exact, and so is x - k A. Three sums
 * err by 3.1 u^2 of what they hold, which is below 1, the product k D by 2^-166: r is within
 * 2^-102 if k is not 0, else exact. The series' terms are found one from the other, at most 16
 * times 20 u^2 apart, and fall at once below the first: the sum is within 2^-97 of itself, the
 * rest below 2^-130. */

static const double quarter_a = 0x1.921fb54p0;
static const double quarter_b = 0x1.10b461p-30;
static const double quarter_c = 0x1.a626331p-58;
static const struct wide quarter_d = {0x1.1701b839a252p-88, 0x1.27044533e63ap-142};

static struct wide turn_rest(double x, double k)
{
    struct wide r = wide_sum(x, -k * quarter_a);
    r = wide_add(r, wide_of(-k * quarter_b));
    r = wide_add(r, wide_of(-k * quarter_c));
    return wide_add(r, wide_mul(wide_of(-k), quarter_d));
}

/* r - r^3/3! + ... if `first` is 1, 1 - r^2/2! + ... if it is 0. */
static struct wide series(struct wide r, int first)
{
    struct wide square = wide_negate(wide_mul(r, r));
    struct wide term = first ? r : wide_of(1), sum = term;
    for (int n = first; n < 32; n += 2) {
        term = wide_div(wide_mul(term, square), wide_of((n + 1) * (n + 2)));
        sum = wide_add(sum, term);
    }
    return sum;
}

/* cos is sin a quarter turn later. */
struct wide wide_turn(double x, int quarters, double *ret_error)
{
    if (!isfinite(x))
        return wide_of(NAN);
    if (fabs(x) > WIDE_TURN_MAX) {
        *ret_error = INFINITY;
        return wide_of(quarters ? cos(x) : sin(x));
    }
    double k = rint(x * 0x1.45f306dc9c883p-1);
    int place = (int)k + quarters;
    struct wide y = series(turn_rest(x, k), !(place & 1));
    *ret_error = 0x1p-95 * fabs(y.hi) + (k != 0 ? 0x1p-101 : 0);
    return place & 2 ? wide_negate(y) : y;
}

/* --- erf -------------------------------------------------------------------------------------
 *
 * erf x = 2 / sqrt(pi) exp(-x^2) (x + 2 x^3 / 3 + 4 x^5 / 15 + ...), all terms of one sign: each is
 * the one before it times 2 x^2 / (2 n + 1), 5.1 and 10 u^2 (and x^2's own 5.1) apart. Up to |x| =
 * 9.5 fewer than 400 terms come before they are below 2^-120 of the sum; those that count, n <
 * 150, err by less than 150 . 20 u^2 < 2^-94, the sum by 3.1 u^2 of what it holds each time, most
 * of it late: 2^-96. x^2 <= 91 is off by 5.1 u^2 of itself, and so exp by 2^-97 and WIDE_EXP. Two
 * more products. Together below 2^-92. Beyond, 1 - erf x < 2^-134. */

static const struct wide two_by_root_pi = {0x1.20dd750429b6dp+0, 0x1.1ae3a914fed8p-56};

struct wide wide_erf(struct wide x)
{
    if (!(fabs(x.hi) < 9.5))
        return wide_of(isnan(x.hi) ? x.hi : copysign(1, x.hi));
    struct wide square = wide_mul(x, x), term = x, sum = x;
    for (int n = 1; fabs(term.hi) > 0x1p-120 * fabs(sum.hi); n++) {
        term = wide_div(wide_mul(term, wide_scale(square, 1)), wide_of(2 * n + 1));
        sum = wide_add(sum, term);
    }
    struct wide factor = wide_mul(two_by_root_pi, wide_exp(wide_negate(square)));
    return wide_mul(sum, factor);
}
