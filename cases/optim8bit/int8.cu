/* SPDX-License-Identifier: Apache-2.0 */
#include "optim8bit.cuh"

/* LLM.int8, in four kernels:
 *
 *   rows     stat = max |x| of a row, q = nearest integer of x * (127 / stat), ties to even;
 *            with a threshold, elements of at least that size count as zero. NaN gives 0
 *   product  acc = q_a q_w^T in i32, exact
 *   finish   f16(fma(float(acc) * stat_a * stat_w, 6.200012e-05, bias))
 *
 * fault_wrapped holds a fault that acts on HIP only: sums kept in 16 bits. */

enum { THREADS = 256 };

#if DEVICE_IS_HIP
DEVICE i32 nearest(f32 x)
{
    return (i32)__builtin_rintf(x);
}
#else
DEVICE i32 nearest(f32 x)
{
    return __float2int_rn(x);
}
#endif

KERNEL(THREADS) int8_rows(const u16 *x, i8 *q, f32 *stat, i32 columns, f32 threshold)
{
    SHARED f32 part[THREADS];
    x += (i64)BLOCK_X * columns;
    q += (i64)BLOCK_X * columns;
    f32 most = 0;
    for (i32 i = THREAD_X; i < columns; i += THREADS) {
        f32 v = f16_widen(x[i]);
        v = v < 0 ? -v : v;
        if (v > most && !(threshold > 0 && v >= threshold))
            most = v;
    }
    part[THREAD_X] = most;
    most = block_largest(part, THREADS);
    f32 scale = 127.0f / most;
    for (i32 i = THREAD_X; i < columns; i += THREADS) {
        f32 v = f16_widen(x[i]);
        bool out = threshold > 0 && (v < 0 ? -v : v) >= threshold;
        q[i] = (i8)(out ? 0 : nearest(v * scale));
    }
    if (THREAD_X == 0)
        stat[BLOCK_X] = most;
}

DEVICE void product(const i8 *a, const i8 *w, i32 *acc, i32 m, i32 n, i32 k, bool wraps)
{
    i32 i = BLOCK_Y * 16 + THREAD_Y, j = BLOCK_X * 16 + THREAD_X;
    if (i >= m || j >= n)
        return;
    i32 sum = 0;
    for (i32 l = 0; l < k; l++) {
        sum += (i32)a[(i64)i * k + l] * (i32)w[(i64)j * k + l];
        if (wraps)
            sum = (i16)sum;
    }
    acc[(i64)i * n + j] = sum;
}

KERNEL(THREADS) int8_product(const i8 *a, const i8 *w, i32 *acc, i32 m, i32 n, i32 k)
{
    product(a, w, acc, m, n, k, false);
}

KERNEL(THREADS) fault_wrapped_product(const i8 *a, const i8 *w, i32 *acc, i32 m, i32 n, i32 k)
{
    product(a, w, acc, m, n, k, DEVICE_IS_HIP);
}

KERNEL(THREADS)
int8_finish(const i32 *acc, const f32 *row, const f32 *column, const u16 *bias, u16 *y, i32 m,
            i32 n)
{
    i32 i = BLOCK_X * THREADS + THREAD_X;
    if (i >= m * n)
        return;
    f32 x = (f32)acc[i] * row[i / n] * column[i % n];
    y[i] = f16_round(fused(x, 6.200012e-05f, f16_widen(bias[i % n])));
}
