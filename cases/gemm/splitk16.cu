/* SPDX-License-Identifier: Apache-2.0 */
#include "gemm.cuh"

/* K split over BLOCK_Z as in splitk.cu, but each partial sum is rounded to the output's 16-bit
 * format and stored, range after range; a second kernel adds them up in f32, in order. Cheaper in
 * memory and visibly less exact: where partial sums cancel, their rounding remains.
 *
 *   splitk16_<format>         part[range * (batches m n) + batch * (m n) + i * n + j]
 *   splitk16_finish_<format>  c = alpha sum over ranges + beta c, block of 256 elements */

template <class F>
DEVICE void partial(const typename F::stored *a, const typename F::stored *b,
                    typename F::result *part, i32 m, i32 n, i32 k, i64 a_row, i64 a_col,
                    i64 b_row, i64 b_col, i32 range, i32 chunk)
{
    i32 i = BLOCK_Y * 16 + THREAD_Y;
    i32 j = BLOCK_X * 16 + THREAD_X;
    i32 first = range * chunk;
    i32 last = k - first < chunk ? k : first + chunk;
    if (i >= m || j >= n)
        return;
    typename F::wide acc = chain<F>(a + i * a_row + first * a_col,
                                    b + j * b_col + first * b_row, last - first, a_col, b_row);
    part[(i64)i * n + j] = F::narrow(acc);
}

template <class F>
DEVICE void finish(const typename F::result *part, typename F::result *c, i64 count, i32 split,
                   f32 alpha, f32 beta)
{
    i64 at = (i64)BLOCK_X * 256 + THREAD_X;
    if (at >= count)
        return;
    f32 sum = 0;
    for (i32 range = 0; range < split; range++)
        sum += F::unwiden(part[range * count + at]);
    scaled_store<F>(c, at, sum, alpha, beta);
}

#define ENTRY(format)                                                                          \
    KERNEL(256)                                                                                \
    splitk16_##format(const format_##format::stored *a, const format_##format::stored *b,      \
                      format_##format::result *part, i32 m, i32 n, i32 k, i64 a_row,           \
                      i64 a_col, i64 a_batch, i64 b_row, i64 b_col, i64 b_batch, i32 split,    \
                      i32 chunk, i32 batches)                                                  \
    {                                                                                          \
        i32 batch = BLOCK_Z / split, range = BLOCK_Z % split;                                  \
        partial<format_##format>(a + batch * a_batch, b + batch * b_batch,                     \
                                 part + ((i64)range * batches + batch) * ((i64)m * n), m, n,   \
                                 k, a_row, a_col, b_row, b_col, range, chunk);                 \
    }                                                                                          \
    KERNEL(256)                                                                                \
    splitk16_finish_##format(const format_##format::result *part, format_##format::result *c,  \
                             i64 count, i32 split, f32 alpha, f32 beta)                        \
    {                                                                                          \
        finish<format_##format>(part, c, count, split, alpha, beta);                           \
    }

ENTRY(f16)
ENTRY(bf16)
