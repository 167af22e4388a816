/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <mpfr.h>
#include <stdlib.h>

#include "../cases/rope/rope.h"
#include "planted.h"
#include "scene.h"
#include "suite.h"

/* Rotary embedding: the inputs and the reference against MPFR, bounds by simulation, planted
 * faults on both simulated devices. */

enum { BITS = 400 };

static struct rope decoded(const struct scene *s)
{
    struct rope r;
    rope_decode(&s->id, &r);
    return r;
}

/* The partner of element `at`, its pair's number, and whether it is the first; from the definition
 * of the layouts. */
struct partner {
    int64_t at, pair;
    bool first;
};

static struct partner partner_of(const struct rope *r, int64_t at)
{
    int64_t in = at % r->d, half = r->d / 2;
    if (!r->neox)
        return (struct partner){at ^ 1, in / 2, in % 2 == 0};
    return in < half ? (struct partner){at + half, in, true}
                     : (struct partner){at - half, in - half, false};
}

static float angle_of(const struct scene *s, const struct rope *r, int64_t at)
{
    int64_t token = at / (r->d * r->heads);
    float f = (float)scene_value(s, "frequency", partner_of(r, at).pair);
    return (float)scene_value(s, "position", token) * f;
}

/* --- inputs ----------------------------------------------------------------------------------
 */

START_TEST(frequencies_are_correctly_rounded)
{
    static const double bases[] = {10000, 5e5, 1e7, 100};
    char text[80];
    struct scene s;
    mpfr_t f, base;
    snprintf(text, sizeof text, "rope/neox:tokens=1,heads=1,d=128,base=%g", bases[_i]);
    scene_init(&s, text, "y");
    mpfr_inits2(BITS, f, base, (mpfr_ptr)0);
    mpfr_set_d(base, bases[_i], MPFR_RNDN);
    for (int64_t i = 0; i < 64; i++) {
        mpfr_set_si(f, (long)-i, MPFR_RNDN);
        mpfr_div_ui(f, f, 64, MPFR_RNDN);
        mpfr_pow(f, base, f, MPFR_RNDN);
        ck_assert((double)mpfr_get_flt(f, MPFR_RNDN) == scene_value(&s, "frequency", i));
    }
    mpfr_clears(f, base, (mpfr_ptr)0);
    scene_release(&s);
}
END_TEST

START_TEST(positions_reach_both_ends)
{
    struct scene s;
    int64_t large = 0;
    scene_init(&s, "rope/neox:tokens=400,heads=1,d=2", "y");
    ck_assert(scene_value(&s, "position", 0) == 0 && scene_value(&s, "position", 1) == 131071);
    for (int64_t i = 0; i < 400; i++) {
        ck_assert(scene_value(&s, "position", i) >= 0 &&
                  scene_value(&s, "position", i) <= 131071);
        large += scene_value(&s, "position", i) > 65535;
    }
    ck_assert(large > 20 && large < 300);
    scene_release(&s);
}
END_TEST

/* --- the reference against MPFR --------------------------------------------------------------
 */

static const char *const exact_ids[] = {
    "rope/neox:tokens=20,heads=2,d=10",
    "rope/interleaved:tokens=20,heads=2,d=10,most=16777215,dist=lognormal",
    "rope/neox:dtype=bf16,tokens=20,heads=1,d=20,dist=wide",
    "rope/interleaved:dtype=f16,tokens=20,heads=1,d=20,most=3,dist=onehot",
};

START_TEST(reference_is_exact_within_its_error)
{
    struct scene s;
    mpfr_t y, t, c;
    scene_init(&s, exact_ids[_i], "y");
    struct rope r = decoded(&s);
    mpfr_inits2(BITS, y, t, c, (mpfr_ptr)0);
    for (int64_t at = 0; at < s.o.count; at++) {
        struct partner p = partner_of(&r, at);
        if (isinf(s.o.bound[at]))
            continue;
        mpfr_set_flt(t, angle_of(&s, &r, at), MPFR_RNDN);
        mpfr_sin_cos(t, c, t, MPFR_RNDN);
        mpfr_mul_d(t, t, scene_value(&s, "x", p.at) * (p.first ? -1 : 1), MPFR_RNDN);
        mpfr_mul_d(c, c, scene_value(&s, "x", at), MPFR_RNDN);
        mpfr_add(y, t, c, MPFR_RNDN);
        mpfr_sub_d(y, y, s.o.value[at], MPFR_RNDN);
        mpfr_sub_d(y, y, s.o.tail[at], MPFR_RNDN);
        double error = fabs(mpfr_get_d(y, MPFR_RNDA));
        ck_assert_msg(error <= s.o.error[at], "%s: %lld is off by %a, claimed %a", s.text,
                      (long long)at, error, s.o.error[at]);
        ck_assert(s.o.error[at] <= 0x1p-20 * s.o.bound[at]);
    }
    mpfr_clears(y, t, c, (mpfr_ptr)0);
    scene_release(&s);
}
END_TEST

/* --- bounds by simulation --------------------------------------------------------------------
 */

/* A leaning device errs away from 0 in the first product and in the second such that both errors
 * add up; the sign of what is subtracted is that of the device's own product. */
static double play(struct device *d, const struct scene *s, const struct rope *r, int64_t at,
                   bool fused)
{
    struct partner p = partner_of(r, at);
    double a = device_kept(d, scene_value(s, "x", at)), angle = (double)angle_of(s, r, at);
    double b = device_kept(d, scene_value(s, "x", p.at)) * (p.first ? 1 : -1);
    if (d->lean != 0) {
        double x = a * cos(angle), y = b * sin(angle), lean = d->lean;
        x += fabs(x) * 6 * lean * 0x1p-24;
        y -= fabs(y) * 6 * lean * 0x1p-24;
        return device_op(d, x - y);
    }
    double c = device_call(d, cos(angle), 2), sine = device_call(d, sin(angle), 2);
    double q = device_op(d, b * sine);
    return fused ? device_op(d, (double)fmaf((float)a, (float)c, (float)-q))
                 : device_op(d, device_op(d, a * c) - q);
}

static void one_case(int x, struct judged *t)
{
    static const char *const formats[] = {"f32", "f16", "bf16"};
    static const char *const dists[] = {"normal", "lognormal", "uniform", "wide",
                                        "ties",   "subnormal", "onehot",  "integer"};
    static const int most[] = {131071, 3, 16777215};
    char text[160];
    struct scene s;
    snprintf(text, sizeof text,
             "rope/%s:dtype=%s,tokens=20,heads=2,d=26,dist=%s,seed=%d,most=%d%s",
             x % 2 ? "neox" : "interleaved", formats[x % 3], dists[x / 3 % 8], x + 1,
             most[x / 2 % 3], x % 5 ? "" : ",mode=flush");
    scene_init(&s, text, "y");
    struct rope r = decoded(&s);
    struct device d = {.key = rng_key_make((uint64_t)x, "device"), .flush = x % 5 == 0};
    for (int64_t at = 0; at < s.o.count; at++)
        scene_judge(&s, r.dtype, at, play(&d, &s, &r, at, x % 7 < 3), t);
    scene_release(&s);
}

/* 124 800 elements. */
START_TEST(legal_arithmetic_stays_inside)
{
    struct judged t = {0};
    for (int x = 0; x < 120; x++)
        one_case(x, &t);
    ck_assert_int_ge(t.judged, 100000);
    ck_assert_msg(t.outside == t.judged && t.worst > 0.9,
                  "%lld of %lld faults outside, worst error %.3f of its bound",
                  (long long)t.outside, (long long)t.judged, t.worst);
}
END_TEST

/* Of f32: every operation errs by all it may, all one way: near the bound but inside. By twice
 * that: outside. */
static double lean_play(const struct scene *s, double lean)
{
    struct rope r = decoded(s);
    struct device d = {.lean = lean};
    double worst = 0;
    for (int64_t at = 0; at < s->o.count; at++)
        worst = fmax(worst,
                     fabs(play(&d, s, &r, at, false) - s->o.value[at]) / s->o.bound[at]);
    return worst;
}

START_TEST(bounds_are_no_larger_than_arithmetic_allows)
{
    struct scene s;
    scene_init(&s, "rope/neox:tokens=20,heads=2,d=26", "y");
    double most = fmax(lean_play(&s, 1), lean_play(&s, -1));
    ck_assert_msg(most > 0.9 && most <= 1, "%s: %.3f of the bound", s.text, most);
    ck_assert_msg(lean_play(&s, 2) > 1, "%s: twice the errors are inside", s.text);
    scene_release(&s);
}
END_TEST

/* --- special values, power, refusals ---------------------------------------------------------
 */

START_TEST(special_values_follow_the_formula)
{
    struct rope r = {.dtype = DTYPE_F32};
    struct rope_turn t = rope_turn_make(2), still = rope_turn_make(0);
    ck_assert(rope_output(&r, &t, INFINITY, 1).value == -INFINITY);
    ck_assert(isnan(rope_output(&r, &t, 1, (double)NAN).value));
    ck_assert(isnan(rope_output(&r, &still, 1, INFINITY).value));
    ck_assert(rope_output(&r, &still, 3, 5).value == 3);
}
END_TEST

START_TEST(cases_have_power)
{
    scene_suites("rope", 14, 150);
}
END_TEST

START_TEST(impossible_ids_say_what_is_possible)
{
    scene_refused("rope/neox:d=5", "even d");
    scene_refused("rope/neox:tokens=65535,heads=1024,d=4096", "2^30");
    scene_refused("rope/neox:mode=fast", "strict");
}
END_TEST

/* --- on both simulated devices ---------------------------------------------------------------
 */

static const struct {
    const char *id;
    enum cause cause;
} planted[] = {
    {"rope/fault_layout:tokens=20,heads=2,d=64", CAUSE_MASK},
    {"rope/fault_position:dtype=f16,tokens=20,heads=2,d=64,most=500", CAUSE_MASK},
    {"rope/fault_sign:dtype=bf16,tokens=20,heads=2,d=64", CAUSE_MASK},
    {"rope/fault_angle:tokens=20,heads=2,d=64,most=4000", CAUSE_DOWNCAST},
    {"rope/fault_reduce:tokens=20,heads=2,d=64", CAUSE_APPROXIMATE},
    {"rope/fault_tail:tokens=20,heads=2,d=66", CAUSE_LOCALISED},
};

START_TEST(planted_faults_are_found_and_named)
{
    planted_expect(planted[_i].id, planted[_i].cause);
}
END_TEST

START_TEST(right_kernels_are_not_blamed)
{
    static const char *const ids[] = {
        "rope/neox:tokens=40,heads=2,d=64,most=16777215",
        "rope/interleaved:dtype=f16,tokens=20,heads=2,d=64,dist=special",
        "rope/interleaved:tokens=20,heads=2,d=64,dist=subnormal",
        "rope/neox:tokens=20,heads=2,d=64,most=2,mode=strict",
    };
    struct seen s = checked(ids[_i]);
    planted_right(ids[_i], &s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("rope");
    TCase *c = tcase_create("rope");
    tcase_add_loop_test(c, frequencies_are_correctly_rounded, 0, 4);
    tcase_add_test(c, positions_reach_both_ends);
    tcase_add_loop_test(c, reference_is_exact_within_its_error, 0,
                        sizeof exact_ids / sizeof *exact_ids);
    tcase_add_test(c, legal_arithmetic_stays_inside);
    tcase_add_test(c, bounds_are_no_larger_than_arithmetic_allows);
    tcase_add_test(c, special_values_follow_the_formula);
    tcase_add_test(c, cases_have_power);
    tcase_add_test(c, impossible_ids_say_what_is_possible);
    tcase_add_loop_test(c, planted_faults_are_found_and_named, 0,
                        sizeof planted / sizeof *planted);
    tcase_add_loop_test(c, right_kernels_are_not_blamed, 0, 4);
    suite_add_tcase(s, c);
    return suite_run(s);
}
