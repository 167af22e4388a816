/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <mpfr.h>
#include <stdlib.h>

#include "../cases/embedding/embedding.h"
#include "planted.h"
#include "scene.h"
#include "suite.h"

/* The gradient of an embedding: the reference against MPFR, bounds by random orders, planted faults
 * on both simulated devices. */

static struct embedding decoded(const struct scene *s)
{
    struct embedding m;
    embedding_decode(&s->id, &m);
    return m;
}

/* The terms of element i of grad; returns how many. */
static int64_t terms(const struct scene *s, int64_t i, double *ret_terms)
{
    struct embedding m = decoded(s);
    int64_t n = 0;
    for (int64_t t = 0; t < m.tokens; t++) {
        int64_t v = (int64_t)tensor_value(s->at[EMBEDDING_INDEX], t);
        if (v == i / m.d && v != m.padding)
            ret_terms[n++] = tensor_value(s->at[EMBEDDING_DY], t * m.d + i % m.d);
    }
    return n;
}

static const char *const exact_ids[] = {
    "embedding/atomic:tokens=70,vocab=11,d=33",
    "embedding/ordered:tokens=70,vocab=11,d=33,dist=wide,padding=1",
    "embedding/atomic:dtype=bf16,tokens=70,vocab=3,d=33,dist=cancel",
    "embedding/ordered:dtype=f16,tokens=70,vocab=3,d=33,dist=ties",
    "embedding/atomic:tokens=70,vocab=11,d=33,dist=subnormal",
};

START_TEST(reference_is_exact_within_its_error)
{
    struct scene s;
    double x[70];
    mpfr_t sum;
    scene_init(&s, exact_ids[_i], "grad");
    mpfr_init2(sum, 2300);
    for (int64_t i = 0; i < s.o.count; i++) {
        int64_t n = terms(&s, i, x);
        mpfr_set_zero(sum, 1);
        for (int64_t k = 0; k < n; k++)
            mpfr_add_d(sum, sum, x[k], MPFR_RNDN);
        if (s.o.bound[i] == 0)
            ck_assert(s.o.value[i] == mpfr_get_d(sum, MPFR_RNDN));
        mpfr_sub_d(sum, sum, s.o.value[i], MPFR_RNDN);
        mpfr_sub_d(sum, sum, s.o.tail[i], MPFR_RNDN);
        double error = fabs(mpfr_get_d(sum, MPFR_RNDA));
        ck_assert_msg(error <= s.o.error[i] && error <= 0x1p-20 * s.o.bound[i],
                      "%s: %lld is off by %a, claimed %a", s.text, (long long)i, error,
                      s.o.error[i]);
    }
    mpfr_clear(sum);
    scene_release(&s);
}
END_TEST

/* Terms in random order, flushed or not. */
static double play(struct device *d, double *x, int64_t n)
{
    double sum = 0;
    for (int64_t k = n; k > 0; k--) {
        int64_t at = (int64_t)(device_draw(d) * (double)k);
        double term = x[at];
        x[at] = x[k - 1];
        sum = device_op(d, sum + device_kept(d, term));
    }
    return sum;
}

static void one_case(int k, struct judged *t)
{
    static const char *const dists[] = {"normal", "lognormal", "uniform",  "wide",   "ties",
                                        "cancel", "subnormal", "positive", "integer"};
    char text[120];
    struct scene s;
    double x[60];
    snprintf(text, sizeof text, "embedding/atomic:tokens=60,vocab=%d,d=70,dist=%s,seed=%d",
             2 + k % 9, dists[k / 3 % 9], k + 1);
    scene_init(&s, text, "grad");
    struct device d = {.key = rng_key_make((uint64_t)k, "device"), .flush = k % 2};
    for (int64_t i = 0; i < s.o.count; i++) {
        int64_t n = terms(&s, i, x);
        scene_judge(&s, DTYPE_F32, i, play(&d, x, n), t);
    }
    scene_release(&s);
}

/* 113 400 sums. */
START_TEST(every_order_stays_inside)
{
    struct judged t = {0};
    for (int k = 0; k < 270; k++)
        one_case(k, &t);
    ck_assert_int_ge(t.judged, 100000);
    ck_assert_msg(t.outside == t.judged && t.worst > 0.5,
                  "%lld of %lld faults outside, worst error %.3f of its bound",
                  (long long)t.outside, (long long)t.judged, t.worst);
}
END_TEST

/* Two tokens: one addition, which errs by all it may. By twice that: outside. */
START_TEST(bounds_are_no_larger_than_arithmetic_allows)
{
    struct scene s;
    double worst[3] = {0}, x[2];
    scene_init(&s, "embedding/atomic:tokens=2,vocab=1,d=999", "grad");
    for (int64_t i = 0; i < s.o.count; i++) {
        terms(&s, i, x);
        for (int lean = 1; lean < 3; lean++) {
            struct device d = {.lean = lean};
            double y = device_op(&d, x[0] + x[1]);
            if (s.o.bound[i] > 0)
                worst[lean] = fmax(worst[lean], fabs(y - s.o.value[i]) / s.o.bound[i]);
        }
    }
    ck_assert_msg(worst[1] > 0.99 && worst[1] <= 1 && worst[2] > 1, "%.3f and %.3f", worst[1],
                  worst[2]);
    scene_release(&s);
}
END_TEST

START_TEST(exact_sums_have_no_freedom)
{
    struct scene s;
    scene_init(&s, "embedding/atomic:tokens=300,vocab=3,d=33,dist=integer", "grad");
    for (int64_t i = 0; i < s.o.count; i++)
        ck_assert(s.o.bound[i] == 0);
    scene_release(&s);
}
END_TEST

START_TEST(cases_have_power)
{
    scene_suites("embedding", 14, 100);
}
END_TEST

START_TEST(too_large_is_explained)
{
    scene_refused("embedding/atomic:tokens=1048576,d=65536", "2^30");
}
END_TEST

static const struct {
    const char *id;
    enum cause cause;
} planted[] = {
    {"embedding/fault_row:tokens=70,vocab=11,d=33", CAUSE_MASK},
    {"embedding/fault_accumulate:tokens=300,vocab=11,d=33", CAUSE_ACCUMULATE},
    {"embedding/fault_tail:dtype=bf16,tokens=70,vocab=11,d=33", CAUSE_LOCALISED},
    {"embedding/fault_frequency:tokens=70,vocab=11,d=33", CAUSE_SCALE},
    {"embedding/fault_padding:dtype=f16,tokens=70,vocab=11,d=33,padding=0", CAUSE_MASK},
};

START_TEST(planted_faults_are_found_and_named)
{
    planted_expect(planted[_i].id, planted[_i].cause);
}
END_TEST

START_TEST(right_kernels_are_not_blamed)
{
    static const char *const ids[] = {
        "embedding/atomic:tokens=300,vocab=11,d=33,dist=lognormal",
        "embedding/ordered:dtype=bf16,tokens=70,vocab=11,d=33,dist=special",
        "embedding/atomic:tokens=70,vocab=3,d=33,dist=integer",
    };
    struct seen s = checked(ids[_i]);
    planted_right(ids[_i], &s);
}
END_TEST

/* NVIDIA's atomics flush subnormals in every mode, AMD's do not: both right, and named. */
START_TEST(flushing_atomics_are_named)
{
    struct seen s = checked("embedding/atomic:tokens=70,vocab=11,d=33,dist=subnormal");
    ck_assert_msg(s.verdict != VERDICT_SAME && s.cause == CAUSE_FLUSH, "%s: %s",
                  verdict_name(s.verdict), s.reason);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("embedding");
    TCase *c = tcase_create("embedding");
    tcase_add_loop_test(c, reference_is_exact_within_its_error, 0, 5);
    tcase_add_test(c, every_order_stays_inside);
    tcase_add_test(c, bounds_are_no_larger_than_arithmetic_allows);
    tcase_add_test(c, exact_sums_have_no_freedom);
    tcase_add_test(c, cases_have_power);
    tcase_add_test(c, too_large_is_explained);
    tcase_add_loop_test(c, planted_faults_are_found_and_named, 0, 5);
    tcase_add_loop_test(c, right_kernels_are_not_blamed, 0, 3);
    tcase_add_test(c, flushing_atomics_are_named);
    suite_add_tcase(s, c);
    return suite_run(s);
}
