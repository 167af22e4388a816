/* SPDX-License-Identifier: Apache-2.0 */
#include "device_fault.h"
#include "gemm.cuh"

/* naive.cu with one planted fault each, which acts on HIP only: on CUDA every entry is right. For
 * tests of the instrument itself; the variants are hidden.
 *
 *   drop        the last element of k is left out
 *   tail        k is cut to a multiple of 16
 *   scale       the sum is multiplied by 1 + 2^-10
 *   zero        zeros are written
 *   downcast    operands lose the low 13 bits of f32 (i8: the lowest bit)
 *   accumulate  the sum is kept in bf16 (i8: in 16 bits)
 *   partials    k in 4 parts whose sums meet in C's format
 *   truncate    the result is rounded toward zero (f32: its last bit is cleared)
 *   flush       subnormal products and sums become zero
 *   operands    subnormal numbers of A and B, in their format, become zero
 *   transpose   B is read transposed
 *   alpha       alpha is left out
 *   stale       beta = 0 multiplies the old C instead of not reading it
 *   wrap        elements of C are counted in 16 bits
 *   rows        rows from 4096 on take no sum
 *   hang        an endless loop
 *   oob         the last thread also writes one element beyond C's end
 *   unwritten   C's last element is not written */

enum fault { DROP, TAIL, SCALE, ZERO, DOWNCAST, ACCUMULATE, PARTIALS, TRUNCATE, FLUSH, OPERANDS,
             TRANSPOSE, ALPHA, STALE, WRAP, ROWS, HANG, OOB, UNWRITTEN };

/* --- what the faults do to a number ---------------------------------------------------------- */

DEVICE f32 masked(f32 x, u32 mask)
{
    return f32_from_bits(f32_bits(x) & mask);
}

DEVICE f32 fewer_bits(f32 x)
{
    return masked(x, 0xffffe000u);
}

DEVICE i32 fewer_bits(i32 x)
{
    return x & ~1;
}

DEVICE f32 short_sum(f32 x)
{
    return bf16_widen(bf16_round(x));
}

DEVICE i32 short_sum(i32 x)
{
    return (i16)x;
}

DEVICE f32 without_subnormal(f32 x)
{
    return (f32_bits(x) & 0x7f800000u) == 0 ? 0.0f : x;
}

DEVICE i32 without_subnormal(i32 x)
{
    return x;
}

/* Drops what the format cannot hold, so that narrowing has nothing left to round. */
template <class F> struct toward_zero;

template <> struct toward_zero<format_f32> {
    static DEVICE f32 of(f32 x)
    {
        return masked(x, 0xfffffffeu);
    }
};
template <> struct toward_zero<format_f16> {
    static DEVICE f32 of(f32 x)
    {
        return masked(x, 0xffffe000u);
    }
};
template <> struct toward_zero<format_bf16> {
    static DEVICE f32 of(f32 x)
    {
        return masked(x, 0xffff0000u);
    }
};
template <> struct toward_zero<format_i8> {
    static DEVICE i32 of(i32 x)
    {
        return x;
    }
};

/* The smallest normal number of an operand's format. */
template <class F> DEVICE f32 smallest_normal()
{
    return 0x1p-126f;
}
template <> DEVICE f32 smallest_normal<format_f16>()
{
    return 0x1p-14f;
}

template <class F> DEVICE typename F::wide normal_or_zero(typename F::wide x)
{
    f32 least = smallest_normal<F>();
    return (f32)x < least && -(f32)x < least ? 0 : x;
}

template <class F> DEVICE typename F::wide stored(typename F::wide x)
{
    return F::unwiden(F::narrow(x));
}

/* --- the kernel ------------------------------------------------------------------------------ */

template <class F, fault K>
DEVICE typename F::wide sum(const typename F::stored *a, const typename F::stored *b, i32 i,
                            i32 j, i32 k, i64 a_row, i64 a_col, i64 b_row, i64 b_col)
{
    typename F::wide acc = 0, parts = 0;
    for (i32 l = 0; l < k; l++) {
        typename F::wide x = F::widen(a[i * a_row + l * a_col]);
        typename F::wide y = F::widen(b[l * b_row + j * b_col]);
        if (acts<K>(DOWNCAST)) {
            x = fewer_bits(x);
            y = fewer_bits(y);
        }
        if (acts<K>(OPERANDS)) {
            x = normal_or_zero<F>(x);
            y = normal_or_zero<F>(y);
        }
        if (acts<K>(FLUSH))
            acc = without_subnormal(acc + without_subnormal(x * y));
        else
            acc += x * y;
        if (acts<K>(ACCUMULATE))
            acc = short_sum(acc);
        if (acts<K>(PARTIALS) && (l + 1) % ((k + 3) / 4) == 0) {
            parts = stored<F>(parts + stored<F>(acc));
            acc = 0;
        }
    }
    acc += parts;
    if (acts<K>(SCALE))
        acc += acc / 1024;
    return acts<K>(TRUNCATE) ? toward_zero<F>::of(acc) : acc;
}

template <class F, fault K>
DEVICE void gemm(const typename F::stored *a, const typename F::stored *b,
                 typename F::result *c, i32 m, i32 n, i32 k, i64 a_row, i64 a_col, i64 b_row,
                 i64 b_col, f32 alpha, f32 beta)
{
    i32 i = BLOCK_Y * 16 + THREAD_Y;
    i32 j = BLOCK_X * 16 + THREAD_X;
    if (i >= m || j >= n)
        return;
    i64 at = (i64)i * n + j;
    bool last = at == (i64)m * n - 1;
    if (acts<K>(DROP))
        k--;
    if (acts<K>(TAIL))
        k -= k % 16;
    if (acts<K>(ROWS) && i >= 4096)
        k = 0;
    if (acts<K>(TRANSPOSE)) {
        i64 swap = b_row;
        b_row = b_col;
        b_col = swap;
    }
    if (acts<K>(HANG))
        while (true)
            (void)*(const volatile typename F::stored *)a;
    typename F::wide acc = sum<F, K>(a, b, i, j, k, a_row, a_col, b_row, b_col);
    if (acts<K>(OOB) && last)
        c[at + 1] = F::narrow(acc);
    if (acts<K>(UNWRITTEN) && last)
        return;
    if (acts<K>(ZERO))
        c[at] = 0;
    else if (acts<K>(STALE))
        c[at] = F::narrow((typename F::wide)(alpha * acc + beta * F::unwiden(c[at])));
    else
        scaled_store<F>(c, acts<K>(WRAP) ? (i64)(u16)at : at, acc,
                        acts<K>(ALPHA) ? 1.0f : alpha, beta);
}

#define ENTRY(name, kind, format)                                                              \
    KERNEL(256) fault_##name##_##format(GEMM_ARGUMENTS(format))                                \
    {                                                                                          \
        gemm<format_##format, kind>(GEMM_OF_BATCH);                                            \
    }

#define ENTRIES(name, kind)                                                                    \
    ENTRY(name, kind, f32)                                                                     \
    ENTRY(name, kind, f16)                                                                     \
    ENTRY(name, kind, bf16)                                                                    \
    ENTRY(name, kind, i8)

ENTRIES(drop, DROP)
ENTRIES(tail, TAIL)
ENTRIES(scale, SCALE)
ENTRIES(zero, ZERO)
ENTRIES(downcast, DOWNCAST)
ENTRIES(accumulate, ACCUMULATE)
ENTRIES(partials, PARTIALS)
ENTRIES(truncate, TRUNCATE)
ENTRIES(flush, FLUSH)
ENTRIES(operands, OPERANDS)
ENTRIES(transpose, TRANSPOSE)
ENTRIES(alpha, ALPHA)
ENTRIES(stale, STALE)
ENTRIES(wrap, WRAP)
ENTRIES(rows, ROWS)
ENTRIES(hang, HANG)
ENTRIES(oob, OOB)
ENTRIES(unwritten, UNWRITTEN)
