/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

/* C = alpha op(A) op(B) + beta C, one thread an output element, k ascending from zero. The step is
 * written acc + a * b: whether it is one rounding or two is the mode's.
 *
 * Element (i, l) of op(A) of matrix z of the batch lies at a[z * a_batch + i * a_row + l * a_col],
 * (l, j) of op(B) at b[z * b_batch + l * b_row + j * b_col]: a transpose is a swap of strides. C is
 * row-major without gaps. beta == 0 does not read C. Block 16 x 16, x along n; grid z = batch. */

template <class F>
DEVICE void gemm(const typename F::stored *a, const typename F::stored *b,
                 typename F::result *c, i32 m, i32 n, i32 k, i64 a_row, i64 a_col, i64 b_row,
                 i64 b_col, f32 alpha, f32 beta)
{
    i32 i = BLOCK_Y * 16 + THREAD_Y;
    i32 j = BLOCK_X * 16 + THREAD_X;
    if (i >= m || j >= n)
        return;
    a += i * a_row;
    b += j * b_col;
    typename F::wide acc = 0;
    for (i32 l = 0; l < k; l++) {
        acc += F::widen(*a) * F::widen(*b);
        a += a_col;
        b += b_row;
    }
    scaled_store<F>(c, (i64)i * n + j, acc, alpha, beta);
}

#define ENTRY(format)                                                                          \
    KERNEL(256)                                                                                \
    naive_##format(const format_##format::stored *a, const format_##format::stored *b,         \
                   format_##format::result *c, i32 m, i32 n, i32 k, i64 a_row, i64 a_col,      \
                   i64 a_batch, i64 b_row, i64 b_col, i64 b_batch, f32 alpha, f32 beta)        \
    {                                                                                          \
        gemm<format_##format>(a + BLOCK_Z * a_batch, b + BLOCK_Z * b_batch,                    \
                              c + BLOCK_Z * ((i64)m * n), m, n, k, a_row, a_col, b_row, b_col, \
                              alpha, beta);                                                    \
    }

ENTRY(f32)
ENTRY(f16)
ENTRY(bf16)
ENTRY(i8)
