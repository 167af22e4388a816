/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_ATTENTION_ATTENTION_CUH
#define GPUPARITY_CASES_ATTENTION_ATTENTION_CUH

#include "device.h"

/* What kernels of attention share.
 *
 * Q, O [batch * heads][queries][d], K, V [batch * kv heads][keys][d]; grid z counts batch * heads.
 * Row i sees the keys max(0, i + first) to min(keys, i + last) - 1; a row that sees none gives
 * O = 0 and -Inf. Scores are f32: acc over ascending d, times scale; with a softcap c then
 * c tanh(score / c); with slopes then minus slope |i + diagonal - key|. */

struct shape {
    i32 heads, kv_heads, queries, keys, d;
    i32 first, last, diagonal;
    f32 scale, softcap;
};

#define SHAPE_ARGUMENTS                                                                        \
    i32 heads, i32 kv_heads, i32 queries, i32 keys, i32 d, i32 first, i32 last, i32 diagonal,  \
        f32 scale, f32 softcap
#define SHAPE                                                                                  \
    {                                                                                          \
        heads, kv_heads, queries, keys, d, first, last, diagonal, scale, softcap               \
    }

DEVICE f32 minus_infinity()
{
    return f32_from_bits(0xff800000u);
}

DEVICE i32 smaller(i32 x, i32 y)
{
    return x < y ? x : y;
}

DEVICE i32 larger(i32 x, i32 y)
{
    return x > y ? x : y;
}

DEVICE i32 first_key(const shape &s, i32 i)
{
    return larger(i + s.first, 0);
}

DEVICE i32 last_key(const shape &s, i32 i)
{
    return smaller(i + s.last, s.keys);
}

/* The batch and kv head, of which a group of heads has one. */
DEVICE i32 kv_plane(i32 heads, i32 kv_heads)
{
    return BLOCK_Z / heads * kv_heads + BLOCK_Z % heads / (heads / kv_heads);
}

DEVICE f32 score(const shape &s, const f32 *slopes, f32 dot, i32 i, i32 j)
{
    f32 t = dot * s.scale;
    if (s.softcap != 0.0f)
        t = s.softcap * tanhf(t / s.softcap);
    if (slopes) {
        i32 distance = i + s.diagonal - j;
        t = t - slopes[BLOCK_Z % s.heads] * (f32)(distance < 0 ? -distance : distance);
    }
    return t;
}

#endif
