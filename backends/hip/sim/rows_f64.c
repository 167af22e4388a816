/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include "../../sim/fp.h"
#include "rules.h"

/* f64 arithmetic on the host's unit; see rows_f32.c about NaNs. */

static inline int is_nan(uint64_t u)
{
    return (u & ~(1ull << 63)) > 0x7ff0000000000000;
}

static __attribute__((noinline)) void nan_repair(row_f64 *r, const row_u64 *a, const row_u64 *b,
                                                 const row_u64 *c)
{
    for (int i = 0; i < WAVE_LANES; i++) {
        if (!is_nan(bits64(r[i])))
            continue;
        uint64_t u = hip_rules.nan[FP_F64];
        u = c && is_nan(c[i]) ? c[i] : u;
        u = is_nan(b[i]) ? b[i] : u;
        u = is_nan(a[i]) ? a[i] : u;
        r[i] = float64(u | 1ull << 51);
    }
}

#define ROW_DOUBLE(name, c_or_null, expr)                                                      \
    ROW(name)                                                                                  \
    {                                                                                          \
        ROW_UNUSED;                                                                            \
        const row_f64 *a = va, *b = vb, *c = vc;                                               \
        row_f64 r[WAVE_LANES] __attribute__((aligned(64)));                                    \
        row_f64 *d = vd;                                                                       \
        int odd = 0;                                                                           \
        (void)c;                                                                               \
        LANES r[i] = (expr);                                                                   \
        LANES odd |= r[i] != r[i];                                                             \
        if (__builtin_expect(odd, 0))                                                          \
            nan_repair(r, va, vb, c_or_null);                                                  \
        LANES d[i] = r[i];                                                                     \
    }
ROW_DOUBLE(add_f64, NULL, a[i] + b[i])
ROW_DOUBLE(mul_f64, NULL, a[i] * b[i])
ROW_DOUBLE(fma_f64, vc, __builtin_fma(a[i], b[i], c[i]))

static const struct fp_env nearest = {.rules = &hip_rules, .round = FP_RNE};

#define ROW_U64(name, expr) ROW_EXPR(name, row_u64, row_u64, row_u64, row_u64, expr)
ROW_U64(min_f64, fp_min(&nearest, FP_F64, a[i], b[i]))
ROW_U64(max_f64, fp_max(&nearest, FP_F64, a[i], b[i]))

static inline uint64_t integral(uint64_t u, enum fp_round r)
{
    const struct fp_env v = {.rules = &hip_rules, .round = r};
    return fp_round_int(&v, FP_F64, u);
}
ROW_U64(trunc_f64, integral(a[i], FP_RZ))
ROW_U64(floor_f64, integral(a[i], FP_RD))
ROW_U64(ceil_f64, integral(a[i], FP_RU))
ROW_U64(rndne_f64, integral(a[i], FP_RNE))
ROW_U64(fract_f64, fp_fract(&nearest, FP_F64, a[i]))
ROW_U64(frexp_mant_f64, fp_frexp_mantissa(&nearest, FP_F64, a[i]))
ROW_EXPR(frexp_exp_i32_f64, row_u32, row_u64, row_u64, row_u64,
         (uint32_t)fp_frexp_exponent(&nearest, FP_F64, a[i]))
ROW_EXPR(ldexp_f64, row_u64, row_u64, row_i32, row_u64, fp_ldexp(&nearest, FP_F64, a[i], b[i]))

/* --- 2 / pi in 1201 bits, for v_trig_preop_f64: 53 bits from bit b * 53 (and the exponent of
 * the operand) on */
static const uint32_t two_over_pi[] = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab,
    0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e,
    0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b,
    0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7,
    0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1,
    0x1f8d5d08, 0x56033046, 0xfc7b6bab};

static uint64_t pi_bits(unsigned from, unsigned count)
{
    uint64_t r = 0;
    for (unsigned n = from; n < from + count; n++)
        r = r << 1 | (n < 1201 ? two_over_pi[n / 32] >> (31 - n % 32) & 1 : 0);
    return r;
}

static uint64_t trig_preop(uint64_t a, uint32_t segment)
{
    unsigned exponent = (unsigned)(a >> 52 & 0x7ff);
    unsigned shift = (segment & 31) * 53 + (exponent > 1077 ? exponent - 1077 : 0);
    int scale = -53 - (int)shift + (exponent >= 1968 ? 128 : 0);
    struct fp_env v = nearest;
    return fp_ldexp(&nearest, FP_F64, fp_from_int(&v, FP_F64, pi_bits(shift, 53), false),
                    scale);
}
ROW_EXPR(trig_preop_f64, row_u64, row_u64, row_u32, row_u64, trig_preop(a[i], b[i]))
