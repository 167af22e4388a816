/* SPDX-License-Identifier: Apache-2.0 */
#include "gemm.cuh"

/* One thread an output element, k ascending from zero. Block 16 x 16, x along n. */

template <class F>
DEVICE void gemm(const typename F::stored *a, const typename F::stored *b,
                 typename F::result *c, i32 m, i32 n, i32 k, i64 a_row, i64 a_col, i64 b_row,
                 i64 b_col, f32 alpha, f32 beta)
{
    i32 i = BLOCK_Y * 16 + THREAD_Y;
    i32 j = BLOCK_X * 16 + THREAD_X;
    if (i >= m || j >= n)
        return;
    typename F::wide acc = chain<F>(a + i * a_row, b + j * b_col, k, a_col, b_row);
    scaled_store<F>(c, (i64)i * n + j, acc, alpha, beta);
}

#define ENTRY(format)                                                                          \
    KERNEL(256) naive_##format(GEMM_ARGUMENTS(format))                                         \
    {                                                                                          \
        gemm<format_##format>(GEMM_OF_BATCH);                                                  \
    }

ENTRY(f32)
ENTRY(f16)
ENTRY(bf16)
ENTRY(i8)
