/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"
#include "device_fault.h"

/* Fused steps in f32; fused.h has the formulas. 256 threads a block.
 *
 *   moments  m, v and u, one thread an element
 *   squares  lamb: part[2 b] and part[2 b + 1], the sums of p^2 and u^2 over 1024 elements;
 *            each thread every 256th, then a tree
 *   norms    lamb: one block: the roots of the sums of part; each thread every 256th, then a
 * tree apply    p -= lr r u */

enum fault { NONE, BIAS, DECAY, INSIDE, MOMENT, FLUSH, RATIO, TAIL };

template <fault K> DEVICE f32 kept(f32 x)
{
    return acts<K>(FLUSH) && (f32_bits(x) & 0x7f800000u) == 0 ? 0.0f : x;
}

template <fault K>
DEVICE void moments(const f32 *p, const f32 *g, f32 *m, f32 *v, f32 *u, i32 n, f32 b1, f32 a1,
                    f32 b2, f32 a2, f32 c1, f32 c2, f32 eps, f32 wd)
{
    i32 i = BLOCK_X * 256 + THREAD_X;
    if (i >= n)
        return;
    f32 x = b1 * kept<K>(m[i]) + a1 * g[i];
    f32 y = b2 * kept<K>(v[i]) + a2 * (g[i] * g[i]);
    if (acts<K>(MOMENT))
        x = bf16_widen(bf16_round(x));
    x = kept<K>(x);
    y = kept<K>(y);
    m[i] = x;
    v[i] = y;
    f32 mean = acts<K>(BIAS) ? x : x / c1, square = acts<K>(BIAS) ? y : y / c2;
    f32 away = acts<K>(INSIDE) ? sqrtf(square + eps) : sqrtf(square) + eps;
    f32 step = mean / away;
    u[i] = acts<K>(DECAY) ? step : step + wd * p[i];
}

DEVICE f32 tree_sum(f32 *part, f32 value)
{
    part[THREAD_X] = value;
    SYNC();
    for (i32 half = 128; half > 0; half /= 2) {
        if (THREAD_X < half)
            part[THREAD_X] += part[THREAD_X + half];
        SYNC();
    }
    f32 sum = part[0];
    SYNC();
    return sum;
}

DEVICE void squares(const f32 *p, const f32 *u, f32 *out, i32 n, f32 *part)
{
    i32 first = BLOCK_X * 1024, last = n - first < 1024 ? n : first + 1024;
    f32 x = 0, y = 0;
    for (i32 i = first + THREAD_X; i < last; i += 256) {
        x += p[i] * p[i];
        y += u[i] * u[i];
    }
    x = tree_sum(part, x);
    y = tree_sum(part, y);
    if (THREAD_X == 0) {
        out[2 * BLOCK_X] = x;
        out[2 * BLOCK_X + 1] = y;
    }
}

template <fault K> DEVICE void norms(const f32 *in, f32 *out, i32 blocks, f32 *part)
{
    f32 x = 0, y = 0;
    i32 last = acts<K>(TAIL) ? blocks - 1 : blocks;
    for (i32 i = THREAD_X; i < last; i += 256) {
        x += in[2 * i];
        y += in[2 * i + 1];
    }
    x = tree_sum(part, x);
    y = tree_sum(part, y);
    if (THREAD_X == 0) {
        out[0] = sqrtf(x);
        out[1] = sqrtf(y);
    }
}

template <fault K>
DEVICE void apply(f32 *p, const f32 *u, const f32 *norm, i32 n, f32 lr, i32 lamb)
{
    i32 i = BLOCK_X * 256 + THREAD_X;
    if (i >= n)
        return;
    f32 rate = lr;
    if (lamb && !acts<K>(RATIO) && norm[0] > 0.0f && norm[1] > 0.0f)
        rate = lr * (norm[0] / norm[1]);
    p[i] = p[i] - rate * u[i];
}

#define ENTRIES(name, fault)                                                                   \
    KERNEL(256)                                                                                \
    name##_moments(const f32 *p, const f32 *g, f32 *m, f32 *v, f32 *u, i32 n, f32 b1, f32 a1,  \
                   f32 b2, f32 a2, f32 c1, f32 c2, f32 eps, f32 wd)                            \
    {                                                                                          \
        moments<fault>(p, g, m, v, u, n, b1, a1, b2, a2, c1, c2, eps, wd);                     \
    }                                                                                          \
    KERNEL(256) name##_squares(const f32 *p, const f32 *u, f32 *out, i32 n)                    \
    {                                                                                          \
        SHARED f32 part[256];                                                                  \
        squares(p, u, out, n, part);                                                           \
    }                                                                                          \
    KERNEL(256) name##_norms(const f32 *in, f32 *out, i32 blocks)                              \
    {                                                                                          \
        SHARED f32 part[256];                                                                  \
        norms<fault>(in, out, blocks, part);                                                   \
    }                                                                                          \
    KERNEL(256) name##_apply(f32 *p, const f32 *u, const f32 *norm, i32 n, f32 lr, i32 lamb)   \
    {                                                                                          \
        apply<fault>(p, u, norm, n, lr, lamb);                                                 \
    }

ENTRIES(adam, NONE)
ENTRIES(lamb, NONE)
ENTRIES(fault_bias, BIAS)
ENTRIES(fault_decay, DECAY)
ENTRIES(fault_inside, INSIDE)
ENTRIES(fault_moment, MOMENT)
ENTRIES(fault_flush, FLUSH)
ENTRIES(fault_ratio, RATIO)
ENTRIES(fault_tail, TAIL)
