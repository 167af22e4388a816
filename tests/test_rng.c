/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "rng.h"
#include "suite.h"
#include "wide.h"

enum { DRAWS = 200000, QUANTILES = 20000 };

/* The known answers of the Random123 distribution for philox4x32 with ten rounds. */
static const struct {
    uint32_t counter[4], key[2], want[4];
} known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

START_TEST(known_answers)
{
    struct rng_key key = {{known[_i].key[0], known[_i].key[1]}};
    const uint32_t *c = known[_i].counter;
    uint32_t w[4];
    rng_block(key, (uint64_t)c[1] << 32 | c[0], (uint64_t)c[3] << 32 | c[2], w);
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(w[i], known[_i].want[i]);
    uint64_t b = rng_bits(key, (uint64_t)c[1] << 32 | c[0], (uint64_t)c[3] << 32 | c[2]);
    ck_assert_uint_eq(b, (uint64_t)known[_i].want[1] << 32 | known[_i].want[0]);
}
END_TEST

/* Seeds, names, lanes and indices all lead elsewhere. */
START_TEST(streams)
{
    struct rng_key a = rng_key_make(1, "a");
    ck_assert(memcmp(&a, &(struct rng_key){{0}}, sizeof a) != 0);
    struct rng_key other[] = {rng_key_make(2, "a"), rng_key_make(1, "b"), rng_key_make(1, "")};
    for (int i = 0; i < 3; i++) {
        ck_assert(memcmp(&a, &other[i], sizeof a) != 0);
        ck_assert_uint_ne(rng_bits(a, 0, 0), rng_bits(other[i], 0, 0));
    }
    ck_assert_uint_ne(rng_bits(a, 0, 0), rng_bits(a, 0, 1));
    ck_assert_uint_ne(rng_bits(a, 0, 0), rng_bits(a, 1, 0));
    ck_assert_uint_ne(rng_bits(a, 0, 0), rng_bits(a, 1ULL << 32, 0));
    struct rng_key again = rng_key_make(1, "a");
    ck_assert_mem_eq(&a, &again, sizeof a);
}
END_TEST

/* Open interval, odd multiples of 2^-53, mean 1/2, variance 1/12 (5 sigma). */
START_TEST(unit)
{
    struct rng_key key = rng_key_make(3, "unit");
    double sum = 0, square = 0;
    int inside = 0;
    for (int i = 0; i < DRAWS; i++) {
        double u = rng_unit(key, (uint64_t)i, 0), n = u * 0x1p53;
        inside += u > 0 && u < 1 && n == floor(n) && fmod(n, 2) == 1;
        sum += u - 0.5;
        square += (u - 0.5) * (u - 0.5);
    }
    ck_assert_int_eq(inside, DRAWS);
    ck_assert(fabs(sum / DRAWS) < 5 * sqrt(1.0 / 12 / DRAWS));
    ck_assert(fabs(square / DRAWS - 1.0 / 12) < 5 * sqrt(1.0 / 180 / DRAWS));
}
END_TEST

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

START_TEST(normal_moments)
{
    struct rng_key key = rng_key_make(5, "normal");
    static const double moment[] = {0, 1, 0, 3}, variance[] = {1, 2, 15, 96};
    double sum[4] = {0}, neighbours = 0, last = 0;
    for (int i = 0; i < DRAWS; i++) {
        double x = rng_normal(key, (uint64_t)i, 0), power = 1;
        for (int m = 0; m < 4; m++)
            sum[m] += power *= x;
        neighbours += x * last;
        last = x;
    }
    for (int m = 0; m < 4; m++)
        ck_assert(fabs(sum[m] / DRAWS - moment[m]) < 5 * sqrt(variance[m] / DRAWS));
    ck_assert(fabs(neighbours / DRAWS) < 5 / sqrt(DRAWS));
}
END_TEST

/* Kolmogorov-Smirnov against libm's erfc: sqrt(n) D below 1.95, the 0.1 % point. */
START_TEST(normal_shape)
{
    struct rng_key key = rng_key_make(6, "normal");
    double *x = malloc(DRAWS * sizeof *x), d = 0;
    for (int i = 0; i < DRAWS; i++)
        x[i] = rng_normal(key, (uint64_t)i, 0);
    qsort(x, DRAWS, sizeof *x, compare_doubles);
    for (int i = 0; i < DRAWS; i++) {
        double p = erfc(-x[i] / sqrt(2)) / 2;
        d = fmax(d, fmax(p - (double)i / DRAWS, (i + 1.0) / DRAWS - p));
    }
    ck_assert(d * sqrt(DRAWS) < 1.95);
    free(x);
}
END_TEST

/* The quantile of each draw, taken back through MPFR's erfc: within 2^-49 of x itself. */
START_TEST(normal_exactness)
{
    struct rng_key key = rng_key_make(7, "normal");
    mpfr_t p, root;
    mpfr_init2(p, 200);
    mpfr_init2(root, 200);
    mpfr_sqrt_ui(root, 2, MPFR_RNDN);
    for (int i = 0; i < QUANTILES; i++) {
        double u = rng_unit(key, (uint64_t)i, 0), x = rng_normal(key, (uint64_t)i, 0);
        mpfr_set_d(p, u < 0.5 ? -x : x, MPFR_RNDN);
        mpfr_div(p, p, root, MPFR_RNDN);
        mpfr_erfc(p, p, MPFR_RNDN);
        mpfr_div_ui(p, p, 2, MPFR_RNDN);
        mpfr_sub_d(p, p, u < 0.5 ? u : 1 - u, MPFR_RNDN);
        double slope = exp(-x * x / 2) / sqrt(2 * M_PI);
        double error = fabs(mpfr_get_d(p, MPFR_RNDN)) / slope;
        ck_assert_msg(error <= fabs(x) * 0x1p-49, "u %a gives %a, off by %a", u, x, error);
    }
    mpfr_clear(p);
    mpfr_clear(root);
}
END_TEST

/* Frozen: the same seed and name give these bits on every machine, forever. */
START_TEST(frozen)
{
    struct rng_key key = rng_key_make(1, "gemm/a");
    uint64_t sum = 0;
    for (uint64_t i = 0; i < 100000; i++)
        sum = sum * 31 + wide_bits(rng_normal(key, i, i % 3));
    ck_assert_uint_eq(key.k[0], 0x26a5d20d);
    ck_assert_uint_eq(key.k[1], 0xe63ec02b);
    ck_assert_uint_eq(sum, 0x48ba6dc110a280b5u);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("rng");
    TCase *t = tcase_create("rng");
    tcase_add_loop_test(t, known_answers, 0, 3);
    tcase_add_test(t, streams);
    tcase_add_test(t, unit);
    tcase_add_test(t, normal_moments);
    tcase_add_test(t, normal_shape);
    tcase_add_test(t, normal_exactness);
    tcase_add_test(t, frozen);
    suite_add_tcase(s, t);
    return suite_run(s);
}
