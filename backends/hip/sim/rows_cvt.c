/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include "../../sim/fp.h"
#include "rules.h"

/* Conversions. Those that round by MODE take the host's rounding, which the executor has set,
 * or fp.h with the mode of x. */

static const struct fp_env nearest = {.rules = &hip_rules, .round = FP_RNE};
static const struct fp_env to_zero = {.rules = &hip_rules, .round = FP_RZ};
static const struct fp_env down = {.rules = &hip_rules, .round = FP_RD};

static inline struct fp_env env_of(const struct row_context *x, unsigned shift)
{
    static const uint8_t modes[4] = {FP_RNE, FP_RU, FP_RD, FP_RZ};
    return (struct fp_env){.rules = &hip_rules,
                           .round = (enum fp_round)modes[x->mode >> shift & 3]};
}

ROW_EXPR(cvt_f32_i32, row_f32, row_i32, row_i32, row_i32, (float)a[i])
ROW_EXPR(cvt_f32_u32, row_f32, row_u32, row_u32, row_u32, (float)a[i])
ROW_EXPR(cvt_f64_i32, row_f64, row_i32, row_i32, row_i32, (double)a[i])
ROW_EXPR(cvt_f64_u32, row_f64, row_u32, row_u32, row_u32, (double)a[i])
ROW_EXPR(cvt_f32_ubyte0, row_f32, row_u32, row_u32, row_u32, (float)(int32_t)(a[i] & 255))
ROW_EXPR(cvt_f32_ubyte1, row_f32, row_u32, row_u32, row_u32, (float)(int32_t)(a[i] >> 8 & 255))
ROW_EXPR(cvt_f32_ubyte2, row_f32, row_u32, row_u32, row_u32, (float)(int32_t)(a[i] >> 16 & 255))
ROW_EXPR(cvt_f32_ubyte3, row_f32, row_u32, row_u32, row_u32, (float)(int32_t)(a[i] >> 24))
ROW_EXPR(cvt_off_f32_i4, row_f32, row_u32, row_u32, row_u32,
         (float)((int32_t)(a[i] << 28) >> 28) * 0.0625f)

/* Saturating, NaN gives 0. 2147483647 as a float is 2^31. */
static inline int32_t to_i32(float f)
{
    int32_t r = f >= 0x1p31f ? INT32_MAX : (int32_t)(f > -0x1p31f ? f : -0x1p31f);
    return f != f ? 0 : r;
}
static inline uint32_t to_u32(float f)
{
    float g = f > 0 ? f : 0;
    return g >= 0x1p32f ? UINT32_MAX : (uint32_t)g;
}
ROW_EXPR(cvt_i32_f32, row_i32, row_f32, row_f32, row_f32, to_i32(a[i]))
ROW_EXPR(cvt_u32_f32, row_u32, row_f32, row_f32, row_f32, to_u32(a[i]))
#define TO_INT(env, format, bits, is_signed)                                                   \
    (uint32_t) fp_to_int(env, format, a[i], bits, is_signed)
/* round half up: floor(x + 0.5) without the rounding of the sum */
static inline uint32_t nearest_up(uint32_t u)
{
    double f = (double)float32(u) + 0.5;
    return (uint32_t)fp_to_int(&down, FP_F64, bits64(f), 32, true);
}
ROW_U32(cvt_nearest_i32_f32, nearest_up(a[i]))
ROW_U32(cvt_floor_i32_f32, TO_INT(&down, FP_F32, 32, true))
ROW_EXPR(cvt_i32_f64, row_u32, row_u64, row_u64, row_u64, TO_INT(&to_zero, FP_F64, 32, true))
ROW_EXPR(cvt_u32_f64, row_u32, row_u64, row_u64, row_u64, TO_INT(&to_zero, FP_F64, 32, false))
ROW_U32(cvt_u16_f16, TO_INT(&to_zero, FP_F16, 16, false))
ROW_U32(cvt_i16_f16, TO_INT(&to_zero, FP_F16, 16, true))

/* --- between float formats */
ROW(cvt_f16_f32)
{
    ROW_UNUSED;
    row_u32 *d = vd;
    const row_u32 *a = va;
    const struct fp_env v = env_of(x, MODE_ROUND_64_SHIFT);
    if (v.round == FP_RNE) {
        LANES d[i] = half_bits(float32(a[i]));
        return;
    }
    for (int i = 0; i < WAVE_LANES; i++)
        d[i] = (uint32_t)fp_convert(&v, FP_F16, FP_F32, a[i]);
}
ROW_EXPR(cvt_f32_f16, row_f32, row_u32, row_u32, row_u32, half_value(a[i]))
ROW_EXPR(cvt_f64_f32, row_u64, row_u32, row_u32, row_u32,
         fp_convert(&nearest, FP_F64, FP_F32, a[i]))

ROW(cvt_f32_f64)
{
    ROW_UNUSED;
    row_u32 *d = vd;
    const row_u64 *a = va;
    const struct fp_env v = env_of(x, MODE_ROUND_32_SHIFT);
    for (int i = 0; i < WAVE_LANES; i++)
        d[i] = (uint32_t)fp_convert(&v, FP_F32, FP_F64, a[i]);
}

#define FROM_INT(value, is_signed)                                                             \
    ROW_UNUSED;                                                                                \
    row_u32 *d = vd;                                                                           \
    const row_u32 *a = va;                                                                     \
    const struct fp_env v = env_of(x, MODE_ROUND_64_SHIFT);                                    \
    for (int i = 0; i < WAVE_LANES; i++)                                                       \
    d[i] = (uint32_t)fp_from_int(&v, FP_F16, (uint64_t)(value), is_signed)
ROW(cvt_f16_u16)
{
    FROM_INT(a[i] & 0xffff, false);
}
ROW(cvt_f16_i16)
{
    FROM_INT((int64_t)(int16_t)a[i], true);
}

/* --- packing */
#define HALF_RZ(u) (uint32_t) fp_convert(&to_zero, FP_F16, FP_F32, u)
ROW_U32(cvt_pk_rtz_f16_f32, HALF_RZ(a[i]) | HALF_RZ(b[i]) << 16)
ROW_U32(cvt_pk_i16_f32, (uint32_t)(fp_to_int(&to_zero, FP_F32, a[i], 16, true) |
                                   fp_to_int(&to_zero, FP_F32, b[i], 16, true) << 16))
ROW_U32(cvt_pk_u16_f32, (uint32_t)(fp_to_int(&to_zero, FP_F32, a[i], 16, false) |
                                   fp_to_int(&to_zero, FP_F32, b[i], 16, false) << 16))

/* Byte b of c is replaced by the number, rounded to nearest and saturated. */
static inline uint32_t byte_put(uint32_t f, uint32_t where, uint32_t c)
{
    unsigned shift = (where & 3) * 8;
    uint32_t byte = (uint32_t)fp_to_int(&nearest, FP_F32, f, 8, false);
    return (c & ~(255u << shift)) | byte << shift;
}
ROW_U32(cvt_pk_u8_f32, byte_put(a[i], b[i], c[i]))

/* [-1, 1] or [0, 1] to the full range of 16 bits, to nearest even; NaN gives 0. The product of
 * a 24-bit number and 32767 is exact in double. */
static inline uint32_t norm_signed(double f)
{
    double g = f > 1 ? 1 : f > -1 ? f : -1;
    uint64_t u = bits64(f != f ? 0 : g * 32767.0);
    return (uint32_t)fp_to_int(&nearest, FP_F64, u, 16, true);
}
static inline uint32_t norm_unsigned(double f)
{
    double g = f > 1 ? 1 : f > 0 ? f : 0;
    return (uint32_t)fp_to_int(&nearest, FP_F64, bits64(g * 65535.0), 16, false);
}
#define F(u) (double)float32(u)
#define H(u) (double)half_value(u)
ROW_U32(cvt_norm_i16_f16, norm_signed(H(a[i])))
ROW_U32(cvt_norm_u16_f16, norm_unsigned(H(a[i])))
ROW_U32(cvt_pk_norm_i16_f32, norm_signed(F(a[i])) | norm_signed(F(b[i])) << 16)
ROW_U32(cvt_pk_norm_u16_f32, norm_unsigned(F(a[i])) | norm_unsigned(F(b[i])) << 16)
ROW_U32(cvt_pk_norm_i16_f16, norm_signed(H(a[i])) | norm_signed(H(b[i])) << 16)
ROW_U32(cvt_pk_norm_u16_f16, norm_unsigned(H(a[i])) | norm_unsigned(H(b[i])) << 16)
