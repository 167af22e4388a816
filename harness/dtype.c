/* SPDX-License-Identifier: Apache-2.0 */
#include "dtype.h"

#include <math.h>
#include <string.h>

#include "doublebits.h"

static const struct dtype_info infos[DTYPE_COUNT_] = {
#define DTYPE(id, name, kind, bytes, exponent, fraction, bias, specials)                       \
    [DTYPE_##id] = {name, DTYPE_KIND_##kind,        bytes, exponent, fraction,                 \
                    bias, DTYPE_SPECIALS_##specials},
#include "dtype.def"
#undef DTYPE
};

const struct dtype_info *dtype_info(enum dtype d)
{
    return &infos[d];
}

enum dtype dtype_find(const char *name)
{
    for (int d = 0; d < DTYPE_COUNT_; d++)
        if (strcmp(infos[d].name, name) == 0)
            return (enum dtype)d;
    return DTYPE_COUNT_;
}

/* Unused low bits: 13 for tf32, 0 for all others. */
static int low_bits(const struct dtype_info *f)
{
    return 8 * f->bytes - 1 - f->exponent - f->fraction;
}

static uint64_t sign_bit(const struct dtype_info *f)
{
    return 1ULL << (8 * f->bytes - 1);
}

/* Exponent and fraction fields as one integer: the order of codes is the order of magnitudes.
 */
static uint64_t magnitude_code(const struct dtype_info *f, uint64_t bits)
{
    return (bits & (sign_bit(f) - 1)) >> low_bits(f);
}

/* The first code that is not a finite magnitude. */
static uint64_t code_limit(const struct dtype_info *f)
{
    uint64_t all = (1ULL << (f->exponent + f->fraction)) - 1;
    if (f->specials == DTYPE_SPECIALS_IEEE)
        return all - ((1ULL << f->fraction) - 1);
    return f->specials == DTYPE_SPECIALS_FN ? all : all + 1;
}

static bool is_fnuz_nan(const struct dtype_info *f, uint64_t bits)
{
    return f->specials == DTYPE_SPECIALS_FNUZ && (bits & (2 * sign_bit(f) - 1)) == sign_bit(f);
}

bool dtype_is_nan(enum dtype d, uint64_t bits)
{
    const struct dtype_info *f = &infos[d];
    if (f->kind != DTYPE_KIND_FLOAT)
        return false;
    if (f->specials == DTYPE_SPECIALS_IEEE)
        return magnitude_code(f, bits) > code_limit(f);
    return magnitude_code(f, bits) >= code_limit(f) || is_fnuz_nan(f, bits);
}

bool dtype_is_inf(enum dtype d, uint64_t bits)
{
    const struct dtype_info *f = &infos[d];
    return f->specials == DTYPE_SPECIALS_IEEE && magnitude_code(f, bits) == code_limit(f);
}

bool dtype_is_finite(enum dtype d, uint64_t bits)
{
    const struct dtype_info *f = &infos[d];
    if (f->kind != DTYPE_KIND_FLOAT)
        return true;
    return magnitude_code(f, bits) < code_limit(f) && !is_fnuz_nan(f, bits);
}

bool dtype_is_subnormal(enum dtype d, uint64_t bits)
{
    const struct dtype_info *f = &infos[d];
    if (f->kind != DTYPE_KIND_FLOAT)
        return false;
    uint64_t code = magnitude_code(f, bits);
    return code != 0 && code < 1ULL << f->fraction;
}

static double integer_value(const struct dtype_info *f, uint64_t bits)
{
    int unused = 64 - 8 * f->bytes;
    if (f->kind == DTYPE_KIND_INT)
        return (double)((int64_t)(bits << unused) >> unused);
    return (double)(bits << unused >> unused);
}

static double finite_value(const struct dtype_info *f, uint64_t bits)
{
    uint64_t code = magnitude_code(f, bits);
    uint64_t sign = bits & sign_bit(f) ? 1ULL << 63 : 0;
    if (code >> f->fraction == 0) {
        double x = (double)code * double_power(1 - f->bias - f->fraction);
        return sign ? -x : x;
    }
    uint64_t rebias = (uint64_t)(1023 - f->bias) << 52;
    return double_from_bits(sign | ((code << (52 - f->fraction)) + rebias));
}

double dtype_value(enum dtype d, uint64_t bits)
{
    const struct dtype_info *f = &infos[d];
    if (d == DTYPE_F64)
        return double_from_bits(bits);
    if (d == DTYPE_F32) {
        uint32_t word = (uint32_t)bits;
        float x;
        memcpy(&x, &word, sizeof x);
        return x;
    }
    if (f->kind != DTYPE_KIND_FLOAT)
        return integer_value(f, bits);
    if (dtype_is_nan(d, bits))
        return (double)NAN;
    if (dtype_is_inf(d, bits))
        return bits & sign_bit(f) ? -INFINITY : INFINITY;
    return finite_value(f, bits);
}

/* a + b with the last bit made odd when the sum is inexact: a later rounding to fewer than 52
 * bits then comes out as if it had seen the exact sum. */
static double sum_to_odd(double a, double b)
{
    double s = a + b;
    if (!isfinite(s))
        return s;
    double bb = s - a;
    double rest = (a - (s - bb)) + (b - bb);
    uint64_t bits = double_bits(s);
    if (rest == 0 || (bits & 1))
        return s;
    return double_from_bits((rest > 0) == (s > 0) ? bits + 1 : bits - 1);
}

static uint64_t nan_bits(const struct dtype_info *f)
{
    if (f->specials == DTYPE_SPECIALS_FNUZ)
        return sign_bit(f);
    if (f->specials == DTYPE_SPECIALS_FN)
        return code_limit(f);
    return (code_limit(f) | 1ULL << (f->fraction - 1)) << low_bits(f);
}

static uint64_t overflow_bits(const struct dtype_info *f, uint64_t sign)
{
    if (f->specials == DTYPE_SPECIALS_FNUZ)
        return sign_bit(f);
    return sign | code_limit(f) << low_bits(f);
}

/* Code of the magnitude nearest to |x|, may reach code_limit or beyond. */
static uint64_t nearest_code(const struct dtype_info *f, double x)
{
    uint64_t bits = double_bits(x) & ~(1ULL << 63);
    int e = (int)(bits >> 52) - 1023, e_min = 1 - f->bias;
    if (e < e_min - f->fraction - 1)
        return 0;
    uint64_t significand = (bits & ((1ULL << 52) - 1)) | 1ULL << 52;
    int drop = 52 - f->fraction + (e < e_min ? e_min - e : 0);
    uint64_t kept = significand >> drop, rest = significand & ((1ULL << drop) - 1);
    uint64_t half = 1ULL << (drop - 1);
    kept += rest > half || (rest == half && (kept & 1));
    return e < e_min ? kept : kept + ((uint64_t)(e - e_min) << f->fraction);
}

static uint64_t narrow_round(const struct dtype_info *f, double x)
{
    uint64_t sign = signbit(x) ? sign_bit(f) : 0;
    if (isinf(x))
        return overflow_bits(f, sign);
    uint64_t code = nearest_code(f, x);
    if (code >= code_limit(f))
        return overflow_bits(f, sign);
    if (code == 0 && f->specials == DTYPE_SPECIALS_FNUZ)
        return 0;
    return sign | code << low_bits(f);
}

__extension__ typedef __int128 wide_int;

static uint64_t integer_round(const struct dtype_info *f, double value, double tail)
{
    int width = 8 * f->bytes;
    bool is_signed = f->kind == DTYPE_KIND_INT;
    wide_int low = is_signed ? -((wide_int)1 << (width - 1)) : 0;
    wide_int high = ((wide_int)1 << (is_signed ? width - 1 : width)) - 1;
    uint64_t mask = width == 64 ? UINT64_MAX : (1ULL << width) - 1;
    if (fabs(value) >= 0x1p65)
        return (uint64_t)(value < 0 ? low : high) & mask;

    double whole = trunc(value);
    double rest = sum_to_odd(value - whole, tail);
    double below = floor(rest), middle = below + 0.5;
    wide_int n = (wide_int)whole + (wide_int)below;
    n += rest > middle || (rest == middle && (n & 1));
    return (uint64_t)(n < low ? low : n > high ? high : n) & mask;
}

uint64_t dtype_round_sum(enum dtype d, double value, double tail)
{
    const struct dtype_info *f = &infos[d];
    if (isnan(value))
        return f->kind == DTYPE_KIND_FLOAT ? nan_bits(f) : 0;
    if (f->kind != DTYPE_KIND_FLOAT)
        return integer_round(f, value, tail);
    if (d == DTYPE_F64)
        return double_bits(tail == 0 ? value : value + tail);
    return narrow_round(f, tail == 0 ? value : sum_to_odd(value, tail));
}

uint64_t dtype_round(enum dtype d, double value)
{
    return dtype_round_sum(d, value, 0);
}

double dtype_max(enum dtype d)
{
    return finite_value(&infos[d], (code_limit(&infos[d]) - 1) << low_bits(&infos[d]));
}

double dtype_min_normal(enum dtype d)
{
    return double_power(1 - infos[d].bias);
}

double dtype_min_subnormal(enum dtype d)
{
    return double_power(1 - infos[d].bias - infos[d].fraction);
}

double dtype_unit(enum dtype d)
{
    return double_power(-infos[d].fraction - 1);
}
