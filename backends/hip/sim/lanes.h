/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_LANES_H
#define GPUPARITY_HIP_SIM_LANES_H

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "exec.h"

/* Between 32-bit masks and rows of 32 lanes. */

/* 0 or ~0 a lane. */
static inline void lanes_expand(uint32_t mask, uint32_t *ret_row)
{
    _Pragma("GCC ivdep") for (int i = 0; i < WAVE_LANES; i++) ret_row[i] = -(mask >> i & 1);
}

/* Bit i: the top bit of lane i. Rows are 64-byte aligned. */
static inline uint32_t lanes_collect(const uint32_t *row)
{
#if defined(__AVX2__)
    uint32_t r = 0;
    for (int n = 0; n < 4; n++) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(row + 8 * n));
        r |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(v)) << 8 * n;
    }
    return r;
#elif defined(__x86_64__)
    uint32_t r = 0;
    for (int n = 0; n < 8; n++) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(row + 4 * n));
        r |= (uint32_t)_mm_movemask_ps(_mm_castsi128_ps(v)) << 4 * n;
    }
    return r;
#else
    uint32_t r = 0;
    for (int i = 0; i < WAVE_LANES; i++)
        r |= (row[i] >> 31) << i;
    return r;
#endif
}

/* d = r where the lane's bit of mask is set. */
static inline void lanes_store(uint32_t *d, const uint32_t *r, uint32_t mask)
{
    uint32_t m[WAVE_LANES] __attribute__((aligned(64)));
    if (mask == ~0u) {
        memcpy(d, r, sizeof m);
        return;
    }
    lanes_expand(mask, m);
    _Pragma("GCC ivdep") for (int i = 0; i < WAVE_LANES; i++) d[i] =
        (d[i] & ~m[i]) | (r[i] & m[i]);
}

/* A 32-bit operand as a row: where it lies, or spread over `room`. */
static inline const uint32_t *lanes_operand(const struct wave *w, const struct operand *o,
                                            uint32_t *room)
{
    if (o->kind == OPERAND_VGPR)
        return w->v[o->index];
    if (o->kind == OPERAND_NONE)
        return room;
    if (o->kind == OPERAND_MASK) {
        lanes_expand(w->s[o->index], room);
        return room;
    }
    const uint32_t value = o->kind == OPERAND_SGPR ? w->s[o->index] : scalar_32(w, o);
    _Pragma("GCC ivdep") for (int i = 0; i < WAVE_LANES; i++) room[i] = value;
    return room;
}

/* The same with its sign cleared and flipped as the instruction says. */
static inline const uint32_t *lanes_signed(const struct wave *w, const struct inst *i, int n,
                                           uint32_t *room)
{
    const uint32_t *p = lanes_operand(w, &i->src[n], room);
    if (!((i->neg | i->abs) >> n & 1))
        return p;
    const uint32_t keep = i->abs >> n & 1 ? 0x7fffffff : ~0u;
    const uint32_t flip = (uint32_t)(i->neg >> n & 1) << 31;
    _Pragma("GCC ivdep") for (int l = 0; l < WAVE_LANES; l++) room[l] = (p[l] & keep) ^ flip;
    return room;
}

#endif
