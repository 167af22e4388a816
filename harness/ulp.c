/* SPDX-License-Identifier: Apache-2.0 */
#include "ulp.h"

#include <math.h>
#include <stdbool.h>

#include "doublebits.h"

int64_t ulp_position(enum dtype d, uint64_t bits)
{
    const struct dtype_info *f = dtype_info(d);
    int width = 8 * f->bytes, unused = 64 - width;
    if (f->kind == DTYPE_KIND_INT)
        return (int64_t)(bits << unused) >> unused;
    if (f->kind != DTYPE_KIND_FLOAT)
        return (int64_t)(unused ? bits << unused >> unused : bits ^ 1ULL << 63);

    uint64_t sign = 1ULL << (width - 1);
    int64_t code = (int64_t)((bits & (sign - 1)) >> (width - 1 - f->exponent - f->fraction));
    return bits & sign ? -code : code;
}

uint64_t ulp_distance(enum dtype d, uint64_t a, uint64_t b)
{
    int64_t p = ulp_position(d, a), q = ulp_position(d, b);
    return p > q ? (uint64_t)p - (uint64_t)q : (uint64_t)q - (uint64_t)p;
}

/* e of 2^e <= |x| < 2^(e+1); -1023 for 0 and subnormals, which is below every format's range of
 * normal numbers. */
static int exponent_of(double x)
{
    return (int)(double_bits(x) >> 52 & 0x7ff) - 1023;
}

static double binade_ulp(enum dtype d, int e)
{
    const struct dtype_info *f = dtype_info(d);
    if (f->kind != DTYPE_KIND_FLOAT)
        return 1;
    int e_min = 1 - f->bias;
    int e_max = (1 << f->exponent) - 1 - f->bias - (f->specials == DTYPE_SPECIALS_IEEE);
    return double_power((e < e_min ? e_min : e > e_max ? e_max : e) - f->fraction);
}

double ulp_size(enum dtype d, double x)
{
    return binade_ulp(d, exponent_of(x));
}

/* The binade of value + tail: below a power of two when the tail points to zero. */
static int sum_exponent(double value, double tail)
{
    bool is_power = (double_bits(value) & ((1ULL << 52) - 1)) == 0;
    return exponent_of(value) - (is_power && tail != 0 && (tail > 0) != (value > 0));
}

__extension__ typedef __int128 wide_int;

double ulp_error(enum dtype d, uint64_t bits, double value, double tail)
{
    double x = dtype_value(d, bits), low = 0, scale = 1;
    if (d == DTYPE_I64)
        low = (double)(int64_t)(bits - (uint64_t)(wide_int)x);
    if (fabs(x) >= 0x1p1000 || fabs(value) >= 0x1p1000)
        scale = 0x1p-8;

    /* x - value is exact where they are near each other, and else much larger than the tail. */
    double error = (x * scale - value * scale) + (low - tail) * scale;
    error /= binade_ulp(d, sum_exponent(value, tail)) * scale;
    return error > ULP_ERROR_MAX    ? ULP_ERROR_MAX
           : error < -ULP_ERROR_MAX ? -ULP_ERROR_MAX
                                    : error;
}
