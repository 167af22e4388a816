/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caseid.h"
#include "diagnose.h"
#include "poison.h"
#include "verdict.h"

/* The bug zoo: planted faults in the outputs of GEMM cases, made here by arithmetic of its own,
 * and the cause that must be named first. Prints the confusion matrix; clean pairs must get no
 * cause of a defect. */

/* One scene: the case, its inputs, reference, and the two sides' outputs. */
struct scene {
    struct case_id id;
    struct case_plan plan;
    struct tensor input[3]; /* a, b, c */
    struct oracle oracle;
    struct tensor a, b;
    int64_t m, n, k;
};

static void scene_open(struct scene *s, const char *text)
{
    struct errinfo e;
    memset(s, 0, sizeof *s);
    ck_assert_msg(caseid_parse(text, &s->id, &e) == 0, "%s", e.text);
    ck_assert_msg(s->id.family->plan(&s->id, &s->plan, &e) == 0, "%s", e.text);
    const struct tensor *input[CASE_TENSOR_MAX] = {NULL};
    for (int i = 0; i < 3; i++)
        if (s->plan.tensor[i].role != TENSOR_OUT) {
            ck_assert_int_eq(case_input(&s->id, &s->plan, i, &s->input[i], &e), 0);
            input[i] = &s->input[i];
        }
    ck_assert_msg(case_oracle(&s->id, &s->plan, input, 2, 1, &s->oracle, &e) == 0,
                  "%s", e.text);
    const struct case_tensor *c = &s->plan.tensor[2];
    ck_assert_int_eq(tensor_init(&s->a, c->dtype, c->rank, c->dim, &e), 0);
    ck_assert_int_eq(tensor_init(&s->b, c->dtype, c->rank, c->dim, &e), 0);
    s->m = c->dim[0];
    s->n = c->dim[1];
    s->k = s->input[0].count / s->m;
}

static void scene_close(struct scene *s)
{
    for (int i = 0; i < 3; i++)
        tensor_release(&s->input[i]);
    tensor_release(&s->a);
    tensor_release(&s->b);
    oracle_release(&s->oracle);
}

/* --- ways of computing one element, written apart from cases/gemm/model.c
 * ---------------------- */

static float low_bits_off(float x, int bits)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    u &= ~((UINT32_C(1) << bits) - 1);
    memcpy(&x, &u, sizeof x);
    return x;
}

static float nearest(enum dtype d, double x)
{
    return (float)dtype_value(d, dtype_round(d, x));
}

static float left(const struct scene *s, int64_t i, int64_t l)
{
    return (float)tensor_value(&s->input[0], i * s->k + l);
}

static float right(const struct scene *s, int64_t l, int64_t j)
{
    return (float)tensor_value(&s->input[1], l * s->n + j);
}

static float chain(const struct scene *s, int64_t i, int64_t j)
{
    float acc = 0;
    for (int64_t l = 0; l < s->k; l++)
        acc = fmaf(left(s, i, l), right(s, l, j), acc);
    return acc;
}

static float unfused(const struct scene *s, int64_t i, int64_t j)
{
    volatile float acc = 0, p;
    for (int64_t l = 0; l < s->k; l++) {
        p = left(s, i, l) * right(s, l, j);
        acc = acc + p;
    }
    return acc;
}

static float backward(const struct scene *s, int64_t i, int64_t j)
{
    float acc = 0;
    for (int64_t l = s->k - 1; l >= 0; l--)
        acc = fmaf(left(s, i, l), right(s, l, j), acc);
    return acc;
}

/* Four interleaved accumulators: no candidate sums in this order. */
static float interleaved(const struct scene *s, int64_t i, int64_t j)
{
    float acc[4] = {0};
    for (int64_t l = 0; l < s->k; l++)
        acc[l % 4] = fmaf(left(s, i, l), right(s, l, j), acc[l % 4]);
    return (acc[0] + acc[1]) + (acc[2] + acc[3]);
}

static float exact(const struct scene *s, int64_t i, int64_t j)
{
    return (float)s->oracle.value[i * s->n + j];
}

static float tf32_rounded(const struct scene *s, int64_t i, int64_t j)
{
    float acc = 0;
    for (int64_t l = s->k - 1; l >= 0; l--)
        acc = fmaf(nearest(DTYPE_TF32, (double)left(s, i, l)),
                   nearest(DTYPE_TF32, (double)right(s, l, j)), acc);
    return acc;
}

static float tf32_cut(const struct scene *s, int64_t i, int64_t j)
{
    float acc[2] = {0};
    for (int64_t l = 0; l < s->k; l++)
        acc[l % 2] += low_bits_off(left(s, i, l), 13) * low_bits_off(right(s, l, j), 13);
    return acc[0] + acc[1];
}

static float bf16_inputs(const struct scene *s, int64_t i, int64_t j)
{
    float acc = 0;
    for (int64_t l = 0; l < s->k; l++)
        acc += nearest(DTYPE_BF16, (double)left(s, i, l)) *
               nearest(DTYPE_BF16, (double)right(s, l, j));
    return acc;
}

/* One operand only loses bits; no candidate does that. */
static float a_tf32(const struct scene *s, int64_t i, int64_t j)
{
    float acc = 0;
    for (int64_t l = s->k - 1; l >= 0; l--)
        acc = fmaf(low_bits_off(left(s, i, l), 13), right(s, l, j), acc);
    return acc;
}

static float b_eight_bits(const struct scene *s, int64_t i, int64_t j)
{
    float acc[2] = {0};
    for (int64_t l = 0; l < s->k; l++)
        acc[l % 2] += left(s, i, l) * low_bits_off(right(s, l, j), 15);
    return acc[0] + acc[1];
}

static float both_alike(const struct scene *s, int64_t i, int64_t j)
{
    float acc[3] = {0};
    for (int64_t l = 0; l < s->k; l++)
        acc[l % 3] += low_bits_off(left(s, i, l), 7) * nearest(DTYPE_BF16, (double)right(s, l, j));
    return acc[0] + (acc[1] + acc[2]);
}

/* A factor of the call that was stored in f16. */
static float alpha_f16(const struct scene *s, int64_t i, int64_t j)
{
    return nearest(DTYPE_F16, 0.3) * chain(s, i, j);
}

static float alpha_f32(const struct scene *s, int64_t i, int64_t j)
{
    return 0.3f * chain(s, i, j);
}

static float stored_bf16(const struct scene *s, int64_t i, int64_t j)
{
    return nearest(DTYPE_BF16, (double)chain(s, i, j));
}

static float accumulate(const struct scene *s, int64_t i, int64_t j, enum dtype d)
{
    double acc = 0;
    for (int64_t l = 0; l < s->k; l++)
        acc = (double)nearest(d, acc + (double)left(s, i, l) * (double)right(s, l, j));
    return (float)acc;
}

static float f16_accumulator(const struct scene *s, int64_t i, int64_t j)
{
    return accumulate(s, i, j, DTYPE_F16);
}

static float bf16_accumulator(const struct scene *s, int64_t i, int64_t j)
{
    return accumulate(s, i, j, DTYPE_BF16);
}

static float bf16_partials(const struct scene *s, int64_t i, int64_t j)
{
    double sum = 0;
    int64_t length = (s->k + 3) / 4;
    for (int64_t p = 0; p < 4; p++) {
        double part = 0;
        for (int64_t l = p * length; l < (p + 1) * length && l < s->k; l++)
            part += (double)left(s, i, l) * (double)right(s, l, j);
        sum = (double)nearest(DTYPE_BF16, sum + (double)nearest(DTYPE_BF16, part));
    }
    return (float)sum;
}

/* Orders and widths that no candidate has. */
static float f16_now_and_then(const struct scene *s, int64_t i, int64_t j)
{
    double acc = 0;
    for (int64_t l = 0; l < s->k; l++) {
        acc += (double)left(s, i, l) * (double)right(s, l, j);
        acc = l % 24 == 23 ? (double)nearest(DTYPE_F16, acc) : acc;
    }
    return nearest(DTYPE_F16, acc);
}

static float bf16_of_seven(const struct scene *s, int64_t i, int64_t j)
{
    double acc = 0, part = 0;
    for (int64_t l = 0; l < s->k; l++) {
        part += (double)left(s, i, l) * (double)right(s, l, j);
        if (l % 79 != 78 && l != s->k - 1)
            continue;
        acc = (double)nearest(DTYPE_BF16, acc + (double)nearest(DTYPE_BF16, part));
        part = 0;
    }
    return (float)acc;
}

static float flush_result(const struct scene *s, int64_t i, int64_t j)
{
    float x = chain(s, i, j);
    double smallest = dtype_min_normal(s->a.dtype);
    return fabs((double)x) < smallest ? 0 : x;
}

static float flush_inputs(const struct scene *s, int64_t i, int64_t j)
{
    float acc = 0;
    double smallest = dtype_min_normal(s->input[0].dtype);
    for (int64_t l = 0; l < s->k; l++) {
        float a = left(s, i, l), b = right(s, l, j);
        acc = fmaf(fabs((double)a) < smallest ? 0 : a, fabs((double)b) < smallest ? 0 : b, acc);
    }
    return acc;
}

static float truncating(const struct scene *s, int64_t i, int64_t j)
{
    float acc = 0;
    for (int64_t l = 0; l < s->k; l++) {
        double t = (double)acc + (double)left(s, i, l) * (double)right(s, l, j);
        float f = (float)t;
        acc = fabs((double)f) > fabs(t) ? nextafterf(f, 0) : f;
    }
    return acc;
}

static float scaled(const struct scene *s, int64_t i, int64_t j)
{
    return chain(s, i, j) * (1 + 1.0f / 64);
}

static float barely_scaled(const struct scene *s, int64_t i, int64_t j)
{
    return chain(s, i, j) * (1 + 1.0f / 1024);
}

static float doubled(const struct scene *s, int64_t i, int64_t j)
{
    return chain(s, i, j) * 2;
}

static float row_scaled(const struct scene *s, int64_t i, int64_t j)
{
    return ldexpf(chain(s, i, j), (int)(i % 5) - 2);
}

static float column_scaled(const struct scene *s, int64_t i, int64_t j)
{
    return chain(s, i, j) * (1 + (float)(j % 3));
}

static float transposed(const struct scene *s, int64_t i, int64_t j)
{
    return chain(s, j, i);
}

static float next_row(const struct scene *s, int64_t i, int64_t j)
{
    return chain(s, (i + 1) % s->m, j);
}

static float b_transposed(const struct scene *s, int64_t i, int64_t j)
{
    float acc = 0;
    for (int64_t l = 0; l < s->k; l++)
        acc = fmaf(left(s, i, l), right(s, j, l), acc);
    return acc;
}

static float tile_wrong(const struct scene *s, int64_t i, int64_t j)
{
    bool hit = i >= 16 && i < 32 && j >= 16 && j < 32;
    return hit ? chain(s, i, j) + (float)((i * 31 + j * 17) % 13) - 6.5f : chain(s, i, j);
}

static float column_wrong(const struct scene *s, int64_t i, int64_t j)
{
    return j % 8 == 5 ? -chain(s, i, j) * 0.7f + 3 : chain(s, i, j);
}

static float last_row_wrong(const struct scene *s, int64_t i, int64_t j)
{
    return i == s->m - 1 ? chain(s, i - 1, j) : chain(s, i, j);
}

static float sparse_wrong(const struct scene *s, int64_t i, int64_t j)
{
    return (i * 7919 + j * 104729) % 97 == 0 ? chain(s, i, j) * 3 + 1 : chain(s, i, j);
}

static float first_tile_again(const struct scene *s, int64_t i, int64_t j)
{
    return chain(s, i % 16, j % 16);
}

static float k_tail_lost(const struct scene *s, int64_t i, int64_t j)
{
    float acc = 0;
    for (int64_t l = 0; l < s->k - s->k % 16; l++)
        acc += left(s, i, l) * right(s, l, j);
    return acc;
}

static float zeros(const struct scene *s, int64_t i, int64_t j)
{
    (void)s, (void)i, (void)j;
    return 0;
}

static float rows_from_4096(const struct scene *s, int64_t i, int64_t j)
{
    return i >= 4096 ? chain(s, i - 4096, j) : chain(s, i, j);
}

static float elements_from_8192(const struct scene *s, int64_t i, int64_t j)
{
    return i * s->n + j >= 8192 ? (float)(i % 7) : chain(s, i, j);
}

static float nan_poison(const struct scene *s, int64_t i, int64_t j)
{
    uint32_t bits = 0x7fe5a5a5;
    float x;
    memcpy(&x, &bits, sizeof x);
    return (i + j) % 11 == 0 ? x : chain(s, i, j);
}

static float nan_scattered(const struct scene *s, int64_t i, int64_t j)
{
    return (i * 5 + j * 3) % 23 == 0 ? NAN : chain(s, i, j);
}

static float nan_for_inf(const struct scene *s, int64_t i, int64_t j)
{
    float x = chain(s, i, j);
    return isinf(x) ? NAN : x;
}

static float nan_lost(const struct scene *s, int64_t i, int64_t j)
{
    float x = chain(s, i, j);
    return isnan(x) ? 0 : x;
}

static float inf_saturated(const struct scene *s, int64_t i, int64_t j)
{
    float x = chain(s, i, j);
    return isinf(x) ? copysignf(0x1.fffffep127f, x) : x;
}

static float minus_zero(const struct scene *s, int64_t i, int64_t j)
{
    float x = chain(s, i, j);
    return x == 0 ? -0.0f : x;
}

/* --- how an element is stored
 * ------------------------------------------------------------------ */

enum store { NEAREST, TOWARD_ZERO, UPWARD, UNWRITTEN_TAIL, UNWRITTEN_HALF, UNWRITTEN_WRAP };

static uint64_t stored(const struct scene *s, enum store store, int64_t i, float x)
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

typedef float element(const struct scene *s, int64_t i, int64_t j);

static void compute(const struct scene *s, element *how, enum store store, struct tensor *out)
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

static void judge(const struct scene *s, struct finding_out *o)
{
    struct errinfo e;
    struct finding f = {0};
    memset(o, 0, sizeof *o);
    strcpy(o->name, "c");
    o->dtype = s->a.dtype;
    o->rank = 2;
    memcpy(o->dim, s->a.dim, sizeof o->dim);
    const struct tensor *input[CASE_TENSOR_MAX] = {&s->input[0], &s->input[1]};
    struct diagnose_input in = {.id = &s->id,
                                .plan = &s->plan,
                                .input = input,
                                .which = 2,
                                .a = &s->a,
                                .b = &s->b,
                                .oracle = &s->oracle};
    ck_assert_int_eq(
        stats_compute(&s->a, &s->b, &s->oracle, poison_bits(s->a.dtype), 1, &o->stats, &e), 0);
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
        struct scene s;
        struct finding_out o;
        scene_open(&s, zoo[i].id);
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
        scene_close(&s);
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
        struct scene s;
        struct finding_out o;
        scene_open(&s, text);
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
        scene_close(&s);
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
        struct scene s;
        struct finding_out o;
        scene_open(&s, text);
        compute(&s, backward, NEAREST, &s.a);
        compute(&s, interleaved, NEAREST, &s.b);
        judge(&s, &o);
        differing += o.verdict != VERDICT_SAME;
        ck_assert_msg(o.verdict == VERDICT_SAME || primary(&o) == CAUSE_ORDER ||
                          primary(&o) == CAUSE_CONTRACTION,
                      "%s: %s", text, o.n_claim ? o.claim[0].evidence : "no cause");
        scene_close(&s);
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
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
