/* SPDX-License-Identifier: Apache-2.0 */
#include "gemm.cuh"

/* As naive.cu, with tiles of 16 x 16 of both operands in shared memory. Elements beyond an edge
 * are zeros in the tiles; k still ascends, so with equal contraction the sum has the same order
 * as naive.cu's, followed by zeros. */

enum { TILE = 16 };

template <class F>
DEVICE void gemm(const typename F::stored *a, const typename F::stored *b,
                 typename F::result *c, i32 m, i32 n, i32 k, i64 a_row, i64 a_col, i64 b_row,
                 i64 b_col, f32 alpha, f32 beta, typename F::wide (*tile_a)[TILE + 1],
                 typename F::wide (*tile_b)[TILE + 1])
{
    i32 x = THREAD_X, y = THREAD_Y;
    i32 i = BLOCK_Y * TILE + y;
    i32 j = BLOCK_X * TILE + x;
    typename F::wide acc = 0;
    for (i32 first = 0; first < k; first += TILE) {
        bool in_a = i < m && first + x < k;
        bool in_b = j < n && first + y < k;
        tile_a[y][x] = in_a ? F::widen(a[i * a_row + (first + x) * a_col]) : 0;
        tile_b[y][x] = in_b ? F::widen(b[(first + y) * b_row + j * b_col]) : 0;
        SYNC();
        for (i32 l = 0; l < TILE; l++)
            acc += tile_a[y][l] * tile_b[l][x];
        SYNC();
    }
    if (i < m && j < n)
        scaled_store<F>(c, (i64)i * n + j, acc, alpha, beta);
}

#define ENTRY(format)                                                                          \
    KERNEL(256) tiled_##format(GEMM_ARGUMENTS(format))                                         \
    {                                                                                          \
        SHARED format_##format::wide tile_a[TILE][TILE + 1];                                   \
        SHARED format_##format::wide tile_b[TILE][TILE + 1];                                   \
        gemm<format_##format>(GEMM_OF_BATCH, tile_a, tile_b);                                  \
    }

ENTRY(f32)
ENTRY(f16)
ENTRY(bf16)
ENTRY(i8)
