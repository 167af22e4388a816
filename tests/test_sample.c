/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "cells.h"
#include "distribution.h"
#include "suite.h"
#include "wide.h"

/* Everything here is compared with its definition, by counting. */

enum { N_MAX = 3000, STYLES = 6 };

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Ties, zeros of both signs, both signs, 500 binades, neighbours. */
static double some_value(uint64_t *state, int style)
{
    uint64_t r = wide_random(state);
    double u = (double)(r >> 11) * 0x1p-53;
    switch (style) {
    case 0:
        return (double)(r % 7) - 3;
    case 1:
        return u - 0.5;
    case 2:
        return ldexp(r & 1 ? u : -u, (int)(r / 2 % 500) - 100);
    case 3:
        return r % 5 ? 0.0 : -0.0;
    case 4:
        return 1 + (double)(r % 9) * 0x1p-52;
    default:
        return ldexp(u - 0.5, r % 16 ? 0 : -200); /* too small for a cell of its own */
    }
}

static struct sample make(int style, int n, uint64_t seed, double *ret_sorted)
{
    struct sample s;
    double *x = malloc((size_t)n * sizeof *x + 1);
    for (int i = 0; i < n; i++)
        ret_sorted[i] = x[i] = some_value(&seed, style);
    qsort(ret_sorted, (size_t)n, sizeof *ret_sorted, compare_doubles);
    ck_assert_int_eq(sample_from_values(x, n, &s, NULL), ERR_OK);
    ck_assert(s.n == n && s.total == n);
    return s;
}

static double quantile(const double *sorted, int n, double numerator, double denominator)
{
    for (int i = 0; i < n; i++)
        if ((i + 1) * denominator >= numerator * n)
            return sorted[i];
    return 0;
}

START_TEST(order_and_quantiles)
{
    static const int sizes[] = {0, 1, 2, 3, 10, 257, N_MAX};
    static const int permille[] = {1, 500, 900, 990, 999, 1000};
    static double x[N_MAX], magnitude[N_MAX];
    for (int i = 0; i < 7; i++) {
        int n = sizes[i];
        struct sample s = make(_i, n, (uint64_t)i + 1, x);
        for (int j = 0; j < n; j++) {
            ck_assert(s.x[j] == x[j]);
            magnitude[j] = fabs(x[j]);
        }
        qsort(magnitude, (size_t)n, sizeof *magnitude, compare_doubles);
        for (int q = 0; q < 6; q++) {
            double at = permille[q] / 1000.0;
            ck_assert(sample_quantile(&s, at) == quantile(x, n, permille[q], 1000));
            ck_assert(sample_quantile_abs(&s, at) == quantile(magnitude, n, permille[q], 1000));
        }
        sample_release(&s);
    }
}
END_TEST

/* The short way to a few quantiles leads to the same ones. */
START_TEST(chosen_quantiles)
{
    static const int sizes[] = {0, 1, 2, 3, 10, 257, N_MAX};
    static const double at[] = {0.1, 0.5, 0.9, 0.999, 1};
    static double x[N_MAX];
    for (int i = 0; i < 7; i++) {
        int n = sizes[i];
        struct sample all = make(_i, n, (uint64_t)i + 60, x), few;
        double *copy = malloc((size_t)n * sizeof *copy + 1);
        memcpy(copy, all.x, (size_t)n * sizeof *copy);
        ck_assert_int_eq(cells_sample_values(copy, n, at, 5, &few, NULL), ERR_OK);
        ck_assert_int_eq(few.total, n);
        for (int q = 0; q < 5; q++) {
            ck_assert(sample_quantile(&few, at[q]) == sample_quantile(&all, at[q]));
            ck_assert(sample_quantile_abs(&few, at[q]) == sample_quantile_abs(&all, at[q]));
        }
        for (int e = -40; e <= 8; e++)
            for (int s = -1; s <= 1; s++) {
                double edge = s * ldexp(1, e);
                ck_assert_int_eq(sample_count(&few, edge, s < 0),
                                 sample_count(&all, edge, s < 0));
            }
        ck_assert_int_eq(sample_count(&few, 0, true), sample_count(&all, 0, true));
        sample_release(&all);
        sample_release(&few);
    }
}
END_TEST

static double share_up_to(const double *x, int n, double limit)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += x[i] <= limit;
    return (double)count / n;
}

START_TEST(distances)
{
    static double x[N_MAX], y[N_MAX], all[2 * N_MAX];
    static const int sizes[][2] = {{1, 1}, {7, 5}, {400, 400}, {300, 500}};
    for (int i = 0; i < 4; i++) {
        int n = sizes[i][0], m = sizes[i][1];
        struct sample a = make(_i, n, 3, x), b = make(i == 2 ? _i : (_i + 1) % STYLES, m, 4, y);
        memcpy(all, x, (size_t)n * sizeof *x);
        memcpy(all + n, y, (size_t)m * sizeof *y);
        qsort(all, (size_t)(n + m), sizeof *all, compare_doubles);
        double ks = 0, area = 0, got_ks, got_area;
        for (int j = 0; j < n + m; j++) {
            double gap = fabs(share_up_to(x, n, all[j]) - share_up_to(y, m, all[j]));
            ks = fmax(ks, gap);
            area += j + 1 < n + m ? gap * (all[j + 1] - all[j]) : 0;
        }
        sample_distance(&a, &b, &got_ks, &got_area);
        ck_assert(fabs(got_ks - ks) < 1e-14);
        ck_assert(fabs(got_area - area) <= 1e-12 * area);
        sample_distance(&b, &a, &got_ks, &got_area);
        ck_assert(fabs(got_ks - ks) < 1e-14 && fabs(got_area - area) <= 1e-12 * area);
        sample_distance(&a, &a, &got_ks, &got_area);
        ck_assert(got_ks == 0 && got_area == 0);
        sample_release(&a);
        sample_release(&b);
    }
}
END_TEST

START_TEST(empty)
{
    struct sample none = {0}, one;
    double *x = malloc(sizeof *x), ks = 5, area = 5;
    *x = 2;
    ck_assert_int_eq(sample_from_values(x, 1, &one, NULL), ERR_OK);
    sample_distance(&none, &one, &ks, &area);
    ck_assert(ks == 0 && area == 0);
    ck_assert(sample_quantile(&none, 0.5) == 0 && sample_quantile_abs(&none, 1) == 0);
    ck_assert(sample_ks_p(0.5, 0, 10) == 1);
    sample_release(&one);
    sample_release(&none);
}
END_TEST

/* Cells keep order and count, and every value within 2^-7 of itself (2^-128 is far below). */
START_TEST(cells)
{
    static double x[N_MAX];
    uint64_t *count = calloc(CELLS, sizeof *count);
    struct sample exact = make(_i, N_MAX, 8, x), s;
    for (int i = 0; i < N_MAX; i++) {
        int cell = cells_find(x[i]);
        ck_assert(cell >= 0 && cell < CELLS);
        ck_assert(i == 0 || cell >= cells_find(x[i - 1]));
        count[cell]++;
    }
    ck_assert_int_eq(cells_sample(count, &s, NULL), ERR_OK);
    ck_assert_int_eq(s.total, N_MAX);
    for (double q = 0.001; q <= 1; q += 0.0371) {
        double want = sample_quantile(&exact, q), got = sample_quantile(&s, q);
        ck_assert(fabs(got - want) <= fabs(want) * 0x1p-7);
        want = sample_quantile_abs(&exact, q);
        got = sample_quantile_abs(&s, q);
        ck_assert(fabs(got - want) <= fabs(want) * 0x1p-7);
    }
    double ks, area, size = 0;
    for (int i = 0; i < N_MAX; i++)
        size += fabs(x[i]) / N_MAX;
    sample_distance(&exact, &s, &ks, &area);
    ck_assert(area <= size * 0x1p-7);
    sample_release(&exact);
    sample_release(&s);
    free(count);
}
END_TEST

/* The distribution of sqrt(n) D in its other expansion, which converges where ours is slow. */
START_TEST(p_value)
{
    for (int i = 0; i < 200; i++) {
        int64_t na = 50 + i * 37, nb = 80 + i * 11;
        double n = sqrt((double)(na * nb) / (double)(na + nb)), ks = (0.21 + i * 0.01) / n;
        double x = (n + 0.12 + 0.11 / n) * ks, sum = 0;
        for (int j = 1; j < 200; j += 2)
            sum += exp(-(double)j * j * M_PI * M_PI / (8 * x * x));
        double want = 1 - sqrt(2 * M_PI) / x * sum;
        ck_assert(fabs(sample_ks_p(ks, na, nb) - want) < 1e-12);
    }
    ck_assert(sample_ks_p(0, 100, 100) == 1 && sample_ks_p(0.001, 100, 100) == 1);
    ck_assert(sample_ks_p(1, 1000000, 1000000) == 0);
}
END_TEST

/* Binomial coefficients added up exactly, in MPFR. */
static double sign_p_exact(long k, long n)
{
    mpfr_t term, sum;
    mpfr_inits2(8192, term, sum, (mpfr_ptr)0);
    mpfr_set_ui(term, 1, MPFR_RNDN);
    mpfr_set_ui(sum, 1, MPFR_RNDN);
    for (long i = 1; i <= k; i++) {
        mpfr_mul_si(term, term, n - i + 1, MPFR_RNDN);
        mpfr_div_si(term, term, i, MPFR_RNDN);
        mpfr_add(sum, sum, term, MPFR_RNDN);
    }
    mpfr_div_2si(sum, sum, n - 1, MPFR_RNDN);
    double p = mpfr_get_d(sum, MPFR_RNDN);
    mpfr_clears(term, sum, (mpfr_ptr)0);
    return p < 1 ? p : 1;
}

START_TEST(sign_test)
{
    static const long n_of[] = {0, 1, 2, 5, 6, 77, 1000, 5001};
    for (size_t a = 0; a < sizeof n_of / sizeof *n_of; a++)
        for (int part = 0; part <= 8; part++) {
            long n = n_of[a], k = n / 2 * part / 8;
            double want = sign_p_exact(k, n), p = distribution_sign_p(k, n - k);
            ck_assert_msg(fabs(p - want) <= 1e-11 * want + 1e-300, "%ld of %ld: %.17g, not %.17g",
                          k, n, p, want);
            ck_assert(p == distribution_sign_p(n - k, k));
        }
    /* 10 million coins, a thousand too many heads, z = 0.632: near what a bell curve gives. */
    double p = distribution_sign_p(5001000, 4999000);
    ck_assert(fabs(p - erfc(1999.0 / sqrt(1e7) / sqrt(2))) < 1e-4);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sample");
    TCase *t = tcase_create("sample");
    tcase_add_loop_test(t, order_and_quantiles, 0, STYLES);
    tcase_add_loop_test(t, chosen_quantiles, 0, STYLES);
    tcase_add_loop_test(t, distances, 0, STYLES);
    tcase_add_test(t, empty);
    tcase_add_loop_test(t, cells, 0, 5);
    tcase_add_test(t, p_value);
    tcase_add_test(t, sign_test);
    suite_add_tcase(s, t);
    return suite_run(s);
}
