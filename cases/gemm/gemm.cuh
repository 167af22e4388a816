/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_GEMM_GEMM_CUH
#define GPUPARITY_CASES_GEMM_GEMM_CUH

#include "device.h"

/* C = alpha op(A) op(B) + beta C.
 *
 * Element (i, l) of op(A) of matrix z of the batch lies at a[z * a_batch + i * a_row + l * a_col],
 * (l, j) of op(B) at b[z * b_batch + l * b_row + j * b_col]: a transpose is a swap of strides. C is
 * row-major without gaps. beta == 0 does not read C. Grid z = batch. */

#define GEMM_ARGUMENTS(format)                                                                 \
    const format_##format::stored *a, const format_##format::stored *b,                        \
        format_##format::result *c, i32 m, i32 n, i32 k, i64 a_row, i64 a_col, i64 a_batch,    \
        i64 b_row, i64 b_col, i64 b_batch, f32 alpha, f32 beta

/* The same for the block's matrix of the batch. */
#define GEMM_OF_BATCH                                                                          \
    a + BLOCK_Z * a_batch, b + BLOCK_Z * b_batch, c + BLOCK_Z * ((i64)m * n), m, n, k, a_row,  \
        a_col, b_row, b_col, alpha, beta

/* The sum over `count` ascending k. The step is written acc + a * b: whether it is one rounding or
 * two is the mode's. */
template <class F>
DEVICE typename F::wide chain(const typename F::stored *a, const typename F::stored *b,
                              i32 count, i64 a_col, i64 b_row)
{
    typename F::wide acc = 0;
    for (i32 l = 0; l < count; l++) {
        acc += F::widen(*a) * F::widen(*b);
        a += a_col;
        b += b_row;
    }
    return acc;
}

/* c[at] = alpha acc + beta c[at]; c is not read when beta is 0. Integers take acc as it is. */
template <class F>
DEVICE void scaled_store(typename F::result *c, i64 at, typename F::wide acc, f32 alpha,
                         f32 beta)
{
    f32 value = alpha * acc;
    if (beta != 0.0f)
        value = beta * F::unwiden(c[at]) + value;
    c[at] = F::narrow(value);
}

template <> DEVICE void scaled_store<format_i8>(i32 *c, i64 at, i32 acc, f32, f32)
{
    c[at] = acc;
}

#endif
