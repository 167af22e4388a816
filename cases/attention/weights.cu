/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"
#include "device_fault.h"

/* What needs all weights P = softmax(scale Q K^T) in memory. The gradients of O = P V for a given
 * dO, in five launches:
 *
 *   weights  P and the log-sum-exp, one thread a query, scores recomputed
 *   dp       dP = dO V^T
 *   ds       dS = P (dP - delta), delta = sum P dP of the row, one thread a query
 *   dq       dQ = scale dS K
 *   dkv      dK = scale dS^T Q and dV = P^T dO, over all query heads that share a kv head
 *
 * With dropout (keep not null) dP and the P that dV takes are the kept ones, times `factor`.
 *
 * And O with dropout, in three: weights, keep, drop. Weight number n of all is kept if byte n % 16 of
 * Philox4x32(counter n / 16, key = seed) is at most `limit`; O = (sum of kept P V) * factor.
 *
 * Layouts and visible keys as in attention.cu; what a row does not see is 0 in P, dP and dS. Sums
 * are f32 and ascend.
 *
 * The fault_ entries act on HIP only:
 *   delta  delta is left out
 *   group  only the first query head of each group counts in dK and dV
 *   undropped dV takes all weights
 *   grid   counters go on in their second word after 64 * 16 weights, as of a grid of 64 threads
 *   rounds Philox has 7 rounds instead of 10, or 10 instead of 7 */

enum fault { NONE, DELTA, GROUP, ROUNDS, GRID, UNDROPPED };

struct shape {
    i32 heads, kv_heads, queries, keys, d, first, last;
    f32 scale;
};

#define SHAPE_ARGUMENTS                                                                        \
    i32 heads, i32 kv_heads, i32 queries, i32 keys, i32 d, i32 first, i32 last, f32 scale
#define SHAPE                                                                                  \
    {                                                                                          \
        heads, kv_heads, queries, keys, d, first, last, scale                                  \
    }

DEVICE bool sees(const shape &s, i32 i, i32 j)
{
    return j >= i + s.first && j < i + s.last;
}

DEVICE i64 kv_plane(const shape &s, i32 z)
{
    return (i64)(z / s.heads) * s.kv_heads + z % s.heads / (s.heads / s.kv_heads);
}

template <class F>
DEVICE f32 dot(const typename F::stored *x, const typename F::stored *y, i32 d)
{
    f32 acc = 0;
    for (i32 l = 0; l < d; l++)
        acc += F::widen(x[l]) * F::widen(y[l]);
    return acc;
}

/* x as dropout leaves it. */
DEVICE f32 kept(const u8 *keep, i64 at, f32 factor, f32 x)
{
    if (!keep)
        return x;
    return keep[at] ? x * factor : 0.0f;
}

template <class F>
DEVICE void weights(const typename F::stored *q, const typename F::stored *k, f32 *p, f32 *lse,
                    const shape &s)
{
    i32 i = BLOCK_X * 64 + THREAD_X;
    if (i >= s.queries)
        return;
    i64 row = (i64)BLOCK_Z * s.queries + i;
    q += row * s.d;
    k += kv_plane(s, BLOCK_Z) * s.keys * s.d;
    p += row * s.keys;
    f32 most = f32_from_bits(0xff800000u), sum = 0;
    bool any = false;
    for (i32 j = 0; j < s.keys; j++)
        if (sees(s, i, j)) {
            f32 t = dot<F>(q, k + (i64)j * s.d, s.d) * s.scale;
            most = t > most ? t : most;
            p[j] = t;
            any = true;
        }
    for (i32 j = 0; j < s.keys; j++)
        if (sees(s, i, j))
            sum += expf(p[j] - most);
    for (i32 j = 0; j < s.keys; j++)
        p[j] = sees(s, i, j) ? expf(p[j] - most) / sum : 0.0f;
    lse[row] = any ? most + logf(sum) : most;
}

template <class F>
DEVICE void dp(const typename F::stored *g, const typename F::stored *v, f32 *out, const shape &s,
               const u8 *keep, f32 factor)
{
    i32 i = BLOCK_Y * 16 + THREAD_Y, j = BLOCK_X * 16 + THREAD_X;
    if (i >= s.queries || j >= s.keys)
        return;
    i64 row = (i64)BLOCK_Z * s.queries + i;
    v += (kv_plane(s, BLOCK_Z) * s.keys + j) * s.d;
    f32 x = sees(s, i, j) ? dot<F>(g + row * s.d, v, s.d) : 0.0f;
    out[row * s.keys + j] = kept(keep, row * s.keys + j, factor, x);
}

template <i32 K> DEVICE void ds(const f32 *p, const f32 *dp, f32 *out, const shape &s)
{
    i32 i = BLOCK_X * 64 + THREAD_X;
    if (i >= s.queries)
        return;
    i64 row = ((i64)BLOCK_Z * s.queries + i) * s.keys;
    f32 delta = 0;
    for (i32 j = 0; j < s.keys; j++)
        delta += p[row + j] * dp[row + j];
    for (i32 j = 0; j < s.keys; j++)
        out[row + j] = p[row + j] * (acts<K>(DELTA) ? dp[row + j] : dp[row + j] - delta);
}

template <class F>
DEVICE void dq(const f32 *ds, const typename F::stored *k, typename F::result *out,
               const shape &s)
{
    i32 i = BLOCK_Y * 16 + THREAD_Y, c = BLOCK_X * 16 + THREAD_X;
    if (i >= s.queries || c >= s.d)
        return;
    i64 row = (i64)BLOCK_Z * s.queries + i;
    k += kv_plane(s, BLOCK_Z) * s.keys * s.d + c;
    f32 acc = 0;
    for (i32 j = 0; j < s.keys; j++)
        acc += ds[row * s.keys + j] * F::widen(k[(i64)j * s.d]);
    out[row * s.d + c] = F::narrow(acc * s.scale);
}

/* Grid z counts batch * kv heads. */
template <class F, i32 K>
DEVICE void dkv(const f32 *p, const f32 *ds, const typename F::stored *q,
                const typename F::stored *g, typename F::result *dk, typename F::result *dv,
                const shape &s, const u8 *keep, f32 factor)
{
    i32 j = BLOCK_Y * 16 + THREAD_Y, c = BLOCK_X * 16 + THREAD_X;
    if (j >= s.keys || c >= s.d)
        return;
    i32 group = s.heads / s.kv_heads;
    f32 to_k = 0, to_v = 0;
    for (i32 h = 0; h < (acts<K>(GROUP) ? 1 : group); h++)
        for (i32 i = 0; i < s.queries; i++) {
            i64 row = ((i64)BLOCK_Z * group + h) * s.queries + i;
            to_k += ds[row * s.keys + j] * F::widen(q[row * s.d + c]);
            f32 w = p[row * s.keys + j];
            if (!acts<K>(UNDROPPED))
                w = kept(keep, row * s.keys + j, factor, w);
            to_v += w * F::widen(g[row * s.d + c]);
        }
    i64 at = ((i64)BLOCK_Z * s.keys + j) * s.d + c;
    dk[at] = F::narrow(to_k * s.scale);
    dv[at] = F::narrow(to_v);
}

/* Random123's Philox4x32: two products a round, keys bumped between rounds. */
DEVICE void philox(u32 *c, u32 k0, u32 k1, i32 rounds)
{
    for (i32 r = 0; r < rounds; r++) {
        u64 a = (u64)0xd2511f53u * c[0], b = (u64)0xcd9e8d57u * c[2];
        u32 c1 = c[1], c3 = c[3];
        c[0] = (u32)(b >> 32) ^ c1 ^ k0;
        c[1] = (u32)b;
        c[2] = (u32)(a >> 32) ^ c3 ^ k1;
        c[3] = (u32)a;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
}

/* One thread 16 weights. */
template <i32 K>
DEVICE void keep(u8 *out, i64 count, i32 seed_low, i32 seed_high, i32 rounds, i32 limit)
{
    i64 n = (i64)BLOCK_X * 64 + THREAD_X;
    if (n * 16 >= count)
        return;
    u32 c[4] = {(u32)n, (u32)(n >> 32), 0, 0};
    if (acts<K>(GRID)) {
        c[0] = (u32)n % 64;
        c[1] = (u32)n / 64;
    }
    philox(c, (u32)seed_low, (u32)seed_high, acts<K>(ROUNDS) ? 17 - rounds : rounds);
    for (i32 b = 0; b < 16 && n * 16 + b < count; b++)
        out[n * 16 + b] = (c[b / 4] >> (b % 4 * 8) & 255u) <= (u32)limit;
}

template <class F>
DEVICE void drop(const f32 *p, const u8 *keep, const typename F::stored *v,
                 typename F::result *out, const shape &s, f32 factor)
{
    i32 i = BLOCK_Y * 16 + THREAD_Y, c = BLOCK_X * 16 + THREAD_X;
    if (i >= s.queries || c >= s.d)
        return;
    i64 row = (i64)BLOCK_Z * s.queries + i;
    v += kv_plane(s, BLOCK_Z) * s.keys * s.d + c;
    f32 acc = 0;
    for (i32 j = 0; j < s.keys; j++)
        if (keep[row * s.keys + j] && sees(s, i, j))
            acc += p[row * s.keys + j] * F::widen(v[(i64)j * s.d]);
    out[row * s.d + c] = F::narrow(acc * factor);
}

#define KEEP(name, kind)                                                                       \
    KERNEL(64)                                                                                 \
    name##_keep(u8 *out, i64 count, i32 seed_low, i32 seed_high, i32 rounds, i32 limit)        \
    {                                                                                          \
        keep<kind>(out, count, seed_low, seed_high, rounds, limit);                            \
    }

#define DS(name, kind)                                                                         \
    KERNEL(64) name##_ds(const f32 *p, const f32 *dp, f32 *out, SHAPE_ARGUMENTS)               \
    {                                                                                          \
        shape s = SHAPE;                                                                       \
        ds<kind>(p, dp, out, s);                                                               \
    }

#define DKV(name, kind, format)                                                                \
    KERNEL(256)                                                                                \
    name##_dkv_##format(const f32 *p, const f32 *ds, const format_##format::stored *q,         \
                        const format_##format::stored *g, format_##format::result *dk,         \
                        format_##format::result *dv, SHAPE_ARGUMENTS, const u8 *keep,          \
                        f32 factor)                                                            \
    {                                                                                          \
        shape s = SHAPE;                                                                       \
        dkv<format_##format, kind>(p, ds, q, g, dk, dv, s, keep, factor);                      \
    }

#define ENTRIES(format)                                                                        \
    KERNEL(64)                                                                                 \
    weights_##format(const format_##format::stored *q, const format_##format::stored *k,       \
                     f32 *p, f32 *lse, SHAPE_ARGUMENTS)                                        \
    {                                                                                          \
        shape s = SHAPE;                                                                       \
        weights<format_##format>(q, k, p, lse, s);                                             \
    }                                                                                          \
    KERNEL(256)                                                                                \
    dp_##format(const format_##format::stored *g, const format_##format::stored *v, f32 *out,  \
                SHAPE_ARGUMENTS, const u8 *keep, f32 factor)                                   \
    {                                                                                          \
        shape s = SHAPE;                                                                       \
        dp<format_##format>(g, v, out, s, keep, factor);                                       \
    }                                                                                          \
    KERNEL(256)                                                                                \
    dq_##format(const f32 *ds, const format_##format::stored *k, format_##format::result *out, \
                SHAPE_ARGUMENTS)                                                               \
    {                                                                                          \
        shape s = SHAPE;                                                                       \
        dq<format_##format>(ds, k, out, s);                                                    \
    }                                                                                          \
    KERNEL(256)                                                                                \
    drop_##format(const f32 *p, const u8 *keep, const format_##format::stored *v,              \
                  format_##format::result *out, SHAPE_ARGUMENTS, f32 factor)                   \
    {                                                                                          \
        shape s = SHAPE;                                                                       \
        drop<format_##format>(p, keep, v, out, s, factor);                                     \
    }                                                                                          \
    DKV(dropback, NONE, format)                                                                \
    DKV(fault_undropped, UNDROPPED, format)                                                    \
    DKV(backward, NONE, format)                                                                \
    DKV(fault_delta, NONE, format)                                                             \
    DKV(fault_group, GROUP, format)

KEEP(dropout, NONE)
KEEP(fault_rounds, ROUNDS)
KEEP(fault_grid, GRID)
KEEP(dropback, NONE)
KEEP(fault_undropped, NONE)
DS(dropback, NONE)
DS(fault_undropped, NONE)
DS(backward, NONE)
DS(fault_delta, DELTA)
DS(fault_group, NONE)
ENTRIES(f32)
ENTRIES(f16)
ENTRIES(bf16)
