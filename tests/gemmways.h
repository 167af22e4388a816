/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_TESTS_GEMMWAYS_H
#define GPUPARITY_TESTS_GEMMWAYS_H

#include "poison.h"
#include "scene.h"

/* A GEMM case with both sides' outputs, and ways in which one of its elements may be computed, right
 * and wrong, written apart from cases/gemm/model.c: the bug zoo's animals (test_diagnose.c). */

struct sides {
    struct scene c; /* inputs a, b, c, and the reference of c */
    struct tensor a, b;
    int64_t m, n, k;
};

static void sides_open(struct sides *s, const char *text)
{
    struct errinfo e;
    scene_init(&s->c, text, "c");
    const struct case_tensor *c = &s->c.plan.tensor[2];
    ck_assert_int_eq(tensor_init(&s->a, c->dtype, c->rank, c->dim, &e), 0);
    ck_assert_int_eq(tensor_init(&s->b, c->dtype, c->rank, c->dim, &e), 0);
    s->m = c->dim[0];
    s->n = c->dim[1];
    s->k = s->c.input[0].count / s->m;
}

static void sides_close(struct sides *s)
{
    scene_release(&s->c);
    tensor_release(&s->a);
    tensor_release(&s->b);
}

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

static float left(const struct sides *s, int64_t i, int64_t l)
{
    return (float)tensor_value(&s->c.input[0], i * s->k + l);
}

static float right(const struct sides *s, int64_t l, int64_t j)
{
    return (float)tensor_value(&s->c.input[1], l * s->n + j);
}

static float chain(const struct sides *s, int64_t i, int64_t j)
{
    float acc = 0;
    for (int64_t l = 0; l < s->k; l++)
        acc = fmaf(left(s, i, l), right(s, l, j), acc);
    return acc;
}

static float unfused(const struct sides *s, int64_t i, int64_t j)
{
    volatile float acc = 0, p;
    for (int64_t l = 0; l < s->k; l++) {
        p = left(s, i, l) * right(s, l, j);
        acc = acc + p;
    }
    return acc;
}

static float backward(const struct sides *s, int64_t i, int64_t j)
{
    float acc = 0;
    for (int64_t l = s->k - 1; l >= 0; l--)
        acc = fmaf(left(s, i, l), right(s, l, j), acc);
    return acc;
}

/* Four interleaved accumulators: no candidate sums in this order. */
static float interleaved(const struct sides *s, int64_t i, int64_t j)
{
    float acc[4] = {0};
    for (int64_t l = 0; l < s->k; l++)
        acc[l % 4] = fmaf(left(s, i, l), right(s, l, j), acc[l % 4]);
    return (acc[0] + acc[1]) + (acc[2] + acc[3]);
}

static float exact(const struct sides *s, int64_t i, int64_t j)
{
    return (float)s->c.o.value[i * s->n + j];
}

static float tf32_rounded(const struct sides *s, int64_t i, int64_t j)
{
    float acc = 0;
    for (int64_t l = s->k - 1; l >= 0; l--)
        acc = fmaf(nearest(DTYPE_TF32, (double)left(s, i, l)),
                   nearest(DTYPE_TF32, (double)right(s, l, j)), acc);
    return acc;
}

static float tf32_cut(const struct sides *s, int64_t i, int64_t j)
{
    float acc[2] = {0};
    for (int64_t l = 0; l < s->k; l++)
        acc[l % 2] += low_bits_off(left(s, i, l), 13) * low_bits_off(right(s, l, j), 13);
    return acc[0] + acc[1];
}

static float bf16_inputs(const struct sides *s, int64_t i, int64_t j)
{
    float acc = 0;
    for (int64_t l = 0; l < s->k; l++)
        acc += nearest(DTYPE_BF16, (double)left(s, i, l)) *
               nearest(DTYPE_BF16, (double)right(s, l, j));
    return acc;
}

/* One operand only loses bits; no candidate does that. */
static float a_tf32(const struct sides *s, int64_t i, int64_t j)
{
    float acc = 0;
    for (int64_t l = s->k - 1; l >= 0; l--)
        acc = fmaf(low_bits_off(left(s, i, l), 13), right(s, l, j), acc);
    return acc;
}

static float b_eight_bits(const struct sides *s, int64_t i, int64_t j)
{
    float acc[2] = {0};
    for (int64_t l = 0; l < s->k; l++)
        acc[l % 2] += left(s, i, l) * low_bits_off(right(s, l, j), 15);
    return acc[0] + acc[1];
}

static float both_alike(const struct sides *s, int64_t i, int64_t j)
{
    float acc[3] = {0};
    for (int64_t l = 0; l < s->k; l++)
        acc[l % 3] += low_bits_off(left(s, i, l), 7) * nearest(DTYPE_BF16, (double)right(s, l, j));
    return acc[0] + (acc[1] + acc[2]);
}

/* A factor of the call that was stored in f16. */
static float alpha_f16(const struct sides *s, int64_t i, int64_t j)
{
    return nearest(DTYPE_F16, 0.3) * chain(s, i, j);
}

static float alpha_f32(const struct sides *s, int64_t i, int64_t j)
{
    return 0.3f * chain(s, i, j);
}

static float stored_bf16(const struct sides *s, int64_t i, int64_t j)
{
    return nearest(DTYPE_BF16, (double)chain(s, i, j));
}

static float accumulate(const struct sides *s, int64_t i, int64_t j, enum dtype d)
{
    double acc = 0;
    for (int64_t l = 0; l < s->k; l++)
        acc = (double)nearest(d, acc + (double)left(s, i, l) * (double)right(s, l, j));
    return (float)acc;
}

static float f16_accumulator(const struct sides *s, int64_t i, int64_t j)
{
    return accumulate(s, i, j, DTYPE_F16);
}

static float bf16_accumulator(const struct sides *s, int64_t i, int64_t j)
{
    return accumulate(s, i, j, DTYPE_BF16);
}

static float bf16_partials(const struct sides *s, int64_t i, int64_t j)
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
static float f16_now_and_then(const struct sides *s, int64_t i, int64_t j)
{
    double acc = 0;
    for (int64_t l = 0; l < s->k; l++) {
        acc += (double)left(s, i, l) * (double)right(s, l, j);
        acc = l % 24 == 23 ? (double)nearest(DTYPE_F16, acc) : acc;
    }
    return nearest(DTYPE_F16, acc);
}

static float bf16_of_seven(const struct sides *s, int64_t i, int64_t j)
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

static float flush_result(const struct sides *s, int64_t i, int64_t j)
{
    float x = chain(s, i, j);
    double smallest = dtype_min_normal(s->a.dtype);
    return fabs((double)x) < smallest ? 0 : x;
}

static float flush_inputs(const struct sides *s, int64_t i, int64_t j)
{
    float acc = 0;
    double smallest = dtype_min_normal(s->c.input[0].dtype);
    for (int64_t l = 0; l < s->k; l++) {
        float a = left(s, i, l), b = right(s, l, j);
        acc = fmaf(fabs((double)a) < smallest ? 0 : a, fabs((double)b) < smallest ? 0 : b, acc);
    }
    return acc;
}

static float truncating(const struct sides *s, int64_t i, int64_t j)
{
    float acc = 0;
    for (int64_t l = 0; l < s->k; l++) {
        double t = (double)acc + (double)left(s, i, l) * (double)right(s, l, j);
        float f = (float)t;
        acc = fabs((double)f) > fabs(t) ? nextafterf(f, 0) : f;
    }
    return acc;
}

static float scaled(const struct sides *s, int64_t i, int64_t j)
{
    return chain(s, i, j) * (1 + 1.0f / 64);
}

static float barely_scaled(const struct sides *s, int64_t i, int64_t j)
{
    return chain(s, i, j) * (1 + 1.0f / 1024);
}

static float doubled(const struct sides *s, int64_t i, int64_t j)
{
    return chain(s, i, j) * 2;
}

static float row_scaled(const struct sides *s, int64_t i, int64_t j)
{
    return ldexpf(chain(s, i, j), (int)(i % 5) - 2);
}

static float column_scaled(const struct sides *s, int64_t i, int64_t j)
{
    return chain(s, i, j) * (1 + (float)(j % 3));
}

static float transposed(const struct sides *s, int64_t i, int64_t j)
{
    return chain(s, j, i);
}

static float next_row(const struct sides *s, int64_t i, int64_t j)
{
    return chain(s, (i + 1) % s->m, j);
}

static float b_transposed(const struct sides *s, int64_t i, int64_t j)
{
    float acc = 0;
    for (int64_t l = 0; l < s->k; l++)
        acc = fmaf(left(s, i, l), right(s, j, l), acc);
    return acc;
}

static float tile_wrong(const struct sides *s, int64_t i, int64_t j)
{
    bool hit = i >= 16 && i < 32 && j >= 16 && j < 32;
    return hit ? chain(s, i, j) + (float)((i * 31 + j * 17) % 13) - 6.5f : chain(s, i, j);
}

static float column_wrong(const struct sides *s, int64_t i, int64_t j)
{
    return j % 8 == 5 ? -chain(s, i, j) * 0.7f + 3 : chain(s, i, j);
}

static float last_row_wrong(const struct sides *s, int64_t i, int64_t j)
{
    return i == s->m - 1 ? chain(s, i - 1, j) : chain(s, i, j);
}

static float sparse_wrong(const struct sides *s, int64_t i, int64_t j)
{
    return (i * 7919 + j * 104729) % 97 == 0 ? chain(s, i, j) * 3 + 1 : chain(s, i, j);
}

static float first_tile_again(const struct sides *s, int64_t i, int64_t j)
{
    return chain(s, i % 16, j % 16);
}

static float k_tail_lost(const struct sides *s, int64_t i, int64_t j)
{
    float acc = 0;
    for (int64_t l = 0; l < s->k - s->k % 16; l++)
        acc += left(s, i, l) * right(s, l, j);
    return acc;
}

static float zeros(const struct sides *s, int64_t i, int64_t j)
{
    (void)s, (void)i, (void)j;
    return 0;
}

static float rows_from_4096(const struct sides *s, int64_t i, int64_t j)
{
    return i >= 4096 ? chain(s, i - 4096, j) : chain(s, i, j);
}

static float elements_from_8192(const struct sides *s, int64_t i, int64_t j)
{
    return i * s->n + j >= 8192 ? (float)(i % 7) : chain(s, i, j);
}

static float nan_poison(const struct sides *s, int64_t i, int64_t j)
{
    uint32_t bits = 0x7fe5a5a5;
    float x;
    memcpy(&x, &bits, sizeof x);
    return (i + j) % 11 == 0 ? x : chain(s, i, j);
}

static float nan_scattered(const struct sides *s, int64_t i, int64_t j)
{
    return (i * 5 + j * 3) % 23 == 0 ? NAN : chain(s, i, j);
}

static float nan_for_inf(const struct sides *s, int64_t i, int64_t j)
{
    float x = chain(s, i, j);
    return isinf(x) ? NAN : x;
}

static float nan_lost(const struct sides *s, int64_t i, int64_t j)
{
    float x = chain(s, i, j);
    return isnan(x) ? 0 : x;
}

static float inf_saturated(const struct sides *s, int64_t i, int64_t j)
{
    float x = chain(s, i, j);
    return isinf(x) ? copysignf(0x1.fffffep127f, x) : x;
}

static float minus_zero(const struct sides *s, int64_t i, int64_t j)
{
    float x = chain(s, i, j);
    return x == 0 ? -0.0f : x;
}

#endif
