/* SPDX-License-Identifier: Apache-2.0 */
#include "attention.cuh"
#include "device_matrix.h"

/* flash of attention.cu on the matrix units: one warp has 16 queries; scores of a tile of
 * 16 keys and the tile's share of O are a product each. Scores, weights' sums and O are f32, the
 * weights are rounded to the format of V, as the unit takes no other. Elements beyond an edge are
 * zeros. Layouts and visible keys as there. Where a device has no such unit, chains of f32 stand in.
 *
 * fault_carry acts on HIP only: earlier sums are not rescaled when the maximum grows. */

enum { TILE = 16 };

struct space {
    f32 t[TILE][TILE + 1], rescale[TILE], sum[TILE];
    u16 p[TILE][TILE];
};

/* Element (i, c) of rows of d elements, or 0. */
DEVICE u16 element(const u16 *x, i32 i, i32 rows, i32 c, i32 d)
{
    return i < rows && c < d ? x[(i64)i * d + c] : (u16)0;
}

/* dot += Q K^T of a tile. */
template <class F, class M, i32 D>
DEVICE void scores(const u16 *q, const u16 *k, f32 *dot, i32 top, i32 low, const shape &s)
{
    for (i32 first = 0; first < D; first += M::K) {
        u16 x[M::A], y[M::B];
#pragma unroll
        for (i32 e = 0; e < M::A; e++)
            x[e] = element(q, top + M::a_row(e), s.queries, first + M::a_k(e), s.d);
#pragma unroll
        for (i32 e = 0; e < M::B; e++)
            y[e] = element(k, low + M::b_column(e), s.keys, first + M::b_k(e), s.d);
        if (M::PRESENT)
            M::step(dot, x, y);
    }
    for (i32 e = 0; e < 8 && !M::PRESENT; e++)
        for (i32 l = 0; l < s.d; l++)
            dot[e] += F::widen(element(q, top + matrix_c_row(e), s.queries, l, s.d)) *
                      F::widen(element(k, low + matrix_c_column(e), s.keys, l, s.d));
}

/* acc += P V of a tile, 16 columns from `column`. */
template <class F, class M>
DEVICE void values(const space &tile, const u16 *v, f32 *acc, i32 low, i32 column,
                   const shape &s)
{
    u16 x[M::A], y[M::B];
#pragma unroll
    for (i32 e = 0; e < M::A; e++)
        x[e] = tile.p[M::a_row(e)][M::a_k(e)];
#pragma unroll
    for (i32 e = 0; e < M::B; e++)
        y[e] = element(v, low + M::b_k(e), s.keys, column + M::b_column(e), s.d);
    if (M::PRESENT)
        M::step(acc, x, y);
    for (i32 e = 0; e < 8 && !M::PRESENT; e++)
        for (i32 l = 0; l < TILE; l++)
            acc[e] += F::widen(tile.p[matrix_c_row(e)][l]) *
                      F::widen(element(v, low + l, s.keys, column + matrix_c_column(e), s.d));
}

/* One row of the tile: its weights, and what earlier ones are rescaled by. */
template <class F> DEVICE void weigh(space &tile, i32 row, f32 &most, f32 &sum)
{
    f32 grown = most, part = 0;
    for (i32 l = 0; l < TILE; l++)
        grown = tile.t[row][l] > grown ? tile.t[row][l] : grown;
    f32 base = grown == minus_infinity() ? 0.0f : grown;
    tile.rescale[row] = expf(most - base);
    for (i32 l = 0; l < TILE; l++) {
        f32 p = expf(tile.t[row][l] - base);
        part += p;
        tile.p[row][l] = F::narrow(p);
    }
    sum = sum * tile.rescale[row] + part;
    most = grown;
}

template <class F, class M, i32 D>
DEVICE void flash(const u16 *q, const u16 *k, const u16 *v, const f32 *slopes, u16 *o, f32 *lse,
                  const shape &s, bool carry, space &tile)
{
    i32 top = BLOCK_Y * TILE, plane = kv_plane(s.heads, s.kv_heads);
    i64 rows = (i64)BLOCK_Z * s.queries;
    q += rows * s.d;
    o += rows * s.d;
    k += (i64)plane * s.keys * s.d;
    v += (i64)plane * s.keys * s.d;
    f32 acc[D / TILE][8] = {}, most = minus_infinity(), sum = 0;
    i32 end = last_key(s, top + TILE - 1);
    for (i32 low = first_key(s, top) / TILE * TILE; low < end; low += TILE) {
        f32 dot[8] = {};
        scores<F, M, D>(q, k, dot, top, low, s);
#pragma unroll
        for (i32 e = 0; e < 8; e++) {
            i32 i = top + matrix_c_row(e), j = low + matrix_c_column(e);
            bool sees = i < s.queries && j >= first_key(s, i) && j < last_key(s, i);
            tile.t[i - top][j - low] = sees ? score(s, slopes, dot[e], i, j) : minus_infinity();
        }
        SYNC();
        if (LANE < TILE)
            weigh<F>(tile, LANE, most, sum);
        SYNC();
#pragma unroll
        for (i32 u = 0; u < D / TILE; u++) {
            for (i32 e = 0; e < 8 && !carry; e++)
                acc[u][e] *= tile.rescale[matrix_c_row(e)];
            values<F, M>(tile, v, acc[u], low, u * TILE, s);
        }
        SYNC();
    }
    i32 mine = top + LANE;
    if (LANE < TILE)
        tile.sum[LANE] = sum;
    if (LANE < TILE && mine < s.queries)
        lse[rows + mine] =
            first_key(s, mine) < last_key(s, mine) ? most + logf(sum) : minus_infinity();
    SYNC();
#pragma unroll
    for (i32 u = 0; u < D / TILE; u++)
        for (i32 e = 0; e < 8; e++) {
            i32 i = top + matrix_c_row(e), c = u * TILE + matrix_c_column(e);
            bool any = first_key(s, i) < last_key(s, i);
            if (i < s.queries && c < s.d)
                o[(i64)i * s.d + c] = F::narrow(any ? acc[u][e] / tile.sum[i - top] : 0.0f);
        }
}

#define ENTRY(name, format, size, carry)                                                       \
    KERNEL(32)                                                                                 \
    name##_##format##_##size(const u16 *q, const u16 *k, const u16 *v, const f32 *slopes,      \
                             u16 *o, f32 *lse, SHAPE_ARGUMENTS)                                \
    {                                                                                          \
        SHARED space tile;                                                                     \
        shape s = SHAPE;                                                                       \
        flash<format_##format, matrix_##format, size>(q, k, v, slopes, o, lse, s, carry,       \
                                                      tile);                                   \
    }

ENTRY(mma, f16, 64, false)
ENTRY(mma, f16, 128, false)
ENTRY(mma, bf16, 64, false)
ENTRY(mma, bf16, 128, false)
ENTRY(fault_carry, bf16, 64, DEVICE_IS_HIP)
