/* SPDX-License-Identifier: Apache-2.0 */
#include "approx.h"

#include <stdlib.h>
#include <string.h>

#include "lane.h"

const struct mark_info marks[MARK_COUNT_] = {
#define MARK(id, instruction, bound) {instruction, bound},
#include "mark.def"
#undef MARK
};

enum approx_mode approx_mode_environment(void)
{
    const char *text = getenv("GPUPARITY_SIM_APPROX");
    return text && !strcmp(text, "low")    ? APPROX_LOW
           : text && !strcmp(text, "high") ? APPROX_HIGH
                                           : APPROX_NEAREST;
}

/* --- the exact value, to some 50 bits --------------------------------------------------------
 */

static double power_of_two(int n)
{
    return n < -1022  ? 0
           : n > 1023 ? float64(0x7ff0000000000000u)
                      : float64((uint64_t)(n + 1023) << 52);
}

/* e^x for |x| <= 0.35 by its series. */
static double exp_small(double x)
{
    double r = 1;
    for (int k = 18; k > 0; k--)
        r = 1 + x / k * r;
    return r;
}

static double exact_ex2(double a)
{
    static const double ln2 = 0x1.62e42fefa39efp-1;
    if (a > 1000)
        return float64(0x7ff0000000000000u);
    if (a < -1000)
        return 0;
    double n = __builtin_rint(a);
    return exp_small((a - n) * ln2) * power_of_two((int)n);
}

/* log2 of a positive finite number: 2/ln2 * atanh((m-1)/(m+1)) + exponent. */
static double exact_lg2(double a)
{
    static const double two_log2e = 0x1.71547652b82fep+1;
    uint64_t u = bits64(a);
    int e = (int)(u >> 52) - 1023;
    double m = float64((u & 0xfffffffffffffu) | (uint64_t)1023 << 52);
    if (m > 0x1.6a09e667f3bcdp+0) {
        m *= 0.5;
        e++;
    }
    double s = (m - 1) / (m + 1), q = s * s, sum = 0;
    for (int k = 41; k > 0; k -= 2)
        sum = sum * q + 1.0 / k;
    return e + two_log2e * (s * sum);
}

/* Sine of x + quarter turns; the argument is an f32, reduced with pi/2 in three parts. */
static double exact_sine(double x, int quarter)
{
    static const double part1 = 0x1.921fb544p+0, part2 = 0x1.0b4611a6p-34,
                        part3 = 0x1.3198a2e037073p-69;
    static const double inverse = 0x1.45f306dc9c883p-1;
    double n = __builtin_rint(x * inverse);
    double r = ((x - n * part1) - n * part2) - n * part3, q = r * r;
    int k = (int)((int64_t)n + quarter) & 3;
    double sum = k & 1 ? 1 : r, term = sum;
    for (int j = k & 1 ? 2 : 3; j < 24; j += 2) {
        term *= -q / (j * (j - 1.0));
        sum += term;
    }
    return k & 2 ? -sum : sum;
}

static double exact_tanh(double x)
{
    double y = x < 0 ? -x : x, r;
    if (y < 0.1) {
        double q = y * y;
        r = y * (1 + q * (-1.0 / 3 +
                          q * (2.0 / 15 +
                               q * (-17.0 / 315 +
                                    q * (62.0 / 2835 +
                                         q * (-1382.0 / 155925 + q * (21844.0 / 6081075)))))));
    } else {
        double e = exact_ex2(-2 * y * 0x1.71547652b82fep+0);
        r = y > 40 ? 1 : (1 - e) / (1 + e);
    }
    return x < 0 ? -r : r;
}

/* --- the error -------------------------------------------------------------------------------
 */

/* The float `value` moved by `error` toward the edge that the mode names. */
static float edge(double value, double error, enum approx_mode mode)
{
    float nearest = (float)value;
    if (mode == APPROX_NEAREST || (double)nearest == value || nearest - nearest != 0)
        return nearest;
    return (float)(mode == APPROX_LOW ? value - error : value + error);
}

static double ulp_of(double value)
{
    int e = (int)(bits64(value) >> 52 & 2047) - 1023;
    return power_of_two(e < -126 ? -149 : e - 23);
}

static double magnitude(double v)
{
    return v < 0 ? -v : v;
}

/* How far the documents let a result be away. */
static double error_of(enum mark op, double a, double value)
{
    switch (op) {
    case MARK_EX2:
    case MARK_DIV_APPROX:
    case MARK_DIV_FULL:
        return 2 * ulp_of(value);
    case MARK_LG2:
        return a > 0.5 && a < 2 ? 0x1p-22 : 0x1p-22 * magnitude(value);
    case MARK_RCP:
        return ulp_of(value);
    case MARK_RSQRT:
        return 0x1.125fbee2p-23 * magnitude(value); /* 2^-22.9 */
    case MARK_SQRT:
        return 0x1p-23 * magnitude(value);
    case MARK_SIN:
    case MARK_COS:
        return 0x1.6a09e6p-21; /* 2^-20.5 */
    default:
        return 0x1p-11 * magnitude(value);
    }
}

static float special_value(enum mark op, float a, bool *ret_special)
{
    const float infinity = float32(0x7f800000u), nan = float32(0x7fffffffu);
    bool negative = bits32(a) >> 31;
    *ret_special = true;
    if (a != a)
        return nan;
    switch (op) {
    case MARK_EX2:
        if (a == infinity || a == -infinity)
            return negative ? 0 : infinity;
        break;
    case MARK_LG2:
        if (a == 0)
            return -infinity;
        if (negative || a == infinity)
            return negative ? nan : infinity;
        break;
    case MARK_RCP:
        if (a == 0 || magnitude(a) == infinity)
            return 1 / a;
        break;
    case MARK_RSQRT:
        if (a == 0)
            return negative ? -infinity : infinity;
        if (negative || a == infinity)
            return negative ? nan : 0;
        break;
    case MARK_SQRT:
        if (a == 0 || a == infinity || negative)
            return a == 0 || a == infinity ? a : nan;
        break;
    case MARK_SIN:
    case MARK_COS:
        if (magnitude(a) == infinity)
            return nan;
        if (a == 0)
            return op == MARK_SIN ? a : 1;
        break;
    default:
        if (a == 0)
            return a;
        break;
    }
    *ret_special = false;
    return 0;
}

static double exact_value(enum mark op, double a)
{
    switch (op) {
    case MARK_EX2:
        return exact_ex2(a);
    case MARK_LG2:
        return exact_lg2(a);
    case MARK_RCP:
        return 1 / a;
    case MARK_RSQRT:
        return 1 / __builtin_sqrt(a);
    case MARK_SQRT:
        return __builtin_sqrt(a);
    case MARK_SIN:
        return exact_sine(a, 0);
    case MARK_COS:
        return exact_sine(a, 1);
    default:
        return exact_tanh(a);
    }
}

/* div.approx: for 2^126 < |b| < 2^128 the reciprocal underflows and the result is 0, or NaN for
 * an infinite dividend. */
static float divide(enum mark op, float a, float b, enum approx_mode mode)
{
    double size = magnitude(b);
    if (op == MARK_DIV_APPROX && size > 0x1p126 && size < 0x1p128) {
        float zero = (bits32(a) ^ bits32(b)) >> 31 ? -0.0f : 0.0f;
        return a - a != 0 ? float32(0x7fffffffu) : zero;
    }
    double value = (double)a / (double)b;
    if (value != value || value == 0 || value - value != 0)
        return canon32((float)value);
    return edge(value, error_of(op, a, value), mode);
}

uint32_t approx_f32(enum mark op, uint32_t a, uint32_t b, bool ftz, enum approx_mode mode)
{
    float x = ftz ? flush32(float32(a)) : float32(a),
          y = ftz ? flush32(float32(b)) : float32(b), r;
    /* sin, cos, lg2 and the rest take subnormal operands as they are without .ftz. */
    if (op == MARK_DIV_APPROX || op == MARK_DIV_FULL) {
        r = divide(op, x, y, mode);
    } else {
        bool special;
        r = special_value(op, x, &special);
        if (!special) {
            double value = exact_value(op, x);
            r = edge(value, error_of(op, x, value), mode);
            if (op == MARK_SIN || op == MARK_COS || op == MARK_TANH)
                r = r > 1 ? 1 : r < -1 ? -1 : r;
        }
    }
    return bits32(ftz ? flush32(r) : r);
}

/* The unit sees the high word alone and its result has no low word. */
static uint64_t high_word_f64(enum mark op, uint64_t a, enum approx_mode mode)
{
    a = a >> 32 << 32;
    uint64_t exponent = a >> 52 & 2047;
    double x = exponent ? float64(a) : float64(a & (uint64_t)1 << 63);
    double r = op == MARK_RCP_F64 ? 1 / x : 1 / __builtin_sqrt(x);
    if (r != r)
        return 0x7fffffff00000000u;
    uint64_t u = bits64(r);
    if ((u >> 52 & 2047) == 0)
        return u & (uint64_t)1 << 63;
    if ((u >> 52 & 2047) == 2047 || !(u & 0xffffffffu))
        return u;
    u += 0x80000000u; /* to the nearest that has a zero low word */
    u = mode == APPROX_LOW    ? u - ((uint64_t)1 << 32)
        : mode == APPROX_HIGH ? u + ((uint64_t)1 << 32)
                              : u;
    return u & ~(uint64_t)0xffffffffu;
}

/* One third-order step from the unit's seed, as ptxas 13.0 writes it out. `a` is normal. */
static double rsqrt_step(double a, enum approx_mode mode)
{
    double seed = float64(high_word_f64(MARK_RSQRT_F64, bits64(a), mode));
    double e = __builtin_fma(a, -(seed * seed), 1.0);
    return __builtin_fma(__builtin_fma(e, 0.375, 0.5), seed * e, seed);
}

static uint64_t rsqrt_wide(uint64_t a, enum approx_mode mode)
{
    double x = float64(a);
    uint64_t sign = a & (uint64_t)1 << 63;
    if (x != x)
        return a | (uint64_t)1 << 51;
    if (x == 0)
        return sign | (uint64_t)0x7ff << 52;
    if (sign)
        return (uint64_t)0xfff8 << 48;
    if (a >> 52 == 0x7ff)
        return 0;
    if (a >> 52 == 0)
        return bits64(rsqrt_step(x * 0x1p54, mode) * 0x1p27);
    return bits64(rsqrt_step(x, mode));
}

uint64_t approx_f64(enum mark op, uint64_t a, enum approx_mode mode)
{
    return op == MARK_RSQRT_WIDE ? rsqrt_wide(a, mode) : high_word_f64(op, a, mode);
}

uint32_t approx_half(enum mark op, uint32_t a, bool brain, bool ftz, enum approx_mode mode)
{
    float x = brain ? bhalf_float(a) : half_float(a);
    double scale = brain ? 0x1p-7 : 0x1.125fbee2p-10;
    if (ftz && brain)
        x = flush32(x);
    bool special;
    float r = special_value(op == MARK_EX2_HALF ? MARK_EX2 : MARK_TANH, x, &special);
    if (!special) {
        double value = op == MARK_EX2_HALF ? exact_ex2(x) : exact_tanh(x);
        double error = op == MARK_EX2_HALF ? scale * magnitude(value)
                       : brain             ? 0x1p-8
                                           : 0x1.0256p-11;
        r = edge(value, error, mode);
    }
    if (ftz && brain)
        r = flush32(r);
    return brain ? float_bhalf(r) : float_half(r);
}
