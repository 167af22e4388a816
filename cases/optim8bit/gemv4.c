/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* 4-bit GEMV and, row by row of a, GEMM. */

enum { A, CODE, ABSMAX, BOOK, Y };

static int64_t rows_of(const struct case_id *id)
{
    return trait_of(id)->group == GROUP_GEMM4 ? id->value[P_M].i : 1;
}

enum err gemv4_plan(const struct case_id *id, struct case_plan *p, struct errinfo *e)
{
    char entry[64];
    enum dtype d = dtype_of(id);
    int64_t n = id->value[P_N].i, k = id->value[P_K].i, block = id->value[P_BLOCK].i;
    int64_t codes = n * k / 2, scales = (n * k + block - 1) / block, entries = 16;
    int64_t m = rows_of(id);
    const int64_t shape[] = {n, k / 2}, in[] = {m, k}, out[] = {m, n};
    const int vector = trait_of(id)->group == GROUP_GEMV4;
    enum book_kind kind = book_of(id);
    if (kind != BOOK_NF4 && kind != BOOK_FP4)
        return err_set(e, ERR_USAGE, "optim8bit/%s takes book=nf4 or book=fp4",
                       id->variant->name);
    if (block & (block - 1))
        return err_set(e, ERR_USAGE, "block=%lld: blocks are powers of two from 32 to 4096",
                       (long long)block);
    if (m * n > 1 << 27 || m * k > 1 << 27)
        return err_set(e, ERR_USAGE, "m=%lld,n=%lld,k=%lld: m*n and m*k are at most 2^27",
                       (long long)m, (long long)n, (long long)k);
    if (k % 2 || codes > 1 << 26)
        return err_set(e, ERR_USAGE,
                       "n=%lld,k=%lld: k is even (two codes a byte), n*k at most 2^27",
                       (long long)n, (long long)k);
    plan_tensor(p, "a", TENSOR_IN, d, 2 - vector, in + vector, id->dist);
    plan_tensor(p, "code", TENSOR_IN, kind == BOOK_NF4 ? DTYPE_NF4X2 : DTYPE_FP4X2, 2, shape,
                DIST_UNIFORM);
    plan_tensor(p, "absmax", TENSOR_IN, DTYPE_F32, 1, &scales, DIST_POSITIVE);
    plan_tensor(p, "book", TENSOR_IN, DTYPE_F32, 1, &entries, DIST_ZERO);
    plan_tensor(p, "y", TENSOR_OUT, d, 2 - vector, out + vector, DIST_ZERO);
    snprintf(entry, sizeof entry, "%s_%s", id->variant->name, dtype_info(d)->name);
    struct case_launch *l = plan_launch(p, entry, n, 32);
    for (int i = A; i <= Y; i++)
        push_tensor(l, i);
    l->grid[1] = (uint32_t)m;
    push_i32(l, n);
    push_i32(l, k);
    push_i32(l, block);
    return ERR_OK;
}

bool gemv4_fill(const struct case_id *id, const struct case_plan *plan, int i,
                  struct case_span span, struct tensor *t)
{
    struct book b;
    (void)plan, (void)span;
    if (i != BOOK)
        return false;
    book_make(book_of(id), &b);
    memcpy(t->data, b.value, 16 * sizeof *b.value);
    return true;
}

static double in_format(enum dtype d, double x)
{
    return isfinite(x) ? dtype_value(d, dtype_round(d, x)) : x;
}

/* b is exact: T(book) and T(absmax) multiply without error in f32 for 16-bit formats, and with
 * one rounding for f32; the rounding to T is the definition's. Then, with u the format's unit
 * and v = 2^-24,
 *
 *   products   u |a b| + half a subnormal, each; in f32 either that or none (fused)
 *   sums       at most k/32 + 37 additions on the way of a term (32 a turn, in turns of 1024,
 *              then a tree of 5): (1 + v)^count - 1 of sum |a b| (1 + u)
 *   result     u |y| + half a subnormal
 *
 * A flushing mode loses up to 2^-126 in each of the k products and sums. */
static void judge_element(const struct case_id *id, const struct tensor *const *input,
                          int64_t i, const struct book *b, struct oracle *o)
{
    enum dtype d = dtype_of(id);
    int64_t k = id->value[P_K].i, block = id->value[P_BLOCK].i;
    int64_t row = i % id->value[P_N].i, from = i / id->value[P_N].i * k;
    double u = dtype_unit(d), tiny = dtype_min_subnormal(d) / 2, v = 0x1p-24;
    long double sum = 0, size = 0;
    double last = 0, special = 0;
    for (int64_t l = 0; l < k; l++) {
        int64_t at = row * k + l;
        int code = (int)(tensor_bits(input[CODE], at / 2) >> (at % 2 ? 0 : 4) & 15);
        double scale = in_format(d, tensor_value(input[ABSMAX], at / block));
        double x = in_format(d, in_format(d, (double)b->value[code]) * scale);
        last = tensor_value(input[A], from + l) * x;
        if (!isfinite(last))
            special += last;
        else {
            sum += (long double)last;
            size += fabsl((long double)last);
        }
    }
    double value = (double)sum, total = (double)size;
    double depth = 32 * ceil((double)k / 1024) + 6;
    double flush = id->mode.flush ? 2 * (double)k * (double)FLT_MIN : 0;
    judge_exact(o, i, special != 0 || isnan(special) ? special : value, last);
    o->scale[i] = total;
    if (isnan(special) || special != 0)
        return;
    o->tail[i] = (double)(sum - (long double)value);
    o->error[i] = (double)k * 0x1p-62 * total;
    double inner = u * total + (double)k * tiny + depth * v * (1 + depth * v) * total * (1 + u);
    o->bound[i] =
        (inner + u * (fabs(value) + inner) + tiny + flush) * (1 + 0x1p-20) + o->error[i];
    if (total > dtype_max(d) / 2)
        o->bound[i] = INFINITY;
}

enum err gemv4_oracle(const struct case_id *id, const struct case_plan *plan,
                      const struct tensor *const *input, int which,
                      struct case_span span, struct oracle *o, struct errinfo *e)
{
    struct book b;
    (void)plan, (void)which, (void)e;
    book_make(book_of(id), &b);
    for (int64_t i = span.from; i < span.to; i++)
        judge_element(id, input, i, &b, o);
    return ERR_OK;
}

/* --- other ways ------------------------------------------------------------------------------
 */

static uint64_t way_row(const struct case_id *id, const struct tensor *const *input,
                        const struct book *b, enum way way, int64_t at_y)
{
    enum dtype d = dtype_of(id);
    int64_t k = id->value[P_K].i, block = id->value[P_BLOCK].i;
    int64_t row = at_y % id->value[P_N].i, from = at_y / id->value[P_N].i * k;
    float lane[32] = {0};
    for (int64_t l = 0; l < k; l++) {
        int64_t at = row * k + l;
        int code = (int)(tensor_bits(input[CODE], at / 2) >> (at % 2 ? 0 : 4) & 15);
        volatile float x = (float)in_format(d, (double)b->value[code]) *
                           (float)in_format(d, tensor_value(input[ABSMAX], at / block));
        float a = (float)tensor_value(input[A], from + l), *sum = &lane[l / 32 % 32];
        x = (float)in_format(d, (double)x);
        volatile float p = a * x;
        if (way != WAY_WIDE)
            p = (float)in_format(d, (double)p);
        bool fused = d == DTYPE_F32 && way == WAY_LANES_FUSED;
        *sum = fused ? fmaf(a, x, *sum) : *sum + p;
    }
    for (int half = 16; half > (way == WAY_LOST ? 1 : 0); half /= 2)
        for (int i = 0; i < half; i++)
            lane[i] += lane[i + half];
    return dtype_round(d, (double)lane[0]);
}

bool gemv4_model(const struct case_id *id, const struct tensor *const *input, enum way way,
                 int64_t n, const int64_t *index, uint64_t *ret_bits)
{
    struct book b;
    book_make(book_of(id), &b);
    if ((dtype_of(id) == DTYPE_F32) ? way == WAY_WIDE : way == WAY_LANES_FUSED)
        return false;
    for (int64_t i = 0; i < n; i++)
        ret_bits[i] = way_row(id, input, &b, way, index[i]);
    return true;
}
