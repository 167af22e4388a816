/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <mpfr.h>
#include <stdint.h>
#include <stdlib.h>

#include "../cases/wide.h"
#include "rng.h"
#include "suite.h"

/* Wide functions against MPFR at 300 bits, over arguments of all sizes. */

enum { TRIES = 40000, BITS = 300 };

static mpfr_t a, b, r, t;

static void setup(void)
{
    mpfr_inits2(BITS, a, b, r, t, (mpfr_ptr)0);
}

static void teardown(void)
{
    mpfr_clears(a, b, r, t, (mpfr_ptr)0);
}

static void put(mpfr_t ret, struct wide x)
{
    mpfr_set_d(ret, x.hi, MPFR_RNDN);
    mpfr_add_d(ret, ret, x.lo, MPFR_RNDN);
}

/* |x - r| / scale, scale 0: r itself. */
static double off(struct wide x, double scale)
{
    put(t, x);
    mpfr_sub(t, t, r, MPFR_RNDN);
    if (scale == 0)
        mpfr_div(t, t, r, MPFR_RNDN);
    else
        mpfr_div_d(t, t, scale, MPFR_RNDN);
    return fabs(mpfr_get_d(t, MPFR_RNDA));
}

/* A pair with both parts at work; magnitudes 2^-span to 2^span. */
static struct wide drawn(uint64_t i, uint64_t lane, int span)
{
    struct rng_key key = rng_key_make(1, "wide");
    double size = (2 * rng_unit(key, i, lane) - 1) * span,
           sign = rng_bits(key, i, lane + 9) & 1;
    double hi = (sign ? -1 : 1) * exp2(size);
    return wide_sum(hi, hi * 0x1p-54 * (2 * rng_unit(key, i, lane + 20) - 1));
}

START_TEST(sums_products_and_quotients)
{
    static const double limit[4] = {3.1, 3.1, 5.1, 10};
    double worst[4] = {0};
    for (uint64_t i = 0; i < TRIES; i++) {
        struct wide x = drawn(i, 0, 40), y = drawn(i, 1, i % 2 ? 40 : 1);
        put(a, x);
        put(b, y);
        mpfr_add(r, a, b, MPFR_RNDN);
        worst[0] = fmax(worst[0], off(wide_add(x, y), 0));
        mpfr_sub(r, a, b, MPFR_RNDN);
        worst[1] = fmax(worst[1], off(wide_sub(x, y), 0));
        mpfr_mul(r, a, b, MPFR_RNDN);
        worst[2] = fmax(worst[2], off(wide_mul(x, y), 0));
        mpfr_div(r, a, b, MPFR_RNDN);
        worst[3] = fmax(worst[3], off(wide_div(x, y), 0));
    }
    for (int i = 0; i < 4; i++)
        ck_assert_msg(worst[i] <= limit[i] * 0x1p-106, "operation %d: %.2f u^2", i,
                      worst[i] * 0x1p106);
}
END_TEST

START_TEST(exact_operations_are_exact)
{
    for (uint64_t i = 0; i < TRIES; i++) {
        double x = drawn(i, 0, 60).hi, y = drawn(i, 1, 60).hi;
        mpfr_set_d(a, x, MPFR_RNDN);
        mpfr_mul_d(r, a, y, MPFR_RNDN);
        ck_assert(off(wide_product(x, y), 0) == 0);
        mpfr_add_d(r, a, y, MPFR_RNDN);
        ck_assert(mpfr_zero_p(r) || off(wide_sum(x, y), 0) == 0);
    }
}
END_TEST

START_TEST(exponentials)
{
    double worst = 0;
    for (uint64_t i = 0; i < TRIES; i++) {
        struct wide x = drawn(i, 2, 20);
        x = fabs(x.hi) > 640 ? wide_scale(x, -11) : x;
        put(a, x);
        mpfr_exp(r, a, MPFR_RNDN);
        worst = fmax(worst, off(wide_exp(x), 0));
    }
    ck_assert_msg(worst <= WIDE_EXP, "exp errs by 2^%.2f", log2(worst));
    ck_assert(wide_exp(wide_of(0)).hi == 1 && wide_exp(wide_of(0)).lo == 0);
    ck_assert(wide_exp(wide_of(-INFINITY)).hi == 0 && isnan(wide_exp(wide_of(NAN)).hi));
    ck_assert(isinf(wide_exp(wide_of(INFINITY)).hi) && isinf(wide_exp(wide_of(800)).hi));
    for (double x = -720; x < -640; x += 0.37) {
        mpfr_set_d(a, x, MPFR_RNDN);
        mpfr_exp(r, a, MPFR_RNDN);
        ck_assert(off(wide_exp(wide_of(x)), 1) <= 0x1p-930);
    }
}
END_TEST

START_TEST(logarithms)
{
    double worst = 0;
    for (uint64_t i = 0; i < TRIES; i++) {
        struct wide x = drawn(i, 3, i % 3 ? 800 : 1);
        x = x.hi < 0 ? wide_negate(x) : x;
        put(a, x);
        mpfr_log(r, a, MPFR_RNDN);
        worst = fmax(worst, off(wide_log(x), 1 + fabs(log(x.hi))));
    }
    ck_assert_msg(worst <= WIDE_LOG, "log errs by 2^%.2f", log2(worst));
    ck_assert(isinf(wide_log(wide_of(0)).hi) && wide_log(wide_of(1)).hi == 0);
}
END_TEST

START_TEST(hyperbolic_tangents)
{
    double worst = 0;
    for (uint64_t i = 0; i < TRIES; i++) {
        struct wide x = drawn(i, 4, 8);
        put(a, x);
        mpfr_tanh(r, a, MPFR_RNDN);
        worst = fmax(worst, off(wide_tanh(x), 1));
    }
    ck_assert_msg(worst <= WIDE_TANH, "tanh errs by 2^%.2f", log2(worst));
    ck_assert(wide_tanh(wide_of(INFINITY)).hi == 1 && wide_tanh(wide_of(-INFINITY)).hi == -1);
}
END_TEST

START_TEST(error_functions)
{
    double worst = 0;
    for (uint64_t i = 0; i < TRIES / 4; i++) {
        struct wide x = drawn(i, 4, i % 3 ? 3 : 150);
        put(a, x);
        mpfr_erf(r, a, MPFR_RNDN);
        worst = fmax(worst, off(wide_erf(x), 0));
    }
    ck_assert_msg(worst <= WIDE_ERF, "erf errs by 2^%.2f", log2(worst));
    ck_assert(wide_erf(wide_of(-INFINITY)).hi == -1 && isnan(wide_erf(wide_of(NAN)).hi));
    ck_assert(wide_erf(wide_of(0)).hi == 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("wide");
    TCase *c = tcase_create("wide");
    tcase_add_unchecked_fixture(c, setup, teardown);
    tcase_add_test(c, sums_products_and_quotients);
    tcase_add_test(c, exact_operations_are_exact);
    tcase_add_test(c, exponentials);
    tcase_add_test(c, logarithms);
    tcase_add_test(c, error_functions);
    tcase_add_test(c, hyperbolic_tangents);
    suite_add_tcase(s, c);
    return suite_run(s);
}
