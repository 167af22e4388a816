/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_LANE_INT_H
#define GPUPARITY_CUDA_SIM_LANE_INT_H

#include <stdint.h>
#include <stdlib.h>

/* The lanes' types, and integer arithmetic on one lane: see lane.h. */

typedef uint32_t u32 __attribute__((may_alias));
typedef int32_t s32 __attribute__((may_alias));
typedef uint64_t u64 __attribute__((may_alias));
typedef int64_t s64 __attribute__((may_alias));
typedef float f32 __attribute__((may_alias));
typedef double f64 __attribute__((may_alias));
__extension__ typedef unsigned __int128 lane_u128;
__extension__ typedef __int128 lane_s128;

static inline uint32_t div_u32(uint32_t a, uint32_t b)
{
    return b ? a / b : 0xffffffffu;
}

static inline uint32_t rem_u32(uint32_t a, uint32_t b)
{
    return b ? a % b : a;
}

static inline int32_t div_s32(int32_t a, int32_t b)
{
    return !b ? -1 : b == -1 ? (int32_t) - (uint32_t)a : a / b;
}

static inline int32_t rem_s32(int32_t a, int32_t b)
{
    return !b ? a : b == -1 ? 0 : a % b;
}

static inline uint64_t div_u64(uint64_t a, uint64_t b)
{
    return b ? a / b : UINT64_MAX;
}

static inline uint64_t rem_u64(uint64_t a, uint64_t b)
{
    return b ? a % b : a;
}

static inline int64_t div_s64(int64_t a, int64_t b)
{
    return !b ? -1 : b == -1 ? (int64_t) - (uint64_t)a : a / b;
}

static inline int64_t rem_s64(int64_t a, int64_t b)
{
    return !b ? a : b == -1 ? 0 : a % b;
}

static inline uint32_t brev_u32(uint32_t a)
{
    a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
    a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
    a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(a);
}

static inline uint64_t brev_u64(uint64_t a)
{
    return (uint64_t)brev_u32((uint32_t)a) << 32 | brev_u32((uint32_t)(a >> 32));
}

static inline uint32_t bfind_u64(uint64_t a)
{
    return a ? 63u - (uint32_t)__builtin_clzll(a) : 0xffffffffu;
}

/* Field of `len` bits from `pos`; both are bytes of their registers. */
static inline uint64_t bfe_any(uint64_t a, uint32_t pos, uint32_t len, int bits, int sign)
{
    pos &= 255;
    len &= 255;
    uint64_t top = a >> (bits - 1) & 1;
    uint64_t filler =
        sign && len ? (pos + len > (uint32_t)bits ? top : a >> (pos + len - 1) & 1) : 0;
    if (sign && len && pos + len - 1 >= (uint32_t)bits)
        filler = top;
    uint64_t r = filler ? UINT64_MAX : 0;
    for (uint32_t k = 0; k < (uint32_t)bits; k++)
        if (k < len && pos + k < (uint32_t)bits)
            r = (r & ~((uint64_t)1 << k)) | (a >> (pos + k) & 1) << k;
    return bits == 32 ? r & 0xffffffffu : r;
}

static inline uint64_t bfi_any(uint64_t a, uint64_t b, uint32_t pos, uint32_t len, int bits)
{
    pos &= 255;
    len &= 255;
    if (pos >= (uint32_t)bits || !len)
        return b;
    uint64_t mask = len >= 64 ? UINT64_MAX : ((uint64_t)1 << len) - 1;
    return (b & ~(mask << pos)) | (a & mask) << pos;
}

static inline uint32_t prmt_any(uint32_t a, uint32_t b, uint32_t selector)
{
    uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t r = 0;
    for (int k = 0; k < 4; k++) {
        uint32_t s = selector >> (4 * k);
        uint32_t byte = (uint32_t)(bytes >> (8 * (s & 7))) & 255;
        if (s & 8)
            byte = byte & 128 ? 255 : 0;
        r |= byte << (8 * k);
    }
    return r;
}

static inline uint32_t lop3_any(uint32_t a, uint32_t b, uint32_t c, uint32_t table)
{
    uint32_t r = 0;
    for (uint32_t k = 0; k < 8; k++)
        if (table >> k & 1)
            r |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
    return r;
}

static inline uint32_t bfind_shift(uint64_t a, uint32_t top)
{
    return a ? top - bfind_u64(a) : 0xffffffffu;
}

static inline int32_t sat_s32(int64_t v)
{
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}

static inline int32_t sext24(uint32_t a)
{
    return (int32_t)(a << 8) >> 8;
}

static inline uint32_t dp4a_any(uint32_t a, uint32_t b, uint32_t c, int a_signed, int b_signed)
{
    for (int k = 0; k < 32; k += 8) {
        int32_t x = a_signed ? (int8_t)(a >> k) : (uint8_t)(a >> k);
        int32_t y = b_signed ? (int8_t)(b >> k) : (uint8_t)(b >> k);
        c += (uint32_t)(x * y);
    }
    return c;
}

static inline uint32_t bmsk_any(uint32_t a, uint32_t b, int clamp)
{
    if (clamp && (a > 31 || !b))
        return 0;
    a &= 31;
    b = clamp ? b : b & 31;
    uint32_t m = b > 31 ? 0xffffffffu : ((uint32_t)1 << b) - 1;
    return m << a;
}

static inline uint32_t szext_any(uint32_t a, uint32_t n, int sign, int clamp)
{
    n = clamp ? n : n & 31;
    if (n > 31)
        return a;
    uint32_t m = ((uint32_t)1 << n) - 1;
    return sign && n && (a >> (n - 1) & 1) ? a | ~m : a & m;
}

/* The c-th set bit of a from bit b upwards (c > 0) or downwards (c < 0). */
static inline uint32_t fns_any(uint32_t a, uint32_t b, int32_t c)
{
    if (b > 31)
        return 0xffffffffu;
    if (!c)
        return a >> b & 1 ? b : 0xffffffffu;
    uint32_t left = c < 0 ? -(uint32_t)c : (uint32_t)c;
    for (int32_t k = (int32_t)b; k >= 0 && k < 32; k += c < 0 ? -1 : 1)
        if ((a >> k & 1) && !--left)
            return (uint32_t)k;
    return 0xffffffffu;
}

#endif
