/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <mpfr.h>
#include <stdlib.h>

#include "attended.h"
#include "suite.h"

/* The references of attention, against MPFR, written from the definition. */

enum { BITS = 400 };

struct exact {
    mpfr_t t, x, top, sum;
};

static void exact_score(struct exact *m, const struct attended *s, int64_t b, int64_t h, int64_t i,
                        int64_t j)
{
    const struct attention *a = &s->a;
    int64_t kv = h * a->kv_heads / a->heads;
    mpfr_set_zero(m->t, 1);
    for (int64_t l = 0; l < a->d; l++) {
        mpfr_set_d(m->x, tensor_value(s->c.at[0], row_of(s, b, h, i) * a->d + l), MPFR_RNDN);
        mpfr_mul_d(m->x, m->x, key_value(s, 1, b, kv, j, l), MPFR_RNDN);
        mpfr_add(m->t, m->t, m->x, MPFR_RNDN);
    }
    mpfr_mul_d(m->t, m->t, (double)a->scale, MPFR_RNDN);
    if (a->softcap != 0) {
        mpfr_div_d(m->t, m->t, (double)a->softcap, MPFR_RNDN);
        mpfr_tanh(m->t, m->t, MPFR_RNDN);
        mpfr_mul_d(m->t, m->t, (double)a->softcap, MPFR_RNDN);
    }
    if (a->alibi) {
        mpfr_set_d(m->x, tensor_value(s->c.at[attention_slopes(a)], h), MPFR_RNDN);
        mpfr_mul_si(m->x, m->x, labs((long)(i - j + keys_of(s, b) - queries_of(s, b))), MPFR_RNDN);
        mpfr_sub(m->t, m->t, m->x, MPFR_RNDN);
    }
}

static double off(mpfr_t exact, double value, double tail)
{
    mpfr_sub_d(exact, exact, value, MPFR_RNDN);
    mpfr_sub_d(exact, exact, tail, MPFR_RNDN);
    return fabs(mpfr_get_d(exact, MPFR_RNDA));
}

static void exact_row(struct exact *m, const struct attended *s, int64_t b, int64_t h, int64_t i)
{
    const struct attention *a = &s->a;
    int64_t row = row_of(s, b, h, i), seen = 0;
    for (int64_t c = 0; c<a->d; c += a->d> 3 ? 3 : 1) {
        int64_t at = row * a->d + c;
        mpfr_set_zero(m->top, 1);
        mpfr_set_zero(m->sum, 1);
        seen = 0;
        for (int64_t j = 0; j < keys_of(s, b); j++) {
            if (!is_visible(s, b, i, j))
                continue;
            seen++;
            exact_score(m, s, b, h, i, j);
            mpfr_exp(m->t, m->t, MPFR_RNDN);
            mpfr_add(m->sum, m->sum, m->t, MPFR_RNDN);
            mpfr_mul_d(m->t, m->t, key_value(s, 2, b, h * a->kv_heads / a->heads, j, c),
                       MPFR_RNDN);
            mpfr_mul_d(m->t, m->t, kept(s, row, j), MPFR_RNDN);
            mpfr_add(m->top, m->top, m->t, MPFR_RNDN);
        }
        if (!seen) {
            ck_assert(s->c.o.value[at] == 0 && s->c.o.bound[at] == 0);
            continue;
        }
        mpfr_div(m->top, m->top, m->sum, MPFR_RNDN);
        ck_assert_double_le(off(m->top, s->c.o.value[at], s->c.o.tail[at]), s->c.o.error[at]);
        ck_assert_double_le(s->c.o.error[at], 0x1p-6 * s->c.o.bound[at]);
    }
    if (!seen) {
        ck_assert(s->lse.value[row] == -(double)INFINITY);
        return;
    }
    mpfr_log(m->sum, m->sum, MPFR_RNDN);
    ck_assert_double_le(off(m->sum, s->lse.value[row], s->lse.tail[row]), s->lse.error[row]);
    ck_assert_double_le(s->lse.error[row], 0x1p-6 * s->lse.bound[row]);
}

START_TEST(references_equal_mpfr)
{
    static const char *const ids[] = {
        "attention/naive:queries=5,keys=9,d=7",
        "attention/flash:dtype=f16,queries=7,keys=5,d=4,mask=bottom",
        "attention/naive:dtype=bf16,queries=6,keys=6,d=5,mask=causal,window=3",
        "attention/flash:heads=4,kvheads=2,batch=2,queries=3,keys=8,d=5,alibi=1",
        "attention/naive:queries=4,keys=20,d=6,softcap=2.5,scale=0.7,mask=bottom,window=6",
        "attention/flash:queries=4,keys=20,d=6,dist=lognormal",
        "attention/flash:queries=4,keys=20,d=6,dist=subnormal",
        "attention/naive:dtype=f16,queries=1,keys=1,d=1",
        "attention/flash:heads=3,kvheads=1,queries=3,keys=4,d=2,alibi=1,softcap=1",
        "attention/split:heads=4,kvheads=2,batch=2,queries=2,keys=20,d=4,page=3,split=3",
        "attention/split:queries=9,keys=5,d=4,mask=bottom,split=7",
        "attention/dropout:queries=5,keys=20,d=4,drop=0.4,rounds=7",
        "attention/"
        "dropout:dtype=bf16,heads=2,kvheads=1,queries=6,keys=20,d=4,mask=bottom,seed=3",
        "attention/mma:dtype=f16,queries=5,keys=20,d=7,mask=causal",
        "attention/varlen:batch=6,queries=5,keys=9,d=4,mask=bottom,window=4",
        "attention/varlen:dtype=bf16,batch=4,heads=4,kvheads=2,queries=6,keys=8,d=3,alibi=1",
    };
    struct attended s;
    struct exact m;
    attended_open(&s, ids[_i]);
    mpfr_inits2(BITS, m.t, m.x, m.top, m.sum, (mpfr_ptr)0);
    for (int64_t b = 0; b < s.a.batch; b++)
        for (int64_t h = 0; h < s.a.heads; h++)
            for (int64_t i = 0; i < queries_of(&s, b); i++)
                exact_row(&m, &s, b, h, i);
    mpfr_clears(m.t, m.x, m.top, m.sum, (mpfr_ptr)0);
    attended_close(&s);
}
END_TEST

/* --- the case --------------------------------------------------------------------------------
 */

/* One sequence with one head lies in memory as flash has it. */
START_TEST(one_sequence_has_the_bounds_of_flash)
{
    struct attended one, flash;
    attended_open(&one, "attention/varlen:dtype=bf16,heads=1,queries=19,keys=37,d=20,mask=bottom");
    attended_open(&flash, "attention/flash:dtype=bf16,heads=1,queries=19,keys=37,d=20,mask=bottom");
    ck_assert_int_eq(one.c.o.count, flash.c.o.count);
    ck_assert_mem_eq(one.c.input[0].data, flash.c.input[0].data, tensor_bytes(&flash.c.input[0]));
    for (int64_t i = 0; i < flash.c.o.count; i++)
        ck_assert(one.c.o.value[i] == flash.c.o.value[i] && one.c.o.bound[i] == flash.c.o.bound[i]);
    for (int64_t i = 0; i < flash.lse.count; i++)
        ck_assert(one.lse.value[i] == flash.lse.value[i] &&
                  one.lse.bound[i] == flash.lse.bound[i]);
    attended_close(&one);
    attended_close(&flash);
}
END_TEST

START_TEST(bad_parameters_are_explained)
{
    static const struct {
        const char *id, *word;
    } bad[] = {
        {"attention/naive:heads=4,kvheads=3", "kvheads must divide"},
        {"attention/flash:window=3", "a window needs"},
        {"attention/flash:queries=65536,keys=65536", "2^30"},
        {"attention/fault_mask:d=100", "d up to 64"},
        {"attention/flash:page=16", "only attention/split"},
        {"attention/split:page=16,dist=special", "leave one out"},
        {"attention/varlen:dist=special", "take attention/flash"},
        {"attention/mma:d=8", "the matrix units take"},
    };
    struct case_id id;
    struct case_plan plan;
    struct errinfo e = {0};
    ck_assert(!caseid_parse(bad[_i].id, &id, &e));
    ck_assert_int_eq(id.family->plan(&id, &plan, &e), ERR_USAGE);
    ck_assert_msg(strstr(e.text, bad[_i].word), "%s", e.text);
}
END_TEST

START_TEST(slopes_are_those_of_alibi)
{
    struct attended s;
    attended_open(&s, "attention/flash:heads=8,queries=1,keys=2,d=1,alibi=1");
    for (int h = 0; h < 8; h++)
        ck_assert(tensor_value(s.c.at[attention_slopes(&s.a)], h) == ldexp(1, -h - 1));
    attended_close(&s);
    attended_open(&s, "attention/flash:heads=16,queries=1,keys=2,d=1,alibi=1");
    for (int h = 0; h < 16; h++)
        ck_assert_double_eq_tol(tensor_value(s.c.at[attention_slopes(&s.a)], h),
                                exp2(-(h + 1) / 2.0), 0x1p-24 * exp2(-(h + 1) / 2.0));
    attended_close(&s);
}
END_TEST

/* Known answers of Random123 for 7 and 10 rounds, and the harness's own generator. */
START_TEST(masks_are_those_of_philox)
{
    static const uint32_t zeros[2][4] = {
        {0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48},
        {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
    };
    for (int b = 0; b < 16; b++) {
        ck_assert_uint_eq(dropout_byte(0, 0, 7, b), zeros[0][b / 4] >> b % 4 * 8 & 255);
        ck_assert_uint_eq(dropout_byte(0, 0, 10, b), zeros[1][b / 4] >> b % 4 * 8 & 255);
    }
    for (uint64_t i = 0; i < 1000; i++) {
        struct rng_key key = rng_key_make(i, "mask");
        uint32_t words[4];
        uint64_t counter = rng_bits(key, i, 1);
        rng_block(key, counter, 0, words);
        for (int b = 0; b < 16; b++)
            ck_assert_uint_eq(dropout_byte(counter, (uint64_t)key.k[1] << 32 | key.k[0], 10, b),
                              words[b / 4] >> b % 4 * 8 & 255);
    }
}
END_TEST

/* NaN and Inf reach those rows that see them, and no others. */
START_TEST(special_values_reach_who_sees_them)
{
    struct attended s;
    attended_open(&s, "attention/flash:queries=36,keys=36,d=20,mask=causal,dist=special");
    for (int64_t i = 0; i < 36; i++) {
        double lse = s.lse.value[i];
        bool nan = i % 8 == 3 || i == 35;
        if (i < 24 && !nan)
            ck_assert(isfinite(lse) && isfinite(s.lse.bound[i]));
        if (nan)
            ck_assert(isnan(lse) && s.lse.bound[i] == 0);
        if (i % 8 == 7 && i < 24)
            ck_assert_double_eq_tol(lse, log((double)(i + 1)), 1e-9);
    }
    attended_close(&s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("attention");
    TCase *c = tcase_create("attention");
    tcase_add_loop_test(c, references_equal_mpfr, 0, 16);
    tcase_add_test(c, one_sequence_has_the_bounds_of_flash);
    tcase_add_loop_test(c, bad_parameters_are_explained, 0, 8);
    tcase_add_test(c, slopes_are_those_of_alibi);
    tcase_add_test(c, masks_are_those_of_philox);
    tcase_add_test(c, special_values_reach_who_sees_them);
    suite_add_tcase(s, c);
    return suite_run(s);
}
