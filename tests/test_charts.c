/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "charts.h"
#include "suite.h"

/* Small outputs whose pictures are known by hand. */

static struct oracle reference;
static struct tensor a, b;
static struct charts charts;

static void make(enum dtype d, int rank, const int64_t *dim)
{
    struct errinfo e;
    ck_assert(!tensor_init(&a, d, rank, dim, &e) && !tensor_init(&b, d, rank, dim, &e));
    ck_assert(!oracle_init(&reference, a.count, &e));
    memset(&charts, 0, sizeof charts);
}

/* Counted in three windows the pictures are the same. */
static void in_windows(const struct tensor *other, bool sequence)
{
    struct charting *k;
    struct charts again;
    int64_t n = a.count;
    const int64_t cut[] = {0, n / 3, n / 3 + (n > 0), n};
    memset(&again, 0, sizeof again);
    ck_assert(!charts_begin(&a, sequence, &k, NULL));
    for (int i = 0; i < 3; i++)
        charts_add(k, &a, other, &reference, (struct case_span){cut[i], cut[i + 1]});
    charts_end(k, &again);
    charts_close(k);
    ck_assert_mem_eq(&again, &charts, sizeof charts);
}

static void draw(bool two, bool sequence)
{
    struct errinfo e = {0};
    ck_assert_msg(!charts_make(&a, two ? &b : NULL, &reference, sequence, &charts, &e), "%s",
                  e.text);
    in_windows(two ? &b : NULL, sequence);
    tensor_release(&a);
    tensor_release(&b);
    oracle_release(&reference);
}

/* Element i is right at 2^(i / 4), of a bound of 4 ULP, and A is off by i % 4 ULP, B by twice
 * as much: of each binade the worst is 3 or 6, the median (the lower middle) 1 or 2. */
START_TEST(test_magnitude)
{
    int64_t n = 40;
    make(DTYPE_F32, 1, &n);
    for (int64_t i = 0; i < n; i++) {
        double right = ldexp(1, (int)(i / 4)), ulp = right * 0x1p-23;
        reference.value[i] = right;
        reference.bound[i] = 4 * ulp;
        tensor_set_bits(&a, i, dtype_round(DTYPE_F32, right + (double)(i % 4) * ulp));
        tensor_set_bits(&b, i, dtype_round(DTYPE_F32, right + 2 * (double)(i % 4) * ulp));
    }
    draw(true, false);
    ck_assert_int_eq(charts.n_band, 10);
    ck_assert_int_eq(charts.exponent, 0);
    ck_assert_int_eq(charts.width, 1);
    for (int k = 0; k < 10; k++) {
        ck_assert_int_eq(charts.band[0][k].count, 4);
        ck_assert_double_eq(charts.band[0][k].worst, 3);
        ck_assert_double_eq(charts.band[1][k].worst, 6);
        ck_assert_double_eq_tol(charts.band[0][k].median, 1, 0.25);
        ck_assert_double_eq_tol(charts.band[1][k].median, 2, 0.5);
        ck_assert_double_eq(charts.bound[k], 4);
    }
    ck_assert_int_eq(charts.points, 0);
    ck_assert_int_eq(charts.codes, 0);
}
END_TEST

/* 200 binades do not fit into 48 bands one by one. NaN counts nowhere. */
START_TEST(test_magnitude_wide)
{
    int64_t n = 200;
    make(DTYPE_F32, 1, &n);
    for (int64_t i = 0; i < n; i++) {
        reference.value[i] = ldexp(1, (int)i - 100);
        reference.bound[i] = i ? INFINITY : 0;
        tensor_set_bits(&a, i,
                        i == 7 ? 0x7fc00000 : dtype_round(DTYPE_F32, reference.value[i]));
    }
    draw(false, false);
    int64_t count = 0;
    ck_assert_int_eq(charts.width, 5);
    ck_assert_int_eq(charts.n_band, 40);
    for (int k = 0; k < charts.n_band; k++) {
        count += charts.band[0][k].count;
        ck_assert_double_eq(charts.band[0][k].worst, 0);
        ck_assert_double_eq(charts.bound[k], 0);
    }
    ck_assert_int_eq(count, 199);
}
END_TEST

/* 100 x 60: cells of 5 rows and 2 columns. A is right but for one half bound at [42, 17]; B is
 * NaN at [99, 59] and 20 bounds off at [0, 0]. */
START_TEST(test_places)
{
    const int64_t dim[] = {100, 60};
    make(DTYPE_F32, 2, dim);
    for (int64_t i = 0; i < a.count; i++) {
        reference.value[i] = 1;
        reference.bound[i] = i == 1 ? INFINITY : 0.25;
        tensor_set_bits(&a, i, 0x3f800000);
        tensor_set_bits(&b, i, 0x3f800000);
    }
    tensor_set_bits(&a, 42 * 60 + 17, dtype_round(DTYPE_F32, 1.125));
    tensor_set_bits(&b, 0, dtype_round(DTYPE_F32, 6));
    tensor_set_bits(&b, 99 * 60 + 59, 0xffc00000);
    draw(true, false);
    ck_assert_int_eq(charts.rows, 20);
    ck_assert_int_eq(charts.columns, 30);
    ck_assert_int_eq(charts.row_step, 5);
    ck_assert_int_eq(charts.column_step, 2);
    for (int r = 0; r < 20; r++)
        for (int k = 0; k < 30; k++) {
            bool in_a = r == 8 && k == 8, first = !r && !k, last = r == 19 && k == 29;
            ck_assert_float_eq(charts.used[0][r][k], in_a ? 0.5f : 0);
            ck_assert_float_eq(charts.used[1][r][k], first ? 20 : last ? INFINITY : 0);
            ck_assert_float_eq(charts.differ[r][k], in_a || first || last ? 0.1f : 0);
        }
}
END_TEST

/* A row of 1000 is folded into 64 columns; an element that is not judged leaves no mark. */
START_TEST(test_places_folded)
{
    int64_t n = 1000;
    make(DTYPE_F32, 1, &n);
    for (int64_t i = 0; i < n; i++)
        reference.bound[i] = INFINITY;
    reference.bound[999] = 1;
    tensor_set_bits(&a, 999, 0x3f800000);
    draw(false, false);
    ck_assert_int_eq(charts.line, 64);
    ck_assert_int_eq(charts.lines, 16);
    ck_assert_int_eq(charts.rows, 16);
    ck_assert_int_eq(charts.columns, 32);
    for (int r = 0; r < 16; r++)
        for (int k = 0; k < 32; k++)
            ck_assert_float_eq(charts.used[0][r][k],
                               r == 15 && k == (999 - 15 * 64) / 2 ? 1 : -1);
}
END_TEST

/* 300 steps of 4 numbers: three steps a point. A is off by 2^-10 of each number, B by twice
 * that in the last point. */
START_TEST(test_drift)
{
    const int64_t dim[] = {300, 4};
    make(DTYPE_F32, 2, dim);
    for (int64_t i = 0; i < a.count; i++) {
        reference.value[i] = i % 2 ? -3 : 2;
        tensor_set_bits(&a, i, dtype_round(DTYPE_F32, reference.value[i] * (1 + 0x1p-10)));
        tensor_set_bits(
            &b, i,
            dtype_round(DTYPE_F32, reference.value[i] * (1 + (i < 297 * 4 ? 0 : 0x1p-9))));
    }
    draw(true, true);
    ck_assert_int_eq(charts.points, 100);
    ck_assert_int_eq(charts.steps, 300);
    for (int i = 0; i < 100; i++) {
        ck_assert_double_eq_tol(charts.drift[0][i], 0x1p-10, 1e-12);
        ck_assert_double_eq_tol(charts.drift[1][i], i < 99 ? 0 : 0x1p-9, 1e-12);
        ck_assert_double_eq_tol(charts.drift[2][i], 0x1p-10, 1e-12);
    }
}
END_TEST

/* Code i + 1 where A has i, twice; 200 becomes 0 once, in two steps of a sequence. */
START_TEST(test_codes)
{
    const int64_t dim[] = {2, 256};
    make(DTYPE_CODE8, 2, dim);
    for (int64_t i = 0; i < a.count; i++) {
        uint64_t code = (uint64_t)i % 256;
        reference.value[i] = (double)code;
        tensor_set_bits(&a, i, code);
        tensor_set_bits(&b, i, code == 10 ? 11 : i == 456 ? 0 : code);
    }
    draw(true, true);
    ck_assert_int_eq(charts.codes, 256);
    ck_assert_int_eq(charts.moved, 3);
    ck_assert_int_eq(charts.move[CHARTS_FAR + 1][2], 2);
    ck_assert_int_eq(charts.move[CHARTS_FAR - 9][50], 1); /* 128 < 200 <= 255 */
    ck_assert_int_eq(charts.code_count[2], 8);
    ck_assert(charts.top[0].from == 10 && charts.top[0].to == 11 && charts.top[0].count == 2);
    ck_assert(charts.top[1].from == 200 && charts.top[1].to == 0 && charts.top[1].count == 1);
    ck_assert_int_eq(charts.top[2].count, 0);
    ck_assert_int_eq(charts.n_band, 0);
    ck_assert_double_eq(charts.drift[0][0], 0);
    ck_assert_double_eq(charts.drift[1][0], 1.0 / 256);
    ck_assert_double_eq(charts.drift[1][1], 2.0 / 256);
}
END_TEST

/* Two codes a byte, the first in the high bits; a signed byte counts from -128. */
START_TEST(test_codes_small)
{
    int64_t n = 1;
    make(DTYPE_NF4X2, 1, &n);
    tensor_set_bits(&a, 0, 0x3f);
    tensor_set_bits(&b, 0, 0x7e);
    draw(true, false);
    ck_assert_int_eq(charts.codes, 16);
    ck_assert_int_eq(charts.code_columns, 16);
    ck_assert_int_eq(charts.move[CHARTS_FAR + 3][3], 1);
    ck_assert_int_eq(charts.move[CHARTS_FAR - 1][15], 1);

    make(DTYPE_I8, 1, &n);
    tensor_set_bits(&a, 0, 0xff); /* -1 becomes 1 */
    tensor_set_bits(&b, 0, 0x01);
    draw(true, false);
    ck_assert(charts.top[0].from == 127 && charts.top[0].to == 129);
    ck_assert_int_eq(charts.move[CHARTS_FAR + 2][31], 1);
}
END_TEST

START_TEST(test_no_reference)
{
    const int64_t dim[] = {4, 4};
    struct errinfo e;
    make(DTYPE_U8, 2, dim);
    tensor_set_bits(&b, 5, 3);
    ck_assert(!charts_make(&a, &b, NULL, true, &charts, &e));
    ck_assert_float_eq(charts.differ[1][1], 1);
    ck_assert_float_eq(charts.used[0][1][1], -1);
    ck_assert_int_eq(charts.moved, 1);
    ck_assert(!charts.n_band && !charts.points);
    draw(true, false);
}
END_TEST

START_TEST(test_nothing)
{
    int64_t n = 0;
    make(DTYPE_F32, 1, &n);
    draw(true, true);
    ck_assert(!charts.n_band && !charts.rows && !charts.points && !charts.codes);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("charts");
    TCase *c = tcase_create("charts");
    tcase_add_test(c, test_magnitude);
    tcase_add_test(c, test_magnitude_wide);
    tcase_add_test(c, test_places);
    tcase_add_test(c, test_places_folded);
    tcase_add_test(c, test_drift);
    tcase_add_test(c, test_codes);
    tcase_add_test(c, test_codes_small);
    tcase_add_test(c, test_no_reference);
    tcase_add_test(c, test_nothing);
    suite_add_tcase(s, c);
    return suite_run(s);
}
