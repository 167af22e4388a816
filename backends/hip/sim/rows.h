/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_ROWS_H
#define GPUPARITY_HIP_SIM_ROWS_H

#include <stdint.h>

#include "floatbits.h"
#include "opcode.h"

/* What the rows_*.c files share. They are compiled once for each VARIANT of host processor;
 * every name they export carries it. A row function computes all 32 lanes. Its result may lie
 * where an operand does, lane upon lane. */
#define VARIANT_PASTE_(v, name) v##_##name
#define VARIANT_PASTE(v, name) VARIANT_PASTE_(v, name)
#define VARIANT_NAME(name) VARIANT_PASTE(VARIANT, name)
#define VARIANT_TEXT_(v) #v
#define VARIANT_TEXT(v) VARIANT_TEXT_(v)

typedef int16_t row_i16 __attribute__((may_alias));
typedef uint32_t row_u32 __attribute__((may_alias));
typedef int32_t row_i32 __attribute__((may_alias));
typedef float row_f32 __attribute__((may_alias));
typedef uint64_t row_u64 __attribute__((may_alias));
typedef int64_t row_i64 __attribute__((may_alias));
typedef double row_f64 __attribute__((may_alias));

#define VALU(encoding, op, name, D, A, B, C, form, exec, row)                                  \
    extern row_fn VARIANT_NAME(row_##row);
#include "ops.def"

#define ROW(name)                                                                              \
    void VARIANT_NAME(row_##name)(void *vd, const void *va, const void *vb, const void *vc,    \
                                  const struct row_context *x)
#define ROW_UNUSED (void)va, (void)vb, (void)vc, (void)x
#define LANES _Pragma("GCC ivdep") for (int i = 0; i < WAVE_LANES; i++)

/* One expression a lane, of d[i], a[i], b[i], c[i]. */
#define ROW_EXPR(name, TD, TA, TB, TC, expr)                                                   \
    ROW(name)                                                                                  \
    {                                                                                          \
        ROW_UNUSED;                                                                            \
        TD *d = vd;                                                                            \
        const TA *a = va;                                                                      \
        const TB *b = vb;                                                                      \
        const TC *c = vc;                                                                      \
        (void)a, (void)b, (void)c;                                                             \
        LANES d[i] = (expr);                                                                   \
    }
#define ROW_U32(name, expr) ROW_EXPR(name, row_u32, row_u32, row_u32, row_u32, expr)
#define ROW_I32(name, expr) ROW_EXPR(name, row_i32, row_i32, row_i32, row_i32, expr)

/* --- f16 through f32: exact both ways, written without branches so that rows vectorise
 * -------- */

static inline float half_value(uint32_t h)
{
    uint32_t u = (h & 0x7fff) << 13;
    uint32_t finite = bits32(float32(u) * 0x1p112f);
    uint32_t special = u | 0x7f800000 | ((u & 0x7fffff) ? 0x400000 : 0);
    return float32(((h & 0x7c00) == 0x7c00 ? special : finite) | (h & 0x8000) << 16);
}

/* Nearest even; overflow gives Inf, a NaN keeps sign and upper payload, quieted. */
static inline uint32_t half_bits(float f)
{
    uint32_t u = bits32(f), m = u & 0x7fffffff;
    uint32_t tiny = bits32(float32(m) + 0.5f) - 0x3f000000;
    uint32_t normal = (m - 0x38000000 + 0xfff + (m >> 13 & 1)) >> 13;
    uint32_t r = m < 0x38800000 ? tiny : m >= 0x47800000 ? 0x7c00 : normal;
    r = m > 0x7f800000 ? 0x7e00 | (m >> 13 & 0x3ff) : r;
    return r | (u >> 16 & 0x8000);
}

/* a + b with the last bit set if the sum is inexact: a later rounding to a format at least two
 * bits narrower is then the only one. */
static inline double sum_odd(double a, double b)
{
    double s = a + b, t = s - a;
    double e = (a - (s - t)) + (b - t);
    uint64_t u = bits64(s);
    uint64_t up = (e > 0) == (s > 0) ? u + 1 : u - 1;
    return e != 0 && !(u & 1) && e - e == 0 ? float64(up) : s;
}

/* To f32 in the same way. */
static inline float narrow_odd(double v)
{
    float f = (float)v;
    uint32_t u = bits32(f);
    double back = f;
    uint32_t up = (v > back) == (v > 0) ? u + 1 : u - 1;
    return back != v && !(u & 1) && v - v == 0 ? float32(up) : f;
}

#endif
