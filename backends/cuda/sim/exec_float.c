/* SPDX-License-Identifier: Apache-2.0 */
#include "exec_inside.h"
#include "floatop.h"
#include "fp.h"
#include "rules.h"

/* Floating point in the modes that have no executor of their own: lane by lane through fp.h,
 * which is exact in every rounding mode. */

static enum fp_format format_of(uint32_t type)
{
    switch (type) {
    case TYPE_f64:
        return FP_F64;
    case TYPE_f16:
    case TYPE_f16x2:
        return FP_F16;
    case TYPE_bf16:
    case TYPE_bf16x2:
        return FP_BF16;
    case TYPE_tf32:
        return FP_TF32;
    default:
        return FP_F32;
    }
}

static enum fp_round round_of(uint32_t word)
{
    switch (word) {
    case WORD_rz:
    case WORD_rzi:
        return FP_RZ;
    case WORD_rm:
    case WORD_rmi:
        return FP_RD;
    case WORD_rp:
    case WORD_rpi:
        return FP_RU;
    case WORD_rna:
        return FP_RNA;
    default:
        return FP_RNE;
    }
}

static struct fp_env env_of(const struct inst *i, enum fp_format f)
{
    uint8_t flush = i->flags & INST_FTZ ? (uint8_t)(1 << f | 1 << FP_F32) : 0;
    return (struct fp_env){&cuda_rules, round_of(i->round), flush, flush, false};
}

/* In conversions .ftz is about f32 alone. */
static struct fp_env convert_env(const struct inst *i, enum fp_format f)
{
    struct fp_env v = env_of(i, f);
    v.flush_in = v.flush_out = i->flags & INST_FTZ ? 1 << FP_F32 : 0;
    v.saturate = i->extra;
    return v;
}

static uint64_t minmax(const struct inst *i, const struct fp_env *v, enum fp_format f,
                       uint64_t a, uint64_t b)
{
    uint64_t top = (uint64_t)1 << (fp_layout(f)->bytes * 8 - 1), sign = (a ^ b) & top;
    if (i->imm & FLOAT_ABS) {
        a &= ~top;
        b &= ~top;
    }
    bool nan = i->flags & INST_NAN, min = i->type2 == FLOAT_MIN;
    uint64_t r = min   ? nan ? fp_min_nan(v, f, a, b) : fp_min(v, f, a, b)
                   : nan ? fp_max_nan(v, f, a, b)
                       : fp_max(v, f, a, b);
    return i->imm & FLOAT_XORSIGN && !fp_is_nan(f, r) ? r ^ sign : r;
}

static uint64_t compute(const struct inst *i, const struct fp_env *v, enum fp_format f,
                        uint64_t a, uint64_t b, uint64_t c)
{
    static const uint64_t one[FP_FORMAT_COUNT_] = {[FP_F64] = 0x3ff0000000000000u,
                                                   [FP_F32] = 0x3f800000,
                                                   [FP_F16] = 0x3c00,
                                                   [FP_BF16] = 0x3f80};
    switch ((enum float_op)i->type2) {
    case FLOAT_ADD:
        return fp_add(v, f, a, b);
    case FLOAT_SUB:
        return fp_sub(v, f, a, b);
    case FLOAT_MUL:
        return fp_mul(v, f, a, b);
    case FLOAT_FMA:
        return fp_fma(v, f, a, b, c);
    case FLOAT_DIV:
        return fp_div(v, f, a, b);
    case FLOAT_RCP:
        return fp_div(v, f, one[f], a);
    case FLOAT_SQRT:
        return fp_sqrt(v, f, a);
    default:
        return minmax(i, v, f, a, b);
    }
}

static uint64_t finish(const struct inst *i, enum fp_format f, uint64_t r)
{
    if (i->flags & INST_SAT)
        r = fp_clamp(f, r);
    uint64_t top = (uint64_t)1 << (fp_layout(f)->bytes * 8 - 1);
    if (i->flags & INST_RELU && r & top && !fp_is_nan(f, r))
        r = 0;
    return r;
}

EXECUTOR(float_any)
{
    enum fp_format f = format_of(i->type);
    struct fp_env v = env_of(i, f);
    bool wide = f == FP_F64;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = first_lane(left);
        uint64_t a = wide ? LANES64(i->a)[l] : LANES32(i->a)[l];
        uint64_t b = wide ? LANES64(i->b)[l] : LANES32(i->b)[l];
        uint64_t c = wide ? LANES64(i->c)[l] : LANES32(i->c)[l];
        uint64_t r = finish(i, f, compute(i, &v, f, a, b, c));
        if (wide)
            LANES64(i->d)[l] = r;
        else
            LANES32(i->d)[l] = (uint32_t)r;
    }
    return RUN_NEXT;
}

EXECUTOR(float_x2)
{
    enum fp_format f = format_of(i->type);
    struct fp_env v = env_of(i, f);
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = first_lane(left), r = 0;
        for (int h = 0; h < 32; h += 16) {
            uint64_t a = LANES32(i->a)[l] >> h & 0xffff, b = LANES32(i->b)[l] >> h & 0xffff;
            uint64_t c = LANES32(i->c)[l] >> h & 0xffff;
            r |= (uint32_t)finish(i, f, compute(i, &v, f, a, b, c)) << h;
        }
        LANES32(i->d)[l] = r;
    }
    return RUN_NEXT;
}

/* --- comparisons of packed halves and tests --------------------------------------------------
 */

static bool relation(uint32_t word, enum fp_order o)
{
    bool unordered = o == FP_UNORDERED;
    switch (word) {
    case WORD_eq:
        return o == FP_EQUAL;
    case WORD_ne:
        return o == FP_LESS || o == FP_GREATER;
    case WORD_lt:
        return o == FP_LESS;
    case WORD_le:
        return o == FP_LESS || o == FP_EQUAL;
    case WORD_gt:
        return o == FP_GREATER;
    case WORD_ge:
        return o == FP_GREATER || o == FP_EQUAL;
    case WORD_equ:
        return o == FP_EQUAL || unordered;
    case WORD_neu:
        return o != FP_EQUAL;
    case WORD_ltu:
        return o == FP_LESS || unordered;
    case WORD_leu:
        return o != FP_GREATER;
    case WORD_gtu:
        return o == FP_GREATER || unordered;
    case WORD_geu:
        return o != FP_LESS;
    case WORD_num:
        return !unordered;
    default:
        return unordered;
    }
}

/* d: low halves, e: high halves; round: the relation. */
EXECUTOR(compare_x2)
{
    enum fp_format f = format_of(i->type);
    struct fp_env v = env_of(i, f);
    uint32_t low = 0, high = 0;
    for (uint32_t l = 0; l < WARP_LANES; l++) {
        uint32_t a = LANES32(i->a)[l], b = LANES32(i->b)[l];
        bool lo = relation(i->round, fp_compare(&v, f, a & 0xffff, b & 0xffff));
        bool hi = relation(i->round, fp_compare(&v, f, a >> 16, b >> 16));
        low |= (uint32_t)lo << l;
        high |= (uint32_t)hi << l;
    }
    pred_write(w, i->d, low, mask);
    pred_write(w, i->e, high, mask);
    return RUN_NEXT;
}

/* set on packed halves: imm is what a true half gives. */
EXECUTOR(set_x2)
{
    enum fp_format f = format_of(i->type);
    struct fp_env v = env_of(i, f);
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = first_lane(left), a = LANES32(i->a)[l], b = LANES32(i->b)[l], r = 0;
        for (int h = 0; h < 32; h += 16)
            if (relation(i->round, fp_compare(&v, f, a >> h & 0xffff, b >> h & 0xffff)))
                r |= (uint32_t)i->imm << h;
        LANES32(i->d)[l] = r;
    }
    return RUN_NEXT;
}

static uint32_t class_mask(uint32_t word)
{
    const uint32_t normal = FP_CLASS_PLUS_NORMAL | FP_CLASS_MINUS_NORMAL;
    const uint32_t subnormal = FP_CLASS_PLUS_SUBNORMAL | FP_CLASS_MINUS_SUBNORMAL;
    const uint32_t zero = FP_CLASS_PLUS_ZERO | FP_CLASS_MINUS_ZERO;
    const uint32_t infinite = FP_CLASS_PLUS_INF | FP_CLASS_MINUS_INF;
    switch (word) {
    case WORD_finite:
        return normal | subnormal | zero;
    case WORD_infinite:
        return infinite;
    case WORD_number:
        return normal | subnormal | zero | infinite;
    case WORD_notanumber:
        return FP_CLASS_QNAN | FP_CLASS_SNAN;
    case WORD_normal:
        return normal | zero; /* PTX counts zero as normal */
    default:
        return subnormal;
    }
}

static int test_class(struct warp *w, const struct inst *i, uint32_t mask, enum fp_format f)
{
    uint32_t r = 0;
    for (uint32_t l = 0; l < WARP_LANES; l++) {
        uint64_t a = f == FP_F64 ? LANES64(i->a)[l] : LANES32(i->a)[l];
        r |= (uint32_t)((fp_classify(f, a) & class_mask(i->round)) != 0) << l;
    }
    pred_write(w, i->d, r, mask);
    return RUN_NEXT;
}

EXECUTOR(testp_f32)
{
    return test_class(w, i, mask, FP_F32);
}

EXECUTOR(testp_f64)
{
    return test_class(w, i, mask, FP_F64);
}

/* --- the special function unit ---------------------------------------------------------------
 */

EXECUTOR(approx_f32)
{
    enum approx_mode mode = w->block->launch->approx;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = first_lane(left);
        LANES32(i->d)
        [l] = approx_f32((enum mark)i->type2, LANES32(i->a)[l], LANES32(i->b)[l],
                         i->flags & INST_FTZ, mode);
    }
    return RUN_NEXT;
}

EXECUTOR(approx_f64)
{
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = first_lane(left);
        LANES64(i->d)
        [l] = approx_f64((enum mark)i->type2, LANES64(i->a)[l], w->block->launch->approx);
    }
    return RUN_NEXT;
}

EXECUTOR(approx_f16)
{
    enum approx_mode mode = w->block->launch->approx;
    bool brain = format_of(i->type) == FP_BF16, ftz = i->flags & INST_FTZ;
    bool pair = ptx_types[i->type].bits == 32;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = first_lane(left), a = LANES32(i->a)[l];
        uint32_t r = approx_half((enum mark)i->type2, a & 0xffff, brain, ftz, mode);
        if (pair)
            r |= approx_half((enum mark)i->type2, a >> 16, brain, ftz, mode) << 16;
        LANES32(i->d)[l] = r;
    }
    return RUN_NEXT;
}

/* --- conversions -----------------------------------------------------------------------------
 */

static bool is_float(uint32_t type)
{
    return ptx_types[type].kind == TYPE_KIND_FLOAT;
}

static uint64_t extend(uint64_t v, uint32_t type)
{
    int bits = ptx_types[type].bits;
    if (bits == 64)
        return v;
    v &= ((uint64_t)1 << bits) - 1;
    if (ptx_types[type].kind == TYPE_KIND_SIGNED && v >> (bits - 1))
        v |= UINT64_MAX << bits;
    return v;
}

static uint64_t convert_float(const struct inst *i, const struct fp_env *v, uint64_t a)
{
    enum fp_format to = format_of(i->type), from = format_of(i->type2);
    bool integral = i->round == WORD_rni || i->round == WORD_rzi || i->round == WORD_rmi ||
                    i->round == WORD_rpi;
    uint64_t r = a;
    if (integral)
        r = fp_round_int(v, from, r);
    if (!integral || to != from)
        r = fp_convert(v, to, from, r);
    return finish(i, to, r);
}

/* type: result, type2: source; WIDE: the source register has 64 bits, imm: so has the result's.
 */
EXECUTOR(convert_any)
{
    enum fp_format f = format_of(is_float(i->type) ? i->type : i->type2);
    struct fp_env v = convert_env(i, f);
    bool to_float = is_float(i->type), from_float = is_float(i->type2);
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = first_lane(left);
        uint64_t a = i->flags & INST_WIDE ? LANES64(i->a)[l] : LANES32(i->a)[l], r;
        bool from_signed = ptx_types[i->type2].kind == TYPE_KIND_SIGNED;
        bool to_signed = ptx_types[i->type].kind == TYPE_KIND_SIGNED;
        if (to_float && from_float)
            r = convert_float(i, &v, a);
        else if (to_float)
            r = finish(i, f, fp_from_int(&v, f, extend(a, i->type2), from_signed));
        else
            r = extend(fp_to_int(&v, f, a, ptx_types[i->type].bits, to_signed), i->type);
        if (i->imm == 64)
            LANES64(i->d)[l] = r;
        else
            LANES32(i->d)[l] = (uint32_t)(i->imm == 16 ? r & 0xffff : r);
    }
    return RUN_NEXT;
}

/* Two f32 (a: upper half, b: lower half) to f16x2 or bf16x2. */
EXECUTOR(convert_x2)
{
    enum fp_format f = format_of(i->type);
    struct fp_env v = convert_env(i, f);
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = first_lane(left);
        uint64_t high = finish(i, f, fp_convert(&v, f, FP_F32, LANES32(i->a)[l]));
        uint64_t low = finish(i, f, fp_convert(&v, f, FP_F32, LANES32(i->b)[l]));
        LANES32(i->d)[l] = (uint32_t)(high << 16 | low);
    }
    return RUN_NEXT;
}

/* cvt.sat between integers: clamps to the range of `type`. */
EXECUTOR(convert_int_sat)
{
    int bits = ptx_types[i->type].bits;
    bool to_signed = ptx_types[i->type].kind == TYPE_KIND_SIGNED;
    bool from_signed = ptx_types[i->type2].kind == TYPE_KIND_SIGNED;
    lane_s128 high = ((lane_s128)1 << (to_signed ? bits - 1 : bits)) - 1;
    lane_s128 low = to_signed ? -((lane_s128)1 << (bits - 1)) : 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = first_lane(left);
        uint64_t a =
            extend(i->flags & INST_WIDE ? LANES64(i->a)[l] : LANES32(i->a)[l], i->type2);
        lane_s128 v = from_signed ? (lane_s128)(int64_t)a : (lane_s128)a;
        v = v > high ? high : v < low ? low : v;
        if (i->imm == 64)
            LANES64(i->d)[l] = (uint64_t)v;
        else
            LANES32(i->d)[l] = (uint32_t)(i->imm == 16 ? (uint64_t)v & 0xffff : (uint64_t)v);
    }
    return RUN_NEXT;
}
