/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_LANE_H
#define GPUPARITY_CUDA_SIM_LANE_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "floatbits.h"
#include "lane_int.h"

/* Arithmetic on one lane, written so that gcc turns a loop over 32 lanes into vector code.
 * Results do not depend on the instruction set it is compiled for. */

/* The card's only f32 NaN. */
static inline float canon32(float f)
{
    return f != f ? float32(0x7fffffffu) : f;
}

/* f64 keeps the payload of its first NaN operand, quieted; else the default NaN (rules.c). */
static inline double nan64(double r, double a, double b, double c)
{
    const uint64_t quiet = (uint64_t)1 << 51;
    double n = a != a   ? float64(bits64(a) | quiet)
               : b != b ? float64(bits64(b) | quiet)
               : c != c ? float64(bits64(c) | quiet)
                        : float64(0xfff8000000000000u);
    return r != r ? n : r;
}

/* .ftz: a subnormal becomes a zero of its sign. */
static inline float flush32(float f)
{
    uint32_t u = bits32(f);
    return float32((u & 0x7f800000u) ? u : u & 0x80000000u);
}

/* .sat: into [0, 1], NaN and -0 become +0. */
static inline float sat32(float f)
{
    f = f > 0.0f ? f : 0.0f;
    return f < 1.0f ? f : 1.0f;
}

static inline double sat64(double f)
{
    f = f > 0.0 ? f : 0.0;
    return f < 1.0 ? f : 1.0;
}

/* PTX min/max: a number is preferred to NaN and -0 < +0. */
static inline float min32(float a, float b)
{
    float m = a < b ? a : b < a ? b : float32(bits32(a) | bits32(b));
    m = a != a ? b : b != b ? a : m;
    return canon32(m);
}

static inline float max32(float a, float b)
{
    float m = a > b ? a : b > a ? b : float32(bits32(a) & bits32(b));
    m = a != a ? b : b != b ? a : m;
    return canon32(m);
}

static inline double min64(double a, double b)
{
    double m = a < b ? a : b < a ? b : float64(bits64(a) | bits64(b));
    m = a != a ? b : b != b ? a : m;
    return m != m ? float64(0xfff8000000000000u) : m;
}

static inline double max64(double a, double b)
{
    double m = a > b ? a : b > a ? b : float64(bits64(a) & bits64(b));
    m = a != a ? b : b != b ? a : m;
    return m != m ? float64(0xfff8000000000000u) : m;
}

/* --- 16-bit formats --------------------------------------------------------------------------
 */

/* Exact. Subnormals come out right because the scaling below is by a power of two. */
static inline float half_float(uint32_t h)
{
    uint32_t sign = (h & 0x8000u) << 16, rest = h & 0x7fffu;
    uint32_t normal = (rest << 13) + 0x38000000u;
    uint32_t special = (rest << 13) | 0x7f800000u;
    float tiny = (float)(int32_t)rest * 0x1p-24f;
    uint32_t u = rest >= 0x7c00u ? special : rest < 0x400u ? bits32(tiny) : normal;
    return float32(u | sign);
}

static inline float bhalf_float(uint32_t h)
{
    return float32(h << 16);
}

/* Nearest even; NaN becomes the canonical one. */
static inline uint32_t float_half(float f)
{
    uint32_t u = bits32(f), sign = u >> 16 & 0x8000u;
    u &= 0x7fffffffu;
    uint32_t normal = (u + 0xfffu + (u >> 13 & 1) - 0x38000000u) >> 13;
    uint32_t tiny = bits32(float32(u) + 0.5f) - 0x3f000000u;
    uint32_t r = u < 0x38800000u ? tiny : normal;
    r = u >= 0x477ff000u ? 0x7c00u : r;
    return u > 0x7f800000u ? 0x7fffu : r | sign;
}

static inline uint32_t float_bhalf(float f)
{
    uint32_t u = bits32(f);
    uint32_t r = (u + 0x7fffu + (u >> 16 & 1)) >> 16;
    return (u & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : r;
}

/* --- signs; but for f64 a NaN becomes the canonical one
 * -------------------------------------------------- */

static inline uint32_t abs_bits32(uint32_t a)
{
    a &= 0x7fffffffu;
    return a > 0x7f800000u ? 0x7fffffffu : a;
}

static inline uint64_t abs_bits64(uint64_t a)
{
    a &= ~((uint64_t)1 << 63);
    return a;
}

static inline uint32_t neg_bits32(uint32_t a)
{
    return (a & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : a ^ 0x80000000u;
}

static inline uint64_t neg_bits64(uint64_t a)
{
    return a ^ (uint64_t)1 << 63;
}

static inline uint32_t abs_bits16(uint32_t a, uint32_t infinity)
{
    a &= 0x7fff;
    return a > infinity ? 0x7fff : a;
}

static inline uint32_t neg_bits16(uint32_t a, uint32_t infinity)
{
    return (a & 0x7fff) > infinity ? 0x7fff : a ^ 0x8000;
}

/* --- fused multiply-add of the 16-bit formats ------------------------------------------------
 */

/* a + b in double with the last bit made sticky when inexact ("round to odd"), so that a second
 * rounding to fewer bits is right. */
static inline double add_odd(double a, double b)
{
    double s = a + b, t = s - a, error = (a - (s - t)) + (b - t);
    uint64_t u = bits64(s);
    int away = (error > 0) == (s > 0);
    uint64_t odd = u & 1 ? u : away ? u + 1 : u - 1;
    return error == error && error != 0 && s - s == 0 ? float64(odd) : s;
}

/* Double to float with a sticky last bit. */
static inline float narrow_odd(double d)
{
    float f = (float)d;
    double back = (double)f;
    uint32_t u = bits32(f);
    int larger = (back < 0 ? -back : back) > (d < 0 ? -d : d);
    uint32_t odd = u & 1 ? u : larger ? u - 1 : u + 1;
    return back != d && d == d ? float32(odd) : f;
}

/* The product of two 11-bit numbers and the sum with a third are exact in a double unless the
 * result overflows the format anyway; see add_odd for the rest. */
static inline uint32_t half_fma(uint32_t a, uint32_t b, uint32_t c)
{
    double p = (double)half_float(a) * (double)half_float(b);
    return float_half(narrow_odd(add_odd(p, (double)half_float(c))));
}

static inline uint32_t bhalf_fma(uint32_t a, uint32_t b, uint32_t c)
{
    double p = (double)bhalf_float(a) * (double)bhalf_float(b);
    return float_bhalf(narrow_odd(add_odd(p, (double)bhalf_float(c))));
}

/* --- to integers: saturating, NaN gives 0 ----------------------------------------------------
 */

static inline int32_t f32_s32(float f)
{
    float inside = f >= -0x1p31f && f < 0x1p31f ? f : 0.0f;
    return f >= 0x1p31f ? INT32_MAX : f < -0x1p31f ? INT32_MIN : (int32_t)inside;
}

static inline uint32_t f32_u32(float f)
{
    float low = f > 0 && f < 0x1p31f ? f : 0.0f;
    float high = f >= 0x1p31f && f < 0x1p32f ? f - 0x1p31f : 0.0f;
    uint32_t r =
        (uint32_t)(int32_t)low + ((uint32_t)(int32_t)high | (f >= 0x1p31f ? 0x80000000u : 0));
    return f >= 0x1p32f ? UINT32_MAX : r;
}

#endif
