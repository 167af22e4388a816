/* SPDX-License-Identifier: Apache-2.0 */
#include "trans.h"

#include "transunit.h"

#include <stdbool.h>

/* Rows 0 to 31 by the top five bits of the significand, the upper half of row 1 apart as row
 * 32; then two rows below 1 and three above it. */
enum { ROWS_LOG = 0, ROWS_BELOW = 33, ROWS_ABOVE = 35, ROWS = 38 };
static const struct trans_row rows[ROWS] = {
#define TRANS_ROW(table, row, c0, c1, c2, c3) [ROWS_##table + (row)] = {c0, c1, c2, c3},
#include "translog.def"
#undef TRANS_ROW
};

static int bit_width(uint64_t x)
{
    return 64 - __builtin_clzll(x);
}

/* Close to 1 the operand is scaled up in steps of four bits. */
static int steps_of_four(uint32_t distance)
{
    int width = bit_width(distance);
    return width < 18 ? (18 - width) / 4 * 4 : 0;
}

/* fixed / 2^point as a float; the significand is cut to 24 bits, plus one if `up`. */
static uint32_t float_make(uint64_t fixed, int point, uint64_t up)
{
    int top = bit_width(fixed) - 1;
    uint64_t significand = (fixed >> (top - 23)) + up;
    return (uint32_t)((uint64_t)(top - point + 126) * TRANS_HIDDEN + significand);
}

/* The same, the magnitude rounded up. */
static uint32_t float_up(uint64_t fixed, int point)
{
    int shift = bit_width(fixed) - 24;
    return float_make(fixed, point, (fixed & ((UINT64_C(1) << shift) - 1)) != 0);
}

/* 63/64 <= x < 1; `k` is 1 - x in units of 2^-24. */
static uint32_t log_below(int64_t k)
{
    const struct trans_row *c = &rows[ROWS_BELOW + (k >= 0x20000)];
    const int n = steps_of_four((uint32_t)k);
    const int cut_linear = n < 14 ? 14 - n : 0, cut_square = n < 12 ? 12 - n : 0;
    const int64_t linear = (2 * c->c1 * k) >> cut_linear << cut_linear;
    const int64_t square = (k * k) >> cut_square << cut_square;
    const int64_t inner = trans_round((c->c2 << 22) + c->c3 * (k - 1), 22);
    const int64_t quadratic = -(-(inner * square) >> (38 - n)); /* up */
    const int64_t fixed = linear * 4 + (quadratic << (16 - n)) - (c->c0 << 16);
    return TRANS_SIGN | float_up((uint64_t)fixed, 50);
}

/* 1 < x < 33/32; `i` is x - 1 in units of 2^-23. */
static uint32_t log_above(int64_t i)
{
    const int row = i < 0x10000 ? 0 : i < 0x20000 ? 1 : 2;
    const struct trans_row *c = &rows[ROWS_ABOVE + row];
    const int n = row ? 0 : steps_of_four((uint32_t)i);
    const int64_t scaled = i << n;
    const int64_t linear = (c->c1 * scaled) >> 13 << 2;
    const int64_t square = (scaled * i) >> 12;
    const int64_t inner = trans_round((c->c2 << 22) - c->c3 * (2 * i + 1), 22);
    const int64_t fixed = c->c0 + linear - trans_quadratic(inner * square);
    return float_make((uint64_t)fixed, 35 + n, 1); /* exact ones advance too */
}

static uint32_t log_elsewhere(uint32_t x)
{
    const int64_t f = x & 0x3ffff;
    const uint32_t row = x >> 18 & 31;
    const struct trans_row *c = &rows[ROWS_LOG + (row == 1 && f >= 0x20000 ? 32 : row)];
    const int64_t linear = (c->c1 * f) >> 16;
    const int64_t inner = trans_round((c->c2 << 22) - c->c3 * (2 * f + 1), 22);
    const int64_t square = (f * f) >> 12;
    const int64_t exponent = (int64_t)(x >> 23) - 127;
    const int64_t fixed = exponent * (INT64_C(1) << 35) + ((c->c0 + linear) << 5) -
                          trans_quadratic(inner * square);
    return fixed < 0 ? TRANS_SIGN | float_up((uint64_t)-fixed, 35)
                     : float_make((uint64_t)fixed, 35, 0);
}

uint32_t trans_log_f32(uint32_t x)
{
    const uint32_t size = x & ~TRANS_SIGN;
    if (size > TRANS_INFINITE)
        return x | 0x00400000;
    if (size < TRANS_SMALLEST)
        return TRANS_SIGN | TRANS_INFINITE;
    if (x & TRANS_SIGN)
        return TRANS_INVALID;
    if (x == TRANS_INFINITE || x == 0x3f800000)
        return x == TRANS_INFINITE ? x : 0;
    if (x >= 0x3f7c0000 && x < 0x3f800000)
        return log_below(0x3f800000 - (int64_t)x);
    if (x > 0x3f800000 && x < 0x3f840000)
        return log_above((int64_t)x - 0x3f800000);
    return log_elsewhere(x);
}
