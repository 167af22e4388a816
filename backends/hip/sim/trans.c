/* SPDX-License-Identifier: Apache-2.0 */
#include "trans.h"

#include "transunit.h"

#include <stdbool.h>

#include "lanes.h"

/* One table after the other, each in the order of its rows. */
enum { ROWS_RCP = 0, ROWS_RSQ = 32, ROWS_SQRT = 96, ROWS_EXP = 128, ROWS = 160 };
static const struct trans_row rows[ROWS] = {
#define TRANS_ROW(table, row, c0, c1, c2, c3) [ROWS_##table + (row)] = {c0, c1, c2, c3},
#include "trans.def"
#undef TRANS_ROW
};

static bool is_nan(uint32_t x)
{
    return (x & ~TRANS_SIGN) > TRANS_INFINITE;
}

static uint32_t quieted(uint32_t x)
{
    return x | 0x00400000;
}

static bool is_zero(uint32_t x) /* or flushed to it */
{
    return (x & ~TRANS_SIGN) < TRANS_SMALLEST;
}

/* 1/x for x in [1, 2), as bits of a number in (1/2, 1]. */
static uint32_t rcp_unit(uint32_t mantissa)
{
    const struct trans_row *c = &rows[ROWS_RCP + (mantissa >> 18)];
    const int64_t t = mantissa & 0x3ffff, lp = c->c1 * t;
    const int64_t linear =
        lp >= INT64_C(1) << 38 ? trans_round(lp, 15) : (trans_round(lp, 14) + 1) >> 1;
    const int64_t inner = ((c->c2 << 20) - c->c3 * (4 * t + 1) + 0x800) >> 12;
    const int64_t square = ((t >> 1) * (t >> 1)) >> 10;
    const int64_t sum = (c->c0 << 9) - (linear << 6) + trans_quadratic(inner * square);
    return 0x3e800000 + (uint32_t)trans_round(sum, 11);
}

uint32_t trans_rcp_f32(uint32_t x)
{
    const uint32_t sign = x & TRANS_SIGN;
    if (is_nan(x))
        return quieted(x);
    if (is_zero(x))
        return sign | TRANS_INFINITE;
    if ((x & ~TRANS_SIGN) == TRANS_INFINITE)
        return sign;
    const int exponent = (int)(x >> 23 & 0xff) - 127;
    const int64_t r = (int64_t)rcp_unit(x & 0x7fffff) - (int64_t)exponent * TRANS_HIDDEN;
    return sign | (r < TRANS_SMALLEST ? 0 : (uint32_t)r);
}

/* 1/sqrt(x) for x in [1, 4), as bits of a number in (1/2, 1]. */
static uint32_t rsq_unit(uint32_t parity, uint32_t mantissa)
{
    const struct trans_row *c = &rows[ROWS_RSQ + (parity << 5 | mantissa >> 18)];
    const int64_t t = mantissa & 0x3ffff, lp = c->c1 * t;
    const int64_t rounded =
        lp >= INT64_C(1) << 37 ? trans_round(lp, 14) * 2 : trans_round(lp, 13);
    const int64_t linear = (rounded + 3) >> 2;
    const int64_t inner = ((c->c2 << 20) - c->c3 * (4 * t + 1) + 0x400) >> 11;
    const int64_t square = ((t >> 1) * (t >> 1)) >> 10;
    const int64_t sum = (c->c0 << 10) - (linear << 7) + trans_quadratic(inner * square);
    return 0x3e800000 + (uint32_t)trans_round(sum, 12);
}

/* x = 4^*ret_half * (number in [1, 4)); returns the exponent's parity. */
static uint32_t halve_exponent(uint32_t x, int *ret_half)
{
    const int exponent = (int)(x >> 23) - 127;
    *ret_half = exponent >> 1;
    return (uint32_t)exponent & 1;
}

uint32_t trans_rsq_f32(uint32_t x)
{
    if (is_nan(x))
        return quieted(x);
    if (is_zero(x))
        return (x & TRANS_SIGN) | TRANS_INFINITE;
    if (x & TRANS_SIGN)
        return TRANS_INVALID;
    if (x == TRANS_INFINITE)
        return 0;
    int half;
    const uint32_t parity = halve_exponent(x, &half);
    return rsq_unit(parity, x & 0x7fffff) - (uint32_t)(half * TRANS_HIDDEN);
}

/* sqrt(x) for x in [1, 4), as bits of a number in [1, 2). Here a row spans 19 bits. */
static uint32_t sqrt_unit(uint32_t parity, uint32_t mantissa)
{
    const struct trans_row *c = &rows[ROWS_SQRT + (parity << 4 | mantissa >> 19)];
    const int64_t t = mantissa & 0x7ffff, lp = c->c1 * t;
    const int64_t linear =
        lp >= INT64_C(1) << 40 ? trans_round(lp, 17) : trans_round(lp, 16) >> 1;
    const int64_t inner = ((c->c2 << 20) - c->c3 * (4 * t + 2) + 0x800) >> 12;
    const int64_t square = ((t >> 2) * (t >> 2)) >> 10;
    const int64_t sum = (c->c0 << 10) + (linear << 7) - trans_quadratic(inner * square);
    return 0x3f000000 + (uint32_t)trans_round(sum, 12);
}

uint32_t trans_sqrt_f32(uint32_t x)
{
    if (is_nan(x))
        return quieted(x);
    if (is_zero(x))
        return x & TRANS_SIGN;
    if (x & TRANS_SIGN)
        return TRANS_INVALID;
    if (x == TRANS_INFINITE)
        return x;
    int half;
    const uint32_t parity = halve_exponent(x, &half);
    return sqrt_unit(parity, x & 0x7fffff) + (uint32_t)(half * TRANS_HIDDEN);
}

/* 2^(v / 2^29) as bits; the whole part must leave a normal number, or one just below. */
static int64_t exp_unit(int64_t v)
{
    const struct trans_row *c = &rows[ROWS_EXP + (v >> 24 & 31)];
    const int64_t f = v & 0xffffff, lp = c->c1 * f, co = f >> 6;
    const int64_t linear =
        lp >= INT64_C(1) << 47 ? trans_round(lp, 24) : trans_round(lp, 23) >> 1;
    const int64_t square = (co * co) >> 12;
    const int64_t inner = trans_round((c->c2 << 7) + c->c3 * co, 7);
    const int64_t sum = ((c->c0 + linear) << 8) + trans_quadratic(inner * square);
    return ((v >> 29) + 126) * TRANS_HIDDEN + trans_round(sum, 13);
}

uint32_t trans_exp_f32(uint32_t x)
{
    const uint32_t size = x & ~TRANS_SIGN;
    const bool negative = x & TRANS_SIGN;
    if (is_nan(x))
        return quieted(x);
    if (size < 0x33800000) /* 2^-24 */
        return 0x3f800000;
    if (!negative && size >= 0x43000000) /* 128 */
        return TRANS_INFINITE;
    if (negative && size > 0x42fc0000) /* 126 */
        return 0;
    const int shift = (int)(size >> 23) - 127 - 23 + 29;
    const int64_t significand = (size & 0x7fffff) | TRANS_HIDDEN;
    const int64_t v = shift >= 0 ? significand << shift : significand >> -shift;
    const int64_t r = exp_unit(negative ? -v - 1 : v);
    return r < TRANS_SMALLEST ? 0 : (uint32_t)r;
}

/* 32 lanes at once. */
#define TRANS_ARRAY(name)                                                                      \
    void trans_##name##_row(uint32_t *d, const uint32_t *a)                                    \
    {                                                                                          \
        for (int i = 0; i < WAVE_LANES; i++)                                                   \
            d[i] = trans_##name(a[i]);                                                         \
    }
TRANS_ARRAY(rcp_f32)
TRANS_ARRAY(rsq_f32)
TRANS_ARRAY(sqrt_f32)
TRANS_ARRAY(exp_f32)
TRANS_ARRAY(log_f32)
#undef TRANS_ARRAY
