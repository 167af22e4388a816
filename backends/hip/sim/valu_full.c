/* SPDX-License-Identifier: Apache-2.0 */
#include "valu_full.h"

#include "dpp.h"
#include "../../sim/fp.h"
#include "hostround.h"

#define EACH(l) _Pragma("GCC ivdep") for (int l = 0; l < WAVE_LANES; l++)

/* A row of operands, 32 or 64 bits a lane. */
union lanes {
    uint32_t u32[WAVE_LANES];
    uint64_t u64[WAVE_LANES];
} __attribute__((aligned(64)));

static bool is_float(enum optype t)
{
    return t == T_F16 || t == T_F32 || t == T_F64;
}

static enum fp_format format_of(enum optype t)
{
    return t == T_F64 ? FP_F64 : t == T_F32 ? FP_F32 : FP_F16;
}

/* Denormal bits of the mode for a type: bit 0 set keeps operands, bit 1 keeps results. */
static unsigned denormals(const struct wave *w, enum optype t)
{
    return w->mode >> (t == T_F32 ? MODE_DENORM_32_SHIFT : MODE_DENORM_64_SHIFT) & 3;
}

static void flush(union lanes *r, enum optype t)
{
    const enum fp_format f = format_of(t);
    for (int i = 0; i < WAVE_LANES; i++) {
        if (t == T_F64)
            r->u64[i] = fp_flush(1 << FP_F64, f, r->u64[i]);
        else
            r->u32[i] = (uint32_t)fp_flush((uint8_t)(1 << f), f, r->u32[i]);
    }
}

static void modify(union lanes *r, enum optype t, bool negate, bool absolute)
{
    const uint64_t sign = optype_is64(t) ? 1ull << 63 : optype_is16(t) ? 1 << 15 : 1u << 31;
    for (int i = 0; i < WAVE_LANES; i++) {
        uint64_t u = optype_is64(t) ? r->u64[i] : r->u32[i];
        u = absolute ? u & ~sign : u;
        u = negate ? u ^ sign : u;
        if (optype_is64(t))
            r->u64[i] = u;
        else
            r->u32[i] = (uint32_t)u;
    }
}

static void load_64(const struct wave *w, const struct operand *o, union lanes *ret)
{
    if (o->kind == OPERAND_VGPR) {
        const uint32_t *low = w->v[o->index], *high = w->v[o->index + 1];
        EACH(l) ret->u64[l] = low[l] | (uint64_t)high[l] << 32;
        return;
    }
    const uint64_t value = scalar_64(w, o);
    EACH(l) ret->u64[l] = value;
}

static void load_32(const struct wave *w, const struct operand *o, union lanes *ret)
{
    wave_row room;
    const uint32_t *p = lanes_operand(w, o, room);
    if (o->type == T_M && o->kind == OPERAND_CONST)
        lanes_expand(o->value, ret->u32);
    else if (o->kind != OPERAND_NONE)
        memcpy(ret->u32, p, sizeof ret->u32);
}

/* The operand's lanes with everything applied that happens before the operation. */
static void operand_load(struct wave *w, const struct inst *i, int n, union lanes *ret)
{
    const struct operand *o = &i->src[n];
    const enum optype t = (enum optype)o->type;
    if (optype_is64(t))
        load_64(w, o, ret);
    else
        load_32(w, o, ret);
    if (n == 0 && i->dpp)
        dpp_move(w, i, ret->u32);
    if (optype_is16(t)) {
        if (o->high)
            EACH(l) ret->u32[l] >>= 16;
        EACH(l) ret->u32[l] &= 0xffff;
    }
    if (is_float(t) && !(denormals(w, t) & 1))
        flush(ret, t);
    if ((i->neg | i->abs) >> n & 1)
        modify(ret, t, i->neg >> n & 1, i->abs >> n & 1);
}

/* clamp and omod. Integer clamp means saturation of the operation itself, which result_saturate
 * does for the few that have it. */
static uint64_t output_modified(const struct inst *i, enum optype t, uint64_t u, bool keep_nan)
{
    static const int power[4] = {0, 1, 2, -1};
    static const struct fp_rules plain_rules = {.nan_rule = {FP_NAN_OPERAND}};
    static const struct fp_env v = {.rules = &plain_rules, .round = FP_RNE};
    const enum fp_format f = format_of(t);
    if (i->omod && !fp_is_nan(f, u))
        u = fp_ldexp(&v, f, u, power[i->omod]);
    if (i->clamp && !(keep_nan && fp_is_nan(f, u)))
        u = fp_clamp(f, u);
    return u;
}

static void result_modify(const struct wave *w, const struct inst *i, enum optype t,
                          union lanes *r)
{
    const bool keep_nan = !(w->mode & MODE_DX10_CLAMP);
    for (int n = 0; n < WAVE_LANES; n++) {
        if (t == T_F64)
            r->u64[n] = output_modified(i, t, r->u64[n], keep_nan);
        else
            r->u32[n] = (uint32_t)output_modified(i, t, r->u32[n], keep_nan);
    }
}

/* The sum or product of a saturating integer instruction before it is cut; false: not one. */
static bool exact_result(const struct inst *i, uint32_t p, uint32_t q, uint32_t r, int64_t *ret)
{
    const int64_t carry = i->code->form == FORM_CARRY && i->src[2].kind ? r & 1 : 0;
    switch (i->code - opcode_at(0)) {
    case OP_v_add_nc_u32:
    case OP_v_add_nc_u16:
    case OP_v_pk_add_u16:
    case OP_v_add_co_u32:
    case OP_v_add_co_ci_u32:
        *ret = (int64_t)p + q + carry;
        return true;
    case OP_v_sub_nc_u32:
    case OP_v_sub_nc_u16:
    case OP_v_pk_sub_u16:
    case OP_v_sub_co_u32:
    case OP_v_sub_co_ci_u32:
        *ret = (int64_t)p - q - carry;
        return true;
    case OP_v_subrev_nc_u32:
    case OP_v_subrev_co_u32:
    case OP_v_subrev_co_ci_u32:
        *ret = (int64_t)q - p - carry;
        return true;
    case OP_v_add_nc_i32:
        *ret = (int64_t)(int32_t)p + (int32_t)q;
        return true;
    case OP_v_sub_nc_i32:
        *ret = (int64_t)(int32_t)p - (int32_t)q;
        return true;
    case OP_v_add_nc_i16:
    case OP_v_pk_add_i16:
        *ret = (int16_t)p + (int16_t)q;
        return true;
    case OP_v_sub_nc_i16:
    case OP_v_pk_sub_i16:
        *ret = (int16_t)p - (int16_t)q;
        return true;
    case OP_v_mad_u16:
    case OP_v_pk_mad_u16:
        *ret = (int64_t)p * q + r;
        return true;
    case OP_v_mad_i16:
    case OP_v_pk_mad_i16:
        *ret = (int16_t)p * (int16_t)q + (int16_t)r;
        return true;
    case OP_v_mad_u32_u24:
        *ret = (int64_t)(p & 0xffffff) * (q & 0xffffff) + r;
        return true;
    default:
        return false;
    }
}

static void result_saturate(const struct inst *i, const union lanes *a, const union lanes *b,
                            const union lanes *c, union lanes *r)
{
    const enum optype t = (enum optype)i->code->d;
    const bool is_signed = t == T_I32 || t == T_I16;
    const int bits = optype_is16(t) ? 16 : 32;
    const int64_t high = is_signed ? (1ll << (bits - 1)) - 1 : (1ll << bits) - 1;
    const int64_t low = is_signed ? -high - 1 : 0;
    for (int n = 0; n < WAVE_LANES; n++) {
        int64_t exact;
        if (!exact_result(i, a->u32[n], b->u32[n], c->u32[n], &exact))
            return;
        exact = exact > high ? high : exact < low ? low : exact;
        r->u32[n] = (uint32_t)exact & (uint32_t)((1ull << bits) - 1);
    }
}

static void result_store(struct wave *w, const struct inst *i, union lanes *r, uint32_t mask)
{
    const enum optype t = (enum optype)i->code->d;
    if (optype_is64(t)) {
        wave_row half;
        EACH(l) half[l] = (uint32_t)r->u64[l];
        lanes_store(w->v[i->d], half, mask);
        EACH(l) half[l] = (uint32_t)(r->u64[l] >> 32);
        lanes_store(w->v[i->d + 1], half, mask);
        return;
    }
    if (optype_is16(t)) {
        const uint32_t *old = w->v[i->d];
        if (i->d_high)
            EACH(l) r->u32[l] = (old[l] & 0xffff) | r->u32[l] << 16;
        else
            EACH(l) r->u32[l] = (old[l] & 0xffff0000) | (r->u32[l] & 0xffff);
    }
    lanes_store(w->v[i->d], r->u32, mask);
}

/* Runs the row with the host's rounding as the mode says for the instruction's type. */
static void row_run(const struct wave *w, const struct inst *i, void *r, const union lanes *s,
                    const struct row_context *x)
{
    const enum optype t = is_float((enum optype)i->code->d) ? (enum optype)i->code->d
                                                            : (enum optype)i->code->s[0];
    const unsigned shift = t == T_F64 || t == T_F16 ? MODE_ROUND_64_SHIFT : MODE_ROUND_32_SHIFT;
    const unsigned round = is_float(t) && t != T_F16 ? w->mode >> shift & 3 : 0;
    const unsigned old = round ? hostround_set(round) : 0;
    i->row(r, &s[0], &s[1], &s[2], x);
    if (round)
        hostround_restore(old);
}

static void full_compute(struct wave *w, const struct inst *i, union lanes *s, union lanes *r,
                         uint32_t *out)
{
    wave_row vcc;
    struct row_context x = {.inst = i, .mode = w->mode, .out = out, .mask = vcc};
    const enum optype t = (enum optype)i->code->d;
    for (int n = 0; n < 3; n++)
        if (i->src[n].kind)
            operand_load(w, i, n, &s[n]);
    if (i->reads_vcc)
        lanes_expand(w->s[WAVE_VCC], vcc);
    row_run(w, i, r, s, &x);
    if (is_float(t) && !(denormals(w, t) & 2))
        flush(r, t);
    if (i->omod || i->clamp) {
        if (is_float(t))
            result_modify(w, i, t, r);
        else if (t == T_B32)
            result_modify(w, i, T_F32, r);
        else
            result_saturate(i, &s[0], &s[1], &s[2], r);
    }
}

int VARIANT_NAME(exec_full)(struct wave *w, const struct inst *i)
{
    union lanes s[3], r;
    wave_row out;
    const uint32_t exec = w->s[WAVE_EXEC], mask = i->dpp ? dpp_write_mask(w, i) : exec;
    full_compute(w, i, s, &r, out);
    result_store(w, i, &r, mask);
    if (i->code->form == FORM_CARRY)
        w->s[i->d2] = lanes_collect(out) & exec;
    return WAVE_GOES_ON;
}

int VARIANT_NAME(exec_compare_full)(struct wave *w, const struct inst *i)
{
    union lanes s[3];
    wave_row r;
    const struct row_context x = {.inst = i, .mode = w->mode};
    for (int n = 0; n < 2; n++)
        operand_load(w, i, n, &s[n]);
    i->row(r, &s[0], &s[1], &s[1], &x);
    w->s[i->d2] = lanes_collect(r) & w->s[WAVE_EXEC];
    return WAVE_GOES_ON;
}

int VARIANT_NAME(exec_dual_full)(struct wave *w, const struct inst *i)
{
    union lanes s[3], x_result, y_result;
    wave_row out;
    const uint32_t exec = w->s[WAVE_EXEC];
    full_compute(w, i, s, &x_result, out);
    full_compute(w, i->pair, s, &y_result, out);
    result_store(w, i, &x_result, exec);
    result_store(w, i->pair, &y_result, exec);
    return WAVE_GOES_ON;
}

/* --- VOP3P on two halves */

static void half_load(struct wave *w, const struct inst *i, int n, bool upper, union lanes *ret)
{
    const struct operand *o = &i->src[n];
    const enum optype t = (enum optype)i->code->s[n];
    const bool high = (upper ? i->opsel_hi : i->opsel) >> n & 1;
    const bool negate = t == T_F16 && ((upper ? i->neg_hi : i->neg) >> n & 1);
    wave_row room;
    const uint32_t *p = lanes_operand(w, o, room);
    const unsigned shift = high ? 16 : 0;
    const uint32_t sign = negate ? 0x8000 : 0;
    EACH(l) ret->u32[l] = (p[l] >> shift & 0xffff);
    if (t == T_F16 && !(denormals(w, t) & 1))
        flush(ret, t);
    EACH(l) ret->u32[l] ^= sign;
}

static void half_compute(struct wave *w, const struct inst *i, bool upper, union lanes *ret)
{
    union lanes s[3];
    const struct row_context x = {.inst = i, .mode = w->mode};
    const enum optype t = (enum optype)i->code->d;
    for (int n = 0; n < 3; n++)
        if (i->src[n].kind)
            half_load(w, i, n, upper, &s[n]);
    i->row(ret, &s[0], &s[1], &s[2], &x);
    if (t == T_F16 && !(denormals(w, t) & 2))
        flush(ret, t);
    if (!i->clamp)
        return;
    if (t == T_F16)
        result_modify(w, i, t, ret);
    else
        result_saturate(i, &s[0], &s[1], &s[2], ret);
}

int VARIANT_NAME(exec_packed)(struct wave *w, const struct inst *i)
{
    union lanes low, high;
    half_compute(w, i, false, &low);
    half_compute(w, i, true, &high);
    EACH(l) low.u32[l] = (low.u32[l] & 0xffff) | high.u32[l] << 16;
    lanes_store(w->v[i->d], low.u32, w->s[WAVE_EXEC]);
    return WAVE_GOES_ON;
}
