/* SPDX-License-Identifier: Apache-2.0 */
#include "device_matrix.h"
#include "gemm.cuh"

/* As naive.cu, on the matrix units: one warp a 16 x 16 tile of C, k ascending in steps of
 * the unit's depth; elements beyond an edge are zeros. How a step adds its products is the
 * hardware's: vendors differ, and none rounds as a chain of fused multiply-adds does.
 *
 * mma_<format>      f32 sums (i8: i32)
 * mma_f16_f16       f16 sums
 * Where there is no such unit (tf32 on AMD), each element is an f32 chain instead. */

template <class F, class M>
DEVICE void tile_units(const typename F::stored *a, const typename F::stored *b,
                       typename M::sum *acc, i32 row, i32 column, i32 m, i32 n, i32 k,
                       i64 a_row, i64 a_col, i64 b_row, i64 b_col)
{
    for (i32 first = 0; first < k; first += M::K) {
        typename F::stored x[M::A], y[M::B];
#pragma unroll
        for (i32 e = 0; e < M::A; e++) {
            i32 i = row + M::a_row(e), l = first + M::a_k(e);
            x[e] = i < m && l < k ? a[i * a_row + l * a_col] : (typename F::stored)0;
        }
#pragma unroll
        for (i32 e = 0; e < M::B; e++) {
            i32 j = column + M::b_column(e), l = first + M::b_k(e);
            y[e] = j < n && l < k ? b[l * b_row + j * b_col] : (typename F::stored)0;
        }
        M::step(acc, x, y);
    }
}

/* An f16 sum is widened for the epilogue; the others are wide already. */
DEVICE f32 sum_widen(u16 x)
{
    return f16_widen(x);
}

DEVICE f32 sum_widen(f32 x)
{
    return x;
}

DEVICE i32 sum_widen(i32 x)
{
    return x;
}

template <class F, class M>
DEVICE void gemm(const typename F::stored *a, const typename F::stored *b,
                 typename F::result *c, i32 m, i32 n, i32 k, i64 a_row, i64 a_col, i64 b_row,
                 i64 b_col, f32 alpha, f32 beta)
{
    i32 row = BLOCK_Y * 16, column = BLOCK_X * 16;
    typename M::sum acc[8] = {};
    if (M::PRESENT)
        tile_units<F, M>(a, b, acc, row, column, m, n, k, a_row, a_col, b_row, b_col);
#pragma unroll
    for (i32 e = 0; e < 8; e++) {
        i32 i = row + matrix_c_row(e), j = column + matrix_c_column(e);
        if (i >= m || j >= n)
            continue;
        typename F::wide sum = sum_widen(acc[e]);
        if (!M::PRESENT)
            sum = chain<F>(a + i * a_row, b + j * b_col, k, a_col, b_row);
        scaled_store<F>(c, (i64)i * n + j, sum, alpha, beta);
    }
}

#define ENTRY(name, format)                                                                    \
    KERNEL(32) mma_##name(GEMM_ARGUMENTS(format))                                              \
    {                                                                                          \
        gemm<format_##format, matrix_##name>(GEMM_OF_BATCH);                                   \
    }

ENTRY(f16, f16)
ENTRY(f16_f16, f16)
ENTRY(bf16, bf16)
ENTRY(tf32, tf32)
ENTRY(i8, i8)
