/* SPDX-License-Identifier: Apache-2.0 */
#include "attention.cuh"
#include "device_fault.h"

/* O = softmax(scale Q K^T) V over the visible keys, and the log of the sum of exponentials.
 *
 *   flash                     one pass over tiles of 16 keys: running maximum and sum; weights are
 *                             rounded to the format of V
 *
 *   split, merge              flash over ranges of keys (grid x), each with its own O and log-sum-exp in
 *                             f32, joined by their weights; K and V may lie in pages of `page`
 *                             keys, [pages][kv heads][page][d], found through a table
 *
 *   varlen                    flash over sequences of any length: Q, O [tokens][heads][d], K, V
 *                             [tokens][kv heads][d], the log-sum-exp [tokens][heads]; sequence b has the
 *                             queries starts_q[b] to starts_q[b + 1] - 1, keys likewise; with `bottom`,
 *                             first and last count from each sequence's own diagonal
 *
 * The fault_ entries are flash (average, next: split; start, longest: varlen) with a planted fault each, which acts on HIP only:
 *   mask        every row sees one key more
 *   corner      the diagonal starts at the top left instead of ending at the bottom right
 *   scale       the scale is left out
 *   fused       the largest score is rounded, the differences from it are fused with the scale
 *   rescale     earlier sums are not rescaled when the maximum grows
 *   accumulate  sums of V are kept in bf16
 *   narrow      weights are rounded to bf16
 *   tail        keys are cut to a multiple of 16
 *   head        query heads take turns at the kv heads instead of sharing in groups
 *   base        the log-sum-exp is a logarithm to base 2
 *   average     ranges are averaged without weights
 *   next        each page is taken from the table's next entry
 *   start       sequences but the first start one key early
 *   longest     the diagonal is that of the longest queries and keys */

enum { TILE = 16 };
enum fault { NONE, MASK, CORNER, SCALE, FUSED, RESCALE, ACCUMULATE,
             NARROW, TAIL, HEAD, BASE, AVERAGE, NEXT, START, LONGEST };

template <i32 K> DEVICE i32 kv_head(const shape &s)
{
    if (acts<K>(HEAD))
        return BLOCK_Z / s.heads * s.kv_heads + BLOCK_Z % s.heads % s.kv_heads;
    return kv_plane(s.heads, s.kv_heads);
}

/* --- flash -----------------------------------------------------------------------------------
 *
 * Block 16 x 16: y a query, x a key of the tile, then x, x + 16, ... the columns of O. */

template <i32 D> struct tiles {
    f32 q[TILE][D + 1], k[TILE][D + 1], v[TILE][D + 1];
    f32 p[TILE][TILE + 1];
};

/* One row of d elements, zeros behind it; all zeros if it is not there. */
template <class F, i32 D>
DEVICE void row_load(f32 (*tile)[D + 1], const typename F::stored *x, bool there, i32 d)
{
    for (i32 c = THREAD_X; c < D; c += TILE)
        tile[THREAD_Y][c] = there && c < d ? F::widen(x[c]) : 0.0f;
}

/* Where sequences lie: in rows of one length each, K and V perhaps in pages; or packed. */
struct store {
    const i32 *table; /* [batch][pages], or null */
    i32 page, pages;
    bool packed;
    i32 query, key; /* packed: the first of each */
};

DEVICE i64 query_row(const shape &s, const store &at, i32 i)
{
    if (at.packed)
        return ((i64)at.query + i) * s.heads + BLOCK_Z % s.heads;
    return (i64)BLOCK_Z * s.queries + i;
}

template <i32 K> DEVICE i64 key_row(const shape &s, const store &at, i32 key)
{
    i32 plane = kv_head<K>(s);
    if (at.packed)
        return ((i64)at.key + key) * s.kv_heads + plane % s.kv_heads;
    if (!at.table)
        return (i64)plane * s.keys + key;
    i32 b = plane / s.kv_heads, entry = key / at.page;
    if (acts<K>(NEXT))
        entry = (entry + 1) % at.pages;
    i64 page = at.table[b * at.pages + entry];
    return (page * s.kv_heads + plane % s.kv_heads) * at.page + key % at.page;
}

/* The block's sequence; `s` becomes its shape. */
template <i32 K>
DEVICE store sequence(shape &s, const i32 *starts_q, const i32 *starts_k, i32 bottom)
{
    i32 b = BLOCK_Z / s.heads;
    store at = {0, 0, 0, true, starts_q[b], starts_k[b]};
    s.queries = starts_q[b + 1] - at.query;
    s.keys = starts_k[b + 1] - at.key;
    if (!acts<K>(LONGEST))
        s.diagonal = s.keys - s.queries;
    if (bottom) {
        s.first += s.diagonal;
        s.last += s.diagonal;
    }
    if (acts<K>(START) && b > 0)
        at.key--;
    return at;
}

/* The weight as the product with V takes it. */
template <class F, i32 K> DEVICE f32 weight(f32 p)
{
    if (acts<K>(NARROW))
        return bf16_widen(bf16_round(p));
    return F::unwiden(F::narrow(p));
}

/* What a thread carries from tile to tile: of its row the maximum and the sum of weights, and the
 * sums of its columns of O. */
template <i32 D> struct running {
    f32 most, sum, acc[D / TILE];
};

/* The dot product of this thread's query and key. */
template <i32 D> DEVICE f32 tile_dot(const tiles<D> &tile)
{
    f32 dot = 0;
#pragma unroll 8
    for (i32 l = 0; l < D; l++)
        dot += tile.q[THREAD_Y][l] * tile.k[THREAD_X][l];
    return dot;
}

/* The tile's scores t become weights: exp(t - base), base the maximum so far. `fused` makes t - base
 * of the dot product at once. Gives what earlier sums are to be rescaled by. */
template <i32 D>
DEVICE f32 tile_weigh(tiles<D> &tile, running<D> &r, f32 t, bool fused, f32 dot, f32 scale)
{
    i32 x = THREAD_X, y = THREAD_Y;
    tile.p[y][x] = t;
    SYNC();
    f32 grown = r.most;
    for (i32 l = 0; l < TILE; l++)
        grown = tile.p[y][l] > grown ? tile.p[y][l] : grown;
    f32 base = grown == minus_infinity() ? 0.0f : grown;
    f32 rescale = expf(r.most - base);
    r.most = grown;
    SYNC();
    tile.p[y][x] = expf(fused ? fmaf(dot, scale, -base) : t - base);
    SYNC();
    return rescale;
}

template <class F, i32 D, i32 K>
DEVICE void tile_add(const tiles<D> &tile, running<D> &r, f32 rescale)
{
    f32 part = 0;
    for (i32 l = 0; l < TILE; l++)
        part += tile.p[THREAD_Y][l];
    r.sum = r.sum * rescale + part;
    for (i32 u = 0; u < D / TILE; u++) {
        f32 a = acts<K>(RESCALE) ? r.acc[u] : r.acc[u] * rescale;
        for (i32 l = 0; l < TILE; l++) {
            a += weight<F, K>(tile.p[THREAD_Y][l]) * tile.v[l][THREAD_X + u * TILE];
            if (acts<K>(ACCUMULATE))
                a = bf16_widen(bf16_round(a));
        }
        r.acc[u] = a;
    }
}

template <class G, i32 D, i32 K>
DEVICE void row_store(typename G::result *o, f32 *lse, const running<D> &r, bool any, i32 d)
{
    for (i32 u = 0; u < D / TILE; u++)
        if (THREAD_X + u * TILE < d)
            o[THREAD_X + u * TILE] = G::narrow(any ? r.acc[u] / r.sum : 0.0f);
    if (THREAD_X == 0)
        *lse = !any ? minus_infinity()
               : acts<K>(BASE) ? (r.most + logf(r.sum)) * 1.44269504f
                               : r.most + logf(r.sum);
}

template <i32 K> DEVICE void shape_plant(shape &s)
{
    if (acts<K>(MASK))
        s.last++;
    if (acts<K>(CORNER)) {
        s.first -= s.diagonal;
        s.last -= s.diagonal;
    }
    if (acts<K>(SCALE))
        s.scale = 1.0f;
}

/* Keys low to high - 1; results in format G. */
template <class F, class G, i32 D, i32 K>
DEVICE void flash(const typename F::stored *q, const typename F::stored *k,
                  const typename F::stored *v, const f32 *slopes, typename G::result *o,
                  f32 *lse, shape s, store at, i32 low, i32 high, tiles<D> &tile)
{
    i32 y = THREAD_Y, top = BLOCK_Y * TILE, i = top + y;
    shape_plant<K>(s);
    i64 row = query_row(s, at, i);
    row_load<F, D>(tile.q, q + row * s.d, i < s.queries, s.d);
    high = high < s.keys ? high : s.keys;
    if (acts<K>(TAIL))
        high -= high % TILE;
    i32 from = larger(first_key(s, i), low), to = smaller(last_key(s, i), high);
    i32 start = larger(first_key(s, top), low), end = smaller(last_key(s, top + TILE - 1), high);
    running<D> r = {minus_infinity(), 0, {}};
    for (i32 first = start / TILE * TILE; first < end; first += TILE) {
        bool there = first + y < s.keys;
        i64 from_row = there ? key_row<K>(s, at, first + y) * s.d : 0;
        row_load<F, D>(tile.k, k + from_row, there, s.d);
        row_load<F, D>(tile.v, v + from_row, there, s.d);
        SYNC();
        i32 j = first + THREAD_X;
        bool sees = j >= from && j < to;
        f32 dot = tile_dot(tile), t = sees ? score(s, slopes, dot, i, j) : minus_infinity();
        f32 rescale = tile_weigh(tile, r, t, acts<K>(FUSED) && sees, dot, s.scale);
        tile_add<F, D, K>(tile, r, rescale);
        SYNC();
    }
    if (i < s.queries)
        row_store<G, D, K>(o + row * s.d, lse + row, r, from < to, s.d);
}

/* One thread an element of O; parts lie ranges first. */
template <class F, i32 K>
DEVICE void merge(const f32 *part, const f32 *part_lse, typename F::result *o, f32 *lse,
                  const shape &s, i32 split, i64 rows)
{
    i32 i = BLOCK_Y * 16 + THREAD_Y, c = BLOCK_X * 16 + THREAD_X;
    if (i >= s.queries || c >= s.d)
        return;
    i64 row = (i64)BLOCK_Z * s.queries + i;
    f32 most = minus_infinity(), sum = 0, acc = 0;
    for (i32 r = 0; r < split; r++)
        most = part_lse[r * rows + row] > most ? part_lse[r * rows + row] : most;
    for (i32 r = 0; r < split; r++) {
        f32 w = acts<K>(AVERAGE) ? 1.0f : expf(part_lse[r * rows + row] - most);
        sum += w;
        acc += w * part[(r * rows + row) * s.d + c];
    }
    bool any = first_key(s, i) < last_key(s, i);
    o[row * s.d + c] = F::narrow(any ? acc / sum : 0.0f);
    if (c == 0)
        lse[row] = any ? most + logf(sum) : minus_infinity();
}

/* --- entries ---------------------------------------------------------------------------------
 */

#define FLASH(name, kind, format, size)                                                        \
    KERNEL(256)                                                                                \
    name##_##format##_##size(                                                                  \
        const format_##format::stored *q, const format_##format::stored *k,                    \
        const format_##format::stored *v, const f32 *slopes, format_##format::result *o,       \
        f32 *lse, SHAPE_ARGUMENTS)                                                             \
    {                                                                                          \
        SHARED tiles<size> tile;                                                               \
        shape s = SHAPE;                                                                       \
        store at = {0, 0, 0, false, 0, 0};                                                     \
        flash<format_##format, format_##format, size, kind>(q, k, v, slopes, o, lse, s, at, 0, \
                                                            keys, tile);                       \
    }

#define SPLIT(name, kind, format, size)                                                        \
    KERNEL(256)                                                                                \
    name##_##format##_##size(                                                                  \
        const format_##format::stored *q, const format_##format::stored *k,                    \
        const format_##format::stored *v, const f32 *slopes, const i32 *table, f32 *part,      \
        f32 *part_lse, SHAPE_ARGUMENTS, i32 page, i32 pages, i32 chunk, i64 rows)              \
    {                                                                                          \
        SHARED tiles<size> tile;                                                               \
        shape s = SHAPE;                                                                       \
        store at = {table, page, pages, false, 0, 0};                                          \
        i32 low = BLOCK_X * chunk;                                                             \
        flash<format_##format, format_f32, size, kind>(                                        \
            q, k, v, slopes, part + BLOCK_X * rows * d, part_lse + BLOCK_X * rows, s, at, low, \
            low + chunk, tile);                                                                \
    }

#define VARLEN(name, kind, format, size)                                                       \
    KERNEL(256)                                                                                \
    name##_##format##_##size(                                                                  \
        const format_##format::stored *q, const format_##format::stored *k,                    \
        const format_##format::stored *v, const f32 *slopes, format_##format::result *o,       \
        f32 *lse, SHAPE_ARGUMENTS, const i32 *starts_q, const i32 *starts_k, i32 bottom)       \
    {                                                                                          \
        SHARED tiles<size> tile;                                                               \
        shape s = SHAPE;                                                                       \
        store at = sequence<kind>(s, starts_q, starts_k, bottom);                              \
        if (BLOCK_Y * TILE < s.queries)                                                        \
            flash<format_##format, format_##format, size, kind>(q, k, v, slopes, o, lse, s,    \
                                                                at, 0, s.keys, tile);          \
    }

#define MERGE(name, kind, format)                                                              \
    KERNEL(256)                                                                                \
    name##_merge_##format(const f32 *part, const f32 *part_lse,                                \
                          format_##format::result *o, f32 *lse, SHAPE_ARGUMENTS, i32 split,    \
                          i64 rows)                                                            \
    {                                                                                          \
        shape s = SHAPE;                                                                       \
        merge<format_##format, kind>(part, part_lse, o, lse, s, split, rows);                  \
    }

#define SPLITS(name, kind, format)                                                             \
    SPLIT(name, kind, format, 64)                                                              \
    MERGE(name, kind, format)

#define FAULT(name, kind)                                                                      \
    FLASH(fault_##name, kind, f32, 64)                                                         \
    FLASH(fault_##name, kind, bf16, 64)

FLASH(flash, NONE, f32, 64)
FLASH(flash, NONE, f16, 64)
FLASH(flash, NONE, bf16, 64)
FLASH(flash, NONE, f32, 128)
FLASH(flash, NONE, f16, 128)
FLASH(flash, NONE, bf16, 128)
SPLITS(split, NONE, f32)
SPLITS(split, NONE, f16)
SPLITS(split, NONE, bf16)
SPLIT(split, NONE, f32, 128)
SPLIT(split, NONE, f16, 128)
SPLIT(split, NONE, bf16, 128)
VARLEN(varlen, NONE, f32, 64)
VARLEN(varlen, NONE, f16, 64)
VARLEN(varlen, NONE, bf16, 64)
VARLEN(varlen, NONE, f32, 128)
VARLEN(varlen, NONE, f16, 128)
VARLEN(varlen, NONE, bf16, 128)
FAULT(mask, MASK)
FAULT(corner, CORNER)
FAULT(scale, SCALE)
FAULT(fused, FUSED)
FAULT(rescale, RESCALE)
FAULT(accumulate, ACCUMULATE)
FAULT(narrow, NARROW)
FAULT(tail, TAIL)
FAULT(head, HEAD)
FAULT(base, BASE)
SPLITS(fault_average, AVERAGE, f32)
SPLITS(fault_average, AVERAGE, bf16)
SPLITS(fault_next, NEXT, f32)
SPLITS(fault_next, NEXT, bf16)
VARLEN(fault_start, START, f32, 64)
VARLEN(fault_start, START, bf16, 64)
VARLEN(fault_longest, LONGEST, f32, 64)
VARLEN(fault_longest, LONGEST, bf16, 64)
