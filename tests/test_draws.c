/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "draws.h"
#include "suite.h"

/* What random numbers have in common, of sequences that are made here: which stream, and where
 * in it, is known. Numbers by Weyl's sequence hashed (not the harness's own generator). */

enum { N = 2000 };
static double x[N + 300], y[N + 300];

static double uniform(uint64_t stream, uint64_t i)
{
    uint64_t h = (i + 1) * 0xd1342543de82ef95u + stream * 0xaf251af3b0f025b5u;
    for (int r = 0; r < 3; r++) {
        h ^= h >> 31;
        h *= 0x7fb5d329728ea185u;
        h ^= h >> 27;
    }
    return (double)(h >> 12) * 0x1p-52;
}

static double bell(uint64_t stream, uint64_t i)
{
    double sum = -6;
    for (uint64_t k = 0; k < 12; k++)
        sum += uniform(stream, 12 * i + k);
    return sum;
}

static void fill(double *to, uint64_t stream, double (*draw)(uint64_t, uint64_t), uint64_t from)
{
    for (uint64_t i = 0; i < N; i++)
        to[i] = draw(stream, i + from);
}

START_TEST(two_streams_are_alike)
{
    struct draws_test t;
    int alike = 0;
    for (uint64_t s = 1; s <= 20; s++) {
        fill(x, 2 * s, bell, 0);
        fill(y, 2 * s + 1, bell, 0);
        alike += draws_alike(x, y, N, &t);
    }
    ck_assert_int_ge(alike, 19); /* chance may fail one */
}
END_TEST

START_TEST(what_is_one_sequence_is_not_alike)
{
    struct draws_test t;
    fill(x, 1, uniform, 0);
    ck_assert(!draws_alike(x, x, N, &t));
    fill(y, 2, uniform, 0); /* half of the other: correlated */
    for (int i = 0; i < N; i++)
        y[i] = (x[i] + y[i]) / 2;
    ck_assert(!draws_alike(x, y, N, &t));
    fill(y, 2, bell, 0); /* another distribution */
    ck_assert(!draws_alike(x, y, N, &t));
    for (int i = 0; i < N; i++) /* follows itself */
        y[i] = sin(i * 0.01);
    ck_assert(!draws_alike(x, y, N, &t));
}
END_TEST

START_TEST(even_numbers_come_from_generators)
{
    fill(x, 3, uniform, 0);
    ck_assert(draws_even(x, N));
    for (int i = 0; i < N; i++)
        x[i] = x[i] < 0.2;
    ck_assert(draws_even(x, N)); /* two values */
    fill(x, 3, bell, 0);
    ck_assert(!draws_even(x, N));
}
END_TEST

START_TEST(a_stream_is_found_further_on)
{
    static const int64_t shifts[] = {1, 5, 100, 1400, -1, -64, -900};
    for (size_t k = 0; k < sizeof shifts / sizeof *shifts; k++) {
        fill(x, 4, uniform, 5000);
        fill(y, 4, uniform, (uint64_t)(5000 + shifts[k]));
        ck_assert_int_eq(draws_shift(x, y, N, 0), shifts[k]);
        for (int i = 0; i < N; i++) { /* bits */
            x[i] = x[i] < 0.3;
            y[i] = y[i] < 0.3;
        }
        ck_assert_int_eq(draws_shift(x, y, N, 0), shifts[k]);
    }
    fill(y, 5, uniform, 0);
    ck_assert_int_eq(draws_shift(x, y, N, 0), 0);
}
END_TEST

START_TEST(a_permutation_is_seen)
{
    fill(x, 6, uniform, 0);
    for (int i = 0; i < N; i++)
        y[i] = x[i * 7 % N];
    ck_assert(draws_permuted(x, y, N));
    y[3] += 1e-9;
    ck_assert(!draws_permuted(x, y, N));
}
END_TEST

START_TEST(mixed_is_neither_blocks_nor_a_pattern)
{
    static bool only[N];
    for (int i = 0; i < N; i++)
        only[i] = uniform(7, (uint64_t)i) < 0.5;
    ck_assert(draws_mixed(only, N));
    for (int i = 0; i < N; i++)
        only[i] = i < N / 2;
    ck_assert(!draws_mixed(only, N));
    for (int i = 0; i < N; i++)
        only[i] = i % 2;
    ck_assert(!draws_mixed(only, N));
    for (int i = 0; i < N; i++)
        only[i] = uniform(7, (uint64_t)i) < 0.7;
    ck_assert(!draws_mixed(only, N));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("draws");
    TCase *c = tcase_create("draws");
    tcase_add_test(c, two_streams_are_alike);
    tcase_add_test(c, what_is_one_sequence_is_not_alike);
    tcase_add_test(c, even_numbers_come_from_generators);
    tcase_add_test(c, a_stream_is_found_further_on);
    tcase_add_test(c, a_permutation_is_seen);
    tcase_add_test(c, mixed_is_neither_blocks_nor_a_pattern);
    suite_add_tcase(s, c);
    return suite_run(s);
}
