/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "limit.h"
#include "suite.h"

/* --limit: what is none, and limits that no two numbers of a format can keep. What they allow is
 * held by test_gap. */

START_TEST(limits_that_are_none)
{
    static const char *const texts[] = {"ulp",
                                        "ulp:",
                                        "ulp:x",
                                        "ulp:-1",
                                        "ulp:nan",
                                        "abs:inf",
                                        "upl:3",
                                        "",
                                        ":3",
                                        "share:1,ulp:2",
                                        "ulp:1,,",
                                        "ulp:1 ",
                                        "ulp:1,abs:1,rel:1,ulp:2,abs:3"};
    struct limits l;
    struct errinfo e;
    ck_assert_int_eq(limits_parse(1, &texts[_i], &l, &e), ERR_USAGE);
    ck_assert_msg(strstr(e.text, "--limit") != NULL, "%s", e.text);
}
END_TEST

/* The least distances of two numbers, against all pairs of neighbours of the narrow formats; and
 * a limit below them allows equal numbers only. */
START_TEST(the_least_distances)
{
    static const enum dtype narrow[] = {DTYPE_F16, DTYPE_BF16, DTYPE_E4M3, DTYPE_E5M2, DTYPE_U8};
    enum dtype d = narrow[_i];
    uint64_t end = UINT64_C(1) << (8 * dtype_info(d)->bytes - (d != DTYPE_U8));
    double least = INFINITY, least_relative = INFINITY;
    for (uint64_t bits = 1; bits < end; bits++) {
        double x = dtype_value(d, bits - 1), y = dtype_value(d, bits);
        if (!isfinite(x) || !isfinite(y))
            continue;
        least = fmin(least, y - x);
        least_relative = fmin(least_relative, (y - x) / y);
    }
    ck_assert_double_eq(limit_least(LIMIT_ABS, d), least);
    /* Of integers the bound is not sharp: 255 and 256. */
    ck_assert_double_le(limit_least(LIMIT_REL, d), least_relative);
    ck_assert(d == DTYPE_U8 || limit_least(LIMIT_REL, d) == least_relative);
}
END_TEST

static const struct {
    const char *text;
    enum dtype d;
    bool equality;
} strict[] = {
    {"ulp:0", DTYPE_F32, true},        {"ulp:0.5", DTYPE_F64, true},
    {"ulp:1", DTYPE_F32, false},       {"rel:1e-9", DTYPE_BF16, true},
    {"rel:1e-9", DTYPE_F64, false},    {"rel:0.004", DTYPE_BF16, false},
    {"abs:1e-50", DTYPE_F32, true},    {"abs:1e-40", DTYPE_F32, false},
    {"ulp:0,abs:1", DTYPE_F32, false}, {"ulp:0,rel:1e-9", DTYPE_F16, true},
    {"abs:0.5", DTYPE_I32, true},      {"share:0", DTYPE_F32, false},
};

START_TEST(limits_that_ask_for_equality)
{
    struct limits l;
    char text[200] = "";
    ck_assert_int_eq(limits_parse(1, &strict[_i].text, &l, NULL), 0);
    ck_assert(limit_is_equality(&l.rule[0], strict[_i].d, text, sizeof text) ==
              strict[_i].equality);
    ck_assert(!strict[_i].equality || strstr(text, "allows equal numbers only"));
}
END_TEST

START_TEST(neighbours_farther_than_the_limit)
{
    static const char *const text = "abs:1e-12";
    struct limits l;
    char why[200] = "";
    ck_assert_int_eq(limits_parse(1, &text, &l, NULL), 0);
    /* bf16 has 7 bits of fraction: between 1 and 2 its numbers are 2^-7 apart. */
    ck_assert(limit_too_close(&l.rule[0], DTYPE_BF16, 1.5, 1.5078125, why, sizeof why));
    ck_assert_ptr_nonnull(strstr(why, "0.00781 apart"));
    ck_assert(!limit_too_close(&l.rule[0], DTYPE_F64, 1.5, 1.5078125, why, sizeof why));
    ck_assert(!limit_too_close(&l.rule[0], DTYPE_BF16, 1.5, (double)INFINITY, why, sizeof why));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("limit");
    TCase *c = tcase_create("limit");
    suite_add_tcase(s, c);
    tcase_add_loop_test(c, the_least_distances, 0, 5);
    tcase_add_loop_test(c, limits_that_ask_for_equality, 0,
                        (int)(sizeof strict / sizeof *strict));
    tcase_add_loop_test(c, limits_that_are_none, 0, 13);
    tcase_add_test(c, neighbours_farther_than_the_limit);
    return suite_run(s);
}
