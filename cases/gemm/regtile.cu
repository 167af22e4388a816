/* SPDX-License-Identifier: Apache-2.0 */
#include "gemm.cuh"

/* As tiled.cu, each thread holding 4 x 4 elements of a 64 x 64 tile of C in registers. k ascends. */

enum { TILE = 64, DEPTH = 16, EACH = 4 };

template <class F>
DEVICE void gemm(const typename F::stored *a, const typename F::stored *b,
                 typename F::result *c, i32 m, i32 n, i32 k, i64 a_row, i64 a_col, i64 b_row,
                 i64 b_col, f32 alpha, f32 beta, typename F::wide (*tile_a)[TILE + 1],
                 typename F::wide (*tile_b)[TILE])
{
    i32 x = THREAD_X, y = THREAD_Y, thread = y * 16 + x;
    i32 row = BLOCK_Y * TILE, column = BLOCK_X * TILE;
    typename F::wide acc[EACH][EACH] = {};
    for (i32 first = 0; first < k; first += DEPTH) {
        for (i32 r = 0; r < EACH; r++) {
            i32 i = (thread >> 4) + 16 * r, l = thread & 15;
            bool in = row + i < m && first + l < k;
            tile_a[l][i] = in ? F::widen(a[(row + i) * a_row + (first + l) * a_col]) : 0;
            i32 j = thread & 63;
            l = (thread >> 6) + 4 * r;
            in = column + j < n && first + l < k;
            tile_b[l][j] = in ? F::widen(b[(first + l) * b_row + (column + j) * b_col]) : 0;
        }
        SYNC();
        for (i32 l = 0; l < DEPTH; l++)
            for (i32 r = 0; r < EACH; r++)
                for (i32 s = 0; s < EACH; s++)
                    acc[r][s] += tile_a[l][y + 16 * r] * tile_b[l][x + 16 * s];
        SYNC();
    }
    for (i32 r = 0; r < EACH; r++)
        for (i32 s = 0; s < EACH; s++) {
            i32 i = row + y + 16 * r, j = column + x + 16 * s;
            if (i < m && j < n)
                scaled_store<F>(c, (i64)i * n + j, acc[r][s], alpha, beta);
        }
}

#define ENTRY(format)                                                                          \
    KERNEL(256) regtile_##format(GEMM_ARGUMENTS(format))                                       \
    {                                                                                          \
        SHARED format_##format::wide tile_a[DEPTH][TILE + 1];                                  \
        SHARED format_##format::wide tile_b[DEPTH][TILE];                                      \
        gemm<format_##format>(GEMM_OF_BATCH, tile_a, tile_b);                                  \
    }

ENTRY(f32)
ENTRY(f16)
ENTRY(bf16)
ENTRY(i8)
