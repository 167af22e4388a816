/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <mpfr.h>
#include <stdlib.h>

#include "../cases/scan/scan.h"
#include "planted.h"
#include "scene.h"
#include "suite.h"

/* Prefix sums: the reference against MPFR and 64-bit integers, bounds by simulation, planted faults
 * on both simulated devices. */

static struct scan decoded(const struct scene *s)
{
    struct scan c;
    scan_decode(&s->id, &c);
    return c;
}

static const char *const exact_ids[] = {
    "scan/chunk:rows=3,d=300",
    "scan/doubling:rows=3,d=300,dist=wide",
    "scan/chunk:dtype=bf16,rows=9,d=70,dist=cancel",
    "scan/doubling:dtype=f16,rows=9,d=70,dist=ties",
    "scan/doubling:rows=9,d=70,dist=subnormal",
};

START_TEST(reference_is_exact_within_its_error)
{
    struct scene s;
    mpfr_t sum, off;
    scene_init(&s, exact_ids[_i], "y");
    struct scan c = decoded(&s);
    mpfr_inits2(2300, sum, off, (mpfr_ptr)0);
    for (int64_t i = 0; i < s.o.count; i++) {
        if (i % c.d == 0)
            mpfr_set_zero(sum, 1);
        mpfr_add_d(sum, sum, tensor_value(s.at[SCAN_X], i), MPFR_RNDN);
        mpfr_sub_d(off, sum, s.o.value[i], MPFR_RNDN);
        mpfr_sub_d(off, off, s.o.tail[i], MPFR_RNDN);
        double error = fabs(mpfr_get_d(off, MPFR_RNDA)), exact = mpfr_get_d(sum, MPFR_RNDN);
        if (s.o.bound[i] == 0)
            ck_assert(s.o.value[i] == scene_narrow(c.dtype, exact));
        else
            ck_assert_msg(error <= s.o.error[i] && error <= 0x1p-20 * s.o.bound[i],
                          "%s: %lld is off by %a, claimed %a", s.text, (long long)i, error,
                          s.o.error[i]);
    }
    mpfr_clears(sum, off, (mpfr_ptr)0);
    scene_release(&s);
}
END_TEST

START_TEST(integers_wrap)
{
    struct scene s;
    int64_t sum = 0;
    scene_init(&s, "scan/chunk:dtype=i32,rows=1,d=140000,dist=positive", "y");
    bool wrapped = false;
    for (int64_t i = 0; i < 140000; i++) {
        sum += (int64_t)tensor_value(s.at[SCAN_X], i);
        wrapped |= sum != (int32_t)sum;
        ck_assert(s.o.value[i] == (double)(int32_t)(uint64_t)sum && s.o.bound[i] == 0);
    }
    ck_assert(wrapped);
    scene_release(&s);
}
END_TEST

/* Sums of a row by one of two ways that differ from each other as much as legal ones can. */
static void play(struct device *d, const double *x, int64_t n, double *y)
{
    double carry = 0;
    for (int64_t i = 0; i < n; i++)
        y[i] = device_kept(d, x[i]);
    if (n <= 9) {
        for (int64_t i = 1; i < n; i++)
            y[i] = device_op(d, y[i - 1] + y[i]);
        return;
    }
    for (int64_t tile = 0; tile < n; tile += SCAN_THREADS) {
        int64_t end = tile + SCAN_THREADS < n ? tile + SCAN_THREADS : n;
        for (int64_t step = 1; step < SCAN_THREADS; step *= 2)
            for (int64_t i = end - 1; i >= tile + step; i--)
                y[i] = device_op(d, y[i] + y[i - step]);
        for (int64_t i = tile; tile && i < end; i++)
            y[i] = device_op(d, carry + y[i]);
        carry = y[end - 1];
    }
}

static void one_case(int k, struct judged *t)
{
    static const char *const formats[] = {"f32", "f16", "bf16"};
    static const char *const dists[] = {"normal", "lognormal", "uniform",   "wide",   "ties",
                                        "cancel", "subnormal", "positive", "integer"};
    char text[120];
    struct scene s;
    double x[600], y[600];
    snprintf(text, sizeof text, "scan/%s:dtype=%s,rows=%d,d=%d,dist=%s,seed=%d%s",
             k % 2 ? "chunk" : "doubling", formats[k % 3], k % 4 ? 90 : 3, k % 4 ? 9 : 590,
             dists[k / 3 % 9], k + 1, k % 5 ? "" : ",mode=flush");
    scene_init(&s, text, "y");
    struct scan c = decoded(&s);
    struct device d = {.flush = k % 5 == 0};
    for (int64_t row = 0; row < c.rows; row++) {
        for (int64_t i = 0; i < c.d; i++)
            x[i] = tensor_value(s.at[SCAN_X], row * c.d + i);
        play(&d, x, c.d, y);
        for (int64_t i = 0; i < c.d; i++)
            scene_judge(&s, c.dtype, row * c.d + i, y[i], t);
    }
    scene_release(&s);
}

/* 200 000 elements. */
START_TEST(legal_arithmetic_stays_inside)
{
    struct judged t = {0};
    for (int k = 0; k < 216; k++)
        one_case(k, &t);
    ck_assert_int_ge(t.judged, 200000);
    ck_assert_msg(t.outside == t.judged && t.worst > 0.9,
                  "%lld of %lld faults outside, worst error %.3f of its bound",
                  (long long)t.outside, (long long)t.judged, t.worst);
}
END_TEST

/* Of f32, where a first term is the largest by far: a chain of 8 additions where 9 (doubling) or 10 (chunk) are
 * counted: every addition errs by all it may, upwards. By twice that: outside. */
static double lean_play(const struct scene *s, double lean)
{
    struct scan c = decoded(s);
    struct device d = {.lean = lean};
    double worst = 0, x[9], y[9];
    for (int64_t row = 0; row < c.rows; row++) {
        for (int64_t i = 0; i < 9; i++)
            x[i] = tensor_value(s->at[SCAN_X], row * 9 + i);
        play(&d, x, 9, y);
        for (int64_t i = row * 9; i < row * 9 + 9; i++)
            if (s->o.bound[i] > 0)
                worst = fmax(worst, fabs(y[i - row * 9] - s->o.value[i]) / s->o.bound[i]);
    }
    return worst;
}

START_TEST(bounds_are_no_larger_than_arithmetic_allows)
{
    struct scene s;
    scene_init(&s, _i ? "scan/chunk:rows=90,d=9,dist=lognormal"
                  : "scan/doubling:rows=90,d=9,dist=lognormal",
               "y");
    double most = lean_play(&s, 1);
    ck_assert_msg(most > 0.6 && most <= 1, "%s: %.3f of the bound", s.text, most);
    ck_assert_msg(lean_play(&s, 2) > 1, "%s: twice the errors are inside", s.text);
    scene_release(&s);
}
END_TEST

/* Every order of integers gives the same bits: nothing else is right. */
START_TEST(exact_sums_have_no_freedom)
{
    struct scene s;
    scene_init(&s, "scan/doubling:rows=3,d=2000,dist=integer", "y");
    for (int64_t i = 0; i < s.o.count; i++)
        ck_assert(s.o.bound[i] == 0);
    scene_release(&s);
    struct grid g = {.some = false};
    grid_add(&g, 0x1p24 - 1);
    ck_assert(grid_exact(&g));
    grid_add(&g, 1);
    ck_assert(grid_exact(&g));
    grid_add(&g, -1);
    ck_assert(!grid_exact(&g));
    struct grid small = {.some = false};
    grid_add(&small, 0x1p-127);
    ck_assert(!grid_exact(&small));
}
END_TEST

START_TEST(special_values_stay)
{
    struct scene s;
    int64_t nan = 0, inf = 0;
    scene_init(&s, "scan/chunk:rows=200,d=50,dist=special", "y");
    for (int64_t i = 0; i < s.o.count; i++) {
        double before = i % 50 ? s.o.value[i - 1] : 0, x = tensor_value(s.at[SCAN_X], i);
        double y = s.o.value[i];
        nan += isnan(y);
        inf += isinf(y) != 0;
        ck_assert(!isnan(before) || isnan(y));
        ck_assert(!isinf(before) || (isfinite(x) ? y == before : isnan(y) || y == before));
        ck_assert(!isnan(x) || isnan(y));
    }
    ck_assert_msg(nan > 10 && inf > 10, "%lld NaN, %lld Inf", (long long)nan, (long long)inf);
    scene_release(&s);
}
END_TEST

START_TEST(cases_have_power)
{
    scene_suites("scan", 16, 120);
}
END_TEST

START_TEST(too_large_is_explained)
{
    scene_refused("scan/chunk:rows=65535,d=1048576", "2^30");
}
END_TEST

static const struct {
    const char *id;
    enum cause cause;
} planted[] = {
    {"scan/fault_exclusive:rows=4,d=601", CAUSE_MASK},
    {"scan/fault_exclusive:dtype=i32,rows=4,d=601", CAUSE_MASK},
    {"scan/fault_carry:rows=4,d=601", CAUSE_LOCALISED},
    {"scan/fault_accumulate:rows=4,d=601", CAUSE_ACCUMULATE},
    {"scan/fault_tail:dtype=f16,rows=4,d=601", CAUSE_LOCALISED},
};

START_TEST(planted_faults_are_found_and_named)
{
    planted_expect(planted[_i].id, planted[_i].cause);
}
END_TEST

START_TEST(right_kernels_are_not_blamed)
{
    static const char *const ids[] = {
        "scan/chunk:rows=4,d=2001,dist=lognormal",
        "scan/doubling:dtype=bf16,rows=4,d=601,dist=special",
        "scan/doubling:dtype=i32,rows=4,d=257,dist=wide",
    };
    struct seen s = checked(ids[_i]);
    planted_right(ids[_i], &s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("scan");
    TCase *c = tcase_create("scan");
    tcase_add_loop_test(c, reference_is_exact_within_its_error, 0, 5);
    tcase_add_test(c, integers_wrap);
    tcase_add_test(c, legal_arithmetic_stays_inside);
    tcase_add_loop_test(c, bounds_are_no_larger_than_arithmetic_allows, 0, 2);
    tcase_add_test(c, exact_sums_have_no_freedom);
    tcase_add_test(c, special_values_stay);
    tcase_add_test(c, cases_have_power);
    tcase_add_test(c, too_large_is_explained);
    tcase_add_loop_test(c, planted_faults_are_found_and_named, 0, 5);
    tcase_add_loop_test(c, right_kernels_are_not_blamed, 0, 3);
    suite_add_tcase(s, c);
    return suite_run(s);
}
