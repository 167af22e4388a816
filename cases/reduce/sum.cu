/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"
#include "device_fault.h"
#include "device_warp.h"

/* y = sum of n terms, the sum over n, or the root of the sum of squares (op 0, 1, 2), in the
 * orders that libraries use. Sums are f32. Term i of row r lies at x[r row + i step].
 *
 *   serial   64 sums a block, one a thread, ascending
 *   tree     a block of 256 a sum: each thread every 256th term, then halves are added in
 *            shared memory
 *   warp     32 lanes a sum: each every 32nd term, then x += x of lane ^ 16, 8, 4, 2, 1
 *   atomic   a block of 256 for each 1024 terms (BLOCK_X), as tree; then an atomic add to
 *            sum[row], which starts as 0. atomic_finish makes y of it
 *   ring pairs flat   256 sums a block, one a thread; terms are ranks. ring: row r belongs to
 *            rank r / ceil(rows / n), which is added last, the next one first. pairs: rank i
 *            and i + d, d = 1, 2, 4, ... hop: every partial sum is rounded to the format */

enum op { SUM, MEAN, NORM };
enum fault { NONE, TAIL, BF16, DOWNCAST, FLUSH, TRUNCATE, COUNT, ROW, UNWRITTEN, RANK, HOP, LANE_MOVE };

template <fault K> DEVICE f32 kept(f32 x)
{
    if (acts<K>(BF16))
        return bf16_widen(bf16_round(x));
    if (acts<K>(FLUSH) && (f32_bits(x) & 0x7f800000u) == 0)
        return 0.0f;
    return x;
}

template <class F, fault K>
DEVICE f32 term(f32 sum, const typename F::stored *x, i64 at, i32 op)
{
    f32 v = kept < K == FLUSH ? FLUSH : NONE > (F::widen(x[at]));
    if (acts<K>(DOWNCAST))
        v = f32_from_bits(f32_bits(v) & 0xffffe000u);
    return kept<K>(op == NORM ? sum + v * v : sum + v);
}

template <fault K> DEVICE f32 tree_sum(f32 *part, f32 value)
{
    part[THREAD_X] = value;
    SYNC();
    for (i32 half = 128; half > 0; half /= 2) {
        if (THREAD_X < half)
            part[THREAD_X] = kept<K>(part[THREAD_X] + part[THREAD_X + half]);
        SYNC();
    }
    return part[0];
}

template <class F> DEVICE f32 cut(f32 x)
{
    return x;
}
template <> DEVICE f32 cut<format_f32>(f32 x)
{
    return f32_from_bits(f32_bits(x) & ~1u);
}
template <> DEVICE f32 cut<format_bf16>(f32 x)
{
    return f32_from_bits(f32_bits(x) & 0xffff0000u);
}
template <> DEVICE f32 cut<format_f16>(f32 x)
{
    return f32_from_bits(f32_bits(x) & 0xffffe000u);
}

template <class F, fault K>
DEVICE void finish(typename F::result *y, i32 row, i32 rows, f32 sum, i32 n, i32 op)
{
    f32 value = sum;
    if (op == MEAN)
        value = sum / (f32)(acts<K>(COUNT) ? n + 1 : n);
    if (op == NORM)
        value = sqrtf(sum);
    if (acts<K>(TRUNCATE))
        value = cut<F>(value);
    if (!acts<K>(UNWRITTEN) || row < rows - 1)
        y[row] = F::narrow(value);
}

#define ARGUMENTS(format)                                                                      \
    const format_##format::stored *x, format_##format::result *y, i32 rows, i32 n, i64 row,    \
        i64 step, i32 op

/* --- rows ------------------------------------------------------------------------------------
 */

template <class F>
DEVICE void serial(const typename F::stored *x, typename F::result *y, i32 rows, i32 n, i64 row,
                   i64 step, i32 op)
{
    i32 r = BLOCK_X * 64 + THREAD_X;
    if (r >= rows)
        return;
    f32 sum = 0;
    for (i32 i = 0; i < n; i++)
        sum = term<F, NONE>(sum, x, r * row + i * step, op);
    finish<F, NONE>(y, r, rows, sum, n, op);
}

template <class F, fault K>
DEVICE void tree(const typename F::stored *x, typename F::result *y, i32 rows, i32 n, i64 row,
                 i64 step, i32 op, f32 *part)
{
    i32 r = BLOCK_X, from = acts<K>(ROW) ? (r + 1) % rows : r;
    i32 last = acts<K>(TAIL) ? n - n % 32 : n;
    f32 sum = 0;
    for (i32 i = THREAD_X; i < last; i += 256)
        sum = term<F, K>(sum, x, from * row + i * step, op);
    sum = tree_sum<K>(part, sum);
    if (THREAD_X == 0)
        finish<F, K>(y, r, rows, sum, n, op);
}

template <class F, fault K>
DEVICE void warp(const typename F::stored *x, typename F::result *y, i32 rows, i32 n, i64 row,
                 i64 step, i32 op)
{
    i32 r = BLOCK_X;
    f32 sum = 0;
    for (i32 i = THREAD_X; i < n; i += 32)
        sum = term<F, NONE>(sum, x, r * row + i * step, op);
    for (i32 mask = 16; mask > 0; mask /= 2)
        sum += lane_xor(acts<K>(LANE_MOVE) ? (f32)(i32)sum : sum, mask);
    if (THREAD_X == 0)
        finish<F, K>(y, r, rows, sum, n, op);
}

template <class F>
DEVICE void atomic(const typename F::stored *x, f32 *sums, i32 n, i64 row, i64 step, i32 op,
                   f32 *part)
{
    i32 r = BLOCK_Y, first = BLOCK_X * 1024;
    i32 last = n - first < 1024 ? n : first + 1024;
    f32 sum = 0;
    for (i32 i = first + THREAD_X; i < last; i += 256)
        sum = term<F, NONE>(sum, x, r * row + i * step, op);
    sum = tree_sum<NONE>(part, sum);
    if (THREAD_X == 0)
        ATOMIC_ADD(&sums[r], sum);
}

#define ROWS(format)                                                                           \
    KERNEL(64) serial_##format(ARGUMENTS(format))                                              \
    {                                                                                          \
        serial<format_##format>(x, y, rows, n, row, step, op);                                 \
    }                                                                                          \
    KERNEL(256)                                                                                \
    atomic_##format(const format_##format::stored *x, f32 *sums, i32 n, i64 row, i64 step,     \
                    i32 op)                                                                    \
    {                                                                                          \
        SHARED f32 part[256];                                                                  \
        atomic<format_##format>(x, sums, n, row, step, op, part);                              \
    }                                                                                          \
    KERNEL(256)                                                                                \
    atomic_finish_##format(const f32 *sums, format_##format::result *y, i32 rows, i32 n,       \
                           i32 op)                                                             \
    {                                                                                          \
        i32 r = BLOCK_X * 256 + THREAD_X;                                                      \
        if (r < rows)                                                                          \
            finish<format_##format, NONE>(y, r, rows, sums[r], n, op);                         \
    }

#define TREE(name, format, fault)                                                              \
    KERNEL(256) name##_##format(ARGUMENTS(format))                                             \
    {                                                                                          \
        SHARED f32 part[256];                                                                  \
        tree<format_##format, fault>(x, y, rows, n, row, step, op, part);                      \
    }

#define LANES(name, format, fault)                                                             \
    KERNEL(32) name##_##format(ARGUMENTS(format))                                              \
    {                                                                                          \
        warp<format_##format, fault>(x, y, rows, n, row, step, op);                            \
    }

#define TREES(name, fault)                                                                     \
    TREE(name, f32, fault)                                                                     \
    TREE(name, f16, fault)                                                                     \
    TREE(name, bf16, fault)

ROWS(f32)
ROWS(f16)
ROWS(bf16)
TREES(tree, NONE)
TREES(fault_tail, TAIL)
TREES(fault_bf16, BF16)
TREES(fault_downcast, DOWNCAST)
TREES(fault_flush, FLUSH)
TREES(fault_truncate, TRUNCATE)
TREES(fault_count, COUNT)
TREES(fault_row, ROW)
TREES(fault_unwritten, UNWRITTEN)
LANES(warp, f32, NONE)
LANES(warp, f16, NONE)
LANES(warp, bf16, NONE)
LANES(fault_move, f32, LANE_MOVE)
LANES(fault_move, f16, LANE_MOVE)
LANES(fault_move, bf16, LANE_MOVE)

/* --- all-reduce ------------------------------------------------------------------------------
 */

enum { RANKS = 64 };
enum plan { RING, PAIRS, FLAT };

template <class F, fault K> DEVICE f32 sent(f32 x, i32 hop)
{
    return hop || acts<K>(HOP) ? F::widen(F::narrow(x)) : x;
}

template <class F, fault K>
DEVICE f32 chain(const typename F::stored *x, i32 n, i64 at, i64 step, i32 first, i32 hop)
{
    f32 sum = F::widen(x[at + first * step]);
    for (i32 i = 1; i < n; i++) {
        i32 rank = first + i < n ? first + i : first + i - n;
        if (!acts<K>(RANK) || rank != n - 1)
            sum = sent<F, K>(sum + F::widen(x[at + rank * step]), hop);
    }
    return sum;
}

template <class F>
DEVICE f32 pairs(const typename F::stored *x, i32 n, i64 at, i64 step, i32 hop)
{
    f32 part[RANKS];
    for (i32 i = 0; i < n; i++)
        part[i] = F::widen(x[at + i * step]);
    for (i32 d = 1; d < n; d *= 2)
        for (i32 i = 0; i + d < n; i += 2 * d)
            part[i] = sent<F, NONE>(part[i] + part[i + d], hop);
    return part[0];
}

template <class F, plan P, fault K>
DEVICE void all_reduce(const typename F::stored *x, typename F::result *y, i32 rows, i32 n,
                       i64 row, i64 step, i32 op, i32 hop)
{
    i32 r = BLOCK_X * 256 + THREAD_X;
    if (r >= rows)
        return;
    i32 owner = r / ((rows + n - 1) / n);
    f32 sum = P == PAIRS ? pairs<F>(x, n, r * row, step, hop)
                         : chain<F, K>(x, n, r * row, step,
                                       P == RING && owner + 1 < n ? owner + 1 : 0, hop);
    finish<F, K>(y, r, rows, sum, n, op);
}

#define ALL(name, format, plan, fault)                                                         \
    KERNEL(256) name##_##format(ARGUMENTS(format), i32 hop)                                    \
    {                                                                                          \
        all_reduce<format_##format, plan, fault>(x, y, rows, n, row, step, op, hop);           \
    }

#define ALLS(name, plan, fault)                                                                \
    ALL(name, f32, plan, fault)                                                                \
    ALL(name, f16, plan, fault)                                                                \
    ALL(name, bf16, plan, fault)

ALLS(ring, RING, NONE)
ALLS(pairs, PAIRS, NONE)
ALLS(flat, FLAT, NONE)
ALLS(fault_rank, RING, RANK)
ALLS(fault_hop, RING, HOP)
