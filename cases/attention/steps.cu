/* SPDX-License-Identifier: Apache-2.0 */
#include "attention.cuh"

/* Attention in three launches, scores, softmax and values, with scores and weights in memory (f32).
 * Layouts, scores and visible keys as in attention.cuh. */

template <class F>
DEVICE void scores(const typename F::stored *q, const typename F::stored *k, const f32 *slopes,
                   f32 *t, const shape &s)
{
    i32 i = BLOCK_Y * 16 + THREAD_Y, j = BLOCK_X * 16 + THREAD_X;
    if (i >= s.queries || j >= s.keys)
        return;
    t += ((i64)BLOCK_Z * s.queries + i) * s.keys + j;
    if (j < first_key(s, i) || j >= last_key(s, i)) {
        *t = minus_infinity();
        return;
    }
    q += ((i64)BLOCK_Z * s.queries + i) * s.d;
    k += ((i64)kv_plane(s.heads, s.kv_heads) * s.keys + j) * s.d;
    f32 dot = 0;
    for (i32 l = 0; l < s.d; l++)
        dot += F::widen(q[l]) * F::widen(k[l]);
    *t = score(s, slopes, dot, i, j);
}

/* One thread a row. */
KERNEL(64) softmax(const f32 *t, f32 *p, f32 *lse, SHAPE_ARGUMENTS)
{
    shape s = SHAPE;
    i32 i = BLOCK_X * 64 + THREAD_X;
    if (i >= queries)
        return;
    i64 row = (i64)BLOCK_Z * queries + i;
    t += row * keys;
    p += row * keys;
    i32 from = first_key(s, i), to = last_key(s, i);
    f32 most = minus_infinity(), sum = 0;
    for (i32 j = from; j < to; j++)
        most = t[j] > most ? t[j] : most;
    for (i32 j = from; j < to; j++)
        sum += expf(t[j] - most);
    for (i32 j = 0; j < keys; j++)
        p[j] = j >= from && j < to ? expf(t[j] - most) / sum : 0.0f;
    lse[row] = from < to ? most + logf(sum) : minus_infinity();
}

template <class F>
DEVICE void values(const f32 *p, const typename F::stored *v, typename F::result *o,
                   const shape &s)
{
    i32 i = BLOCK_Y * 16 + THREAD_Y, c = BLOCK_X * 16 + THREAD_X;
    if (i >= s.queries || c >= s.d)
        return;
    i64 row = (i64)BLOCK_Z * s.queries + i;
    p += row * s.keys;
    v += (i64)kv_plane(s.heads, s.kv_heads) * s.keys * s.d + c;
    f32 acc = 0;
    i32 to = last_key(s, i);
    for (i32 j = first_key(s, i); j < to; j++)
        acc += p[j] * F::widen(v[(i64)j * s.d]);
    o[row * s.d + c] = F::narrow(acc);
}

#define STEPS(format)                                                                          \
    KERNEL(256)                                                                                \
    scores_##format(const format_##format::stored *q, const format_##format::stored *k,        \
                    const f32 *slopes, f32 *t, SHAPE_ARGUMENTS)                                \
    {                                                                                          \
        shape s = SHAPE;                                                                       \
        scores<format_##format>(q, k, slopes, t, s);                                           \
    }                                                                                          \
    KERNEL(256)                                                                                \
    values_##format(const f32 *p, const format_##format::stored *v,                            \
                    format_##format::result *o, SHAPE_ARGUMENTS)                               \
    {                                                                                          \
        shape s = SHAPE;                                                                       \
        values<format_##format>(p, v, o, s);                                                   \
    }

STEPS(f32)
STEPS(f16)
STEPS(bf16)
