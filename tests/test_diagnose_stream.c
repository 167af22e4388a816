/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "diagnose.h"
#include "suite.h"

/* Two sides without a reference, made here: what was planted must be named, and what was not
 * must not. */

enum { N = 3000 };
static struct tensor a, b, in;
static struct finding_out out;

static double uniform(uint64_t stream, uint64_t i)
{
    uint64_t h = (i + 7) * 0xd1342543de82ef95u ^ stream * 0xaf251af3b0f025b5u;
    for (int r = 0; r < 3; r++) {
        h ^= h >> 29;
        h *= 0x7fb5d329728ea185u;
        h ^= h >> 32;
    }
    return (double)(h >> 41) * 0x1p-23;
}

static void setup(void)
{
    struct tensor *all[] = {&a, &b, &in};
    for (int k = 0; k < 3; k++)
        ck_assert(!tensor_init(all[k], DTYPE_F32, 2, (const int64_t[]){30, N / 30}, NULL));
    for (int i = 0; i < N; i++)
        tensor_set_bits(&in, i, dtype_round(DTYPE_F32, 4 * uniform(99, (uint64_t)i) - 2));
}

static void teardown(void)
{
    tensor_release(&a);
    tensor_release(&b);
    tensor_release(&in);
}

static void put(struct tensor *t, int64_t i, double v)
{
    tensor_set_bits(t, i, dtype_round(DTYPE_F32, v));
}

/* The primary cause; CAUSE_COUNT_: none was named. */
static enum cause named(bool with_input)
{
    const struct oracle none = {0};
    const struct tensor *input[CASE_TENSOR_MAX] = {with_input ? &in : NULL};
    struct case_plan plan;
    memset(&plan, 0, sizeof plan);
    plan.n_tensor = 2;
    plan.tensor[0].role = TENSOR_IN;
    plan.tensor[1].role = TENSOR_OUT;
    const struct diagnose_input d = {
        .plan = &plan, .input = input, .which = 1, .a = &a, .b = &b, .oracle = &none};
    memset(&out, 0, sizeof out);
    out.verdict = VERDICT_DIFFERENT;
    ck_assert(!diagnose_output(&d, &out, NULL));
    return out.n_claim ? out.claim[0].cause : CAUSE_COUNT_;
}

START_TEST(streams)
{
    for (int i = 0; i < N; i++) { /* equal up to 1000, then another */
        put(&a, i, uniform(1, (uint64_t)i));
        put(&b, i, uniform(i < 1000 ? 1 : 2, (uint64_t)i));
    }
    ck_assert_int_eq(named(false), CAUSE_RNG);
    ck_assert(strstr(out.claim[0].evidence, "element 1000"));
    for (int i = 0; i < N; i++)
        put(&b, i, uniform(1, (uint64_t)i + 250)); /* the same, further on */
    ck_assert_int_eq(named(false), CAUSE_RNG);
    ck_assert(strstr(out.claim[0].evidence, "250 elements further on"));
    for (int i = 0; i < N; i++)
        put(&b, i, uniform(1, (uint64_t)(i % 30 * 100 + i / 30))); /* another mapping */
    ck_assert_int_eq(named(false), CAUSE_RNG);
}
END_TEST

START_TEST(dropped)
{
    for (int i = 0; i < N; i++) {
        double v = tensor_value(&in, i) / 0.8;
        put(&a, i, uniform(3, (uint64_t)i) < 0.8 ? v : 0);
        put(&b, i, uniform(4, (uint64_t)i) < 0.8 ? v : 0);
    }
    ck_assert_int_eq(named(true), CAUSE_RNG);
}
END_TEST

START_TEST(noise)
{
    for (int i = 0; i < N; i++) {
        put(&a, i, tensor_value(&in, i) + 0.2 * uniform(5, (uint64_t)i));
        put(&b, i, tensor_value(&in, i) + 0.2 * uniform(6, (uint64_t)i));
    }
    ck_assert_int_eq(named(true), CAUSE_RNG);
}
END_TEST

/* Zeros by a rule, right values elsewhere, a wrong corner: no random numbers. */
START_TEST(what_is_not_random)
{
    for (int i = 0; i < N; i++) { /* one key more is visible */
        int row = i / 100, column = i % 100;
        put(&a, i, column <= row ? tensor_value(&in, i) : 0);
        put(&b, i, column <= row + 1 ? tensor_value(&in, i) : 0);
    }
    ck_assert_int_ne(named(true), CAUSE_RNG);
    for (int i = 0; i < N; i++) {
        put(&a, i, tensor_value(&in, i));
        put(&b, i, tensor_value(&in, (i + 100) % N));
    }
    ck_assert_int_eq(named(true), CAUSE_MASK);
    for (int i = 0; i < N; i++)
        put(&b, i, tensor_value(&in, i) + (i / 100 >= 16 && i % 100 >= 64 ? 1 : 0));
    ck_assert_int_eq(named(true), CAUSE_LOCALISED);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("diagnose_stream");
    TCase *c = tcase_create("pairs");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, streams);
    tcase_add_test(c, dropped);
    tcase_add_test(c, noise);
    tcase_add_test(c, what_is_not_random);
    suite_add_tcase(s, c);
    return suite_run(s);
}
