/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

/* C = alpha op(A) op(B) + beta C, one thread an output element, k ascending from zero. The step is
 * written acc + a * b: whether it is one rounding or two is the mode's.
 *
 * Element (i, l) of op(A) lies at a[i * a_row + l * a_col], (l, j) of op(B) at
 * b[l * b_row + j * b_col]: a transpose is a swap of strides. C is row-major. beta == 0 does not
 * read C. Block 16 x 16, x along n. */

template <class F>
DEVICE void c_store(typename F::result *c, i64 at, typename F::wide acc, f32 alpha, f32 beta)
{
    typename F::wide value = (typename F::wide)(alpha * acc);
    if (beta != 0.0f)
        value = (typename F::wide)(beta * F::unwiden(c[at]) + value);
    c[at] = F::narrow(value);
}

template <>
DEVICE void c_store<format_i8>(i32 *c, i64 at, i32 acc, f32, f32)
{
    c[at] = acc;
}

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
    c_store<F>(c, (i64)i * n + j, acc, alpha, beta);
}

#define ENTRY(format)                                                                          \
    KERNEL(256)                                                                                \
    naive_##format(const format_##format::stored *a, const format_##format::stored *b,         \
                   format_##format::result *c, i32 m, i32 n, i32 k, i64 a_row, i64 a_col,      \
                   i64 b_row, i64 b_col, f32 alpha, f32 beta)                                  \
    {                                                                                          \
        gemm<format_##format>(a, b, c, m, n, k, a_row, a_col, b_row, b_col, alpha, beta);      \
    }

ENTRY(f32)
ENTRY(f16)
ENTRY(bf16)
ENTRY(i8)
