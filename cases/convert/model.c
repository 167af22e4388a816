/* SPDX-License-Identifier: Apache-2.0 */
#include "convert.h"

#include <math.h>

/* Other ways of converting. */

enum way { WAY_ZERO, WAY_LEAST, WAY_HALVES, WAY_CUT, WAY_AWAY, WAY_FLUSH, WAY_NEAREST,
           WAY_WRAP, WAY_CUT_WRAP };

const struct case_model convert_models[] = {
    [WAY_CUT] = {"rounded toward zero", CAUSE_ROUNDING, false},
    [WAY_AWAY] = {"ties away from zero", CAUSE_ROUNDING, false},
    [WAY_FLUSH] = {"subnormal results become zero", CAUSE_FLUSH, false},
    [WAY_NEAREST] = {"the nearest integer instead of the one toward zero", CAUSE_ROUNDING,
                     false},
    [WAY_WRAP] = {"the low byte of the nearest i32 instead of a clamp", CAUSE_ROUNDING, false},
    [WAY_CUT_WRAP] = {"the low byte of the i32 toward zero instead of nearest and clamp",
                      CAUSE_ROUNDING, false},
    [WAY_ZERO] = {"saturating, NaN gives 0", CAUSE_NANINF, true},
    [WAY_LEAST] = {"saturating, NaN gives the smallest integer", CAUSE_NANINF, true},
    [WAY_HALVES] = {"two saturating 32-bit halves", CAUSE_NANINF, true},
    [WAY_CUT_WRAP + 1] = {NULL, CAUSE_UNEXPLAINED, false, false},
};

/* Of a finite x, for a float format: the number of that format toward zero. */
static uint64_t cut_bits(enum dtype to, double x)
{
    uint64_t bits = dtype_round(to, x);
    return fabs(dtype_value(to, bits)) > fabs(x) ? bits - 1 : bits;
}

static uint64_t away_bits(enum dtype to, double x)
{
    uint64_t low = cut_bits(to, x);
    double below = fabs(dtype_value(to, low)), above = fabs(dtype_value(to, low + 1));
    return isfinite(above) && fabs(x) - below == above - fabs(x) ? low + 1 : dtype_round(to, x);
}

static uint64_t half_bits(double x)
{
    return dtype_round(DTYPE_U32, trunc(x));
}

/* As LLVM expands it for AMD: |x| = high 2^32 + low, each converted to u32, then the sign. */
static uint64_t halves_bits(double x)
{
    float whole = fabsf(truncf((float)x)), high = floorf(whole * 0x1p-32f);
    float low = fmaf(high, -0x1p32f, whole);
    uint64_t bits = half_bits((double)high) << 32 | half_bits((double)low);
    return signbit(x) ? -bits : bits;
}

/* What only results that no rule decides can tell apart. */
static uint64_t free_bits(enum dtype to, enum way way, double x)
{
    uint64_t least = to == DTYPE_I64 ? UINT64_C(1) << 63 : UINT64_C(1) << 31;
    return way == WAY_HALVES              ? halves_bits(x)
           : way == WAY_LEAST && isnan(x) ? least
                                          : convert_bits(to, x);
}

static uint64_t way_bits(enum dtype to, enum way way, double x)
{
    bool integer = dtype_info(to)->kind != DTYPE_KIND_FLOAT;
    uint64_t plain = convert_bits(to, x);
    if (way <= WAY_HALVES)
        return free_bits(to, way, x);
    if (!isfinite(x))
        return plain;
    switch (way) {
    case WAY_CUT:
        return integer ? dtype_round(to, trunc(x)) : cut_bits(to, x);
    case WAY_AWAY:
        return integer ? dtype_round(to, round(x)) : away_bits(to, x);
    case WAY_FLUSH:
        return dtype_is_subnormal(to, plain) ? dtype_round(to, copysign(0, x)) : plain;
    case WAY_WRAP:
    case WAY_CUT_WRAP:
        return dtype_round(DTYPE_I32, way == WAY_WRAP ? x : trunc(x)) & 255;
    default:
        return dtype_round(to, x);
    }
}

static bool applies(enum dtype from, enum dtype to, enum way way)
{
    bool integer = dtype_info(to)->kind != DTYPE_KIND_FLOAT;
    bool free = to == DTYPE_I64 || (from == DTYPE_F64 && to == DTYPE_I32);
    if (way <= WAY_HALVES)
        return free && (way != WAY_HALVES || to == DTYPE_I64);
    if (way >= WAY_WRAP)
        return integer && dtype_info(to)->bytes == 1;
    return !(integer && way == WAY_FLUSH) && convert_truncates(to) == (way == WAY_NEAREST);
}

bool convert_model(const struct case_id *id, const struct case_plan *plan,
                   const struct tensor *const *input, int which, int model, int64_t n,
                   const int64_t *index, uint64_t *ret_bits)
{
    enum dtype from = convert_from(id), to = convert_to(id);
    (void)plan, (void)which;
    if (!applies(from, to, (enum way)model))
        return false;
    for (int64_t k = 0; k < n; k++)
        ret_bits[k] = way_bits(
            to, (enum way)model,
            convert_step(from, to, tensor_value(input[0], index[k])));
    return true;
}
