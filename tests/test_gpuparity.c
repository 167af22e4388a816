/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpuparity.h"
#include "suite.h"

/* libgpuparity as another program sees it: linked with the shared library alone. Numbers are
 * known by hand. */

enum { N = 1000 };
static float a[N], b[N];
static double value[N], bound[N], drop[N];
static struct gpuparity_result result;
static char error[256];

static void compare(struct gpuparity_job j)
{
    j.format = j.format ? j.format : gpuparity_format("f32");
    j.count = j.count ? j.count : N;
    j.a = j.a ? j.a : a;
    ck_assert_msg(!gpuparity_compare(&j, &result, error, sizeof error), "%s", error);
}

static void refused(struct gpuparity_job j, const char *says)
{
    memset(&result, 7, sizeof result);
    ck_assert_int_eq(gpuparity_compare(&j, &result, error, sizeof error), -1);
    ck_assert_msg(strstr(error, says) != NULL, "%s", error);
    ck_assert_int_eq(gpuparity_compare(&j, &result, NULL, 0), -1);
    ck_assert_int_eq(result.reason[0], 7);
}

/* Right answers 1 + i/1000 with a bound of 3 ULP; a and b rounded once. */
static void setup(void)
{
    for (int i = 0; i < N; i++) {
        value[i] = 1 + i / 1000.0;
        bound[i] = 3 * 0x1p-23;
        drop[i] = 1;
        a[i] = b[i] = (float)value[i];
    }
}

START_TEST(test_formats)
{
    int bf16 = gpuparity_format("bf16"), f32 = gpuparity_format("f32");
    ck_assert_int_eq(gpuparity_format("f64"), 0);
    ck_assert_int_eq(gpuparity_format("float"), -1);
    ck_assert_uint_eq(gpuparity_format_size(bf16), 2);
    ck_assert_uint_eq(gpuparity_format_size(-1), 0);
    ck_assert_double_eq(gpuparity_value(bf16, 0x3fc0), 1.5);
    ck_assert_uint_eq(gpuparity_round(bf16, 1 + 0x1p-8), 0x3f80); /* a tie, to even */
    ck_assert_uint_eq(gpuparity_ulp_distance(f32, 0x80000001, 0x00000001), 2);
    ck_assert(gpuparity_ulp_distance(f32, 0x7f800000, 0) == UINT64_MAX);
    ck_assert_double_eq(gpuparity_ulp_error(f32, 0x3f800001, 1, 0x1p-24), 0.5);
    ck_assert(isnan(gpuparity_ulp_error(f32, 0x7fc00000, 1, 0)));
    ck_assert(!strncmp(gpuparity_version(), "0.", 2));
}
END_TEST

START_TEST(test_same)
{
    compare((struct gpuparity_job){.b = b, .value = value, .bound = bound, .drop = drop});
    ck_assert_int_eq(result.verdict, GPUPARITY_SAME);
    ck_assert_int_eq(result.pair.bits_equal, N);
    ck_assert_int_eq(result.a.count, N);
    ck_assert_int_eq(result.a.correctly_rounded, N);
    ck_assert_double_le(result.a.quantile[4], 0.5);
    ck_assert_int_eq(result.b.first_wrong, -1);
}
END_TEST

/* b goes up by 1 ULP in every element: right, but biased by 1. */
START_TEST(test_distinguishable)
{
    for (int i = 0; i < N; i++)
        b[i] = nextafterf(a[i], 9);
    compare((struct gpuparity_job){.b = b, .value = value, .bound = bound, .threads = 3});
    ck_assert_str_eq(gpuparity_verdict_name(result.verdict), "DISTINGUISHABLE");
    ck_assert_double_eq_tol(result.b.mean - result.a.mean, 1, 1e-9);
    ck_assert_double_eq_tol(result.pair.wasserstein, 1, 1e-6);
    ck_assert_uint_eq(result.pair.worst_ulp, 1);
    ck_assert_int_eq(result.pair.first_index, 0);
    uint64_t sum = 0;
    for (int k = 0; k < 64; k++)
        sum += result.b.histogram[k];
    ck_assert_uint_eq(sum, N);
}
END_TEST

START_TEST(test_wrong)
{
    b[123] += 0x1p-20f;
    b[700] = NAN;
    compare((struct gpuparity_job){.b = b, .value = value, .bound = bound});
    ck_assert_int_eq(result.verdict, GPUPARITY_B_WRONG);
    ck_assert_int_eq(result.b.over_bound, 1);
    ck_assert_int_eq(result.b.nan_wrong, 1);
    ck_assert_int_eq(result.b.first_wrong, 123);
    ck_assert_int_eq(result.pair.nan_differs, 1);
    ck_assert(strstr(result.reason, "700") != NULL || strstr(result.reason, "123") != NULL);
}
END_TEST

/* Without a bound only the correctly rounded is right; one side alone. */
START_TEST(test_rounded_once)
{
    compare((struct gpuparity_job){.value = value});
    ck_assert_int_eq(result.verdict, GPUPARITY_SAME);
    a[5] = nextafterf(a[5], 9);
    compare((struct gpuparity_job){.value = value});
    ck_assert_int_eq(result.verdict, GPUPARITY_A_WRONG);
    ck_assert_int_eq(result.a.first_wrong, 5);
}
END_TEST

START_TEST(test_no_reference)
{
    b[9] = nextafterf(b[9], 9);
    compare((struct gpuparity_job){.b = b});
    ck_assert_int_eq(result.verdict, GPUPARITY_DIFFERENT);
    ck_assert_int_eq(result.pair.bits_equal, N - 1);
    compare((struct gpuparity_job){.b = a});
    ck_assert_int_eq(result.verdict, GPUPARITY_SAME);
}
END_TEST

START_TEST(test_mistrusted)
{
    for (int i = 0; i < N; i++)
        drop[i] = 0x1p-24;
    compare((struct gpuparity_job){.b = b, .value = value, .bound = bound, .drop = drop});
    ck_assert_int_eq(result.verdict, GPUPARITY_MISTRUSTED);
}
END_TEST

START_TEST(test_refused)
{
    int f32 = gpuparity_format("f32");
    refused((struct gpuparity_job){.format = 99, .count = 1, .a = a, .b = b},
            "99 is no format");
    refused((struct gpuparity_job){.format = f32, .count = -1, .a = a, .b = b}, "count is -1");
    refused((struct gpuparity_job){.format = f32, .count = 1, .b = b}, "a is NULL");
    refused((struct gpuparity_job){.format = f32, .count = 1, .a = a}, "nothing to compare");
    bound[3] = -1;
    refused(
        (struct gpuparity_job){
            .format = f32, .count = N, .a = a, .b = b, .value = value, .bound = bound},
        "element 3 makes no sense");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("gpuparity");
    TCase *c = tcase_create("gpuparity");
    tcase_add_checked_fixture(c, setup, NULL);
    tcase_add_test(c, test_formats);
    tcase_add_test(c, test_same);
    tcase_add_test(c, test_distinguishable);
    tcase_add_test(c, test_wrong);
    tcase_add_test(c, test_rounded_once);
    tcase_add_test(c, test_no_reference);
    tcase_add_test(c, test_mistrusted);
    tcase_add_test(c, test_refused);
    suite_add_tcase(s, c);
    return suite_run(s);
}
