/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caseid.h"
#include "diagnose.h"
#include "poison.h"
#include "gemmways.h"
#include "suite.h"
#include "verdict.h"

/* The bug zoo: planted faults in the outputs of GEMM cases, made here by arithmetic of its own,
 * and the cause that must be named first. Prints the confusion matrix; clean pairs must get no
 * cause of a defect. */

/* --- how an element is stored
 * ------------------------------------------------------------------ */

enum store { NEAREST, TOWARD_ZERO, UPWARD, UNWRITTEN_TAIL, UNWRITTEN_HALF, UNWRITTEN_WRAP };

static uint64_t stored(const struct sides *s, enum store store, int64_t i, float x)
{
    enum dtype d = s->a.dtype;
    if (store == UNWRITTEN_TAIL && i >= 4096 * s->n)
        return poison_bits(d);
    if (store == UNWRITTEN_WRAP && i < 65536 && i % 9 == 0)
        return 0x3f800000; /* overwritten by elements that wrapped round */
    if (store == UNWRITTEN_WRAP && i >= 65536)
        return poison_bits(d);
    if (store == UNWRITTEN_HALF && i / s->n % 2)
        return poison_bits(d);
    if (d == DTYPE_F32) { /* with NaN payloads */
        uint32_t u;
        memcpy(&u, &x, sizeof u);
        return u;
    }
    uint64_t bits = dtype_round(d, (double)x);
    double value = dtype_value(d, bits), want = (double)x;
    if (store == TOWARD_ZERO && fabs(value) > fabs(want))
        bits--;
    if (store == UPWARD && value < want)
        bits += want > 0 ? 1 : -(uint64_t)1;
    return bits;
}

typedef float element(const struct sides *s, int64_t i, int64_t j);

static void compute(const struct sides *s, element *how, enum store store, struct tensor *out)
{
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t j = 0; j < s->n; j++)
            tensor_set_bits(out, i * s->n + j, stored(s, store, i * s->n + j, how(s, i, j)));
}

/* --- the zoo
 * ----------------------------------------------------------------------------------- */

#define F32 "gemm/naive:dtype=f32,m=48,n=40,k=96"
#define SQUARE "gemm/naive:dtype=f32,m=48,n=48,k=48"
#define BF16 "gemm/naive:dtype=bf16,m=48,n=40,k=512"
#define F16 "gemm/naive:dtype=f16,m=48,n=40,k=512"
#define TALL "gemm/naive:dtype=f32,m=6000,n=3,k=8"

static const struct {
    const char *id;
    element *a, *b;
    enum store store; /* of B */
    enum cause cause;
} zoo[] = {
    {F32, chain, tf32_rounded, NEAREST, CAUSE_DOWNCAST},
    {F32, chain, tf32_cut, NEAREST, CAUSE_DOWNCAST},
    {F32, chain, bf16_inputs, NEAREST, CAUSE_DOWNCAST},
    {F32, chain, a_tf32, NEAREST, CAUSE_DOWNCAST},
    {F32 ",dist=lognormal", chain, b_eight_bits, NEAREST, CAUSE_DOWNCAST},
    {F32 ",dist=positive", chain, both_alike, NEAREST, CAUSE_DOWNCAST},
    {F32 ",alpha=0.3", alpha_f32, alpha_f16, NEAREST, CAUSE_DOWNCAST},
    {F32, chain, stored_bf16, NEAREST, CAUSE_DOWNCAST},
    {F16, chain, f16_accumulator, NEAREST, CAUSE_ACCUMULATE},
    {BF16, chain, bf16_accumulator, NEAREST, CAUSE_ACCUMULATE},
    {BF16, chain, bf16_partials, NEAREST, CAUSE_ACCUMULATE},
    {BF16, chain, bf16_of_seven, NEAREST, CAUSE_ACCUMULATE},
    {F32, chain, f16_now_and_then, NEAREST, CAUSE_ACCUMULATE},
    {F16, chain, f16_now_and_then, NEAREST, CAUSE_ACCUMULATE},
    {F32 ",dist=positive", chain, f16_now_and_then, NEAREST, CAUSE_ACCUMULATE},
    {F32 ",dist=subnormal", chain, flush_result, NEAREST, CAUSE_FLUSH},
    {F16 ",dist=subnormal", chain, flush_inputs, NEAREST, CAUSE_FLUSH},
    {F32 ",dist=subnormal", chain, flush_inputs, NEAREST, CAUSE_FLUSH},
    {F32 ",dist=special", chain, nan_for_inf, NEAREST, CAUSE_NANINF},
    {F32 ",dist=special", chain, nan_lost, NEAREST, CAUSE_NANINF},
    {F32 ",dist=special", chain, inf_saturated, NEAREST, CAUSE_NANINF},
    {F32 ",dist=integer", chain, minus_zero, NEAREST, CAUSE_NANINF},
    {F16, chain, chain, TOWARD_ZERO, CAUSE_ROUNDING},
    {BF16, chain, chain, UPWARD, CAUSE_ROUNDING},
    {F32 ",dist=positive", chain, truncating, NEAREST, CAUSE_ROUNDING},
    {F32, chain, tile_wrong, NEAREST, CAUSE_LOCALISED},
    {F32, chain, column_wrong, NEAREST, CAUSE_LOCALISED},
    {F32, chain, last_row_wrong, NEAREST, CAUSE_LOCALISED},
    {F32, chain, sparse_wrong, NEAREST, CAUSE_LOCALISED},
    {F32, chain, first_tile_again, NEAREST, CAUSE_LOCALISED},
    {"gemm/naive:dtype=f32,m=48,n=40,k=90", chain, k_tail_lost, NEAREST, CAUSE_LOCALISED},
    {F32, chain, zeros, NEAREST, CAUSE_LOCALISED},
    {F32, chain, chain, UNWRITTEN_HALF, CAUSE_LOCALISED},
    {TALL, chain, rows_from_4096, NEAREST, CAUSE_OVERFLOW},
    {TALL, chain, elements_from_8192, NEAREST, CAUSE_OVERFLOW},
    {TALL, chain, chain, UNWRITTEN_TAIL, CAUSE_OVERFLOW},
    {F32, chain, nan_poison, NEAREST, CAUSE_UNINITIALISED},
    {F32, chain, nan_scattered, NEAREST, CAUSE_UNINITIALISED},
    {SQUARE, chain, transposed, NEAREST, CAUSE_MASK},
    {SQUARE, chain, b_transposed, NEAREST, CAUSE_MASK},
    {F32, chain, next_row, NEAREST, CAUSE_MASK},
    {F32, chain, scaled, NEAREST, CAUSE_SCALE},
    {BF16, chain, doubled, NEAREST, CAUSE_SCALE},
    {BF16, chain, barely_scaled, NEAREST, CAUSE_SCALE},
    {F32 ",dist=positive", chain, tf32_cut, NEAREST, CAUSE_DOWNCAST},
    {F32, chain, bf16_accumulator, NEAREST, CAUSE_ACCUMULATE},
    {"gemm/naive:dtype=f32,m=400,n=200,k=8", chain, chain, UNWRITTEN_WRAP, CAUSE_OVERFLOW},
    {F32, chain, row_scaled, NEAREST, CAUSE_SCALE},
    {F32, chain, column_scaled, NEAREST, CAUSE_SCALE},
    {F32 ",mode=approx", chain, backward, NEAREST, CAUSE_ORDER},
    {F32 ",mode=approx", chain, interleaved, NEAREST, CAUSE_ORDER},
    {F32 ",dist=lognormal,mode=approx", backward, interleaved, NEAREST, CAUSE_ORDER},
    {F32, chain, unfused, NEAREST, CAUSE_CONTRACTION},
    {F32 ",dist=uniform", chain, unfused, NEAREST, CAUSE_CONTRACTION},
    {F32 ",dist=lognormal", unfused, chain, NEAREST, CAUSE_CONTRACTION},
    {F32, chain, exact, NEAREST, CAUSE_UPCAST},
    {F32 ",dist=positive", interleaved, exact, NEAREST, CAUSE_UPCAST},
    {F32 ",dist=lognormal", unfused, exact, NEAREST, CAUSE_UPCAST},
};
enum { ZOO = sizeof zoo / sizeof *zoo };

static void judge(const struct sides *s, struct finding_out *o)
{
    struct errinfo e;
    struct finding f = {0};
    memset(o, 0, sizeof *o);
    strcpy(o->name, "c");
    o->dtype = s->a.dtype;
    o->rank = 2;
    memcpy(o->dim, s->a.dim, sizeof o->dim);
    struct diagnose_input in = {.id = &s->c.id,
                                .plan = &s->c.plan,
                                .input = s->c.at,
                                .which = 2,
                                .a = &s->a,
                                .b = &s->b,
                                .oracle = &s->c.o};
    ck_assert_int_eq(
        stats_compute(&s->a, &s->b, &s->c.o, poison_bits(s->a.dtype), 1, &o->stats, &e), 0);
    verdict_output(&f, o);
    ck_assert_int_eq(diagnose_output(&in, o, &e), 0);
}

static enum cause primary(const struct finding_out *o)
{
    return o->n_claim ? o->claim[0].cause : CAUSE_COUNT_;
}

START_TEST(every_animal_of_the_zoo)
{
    int right_cause = 0;
    for (int i = 0; i < ZOO; i++) {
        struct sides s;
        struct finding_out o;
        sides_open(&s, zoo[i].id);
        compute(&s, zoo[i].a, NEAREST, &s.a);
        compute(&s, zoo[i].b, zoo[i].store, &s.b);
        judge(&s, &o);
        if (!(o.verdict != VERDICT_SAME && o.verdict != VERDICT_MISTRUSTED))
            printf("%d (%s, %s) went unseen: %s\n", i, zoo[i].id, cause_name(zoo[i].cause),
                   verdict_name(o.verdict));
        enum cause named = primary(&o);
        right_cause += named == zoo[i].cause;
        if (named != zoo[i].cause)
            printf("%d %s: planted %s, named %s (%s; %s)\n", i, zoo[i].id,
                   cause_name(zoo[i].cause), o.n_claim ? cause_name(named) : "nothing",
                   verdict_name(o.verdict), o.n_claim ? o.claim[0].evidence : o.reason);
        sides_close(&s);
    }
    printf("zoo: %d of %d primary causes right\n", right_cause, (int)ZOO);
    ck_assert_int_ge(right_cause * 100, 95 * ZOO);
}
END_TEST

/* Two right ways of computing never accuse anybody. (mode=approx: a compiler may sum in any
 * order.) */
START_TEST(clean_pairs)
{
    static element *const ways[] = {chain, unfused, backward, interleaved};
    static const char *const dists[] = {"normal", "uniform", "positive", "lognormal",
                                        "integer"};
    static const char *const types[] = {"f32", "f16", "bf16"};
    for (int i = 0; i < 200; i++) {
        char text[128];
        snprintf(text, sizeof text,
                 "gemm/naive:dtype=%s,m=%d,n=%d,k=%d,dist=%s,seed=%d,mode=approx", types[i % 3],
                 9 + i % 13, 8 + i % 17, 20 + i % 50, dists[i % 5], i);
        struct sides s;
        struct finding_out o;
        sides_open(&s, text);
        compute(&s, ways[i % 4], NEAREST, &s.a);
        compute(&s, ways[(i / 4 + i / 16) % 4], NEAREST, &s.b);
        judge(&s, &o);
        ck_assert_msg(o.verdict == VERDICT_SAME || o.verdict == VERDICT_EQUIVALENT ||
                          o.verdict == VERDICT_DISTINGUISHABLE,
                      "%s: %s, %s", text, verdict_name(o.verdict), o.reason);
        for (int c = 0; c < o.n_claim; c++)
            ck_assert_msg(o.claim[c].cause == CAUSE_ORDER ||
                              o.claim[c].cause == CAUSE_CONTRACTION,
                          "%s: %s: %s", text, cause_name(o.claim[c].cause), o.claim[c].evidence);
        sides_close(&s);
    }
}
END_TEST

/* Two orders that no model has, stored in a format that hides all but a few differences: that
 * the exact result fits those few is chance, and no upcast. */
START_TEST(few_differences_accuse_nobody)
{
    int differing = 0;
    for (int i = 0; i < 150; i++) {
        char text[128];
        snprintf(text, sizeof text, "gemm/naive:dtype=f16,m=40,n=30,k=40,seed=%d,mode=approx", i);
        struct sides s;
        struct finding_out o;
        sides_open(&s, text);
        compute(&s, backward, NEAREST, &s.a);
        compute(&s, interleaved, NEAREST, &s.b);
        judge(&s, &o);
        differing += o.verdict != VERDICT_SAME;
        ck_assert_msg(o.verdict == VERDICT_SAME || primary(&o) == CAUSE_ORDER ||
                          primary(&o) == CAUSE_CONTRACTION,
                      "%s: %s", text, o.n_claim ? o.claim[0].evidence : "no cause");
        sides_close(&s);
    }
    ck_assert_int_gt(differing, 50);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("diagnose");
    TCase *c = tcase_create("diagnose");
    suite_add_tcase(s, c);
    tcase_add_test(c, every_animal_of_the_zoo);
    tcase_add_test(c, clean_pairs);
    tcase_add_test(c, few_differences_accuse_nobody);
    tcase_set_timeout(c, 60);
    return suite_run(s);
}
