/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <mpfr.h>
#include <stdlib.h>

#include "../cases/activation/activation.h"
#include "planted.h"
#include "scene.h"
#include "suite.h"

/* Activations: the reference against MPFR, bounds by simulation, planted faults on both simulated
 * devices. */

static struct activation decoded(const struct scene *s)
{
    struct activation a;
    activation_decode(&s->id, &a);
    return a;
}

static double first(const struct scene *s, const struct activation *a, int64_t i)
{
    return tensor_value(s->at[ACTIVATION_X], activation_place(a, i));
}

static double second(const struct scene *s, const struct activation *a, int64_t i)
{
    return a->mul ? tensor_value(s->at[ACTIVATION_X], activation_place(a, i) + a->d) : 1;
}

/* --- the reference against MPFR --------------------------------------------------------------
 */

static const char *const exact_ids[] = {
    "activation/gelu:rows=30,d=33",
    "activation/gelu:rows=30,d=33,dist=lognormal",
    "activation/gelu:dtype=f16,rows=30,d=33,dist=wide",
    "activation/gelu_tanh:rows=30,d=33",
    "activation/gelu_tanh:rows=30,d=33,dist=lognormal",
    "activation/silu:rows=30,d=33",
    "activation/silu:rows=30,d=33,dist=lognormal",
    "activation/silu:dtype=bf16,rows=30,d=33,dist=wide",
    "activation/gelu_mul:dtype=bf16,rows=30,d=33,dist=lognormal",
    "activation/silu_mul:rows=30,d=33,dist=subnormal",
};

enum { BITS = 2500 };

static void exact_gelu(enum activation_kind kind, double x, mpfr_t y, mpfr_t t)
{
    mpfr_set_d(t, x, MPFR_RNDN);
    if (kind == ACTIVATION_GELU) {
        mpfr_sqrt_ui(y, 2, MPFR_RNDN);
        mpfr_div(t, t, y, MPFR_RNDN);
        mpfr_erf(t, t, MPFR_RNDN);
    } else {
        mpfr_pow_ui(y, t, 3, MPFR_RNDN);
        mpfr_mul_ui(y, y, 44715, MPFR_RNDN);
        mpfr_div_ui(y, y, 1000000, MPFR_RNDN);
        mpfr_add(t, t, y, MPFR_RNDN);
        mpfr_const_pi(y, MPFR_RNDN);
        mpfr_ui_div(y, 2, y, MPFR_RNDN);
        mpfr_sqrt(y, y, MPFR_RNDN);
        mpfr_mul(t, t, y, MPFR_RNDN);
        mpfr_tanh(t, t, MPFR_RNDN);
    }
    mpfr_add_ui(t, t, 1, MPFR_RNDN);
    mpfr_mul_d(y, t, x / 2, MPFR_RNDN);
}

static void exactly(enum activation_kind kind, double x, mpfr_t y, mpfr_t t)
{
    if (kind != ACTIVATION_SILU) {
        exact_gelu(kind, x, y, t);
        return;
    }
    mpfr_set_d(t, -x, MPFR_RNDN);
    mpfr_exp(t, t, MPFR_RNDN);
    mpfr_add_ui(t, t, 1, MPFR_RNDN);
    mpfr_d_div(y, x, t, MPFR_RNDN);
}

START_TEST(reference_is_exact_within_its_error)
{
    struct scene s;
    mpfr_t y, t;
    scene_init(&s, exact_ids[_i], "y");
    struct activation a = decoded(&s);
    mpfr_inits2(_i < 5 ? 400 : BITS, y, t, (mpfr_ptr)0);
    for (int64_t i = 0; i < s.o.count; i++) {
        if (isinf(s.o.bound[i]))
            continue;
        exactly(a.kind, first(&s, &a, i), y, t);
        mpfr_mul_d(y, y, second(&s, &a, i), MPFR_RNDN);
        mpfr_sub_d(y, y, s.o.value[i], MPFR_RNDN);
        mpfr_sub_d(y, y, s.o.tail[i], MPFR_RNDN);
        double error = fabs(mpfr_get_d(y, MPFR_RNDA));
        ck_assert_msg(error <= s.o.error[i], "%s: f(%a) is off by %a, claimed %a", s.text,
                      first(&s, &a, i), error, s.o.error[i]);
        ck_assert(s.o.error[i] <= 0x1p-20 * s.o.bound[i]);
    }
    mpfr_clears(y, t, (mpfr_ptr)0);
    scene_release(&s);
}
END_TEST

/* --- bounds by simulation --------------------------------------------------------------------
 */

/* Leaning devices make every intermediate result of x > 0 too large, or too small. */
static double play(struct device *d, enum activation_kind kind, double x)
{
    double t;
    if (kind == ACTIVATION_SILU) {
        struct device down = *d;
        down.lean = -d->lean;
        double e = device_op(&down, 1 + device_call(&down, exp(-x), 2));
        return isinf((float)e) ? copysign(0, x) : device_op(d, x / e);
    }
    if (kind == ACTIVATION_GELU) {
        double c = device_op(d, 0x1.6a09e667f3bcdp-1);
        t = device_call(d, erf(device_op(d, x * c)), 4);
    } else {
        double k = device_op(d, 0x1.9884533d43651p-1), c = device_op(d, 0.044715);
        double cube = device_op(d, c * device_op(d, x * device_op(d, x * x)));
        t = device_call(d, tanh(device_op(d, k * device_op(d, x + cube))), 2);
    }
    return device_op(d, x / 2 * device_op(d, 1 + fmin(t, 1)));
}

static double play_output(struct device *d, const struct scene *s, int64_t i)
{
    struct activation a = decoded(s);
    double y = play(d, a.kind, device_kept(d, first(s, &a, i)));
    return a.mul ? device_op(d, y * device_kept(d, second(s, &a, i))) : y;
}

static const char *const names[] = {"gelu", "gelu_tanh", "silu", "gelu_mul", "silu_mul"};

static void one_case(const char *name, int x, struct judged *t)
{
    static const char *const formats[] = {"f32", "f16", "bf16"};
    static const char *const dists[] = {"normal", "lognormal", "uniform",  "wide",
                                        "ties",   "subnormal", "positive", "integer"};
    char text[160];
    struct scene s;
    snprintf(text, sizeof text, "activation/%s:dtype=%s,rows=30,d=41,dist=%s,seed=%d%s", name,
             formats[x % 3], dists[x / 3 % 8], x + 1, x % 5 ? "" : ",mode=flush");
    scene_init(&s, text, "y");
    struct device d = {.key = rng_key_make((uint64_t)x, "device"), .flush = x % 5 == 0};
    for (int64_t i = 0; i < s.o.count; i++)
        scene_judge(&s, decoded(&s).dtype, i, play_output(&d, &s, i), t);
    scene_release(&s);
}

/* 177 120 elements of each variant. */
START_TEST(legal_arithmetic_stays_inside)
{
    struct judged t = {0};
    for (int x = 0; x < 144; x++)
        one_case(names[_i], x, &t);
    ck_assert_int_ge(t.judged, 100000);
    ck_assert_msg(t.outside == t.judged && t.worst > 0.9,
                  "%lld of %lld faults outside, worst error %.3f of its bound",
                  (long long)t.outside, (long long)t.judged, t.worst);
}
END_TEST

/* Of f32, where no rounding to the format helps: every operation errs by all it may, all one
 * way: near the bound but inside. By twice that: outside. */
struct reach {
    double least, most; /* in units of the bound */
};

static struct reach lean_play(const struct scene *s, double lean)
{
    struct device d = {.lean = lean};
    struct reach r = {INFINITY, 0};
    for (int64_t i = 0; i < s->o.count; i++) {
        double off = fabs(play_output(&d, s, i) - s->o.value[i]) / s->o.bound[i];
        r.least = fmin(r.least, off);
        r.most = fmax(r.most, off);
    }
    return r;
}

START_TEST(bounds_are_no_larger_than_arithmetic_allows)
{
    char text[80];
    struct scene s;
    snprintf(text, sizeof text, "activation/%s:rows=30,d=41,dist=positive", names[_i]);
    scene_init(&s, text, "y");
    struct reach r = lean_play(&s, 1), twice = lean_play(&s, 2);
    ck_assert_msg(r.least > 0.9 && r.most <= 1, "%s: %.3f to %.3f of the bound", s.text, r.least,
                  r.most);
    ck_assert_msg(twice.least > 1, "%s: twice the errors are inside", s.text);
    scene_release(&s);
}
END_TEST

/* --- special values, power, refusals ---------------------------------------------------------
 */

START_TEST(special_values_follow_the_formula)
{
    struct activation a = {.kind = (enum activation_kind)_i, .dtype = DTYPE_F32};
    ck_assert(isnan(activation_output(&a, -INFINITY, 1).value));
    ck_assert(isnan(activation_output(&a, (double)NAN, 1).value));
    ck_assert(activation_output(&a, INFINITY, 1).value == INFINITY &&
              activation_output(&a, INFINITY, 1).bound == 0);
    ck_assert(activation_output(&a, INFINITY, -2).value == -INFINITY);
    ck_assert(isnan(activation_output(&a, INFINITY, 0).value));
    ck_assert(activation_output(&a, 3, -INFINITY).value == -INFINITY);
    ck_assert(isnan(activation_output(&a, 0, INFINITY).value));
    ck_assert(isinf(activation_output(&a, -90, INFINITY).bound));
    ck_assert(isinf(activation_output(&a, 3e38, 1).bound) ||
              activation_output(&a, 3e38, 1).value > 2.9e38);
    a.mul = true;
    ck_assert(isinf(activation_output(&a, 1e30, 1e30).bound));
}
END_TEST

START_TEST(cases_have_power)
{
    scene_suites("activation", 30, 250);
}
END_TEST

START_TEST(too_large_is_explained)
{
    scene_refused("activation/silu_mul:rows=65535,d=1048576", "2^29");
}
END_TEST

/* --- on both simulated devices ---------------------------------------------------------------
 */

static const struct {
    const char *id;
    enum cause cause;
} planted[] = {
    {"activation/fault_form:rows=4,d=301", CAUSE_MASK},
    {"activation/fault_quick:dtype=f16,rows=4,d=301", CAUSE_MASK},
    {"activation/fault_halves:dtype=bf16,rows=4,d=301", CAUSE_MASK},
    {"activation/fault_narrow:dtype=bf16,rows=4,d=301", CAUSE_DOWNCAST},
    {"activation/fault_narrow:dtype=f16,rows=4,d=301", CAUSE_DOWNCAST},
    {"activation/fault_exponential:rows=4,d=301", CAUSE_APPROXIMATE},
    {"activation/fault_flush:rows=9,d=67,dist=subnormal", CAUSE_FLUSH},
    {"activation/fault_tail:rows=4,d=301", CAUSE_LOCALISED},
};

START_TEST(planted_faults_are_found_and_named)
{
    planted_expect(planted[_i].id, planted[_i].cause);
}
END_TEST

START_TEST(right_kernels_are_not_blamed)
{
    static const char *const dists[] = {"special", "wide", "lognormal"};
    char text[100];
    snprintf(text, sizeof text, "activation/%s:dtype=f32,rows=9,d=301,dist=%s", names[_i % 5],
             dists[_i / 5]);
    struct seen s = checked(text);
    planted_right(text, &s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("activation");
    TCase *c = tcase_create("activation");
    tcase_add_loop_test(c, reference_is_exact_within_its_error, 0,
                        sizeof exact_ids / sizeof *exact_ids);
    tcase_add_loop_test(c, legal_arithmetic_stays_inside, 0, 5);
    tcase_add_loop_test(c, bounds_are_no_larger_than_arithmetic_allows, 0, 5);
    tcase_add_loop_test(c, special_values_follow_the_formula, 0, 3);
    tcase_add_test(c, cases_have_power);
    tcase_add_test(c, too_large_is_explained);
    tcase_add_loop_test(c, planted_faults_are_found_and_named, 0,
                        sizeof planted / sizeof *planted);
    tcase_add_loop_test(c, right_kernels_are_not_blamed, 0, 15);
    suite_add_tcase(s, c);
    return suite_run(s);
}
