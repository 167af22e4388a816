/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "../cases/select/select.h"
#include "planted.h"
#include "scene.h"
#include "suite.h"

/* Top-k and argmax: the reference against the rule itself, planted faults on both simulated devices.
 */

static bool comes_before(double x, int64_t i, double y, int64_t j)
{
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y) ? i < j : isnan(x);
    return x > y || (x == y && i < j);
}

static const char *const exact_ids[] = {
    "select/topk:rows=20,d=100,k=9",
    "select/topk:dtype=f16,rows=20,d=50,k=50,dist=integer",
    "select/topk:dtype=bf16,rows=20,d=33,k=33,dist=special",
    "select/topk:rows=20,d=33,k=5,dist=zero",
    "select/argmax:rows=40,d=100,dist=special",
};

/* Place j of a row holds the one element that exactly j others come before. */
START_TEST(places_are_counted)
{
    struct scene s;
    scene_init(&s, exact_ids[_i], "index");
    struct select c;
    select_decode(&s.id, &c);
    const struct tensor *x = s.at[SELECT_X];
    for (int64_t i = 0; i < s.o.count; i++) {
        int64_t row = i / c.k * c.d, at = (int64_t)s.o.value[i], n = 0;
        for (int64_t j = 0; j < c.d; j++)
            n += comes_before(tensor_value(x, row + j), j, tensor_value(x, row + at), at);
        ck_assert_msg(n == i % c.k && s.o.bound[i] == 0, "%s: %lld come before %lld", s.text,
                      (long long)n, (long long)at);
    }
    if (!c.one) {
        struct scene values;
        scene_init(&values, exact_ids[_i], "value");
        for (int64_t i = 0; i < s.o.count; i++) {
            double v = tensor_value(x, i / c.k * c.d + (int64_t)s.o.value[i]);
            ck_assert(isnan(v) ? isnan(values.o.value[i]) : values.o.value[i] == v);
        }
        scene_release(&values);
    }
    scene_release(&s);
}
END_TEST

START_TEST(cases_have_power)
{
    scene_suites("select", 16, 90);
}
END_TEST

START_TEST(impossible_ids_say_what_is_possible)
{
    scene_refused("select/topk:d=5,k=6", "only d=5");
    scene_refused("select/argmax:k=2", "topk");
    scene_refused("select/topk:mode=flush", "strict");
    scene_refused("select/topk:rows=65535,d=1048576", "2^30");
}
END_TEST

static const struct {
    const char *id;
    enum cause cause;
} planted[] = {
    {"select/fault_ties:rows=20,d=301,dist=integer", CAUSE_MASK},
    {"select/fault_unordered:rows=40,d=67,k=5,dist=special", CAUSE_NANINF},
    {"select/fault_tail:dtype=f16,rows=400,d=61", CAUSE_LOCALISED},
    {"select/fault_narrow:rows=20,d=301,k=20", CAUSE_DOWNCAST},
    {"select/fault_least:dtype=bf16,rows=20,d=301,k=3", CAUSE_MASK},
};

START_TEST(planted_faults_are_found_and_named)
{
    planted_expect(planted[_i].id, planted[_i].cause);
}
END_TEST

START_TEST(right_kernels_agree)
{
    static const char *const ids[] = {
        "select/topk:rows=4,d=1001,k=20,dist=lognormal",
        "select/topk:dtype=bf16,rows=9,d=67,k=67,dist=special",
        "select/argmax:dtype=f16,rows=70,d=257,dist=integer",
        "select/topk:rows=4,d=300,k=9,dist=subnormal,mode=strict",
    };
    struct seen s = checked(ids[_i]);
    ck_assert_msg(s.verdict == VERDICT_SAME, "%s: %s", ids[_i], s.reason);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("select");
    TCase *c = tcase_create("select");
    tcase_add_loop_test(c, places_are_counted, 0, 5);
    tcase_add_test(c, cases_have_power);
    tcase_add_test(c, impossible_ids_say_what_is_possible);
    tcase_add_loop_test(c, planted_faults_are_found_and_named, 0, 5);
    tcase_add_loop_test(c, right_kernels_agree, 0, 4);
    suite_add_tcase(s, c);
    return suite_run(s);
}
