/* SPDX-License-Identifier: Apache-2.0 */
#include "probe.h"

#include <math.h>

/* The questions to a matrix unit. A try is C + sum of 16 products; those that a question does
 * not use are 0 times 1, with C's sign, so that no term opposes C unless it is meant to. */

struct asker {
    struct probe_table *t;
    enum dtype in, sum;
};

enum dtype probe_operand(enum probe_unit unit)
{
    return unit == PROBE_BF16 ? DTYPE_BF16 : unit == PROBE_TF32 ? DTYPE_F32 : DTYPE_F16;
}

enum dtype probe_sum(enum probe_unit unit)
{
    return unit == PROBE_F16_F16 ? DTYPE_F16 : DTYPE_F32;
}

static uint32_t in_bits(const struct asker *q, double x)
{
    return (uint32_t)dtype_round(q->in, x);
}

static uint32_t sum_bits(const struct asker *q, double x)
{
    return (uint32_t)dtype_round(q->sum, x);
}

static struct probe_try *ask(const struct asker *q, double c)
{
    struct probe_try *try = probe_try_add(q->t);
    try->c = sum_bits(q, c);
    for (int k = 0; k < PROBE_DEPTH; k++) {
        try->a[k] = in_bits(q, signbit(c) ? -0.0 : 0.0);
        try->b[k] = in_bits(q, 1);
    }
    return try;
}

static void product(const struct asker *q, struct probe_try *try, int k, double a, double b)
{
    try->a[k] = in_bits(q, a);
    try->b[k] = in_bits(q, b);
}

static struct probe_try *ask_one(const struct asker *q, double c, double a, double b)
{
    struct probe_try *try = ask(q, c);
    product(q, try, 0, a, b);
    return try;
}

static struct probe_try *ask_two(const struct asker *q, double c, double a, double b, double d,
                                 double e)
{
    struct probe_try *try = ask_one(q, c, a, b);
    product(q, try, 1, d, e);
    return try;
}

static void line(const struct asker *q, const char *name, enum cause cause)
{
    probe_line_add(q->t, name, cause, PROBE_WORDS);
}

static void word(const struct asker *q, const char *text, double x)
{
    probe_word_add(q->t, text, (const uint32_t[PROBE_OUTS]){sum_bits(q, x)});
}

static void bits(const struct asker *q, const char *text, uint32_t x)
{
    probe_word_add(q->t, text, (const uint32_t[PROBE_OUTS]){x});
}

static void word_three(const struct asker *q, const char *text, double x, double y, double z)
{
    probe_word_add(
        q->t, text,
        (const uint32_t[PROBE_OUTS]){sum_bits(q, x), sum_bits(q, y), sum_bits(q, z)});
}

/* --- order and width -------------------------------------------------------------------------
 */

/* 2^15 at one term, -2^15 at another, 2^-15 elsewhere, as in harness/fill.h. */
static void ask_mask(const struct asker *q, int plus, int minus)
{
    struct probe_try *try = ask(q, 0);
    for (int k = 0; k < PROBE_DEPTH; k++)
        product(q, try, k, k == plus ? 0x1p15 : k == minus ? -0x1p15 : 0x1p-15, 1);
}

/* The first with each of the others, then the last with each: where all meet the first in one
 * place, that tells one addition from a last one. */
static void ask_order(const struct asker *q)
{
    probe_line_add(q->t, "products per addition", CAUSE_ORDER, PROBE_ORDER);
    for (int j = 1; j < PROBE_DEPTH; j++)
        ask_mask(q, 0, j);
    for (int j = 0; j < PROBE_DEPTH - 1; j++)
        ask_mask(q, PROBE_DEPTH - 1, j);
}

/* C = 2^-j beside 1 - 1. */
static void ask_width(const struct asker *q)
{
    int last = q->sum == DTYPE_F16 ? 24 : 40;
    probe_line_add(q->t, "bits kept below the largest term", CAUSE_ACCUMULATE, PROBE_BITS);
    for (int j = 0; j <= last; j++)
        ask_two(q, ldexp(1, -j), 1, 1, -1, 1);
}

static void ask_cancel(const struct asker *q)
{
    double unit = q->sum == DTYPE_F16 ? 0x1p-11 : 0x1p-24;
    line(q, "1 - 1", CAUSE_ACCUMULATE);
    ask_two(q, 0, 1, 1, -1, 1);
    word(q, "0", 0);
    word(q, "a unit of 2^-24 below 0", -0x1p-24);
    line(q, "1 - 1 + C with C = 1", CAUSE_ACCUMULATE);
    ask_two(q, 1, 1, 1, -1, 1);
    word(q, "1", 1);
    word(q, "a unit below 1", 1 - unit);
}

static void ask_rounding(const struct asker *q)
{
    double ulp = q->sum == DTYPE_F16 ? 0x1p-10 : 0x1p-23, odd = 1 + ulp, half = ulp / 2;
    double a = q->sum == DTYPE_F16 ? 0x1p-5 : 0x1p-12, b = half / a;
    line(q, "rounding of C + a * b", CAUSE_ROUNDING);
    ask_one(q, odd, a, b);
    ask_one(q, -odd, -a, b);
    ask_one(q, 1, a, b);
    word_three(q, "to nearest, ties to even", odd + ulp, -odd - ulp, 1);
    word_three(q, "toward zero", odd, -odd, 1);
    word_three(q, "downward", odd, -odd - ulp, 1);
    word_three(q, "upward", odd + ulp, -odd, odd);
}

/* --- ends of the range -----------------------------------------------------------------------
 */

static void ask_subnormals(const struct asker *q)
{
    bool f16 = q->in == DTYPE_F16;
    double small = f16 ? 0x1p-24 : q->in == DTYPE_F32 ? 0x1p-136 : 0x1p-133;
    double big = f16 ? 0x1p15 : 0x1p100;
    line(q, "subnormal operands", CAUSE_FLUSH);
    ask_one(q, 0, small, big);
    word(q, "kept", small * big);
    word(q, "taken as zero", 0);
    double c = q->sum == DTYPE_F16 ? 0x1p-20 : 0x1p-140;
    line(q, "subnormal C", CAUSE_FLUSH);
    ask(q, c);
    word(q, "kept", c);
    word(q, "taken as zero", 0);
    if (f16)
        return;
    line(q, "subnormal results", CAUSE_FLUSH);
    ask_one(q, 0, 0x1p-70, 0x1p-65);
    word(q, "kept", 0x1p-135);
    word(q, "flushed", 0);
}

static void ask_overflow(const struct asker *q)
{
    if (q->in == DTYPE_F16)
        return;
    line(q, "2^130 - 2^130 + 1", CAUSE_ACCUMULATE);
    ask_two(q, 1, 0x1p100, 0x1p30, -0x1p100, 0x1p30);
    word(q, "0: products have room, 1 is cut", 0);
    word(q, "a unit of 2^106 below 0: products have room", -0x1p106);
    word(q, "1: exact", 1);
    word(q, "NaN: products overflow", (double)NAN);
    bits(q, "NaN: products overflow", 0x7fffffff);
}

static void ask_nan(const struct asker *q)
{
    bool f16 = q->sum == DTYPE_F16;
    line(q, "NaN of a NaN operand", CAUSE_NANINF);
    ask_one(q, 0, (double)NAN, 1);
    bits(q, f16 ? "0x7fff" : "0x7fffffff", f16 ? 0x7fff : 0x7fffffff);
    line(q, "NaN of Inf * 0", CAUSE_NANINF);
    ask_one(q, 0, (double)INFINITY, 0);
    bits(q, f16 ? "0x7fff" : "0x7fffffff", f16 ? 0x7fff : 0x7fffffff);
    line(q, "NaN as C", CAUSE_NANINF);
    ask(q, 0)->c = f16 ? 0x7d01 : 0x7fa12345;
    bits(q, f16 ? "0x7fff, whatever it was" : "0x7fffffff, whatever it was",
         f16 ? 0x7fff : 0x7fffffff);
    bits(q, "itself, made quiet", f16 ? 0x7f01 : 0x7fe12345);
    line(q, "-0 as C and as products", CAUSE_NANINF);
    ask(q, -0.0);
    word(q, "-0", -0.0);
    word(q, "+0", 0);
}

/* Bits that tf32 does not have: the last but ten, alone and with all below. */
static void ask_inputs(const struct asker *q)
{
    if (q->in != DTYPE_F32)
        return;
    line(q, "low 13 bits of operands", CAUSE_DOWNCAST);
    ask_one(q, 0, 1 + 0x1p-11, 1);
    ask(q, 0)->a[0] = 0x3f801fff;
    word_three(q, "cut off", 1, 1, 0);
    word_three(q, "rounded to nearest even", 1, 1 + 0x1p-10, 0);
    word_three(q, "rounded to nearest, ties away", 1 + 0x1p-10, 1 + 0x1p-10, 0);
    word_three(q, "used: operands are f32", 1 + 0x1p-11, 1 + 0x1.fffp-11, 0);
}

void probe_matrix_fill(struct probe_table *t)
{
    const struct asker q = {t, probe_operand(t->unit), probe_sum(t->unit)};
    line(&q, "matrix unit", CAUSE_UPCAST);
    ask(&q, 0);
    probe_word_add(t, "there is one", (const uint32_t[PROBE_OUTS]){1});
    probe_word_add(t, "there is none: f32 multiply-adds instead",
                   (const uint32_t[PROBE_OUTS]){0});
    line(&q, "1 * 1 + 2 * 3 + 4", CAUSE_UNEXPLAINED);
    struct probe_try *try = ask_two(&q, 4, 1, 1, 2, 3);
    try->sure = true;
    try->want = sum_bits(&q, 11);
    word(&q, "11", 11);
    ask_order(&q);
    ask_width(&q);
    ask_cancel(&q);
    ask_rounding(&q);
    ask_subnormals(&q);
    ask_overflow(&q);
    ask_inputs(&q);
    ask_nan(&q);
}
