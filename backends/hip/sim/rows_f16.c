/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include "../../sim/fp.h"
#include "rules.h"

/* f16 by way of f32: sums and products of two f16 numbers rounded to f32 and then to f16 are
 * rounded correctly (24 >= 2 * 11 + 2). That is so in nearest rounding only: with another mode
 * in x->mode the lanes go through fp.h. */

static const struct fp_env nearest = {.rules = &hip_rules, .round = FP_RNE};

static inline enum fp_round round_of(const struct row_context *x)
{
    static const uint8_t modes[4] = {FP_RNE, FP_RU, FP_RD, FP_RZ};
    return (enum fp_round)modes[x->mode >> MODE_ROUND_64_SHIFT & 3];
}

static inline uint32_t is_nan(uint32_t h)
{
    return (h & 0x7fff) > 0x7c00;
}

static __attribute__((noinline)) void nan_repair(row_u32 *r, const row_u32 *a, const row_u32 *b,
                                                 const row_u32 *c)
{
    for (int i = 0; i < WAVE_LANES; i++) {
        if (!is_nan(r[i]))
            continue;
        uint32_t u = (uint32_t)hip_rules.nan[FP_F16];
        u = c && is_nan(c[i]) ? c[i] : u;
        u = is_nan(b[i]) ? b[i] : u;
        u = is_nan(a[i]) ? a[i] : u;
        r[i] = (u & 0xffff) | 0x200;
    }
}

/* `quick` in f32 values p, q, s of a, b, c; `exact` a call of fp.h with environment &v. */
#define ROW_HALF(name, c_or_null, quick, exact)                                                \
    ROW(name)                                                                                  \
    {                                                                                          \
        ROW_UNUSED;                                                                            \
        const row_u32 *a = va, *b = vb, *c = vc;                                               \
        row_u32 r[WAVE_LANES] __attribute__((aligned(64)));                                    \
        row_u32 *d = vd;                                                                       \
        uint32_t odd = 0;                                                                      \
        (void)c;                                                                               \
        if (round_of(x) != FP_RNE) {                                                           \
            const struct fp_env v = {.rules = &hip_rules, .round = round_of(x)};               \
            for (int i = 0; i < WAVE_LANES; i++)                                               \
                d[i] = (uint32_t)(exact);                                                      \
            return;                                                                            \
        }                                                                                      \
        LANES r[i] = half_bits(quick);                                                         \
        LANES odd |= is_nan(r[i]);                                                             \
        if (__builtin_expect(odd != 0, 0))                                                     \
            nan_repair(r, a, b, c_or_null);                                                    \
        LANES d[i] = r[i];                                                                     \
    }
#define P half_value(a[i])
#define Q half_value(b[i])
#define S half_value(c[i])
#define FUSED narrow_odd(sum_odd((double)P *(double)Q, (double)S))

ROW_HALF(add_f16, NULL, P + Q, fp_add(&v, FP_F16, a[i], b[i]))
ROW_HALF(sub_f16, NULL, P - Q, fp_sub(&v, FP_F16, a[i], b[i]))
ROW_HALF(subrev_f16, NULL, Q - P, fp_sub(&v, FP_F16, b[i], a[i]))
ROW_HALF(mul_f16, NULL, P *Q, fp_mul(&v, FP_F16, a[i], b[i]))
ROW_HALF(fma_f16, c, FUSED, fp_fma(&v, FP_F16, a[i], b[i], c[i]))

/* --- minimum and maximum as for f32 */
static inline uint32_t least(uint32_t a, uint32_t b)
{
    return (uint32_t)fp_min(&nearest, FP_F16, a, b);
}
static inline uint32_t most(uint32_t a, uint32_t b)
{
    return (uint32_t)fp_max(&nearest, FP_F16, a, b);
}
static inline uint32_t median(uint32_t a, uint32_t b, uint32_t c)
{
    if (is_nan(a) || is_nan(b) || is_nan(c))
        return least(least(a, b), c);
    return most(least(a, b), least(most(a, b), c));
}
ROW_U32(min_f16, least(a[i], b[i]))
ROW_U32(max_f16, most(a[i], b[i]))
ROW_U32(min3_f16, least(least(a[i], b[i]), c[i]))
ROW_U32(max3_f16, most(most(a[i], b[i]), c[i]))
ROW_U32(maxmin_f16, least(most(a[i], b[i]), c[i]))
ROW_U32(minmax_f16, most(least(a[i], b[i]), c[i]))
ROW_U32(med3_f16, median(a[i], b[i], c[i]))

/* --- the rest goes lane by lane */
static inline uint32_t integral(uint32_t h, enum fp_round r)
{
    const struct fp_env v = {.rules = &hip_rules, .round = r};
    return (uint32_t)fp_round_int(&v, FP_F16, h);
}
ROW_U32(trunc_f16, integral(a[i], FP_RZ))
ROW_U32(floor_f16, integral(a[i], FP_RD))
ROW_U32(ceil_f16, integral(a[i], FP_RU))
ROW_U32(rndne_f16, integral(a[i], FP_RNE))
ROW_U32(fract_f16, (uint32_t)fp_fract(&nearest, FP_F16, a[i]))
ROW_U32(ldexp_f16, (uint32_t)fp_ldexp(&nearest, FP_F16, a[i], (int16_t)b[i]))
ROW_U32(frexp_mant_f16, (uint32_t)fp_frexp_mantissa(&nearest, FP_F16, a[i]))
ROW_U32(frexp_exp_i16_f16, (uint32_t)fp_frexp_exponent(&nearest, FP_F16, a[i]) & 0xffff)

/* src0 is the quotient's approximation, b the denominator, c the numerator. */
static inline uint32_t fix_up(uint32_t q, uint32_t den, uint32_t num)
{
    const uint32_t sign = (den ^ num) & 0x8000, d = den & 0x7fff, n = num & 0x7fff;
    if (is_nan(num))
        return num | 0x200;
    if (is_nan(den))
        return den | 0x200;
    if ((!d && !n) || (d == 0x7c00 && n == 0x7c00))
        return 0xfe00;
    if (!d || n == 0x7c00)
        return sign | 0x7c00;
    if (!n || d == 0x7c00)
        return sign;
    return is_nan(q) ? sign | 0x7c00 : sign | (q & 0x7fff);
}
ROW_U32(div_fixup_f16, fix_up(a[i], b[i], c[i]))
