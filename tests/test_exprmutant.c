/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "exprmutant.h"
#include "suite.h"

/* Formulas as faulty kernels compute them, against the fault written out as loops. Numbers are
 * small integers: every sum is exact. */

enum { M = 6, K = 23 };
static struct tensor a, x, w;
static const struct tensor *tensors[] = {&a, &x, &w};
static const char *const name[] = {"a", "x", "w"}, *const index_name[] = {"i"};

static double at_a(int i, int k)
{
    return (i * 31 + k * 17) % 11 - 5;
}

static double at_x(int k)
{
    return k * k % 13 - 6;
}

static double at_w(int i)
{
    return 3 * i - 7;
}

static void setup(void)
{
    ck_assert(!tensor_init(&a, DTYPE_F32, 2, (const int64_t[]){M, K}, NULL));
    ck_assert(!tensor_init(&x, DTYPE_F32, 1, (const int64_t[]){K}, NULL));
    ck_assert(!tensor_init(&w, DTYPE_F32, 1, (const int64_t[]){M}, NULL));
    for (int i = 0; i < M * K; i++)
        tensor_set_bits(&a, i, dtype_round(DTYPE_F32, at_a(i / K, i % K)));
    for (int k = 0; k < K; k++)
        tensor_set_bits(&x, k, dtype_round(DTYPE_F32, at_x(k)));
    for (int i = 0; i < M; i++)
        tensor_set_bits(&w, i, dtype_round(DTYPE_F32, at_w(i)));
}

static void teardown(void)
{
    tensor_release(&a);
    tensor_release(&x);
    tensor_release(&w);
}

/* The value at row i of the mutant whose words begin so, and its cause. */
static double value(const char *text, const char *words, int64_t i, enum cause *ret_cause)
{
    static const int rank[] = {2, 1, 1};
    static struct expr_mutant list[EXPR_MUTANTS_MAX];
    const struct expr_names names = {0, 3, 1, NULL, name, rank, index_name};
    const struct expr_rules exact = {.largest = INFINITY};
    struct expr e, copy;
    struct expr_env v = {.tensor = tensors, .range = {M, -1, -1, -1, -1, -1, -1, -1}};
    struct errinfo err;
    double y = NAN;
    ck_assert_msg(!expr_parse(text, true, &names, &e, &err), "%s", err.text);
    ck_assert(!expr_ranges(&e, tensors, name, v.range, &err));
    int count = expr_mutants(&e, name, tensors, v.range, 1, list), found = 0;
    for (int m = 0; m < count; m++) {
        if (strncmp(list[m].words, words, strlen(words)) || found++)
            continue;
        ck_assert(!expr_mutate(&e, &list[m], &copy, &err));
        ck_assert(!expr_env_init(&v, &copy, &err));
        v.index[0] = v.element = i;
        y = (double)expr_real(&copy, &exact, &v).value;
        *ret_cause = list[m].cause;
        expr_env_release(&v);
        expr_release(&copy);
    }
    ck_assert_msg(found, "no mutant '%s'", words);
    expr_release(&e);
    return y;
}

static const char product[] = "sum(k, a[i,k] * x[k]) + w[i]";

static double sum_of(int i, int from, int to, bool (*has)(int k))
{
    double sum = at_w(i);
    for (int k = from; k < to; k++)
        if (!has || has(k))
            sum += at_a(i + k / K, k % K) * (k < K ? at_x(k) : 0);
    return sum;
}

static bool lower_half(int k)
{
    return k % 8 < 4;
}

START_TEST(terms_are_lost)
{
    enum cause c;
    for (int i = 0; i < M; i++) {
        ck_assert_double_eq(value(product, "the sum over k cut to a multiple of 4", i, &c),
                            sum_of(i, 0, 20, NULL));
        ck_assert_int_eq(c, CAUSE_LOCALISED);
        ck_assert_double_eq(value(product, "the sum over k lacks its first term", i, &c),
                            sum_of(i, 1, K, NULL));
        ck_assert_double_eq(value(product, "the sum over k lacks its last term", i, &c),
                            sum_of(i, 0, K - 1, NULL));
        ck_assert_double_eq(
            value(product, "the sum over k without the upper half of each 8", i, &c),
            sum_of(i, 0, K, lower_half));
        ck_assert_double_eq(value(product, "the sum over k has its first 16 of 23", i, &c),
                            sum_of(i, 0, 16, NULL));
    }
}
END_TEST

START_TEST(operands_are_read_elsewhere)
{
    enum cause c;
    for (int i = 0; i < M; i++) {
        double right = sum_of(i, 0, K, NULL), moved = at_w(i), wrapped = at_w(i);
        for (int k = 0; k < K; k++) {
            moved += at_a(i, (k + 1) % K) * at_x(k);
            wrapped += at_a(i, k) * at_x(k % 8);
        }
        ck_assert_double_eq(value(product, "a read 1 further on in dimension 1", i, &c), moved);
        ck_assert_int_eq(c, CAUSE_MASK);
        ck_assert_double_eq(
            value(product, "x read at its index modulo 8 in dimension 0", i, &c), wrapped);
        ck_assert_int_eq(c, CAUSE_LOCALISED);
        ck_assert_double_eq(value(product, "w left out: 0", i, &c), right - at_w(i));
    }
}
END_TEST

/* As it lies in memory with K rows of M, read as M rows of K. */
START_TEST(a_matrix_is_read_transposed)
{
    enum cause c;
    for (int i = 0; i < M; i++) {
        double sum = at_w(i);
        for (int k = 0; k < K; k++) {
            int at = k * M + i;
            sum += at_a(at / K, at % K) * at_x(k);
        }
        ck_assert_double_eq(
            value(product, "a read as if its dimensions 0 and 1 were exchanged", i, &c), sum);
        ck_assert_int_eq(c, CAUSE_MASK);
    }
}
END_TEST

/* A sum that runs on reads the next row, and beyond the end nothing is known: 0. */
START_TEST(a_sum_runs_on)
{
    enum cause c;
    for (int i = 0; i + 1 < M; i++)
        ck_assert_double_eq(
            value("sum(k, a[i,k])", "the sum over k has a term too many", i, &c),
            sum_of(i, 0, 0, NULL) - at_w(i) + at_a(i + 1, 0) +
                value("sum(k, a[i,k])", "the sum over k lacks its last", i, &c) +
                at_a(i, K - 1));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("exprmutant");
    TCase *c = tcase_create("mutants");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, terms_are_lost);
    tcase_add_test(c, operands_are_read_elsewhere);
    tcase_add_test(c, a_matrix_is_read_transposed);
    tcase_add_test(c, a_sum_runs_on);
    suite_add_tcase(s, c);
    return suite_run(s);
}
