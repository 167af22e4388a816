/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "exprway.h"
#include "rng.h"
#include "suite.h"

/* Ways of computing a formula, against the same written out in C's own float arithmetic. */

enum { M = 7, K = 37 };

static struct tensor a, x;
static const struct tensor *tensors[2] = {&a, &x};

static const struct expr_way plain = {.compute = DTYPE_F32,
                                      .fuse = EXPR_FUSE_FIRST,
                                      .sum = DTYPE_COUNT_,
                                      .term = DTYPE_COUNT_,
                                      .step = DTYPE_COUNT_,
                                      .last = DTYPE_COUNT_};

static void fill(struct tensor *t, uint64_t seed)
{
    struct rng_key key = rng_key_make(seed, "exprway");
    for (int64_t i = 0; i < t->count; i++) {
        double u = (double)(rng_bits(key, (uint64_t)i, 0) >> 11) * 0x1p-53;
        tensor_set_bits(t, i, dtype_round(t->dtype, (u - 0.4) * 3));
    }
}

static void setup(void)
{
    ck_assert(!tensor_init(&a, DTYPE_F32, 2, (const int64_t[]){M, K}, NULL));
    ck_assert(!tensor_init(&x, DTYPE_F32, 1, (const int64_t[]){K}, NULL));
    fill(&a, 1);
    fill(&x, 2);
}

static void teardown(void)
{
    tensor_release(&a);
    tensor_release(&x);
}

static double value(const char *text, const struct expr_way *w, int64_t row)
{
    static const char *const name[] = {"a", "x"}, *const index[] = {"i"};
    static const int rank[] = {2, 1};
    const struct expr_names names = {0, 2, 1, NULL, name, rank, index};
    struct expr e;
    struct expr_env v = {.tensor = tensors, .index = {row}, .range = {M, -1}};
    struct errinfo err;
    double y;
    ck_assert_msg(!expr_parse(text, true, &names, &e, &err), "%s", err.text);
    for (int i = 1; i < EXPR_INDEX_MAX; i++)
        v.range[i] = -1;
    ck_assert(!expr_ranges(&e, tensors, name, v.range, &err));
    ck_assert(!expr_way_value(&e, w, &v, &y, &err));
    expr_release(&e);
    return y;
}

static float left(int64_t i, int64_t k)
{
    return (float)tensor_value(&a, i * K + k);
}

static float right(int64_t k)
{
    return (float)tensor_value(&x, k);
}

static float bf16(float f)
{
    return (float)dtype_value(DTYPE_BF16, dtype_round(DTYPE_BF16, (double)f));
}

#define DOT "sum(k, a[i,k] * x[k])"

START_TEST(orders_of_sums)
{
    struct expr_way back = plain, lanes = plain, tail = plain;
    back.order = EXPR_BACKWARD;
    lanes.order = EXPR_LANES;
    lanes.parts = 4;
    tail.multiple = 16;
    for (int64_t i = 0; i < M; i++) {
        float up = 0, down = 0, lane[4] = {0}, cut = 0;
        for (int64_t k = 0; k < K; k++) {
            up = fmaf(left(i, k), right(k), up);
            down = fmaf(left(i, K - 1 - k), right(K - 1 - k), down);
            lane[k % 4] = fmaf(left(i, k), right(k), lane[k % 4]);
            cut = k < 32 ? up : cut;
        }
        ck_assert_double_eq(value(DOT, &plain, i), (double)up);
        ck_assert_double_eq(value(DOT, &back, i), (double)down);
        ck_assert_double_eq(value(DOT, &lanes, i),
                            (double)((lane[0] + lane[1]) + (lane[2] + lane[3])));
        ck_assert_double_eq(value(DOT, &tail, i), (double)cut);
    }
}
END_TEST

START_TEST(narrow_sums_and_terms)
{
    struct expr_way sum = plain, term = plain;
    sum.sum = DTYPE_BF16;
    term.term = DTYPE_BF16;
    for (int64_t i = 0; i < M; i++) {
        volatile float kept = 0, terms = 0;
        for (int64_t k = 0; k < K; k++) {
            volatile float product = left(i, k) * right(k);
            kept = bf16(fmaf(left(i, k), right(k), kept));
            terms = terms + bf16(product);
        }
        ck_assert_double_eq(value(DOT, &sum, i), (double)kept);
        ck_assert_double_eq(value(DOT, &term, i), (double)terms);
    }
}
END_TEST

START_TEST(products_fused_or_not)
{
    struct expr_way none = plain, second = plain;
    none.fuse = EXPR_FUSE_NONE;
    second.fuse = EXPR_FUSE_SECOND;
    for (int64_t i = 0; i < M; i++) {
        const char *text =
            "min(k, a[i,k]) * max(k, x[k]) - max(k, a[i,k]) * min(k, x[k])";
        float p = left(i, 0), q = right(0), r = p, s = q;
        for (int64_t k = 1; k < K; k++) {
            p = fminf(p, left(i, k));
            r = fmaxf(r, left(i, k));
            q = fmaxf(q, right(k));
            s = fminf(s, right(k));
        }
        volatile float pq = p * q, rs = r * s;
        ck_assert_double_eq(value(text, &none, i), (double)(pq - rs));
        ck_assert_double_eq(value(text, &plain, i), (double)fmaf(p, q, -rs));
        ck_assert_double_eq(value(text, &second, i), (double)fmaf(-r, s, pq));
    }
}
END_TEST

/* Approximations differ from the function by what they say: exp by the rounded product, functions
 * of 10 bits by at most 2^-11. */
START_TEST(approximated_functions)
{
    struct expr_way hardware = plain, bits = plain;
    hardware.hardware = true;
    bits.function_bits = 10;
    for (int64_t i = 0; i < M; i++) {
        float m = (float)value("10 * min(k, a[i,k])", &plain, i);
        volatile float argument = m * (float)M_LOG2E;
        ck_assert_double_eq(value("exp(10 * min(k, a[i,k]))", &hardware, i),
                            (double)(float)exp2((double)argument));
        double exact = exp((double)m), kept = value("exp(10 * min(k, a[i,k]))", &bits, i);
        ck_assert_double_le(fabs(kept - exact), 0x1p-11 * exact);
        ck_assert_double_eq(kept, dtype_value(DTYPE_TF32, dtype_round(DTYPE_TF32, kept)));
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("exprway");
    TCase *c = tcase_create("exprway");
    suite_add_tcase(s, c);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, orders_of_sums);
    tcase_add_test(c, narrow_sums_and_terms);
    tcase_add_test(c, products_fused_or_not);
    tcase_add_test(c, approximated_functions);
    return suite_run(s);
}
