/* SPDX-License-Identifier: Apache-2.0 */
#include "gemm.cuh"

/* K split over BLOCK_Z (ranges of `chunk`, the batch above them): each block sums its range of k in
 * ascending order and adds the partial sum to `sum` with an atomic. The order in which the
 * partial sums meet is not defined, so float results may differ from run to run. Vendors may
 * flush subnormals in the atomic, whatever the mode.
 *
 *   splitk_<format>  `sum` starts as zeros (f32: it is C itself if alpha = 1, beta = 0; i8: i32)
 *   splitk_finish_<format>  afterwards: c = alpha sum + beta c, block of 256 elements */

template <class F>
DEVICE void partial(const typename F::stored *a, const typename F::stored *b,
                    typename F::wide *sum, i32 m, i32 n, i32 k, i64 a_row, i64 a_col, i64 b_row,
                    i64 b_col, i32 range, i32 chunk)
{
    i32 i = BLOCK_Y * 16 + THREAD_Y;
    i32 j = BLOCK_X * 16 + THREAD_X;
    i32 first = range * chunk;
    i32 last = k - first < chunk ? k : first + chunk;
    if (i >= m || j >= n || first >= last)
        return;
    typename F::wide acc = chain<F>(a + i * a_row + first * a_col,
                                    b + j * b_col + first * b_row, last - first, a_col, b_row);
    ATOMIC_ADD(&sum[(i64)i * n + j], acc);
}

template <class F>
DEVICE void finish(const f32 *sum, typename F::result *c, i64 count, f32 alpha, f32 beta)
{
    i64 at = (i64)BLOCK_X * 256 + THREAD_X;
    if (at < count)
        scaled_store<F>(c, at, sum[at], alpha, beta);
}

#define ENTRY(format)                                                                          \
    KERNEL(256)                                                                                \
    splitk_##format(const format_##format::stored *a, const format_##format::stored *b,        \
                    format_##format::wide *sum, i32 m, i32 n, i32 k, i64 a_row, i64 a_col,     \
                    i64 a_batch, i64 b_row, i64 b_col, i64 b_batch, i32 split, i32 chunk)      \
    {                                                                                          \
        i32 batch = BLOCK_Z / split;                                                           \
        partial<format_##format>(a + batch * a_batch, b + batch * b_batch,                     \
                                 sum + batch * ((i64)m * n), m, n, k, a_row, a_col, b_row,     \
                                 b_col, BLOCK_Z % split, chunk);                               \
    }

#define ENTRY_FINISH(format)                                                                   \
    KERNEL(256)                                                                                \
    splitk_finish_##format(const f32 *sum, format_##format::result *c, i64 count, f32 alpha,   \
                           f32 beta)                                                           \
    {                                                                                          \
        finish<format_##format>(sum, c, count, alpha, beta);                                   \
    }

ENTRY(f32)
ENTRY(f16)
ENTRY(bf16)
ENTRY(i8)
ENTRY_FINISH(f32)
ENTRY_FINISH(f16)
ENTRY_FINISH(bf16)
