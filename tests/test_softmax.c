/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <mpfr.h>
#include <stdlib.h>

#include "../cases/softmax/softmax.h"
#include "planted.h"
#include "scene.h"
#include "suite.h"

/* Softmax: the reference against MPFR, bounds by simulation, planted faults on both simulated
 * devices. */


static struct softmax decoded(const struct scene *s)
{
    struct softmax c;
    softmax_decode(&s->id, &c);
    return c;
}

/* --- the reference against MPFR --------------------------------------------------------------
 */

static const char *const exact_ids[] = {
    "softmax/softmax:rows=3,d=33",
    "softmax/softmax:rows=4,d=40,dist=lognormal",
    "softmax/softmax:dtype=f16,rows=3,d=300,dist=wide",
    "softmax/log_softmax:rows=3,d=33,dist=wide",
    "softmax/log_softmax:dtype=bf16,rows=4,d=40,dist=lognormal",
    "softmax/log_softmax:rows=2,d=1",
    "softmax/cross:rows=9,d=33",
    "softmax/cross:rows=9,d=33,dist=lognormal,smooth=0",
    "softmax/cross:dtype=f16,rows=9,d=2,dist=cancel,smooth=0.9",
};

enum { BITS = 400 };

/* The largest logit and the logarithm of the sum of row `row`. */
static double exact_row(const struct scene *s, int64_t row, mpfr_t log)
{
    mpfr_t w;
    int64_t d = s->plan.tensor[0].dim[1];
    double most = -INFINITY;
    mpfr_init2(w, BITS);
    mpfr_set_zero(log, 1);
    for (int64_t i = 0; i < d; i++)
        most = fmax(most, scene_value(s, "x", row * d + i));
    for (int64_t i = 0; i < d; i++) {
        mpfr_set_d(w, scene_value(s, "x", row * d + i), MPFR_RNDN);
        mpfr_sub_d(w, w, most, MPFR_RNDN);
        mpfr_exp(w, w, MPFR_RNDN);
        mpfr_add(log, log, w, MPFR_RNDN);
    }
    mpfr_log(log, log, MPFR_RNDN);
    mpfr_clear(w);
    return most;
}

static void exact_log(const struct scene *s, int64_t at, double most, mpfr_t log, mpfr_t y)
{
    mpfr_set_d(y, scene_value(s, "x", at), MPFR_RNDN);
    mpfr_sub_d(y, y, most, MPFR_RNDN);
    mpfr_sub(y, y, log, MPFR_RNDN);
}

static void exact_loss(const struct scene *s, int64_t row, mpfr_t log, double most, mpfr_t y)
{
    struct softmax c = decoded(s);
    int64_t label = (int64_t)scene_value(s, "target", row);
    mpfr_t part;
    mpfr_init2(part, BITS);
    mpfr_set_zero(y, 1);
    for (int64_t i = 0; label >= 0 && i < c.d; i++) {
        exact_log(s, row * c.d + i, most, log, part);
        mpfr_mul_d(part, part, -(double)c.share, MPFR_RNDN);
        mpfr_div_si(part, part, (long)c.d, MPFR_RNDN);
        mpfr_add(y, y, part, MPFR_RNDN);
    }
    if (label >= 0) {
        exact_log(s, row * c.d + label, most, log, part);
        mpfr_mul_d(part, part, -(double)c.keep, MPFR_RNDN);
        mpfr_add(y, y, part, MPFR_RNDN);
    }
    mpfr_clear(part);
}

static void element_holds(const struct scene *s, int64_t at, mpfr_t y)
{
    mpfr_sub_d(y, y, s->o.value[at], MPFR_RNDN);
    mpfr_sub_d(y, y, s->o.tail[at], MPFR_RNDN);
    double error = fabs(mpfr_get_d(y, MPFR_RNDA));
    ck_assert_msg(error <= s->o.error[at], "%s: %lld is off by %a, claimed %a", s->text,
                  (long long)at, error, s->o.error[at]);
    ck_assert(s->o.error[at] <= 0x1p-20 * s->o.bound[at]);
}

START_TEST(reference_is_exact_within_its_error)
{
    struct scene s;
    mpfr_t log, y;
    scene_init(&s, exact_ids[_i], strstr(exact_ids[_i], "cross") ? "loss" : "y");
    struct softmax c = decoded(&s);
    int64_t width = c.kind == SOFTMAX_CROSS ? 1 : c.d;
    double most = 0;
    mpfr_inits2(BITS, log, y, (mpfr_ptr)0);
    for (int64_t at = 0; at < s.o.count; at++) {
        if (at % width == 0)
            most = exact_row(&s, at / width, log);
        if (c.kind == SOFTMAX_CROSS)
            exact_loss(&s, at, log, most, y);
        else
            exact_log(&s, at, most, log, y);
        if (c.kind == SOFTMAX_ROWS)
            mpfr_exp(y, y, MPFR_RNDN);
        element_holds(&s, at, y);
    }
    mpfr_clears(log, y, (mpfr_ptr)0);
    scene_release(&s);
}
END_TEST

/* --- bounds by simulation --------------------------------------------------------------------
 */

static struct device against(const struct device *d)
{
    struct device other = *d;
    other.lean = -d->lean;
    return other;
}

/* -y of log_softmax, that is (log - t). */
static double log_play(struct device *d, double x, double most, double log)
{
    struct device down = against(d);
    return device_op(d, log - device_op(&down, x - most));
}

static double sum_play(struct device *d, const struct scene *s, int64_t row, double most)
{
    int64_t n = decoded(s).d;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double t = device_op(d, scene_value(s, "x", row * n + i) - most);
        sum = device_op(d, sum + device_call(d, exp(t), 2));
    }
    return sum;
}

static double loss_play(struct device *d, const struct scene *s, int64_t row, double most,
                        double log)
{
    struct softmax c = decoded(s);
    int64_t label = (int64_t)scene_value(s, "target", row);
    double mean = 0, keep = (double)c.keep, share = (double)c.share;
    if (label < 0)
        return 0;
    for (int64_t i = 0; i < c.d; i++)
        mean = device_op(d, mean + log_play(d, scene_value(s, "x", row * c.d + i), most, log));
    mean = device_op(d, mean / (double)c.d);
    double nll = log_play(d, scene_value(s, "x", row * c.d + label), most, log);
    double loss = device_op(d, keep * nll);
    return share != 0 ? device_op(d, loss + device_op(d, share * mean)) : loss;
}

/* Rows are shorter than the 9 additions that the bound counts at least, so that a chain is
 * legal. Returns the row's outputs in y. */
static void row_play(struct device *d, const struct scene *s, int64_t row, double *y)
{
    struct softmax c = decoded(s);
    struct device down = against(d);
    double most = -INFINITY;
    for (int64_t i = 0; i < c.d; i++)
        most = fmax(most, scene_value(s, "x", row * c.d + i));
    double sum = sum_play(c.kind == SOFTMAX_ROWS ? &down : d, s, row, most);
    double log = device_call(d, log1p(sum - 1), 2);
    if (c.kind == SOFTMAX_CROSS) {
        y[0] = loss_play(d, s, row, most, log);
        return;
    }
    for (int64_t i = 0; i < c.d; i++) {
        double x = scene_value(s, "x", row * c.d + i);
        double w = device_call(d, exp(device_op(d, x - most)), 2);
        y[i] = c.kind == SOFTMAX_LOG ? -log_play(d, x, most, log) : device_op(d, w / sum);
    }
}

static const char *const dists[] = {"normal",  "lognormal", "uniform", "wide",
                                    "integer", "cancel",    "onehot",  "ties"};

static void one_case(int variant, int x, struct judged *t)
{
    static const char *const names[] = {"softmax", "log_softmax", "cross"};
    static const char *const formats[] = {"f32", "f16", "bf16"};
    char text[160];
    struct scene s;
    snprintf(text, sizeof text, "softmax/%s:dtype=%s,rows=300,d=%d,dist=%s,seed=%d%s",
             names[variant], formats[x % 3], 1 + x / 3 % 9, dists[x / 27 % 8], x + 1,
             x % 5 ? "" : ",mode=flush");
    scene_init(&s, text, variant == 2 ? "loss" : "y");
    struct softmax c = decoded(&s);
    struct device d = {.key = rng_key_make((uint64_t)x, "device"), .flush = x % 5 == 0};
    int64_t width = c.kind == SOFTMAX_CROSS ? 1 : c.d;
    for (int64_t row = 0; row < c.rows; row++) {
        double y[16];
        row_play(&d, &s, row, y);
        for (int64_t i = 0; i < width; i++)
            scene_judge(&s, variant == 2 ? DTYPE_F32 : c.dtype, row * width + i, y[i], t);
    }
    scene_release(&s);
}

/* 194 400 rows. */
START_TEST(legal_arithmetic_stays_inside)
{
    struct judged t = {0};
    for (int x = 0; x < 216; x++)
        one_case(_i, x, &t);
    ck_assert_int_ge(t.judged, 50000);
    ck_assert_msg(t.outside == t.judged && t.worst > 0.5,
                  "%lld of %lld faults outside, worst error %.3f of its bound",
                  (long long)t.outside, (long long)t.judged, t.worst);
}
END_TEST

/* Every operation errs by all it may, all one way: near the bound but inside. By twice that:
 * outside. So the bound is right to a factor below 2. */
static const char *const lean_ids[] = {
    "softmax/softmax:rows=40,d=9",
    "softmax/softmax:rows=40,d=9,dist=lognormal",
    "softmax/log_softmax:rows=40,d=9",
    "softmax/log_softmax:rows=40,d=9,dist=lognormal",
    "softmax/cross:rows=40,d=9,dist=lognormal",
};

static double lean_play(const struct scene *s, double lean)
{
    struct softmax c = decoded(s);
    struct device d = {.lean = lean};
    int64_t width = c.kind == SOFTMAX_CROSS ? 1 : c.d;
    double worst = 0, y[16];
    for (int64_t row = 0; row < c.rows; row++) {
        row_play(&d, s, row, y);
        for (int64_t i = 0; i < width; i++)
            if (isfinite(s->o.bound[row * width + i]) && s->o.bound[row * width + i] > 0)
                worst = fmax(worst, fabs(y[i] - s->o.value[row * width + i]) /
                                        s->o.bound[row * width + i]);
    }
    return worst;
}

START_TEST(bounds_are_no_larger_than_arithmetic_allows)
{
    struct scene s;
    scene_init(&s, lean_ids[_i], strstr(lean_ids[_i], "cross") ? "loss" : "y");
    double most = fmax(lean_play(&s, 1), lean_play(&s, -1));
    ck_assert_msg(most > 0.6 && most <= 1, "%s: %.3f of the bound", s.text, most);
    ck_assert_msg(lean_play(&s, 2) > 1, "%s: twice the errors are inside", s.text);
    scene_release(&s);
}
END_TEST

/* --- special values, power, refusals ---------------------------------------------------------
 */

START_TEST(special_values_follow_the_definition)
{
    static const double rows[4][3] = {
        {1, INFINITY, 2}, {1, NAN, 2}, {-INFINITY, -INFINITY, -INFINITY}, {0, -INFINITY, 0}};
    struct softmax s = {.dtype = DTYPE_F32, .rows = 1, .d = 3, .keep = 1};
    struct softmax_row r;
    for (int k = 0; k < 3; k++) {
        softmax_row_make(&s, rows[k], &r);
        for (int i = 0; i < 3; i++)
            ck_assert(isnan(softmax_output(&s, &r, i).value) &&
                      softmax_output(&s, &r, i).bound == 0);
        ck_assert(isnan(softmax_loss(&s, &r, 0).value) && softmax_loss(&s, &r, -1).value == 0);
    }
    softmax_row_make(&s, rows[3], &r);
    ck_assert(softmax_output(&s, &r, 1).value == 0 && softmax_output(&s, &r, 1).bound == 0);
    ck_assert(softmax_output(&s, &r, 0).value == 0.5);
    ck_assert(softmax_loss(&s, &r, 1).value == INFINITY);
    s.kind = SOFTMAX_LOG;
    ck_assert(softmax_output(&s, &r, 1).value == -INFINITY);
}
END_TEST

START_TEST(cases_have_power)
{
    scene_suites("softmax", 24, 130);
}
END_TEST

START_TEST(impossible_ids_say_what_is_possible)
{
    scene_refused("softmax/softmax:smooth=0.5", "softmax/cross only");
    scene_refused("softmax/softmax:rows=65535,d=1048576", "2^30");
}
END_TEST

/* --- on both simulated devices ---------------------------------------------------------------
 */

static const struct {
    const char *id;
    enum cause cause;
} planted[] = {
    {"softmax/fault_shift:rows=4,d=301,dist=lognormal", CAUSE_NANINF},
    {"softmax/fault_tail:rows=4,d=301", CAUSE_LOCALISED},
    {"softmax/fault_tail:dtype=bf16,rows=4,d=61", CAUSE_LOCALISED},
    {"softmax/fault_accumulate:rows=4,d=301", CAUSE_ACCUMULATE},
    {"softmax/fault_exponential:rows=4,d=301", CAUSE_APPROXIMATE},
    {"softmax/fault_flush:rows=9,d=67,dist=lognormal", CAUSE_FLUSH},
    {"softmax/fault_label:dtype=f16,rows=40,d=77", CAUSE_MASK},
    {"softmax/fault_smooth:rows=40,d=77", CAUSE_SCALE},
};

START_TEST(planted_faults_are_found_and_named)
{
    planted_expect(planted[_i].id, planted[_i].cause);
}
END_TEST

START_TEST(right_kernels_are_not_blamed)
{
    static const char *const ids[] = {
        "softmax/softmax:rows=9,d=301,dist=lognormal",
        "softmax/softmax:dtype=f16,rows=9,d=77,dist=special",
        "softmax/log_softmax:dtype=bf16,rows=4,d=301,dist=wide,mode=strict",
        "softmax/cross:dtype=f16,rows=40,d=301,dist=special",
    };
    struct seen s = checked(ids[_i]);
    planted_right(ids[_i], &s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("softmax");
    TCase *c = tcase_create("softmax");
    tcase_add_loop_test(c, reference_is_exact_within_its_error, 0,
                        sizeof exact_ids / sizeof *exact_ids);
    tcase_add_loop_test(c, legal_arithmetic_stays_inside, 0, 3);
    tcase_add_loop_test(c, bounds_are_no_larger_than_arithmetic_allows, 0,
                        sizeof lean_ids / sizeof *lean_ids);
    tcase_add_test(c, special_values_follow_the_definition);
    tcase_add_test(c, cases_have_power);
    tcase_add_test(c, impossible_ids_say_what_is_possible);
    tcase_add_loop_test(c, planted_faults_are_found_and_named, 0,
                        sizeof planted / sizeof *planted);
    tcase_add_loop_test(c, right_kernels_are_not_blamed, 0, 4);
    suite_add_tcase(s, c);
    return suite_run(s);
}
