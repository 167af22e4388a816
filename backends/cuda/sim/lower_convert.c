/* SPDX-License-Identifier: Apache-2.0 */
#include "lower.h"

/* Lowering of mov and cvt. */

static uint32_t last_d(struct lowerer *l, enum exec_id exec, uint32_t d, uint32_t a, uint32_t b)
{
    struct inst *i = emit(l, exec);
    if (!i)
        return 0;
    i->d = d;
    i->a = a;
    i->b = b;
    return d;
}

/* --- mov -------------------------------------------------------------------------------------
 */

/* prmt with a constant selector. */
static uint32_t permute(struct lowerer *l, uint32_t d, uint32_t a, uint32_t b, uint32_t bytes)
{
    uint32_t c = slot_constant(l, 32, bytes);
    struct inst *i = c ? emit(l, EXEC_prmt_b32) : NULL;
    if (!i)
        return 0;
    i->d = d;
    i->a = a;
    i->b = b;
    i->c = c;
    return d;
}

/* mov.b32 %r, {b0, b1, b2, b3} and mov.b16 %h, {b0, b1}, which Triton's byte casts have. */
static bool pack_bytes(struct lowerer *l, const struct ptx_operand *from, uint32_t d)
{
    uint32_t half[2] = {0, 0};
    for (uint32_t k = 0; k < from->n / 2; k++) {
        uint32_t low = source_of(l, &from->item[2 * k], 32, TYPE_b16),
                 high = source_of(l, &from->item[2 * k + 1], 32, TYPE_b16);
        half[k] = slot_new(l, SLOT_HIDDEN, 32, 0);
        if (!low || !high || !half[k] || !permute(l, half[k], low, high, 0x0040))
            return false;
    }
    return from->n == 2 ? last_d(l, EXEC_ext_u16_32_32, d, half[0], 0)
                        : last_d(l, EXEC_pack_16, d, half[0], half[1]);
}

/* mov.b32 %r, {lo, hi} and its like: two or four elements into one register. */
static bool pack(struct lowerer *l, const struct ptx_operand *from, uint32_t d, int bits)
{
    uint32_t n = from->n, part = (uint32_t)bits / (n ? n : 1), e[4];
    if ((n != 2 && n != 4) || part < 8)
        return lower_fail(l, "%u elements do not make up %d bits", n, bits);
    if (part == 8)
        return pack_bytes(l, from, d);
    for (uint32_t k = 0; k < n; k++)
        if (!(e[k] = source_of(l, &from->item[k], 32, part == 16 ? TYPE_b16 : TYPE_b32)))
            return false;
    if (n == 2)
        return last_d(l, part == 16 ? EXEC_pack_16 : EXEC_pack_32, d, e[0], e[1]);
    uint32_t low = slot_new(l, SLOT_HIDDEN, 32, 0), high = slot_new(l, SLOT_HIDDEN, 32, 0);
    return low && high && last_d(l, EXEC_pack_16, low, e[0], e[1]) &&
           last_d(l, EXEC_pack_16, high, e[2], e[3]) && last_d(l, EXEC_pack_32, d, low, high);
}

static bool element_move(struct lowerer *l, const struct ptx_operand *o, enum exec_id exec,
                         uint32_t a)
{
    if (o->kind == OPERAND_SINK)
        return true;
    uint32_t d = target_of(l, o, 32);
    return d && last_d(l, exec, d, a, 0);
}

static bool unpack_bytes(struct lowerer *l, const struct ptx_operand *to, uint32_t a)
{
    uint32_t copy = slot_new(l, SLOT_HIDDEN, 32, 0), zero = slot_constant(l, 32, 0);
    if (!copy || !zero || !last_d(l, EXEC_mov_32, copy, a, 0))
        return false;
    for (uint32_t k = 0; k < to->n; k++) {
        bool sink = to->item[k].kind == OPERAND_SINK;
        uint32_t d = sink ? 0 : target_of(l, &to->item[k], 32);
        if (!sink && (!d || !permute(l, d, copy, zero, 0x4440 | k)))
            return false;
    }
    return true;
}

/* mov.b64 {lo, hi}, %rd. The source is copied first: an element may be the source itself. */
static bool unpack(struct lowerer *l, const struct ptx_operand *to, uint32_t a, int bits)
{
    uint32_t n = to->n, part = (uint32_t)bits / (n ? n : 1);
    if ((n != 2 && n != 4) || part < 8)
        return lower_fail(l, "%u elements do not make up %d bits", n, bits);
    if (part == 8)
        return unpack_bytes(l, to, a);
    uint32_t copy = slot_new(l, SLOT_HIDDEN, bits, 0);
    if (!copy || !last_d(l, bits == 64 ? EXEC_mov_64 : EXEC_mov_32, copy, a, 0))
        return false;
    if (n == 2 && part == 32)
        return element_move(l, &to->item[0], EXEC_ext_u32_64_32, copy) &&
               element_move(l, &to->item[1], EXEC_high_32, copy);
    if (n == 2)
        return element_move(l, &to->item[0], EXEC_ext_u16_32_32, copy) &&
               element_move(l, &to->item[1], EXEC_high_16, copy);
    uint32_t high = slot_new(l, SLOT_HIDDEN, 32, 0);
    return high && last_d(l, EXEC_high_32, high, copy, 0) &&
           element_move(l, &to->item[0], EXEC_mov_u64_16, copy) &&
           element_move(l, &to->item[2], EXEC_ext_u16_32_32, high) &&
           element_move(l, &to->item[3], EXEC_high_16, high) &&
           last_d(l, EXEC_ext_u32_64_32, high, copy, 0) &&
           element_move(l, &to->item[1], EXEC_high_16, high);
}

/* Special registers may be read with any width. */
static bool special_move(struct lowerer *l, const struct ptx_operand *o)
{
    uint32_t a = source_of(l, o, ptx_special_bits[o->special], TYPE_u32);
    const struct ptx_operand *to = operand(l, 0);
    if (!a || to->kind != OPERAND_REG)
        return a && lower_fail(l, "the result must be a register");
    int from = ptx_special_bits[o->special], bits = reg_bits(l, to->reg);
    enum exec_id exec = from == 64   ? bits == 64   ? EXEC_mov_64
                                       : bits == 16 ? EXEC_ext_u16_64_32
                                                    : EXEC_ext_u32_64_32
                        : bits == 64 ? EXEC_ext_u32_32_64
                        : bits == 16 ? EXEC_ext_u16_32_32
                                     : EXEC_mov_32;
    return last_d(l, exec, slot_reg(l, to->reg), a, 0);
}

bool lower_mov(struct lowerer *l)
{
    enum ptx_word type = inst_type(l->in);
    int bits = ptx_types[type].bits, wide = bits == 64 ? 64 : 32;
    if (!operand_count(l, 2, 2))
        return false;
    const struct ptx_operand *to = operand(l, 0), *from = operand(l, 1);
    if (from->kind == OPERAND_SPECIAL && to->kind == OPERAND_REG)
        return special_move(l, from);
    if (to->kind == OPERAND_VECTOR && from->kind == OPERAND_VECTOR) {
        if (to->n != from->n || to->n > 4)
            return lower_fail(l, "both sides need the same number of elements");
        for (uint32_t k = 0; k < to->n; k++) {
            uint32_t d = target_of(l, &to->item[k], wide),
                     a = source_of(l, &from->item[k], wide, type);
            if (!d || !a || !last_d(l, wide == 64 ? EXEC_mov_64 : EXEC_mov_32, d, a, 0))
                return false;
        }
        return true;
    }
    if (to->kind == OPERAND_VECTOR) {
        uint32_t a = source_of(l, from, wide, type);
        return a && unpack(l, to, a, bits);
    }
    uint32_t d = target(l, 0, wide);
    if (!d)
        return false;
    if (from->kind == OPERAND_VECTOR)
        return pack(l, from, d, bits);
    uint32_t a = source_of(l, from, wide, type);
    return a && last_d(l, forms[l->form].exec, d, a, 0);
}

/* --- cvt -------------------------------------------------------------------------------------
 */

/* A register operand of a conversion may be wider than the type. */
static bool wider_reg(struct lowerer *l, int k, enum ptx_word type, int *ret_bits)
{
    const struct ptx_operand *o = operand(l, k);
    if (!o)
        return false;
    *ret_bits = ptx_types[type].bits == 64 ? 64 : ptx_types[type].bits > 16 ? 32 : 16;
    if (o->kind != OPERAND_REG)
        return true;
    int bits = reg_bits(l, o->reg);
    if (bits < ptx_types[type].bits || bits == 1)
        return lower_fail(l, "register of %d bits for a value of %d", bits,
                          ptx_types[type].bits);
    *ret_bits = bits;
    return true;
}

/* Extends slot a (32 or 64 bits wide) from `type` to a register of `bits`. */
static enum exec_id extend_exec(enum ptx_word type, int from, int bits)
{
    static const struct {
        enum ptx_word type;
        enum exec_id from32_to32, from32_to64, from64_to32, from64_to64;
    } rows[] = {
        {TYPE_u8, EXEC_ext_u8_32_32, EXEC_ext_u8_32_64, EXEC_ext_u8_64_32, EXEC_ext_u8_64_64},
        {TYPE_s8, EXEC_ext_s8_32_32, EXEC_ext_s8_32_64, EXEC_ext_s8_64_32, EXEC_ext_s8_64_64},
        {TYPE_u16, EXEC_ext_u16_32_32, EXEC_ext_u16_32_64, EXEC_ext_u16_64_32,
         EXEC_ext_u16_64_64},
        {TYPE_s16, EXEC_ext_s16_32_32, EXEC_ext_s16_32_64, EXEC_ext_s16_64_32,
         EXEC_ext_s16_64_64},
        {TYPE_u32, EXEC_mov_32, EXEC_ext_u32_32_64, EXEC_ext_u32_64_32, EXEC_ext_u32_64_64},
        {TYPE_s32, EXEC_mov_32, EXEC_ext_s32_32_64, EXEC_ext_s32_64_32, EXEC_ext_s32_64_64}};
    if (bits == 16)
        return type == TYPE_s8   ? from == 64 ? EXEC_ext_s8_64_16 : EXEC_ext_s8_32_16
               : type == TYPE_u8 ? from == 64 ? EXEC_ext_u8_64_32 : EXEC_ext_u8_32_32
               : from == 64      ? EXEC_ext_u16_64_32
                                 : EXEC_ext_u16_32_32;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (rows[k].type == type)
            return from == 64   ? bits == 64 ? rows[k].from64_to64 : rows[k].from64_to32
                   : bits == 64 ? rows[k].from32_to64
                                : rows[k].from32_to32;
    return EXEC_mov_64;
}

static bool generic_emit(struct lowerer *l, enum exec_id exec, uint32_t d, int d_bits,
                         uint32_t a, int a_bits)
{
    struct inst *i = emit(l, exec);
    if (!i)
        return false;
    i->d = d;
    i->a = a;
    i->type = l->in->type[0];
    i->type2 = l->in->type[1];
    i->round = (uint8_t)inst_round(l->in);
    i->flags = inst_float_flags(l->in) | (a_bits == 64 ? INST_WIDE : 0);
    i->imm = (uint64_t)d_bits;
    i->extra = inst_has(l->in, WORD_satfinite);
    return true;
}

struct sides {
    enum ptx_word to, from;
    int d_bits, a_bits;
    uint32_t d, a;
};

static bool sides_take(struct lowerer *l, struct sides *s)
{
    if (!operand_count(l, 2, 2))
        return false;
    s->to = l->in->type[0];
    s->from = l->in->type[1];
    if (!wider_reg(l, 0, s->to, &s->d_bits) || !wider_reg(l, 1, s->from, &s->a_bits))
        return false;
    s->d = target(l, 0, s->d_bits == 64 ? 64 : 32);
    s->a = source(l, 1, s->a_bits == 64 ? 64 : 32, s->from);
    return s->d && s->a;
}

bool lower_convert_int(struct lowerer *l)
{
    struct sides s;
    if (!sides_take(l, &s))
        return false;
    if (inst_has(l->in, WORD_sat))
        return generic_emit(l, EXEC_convert_int_sat, s.d, s.d_bits, s.a, s.a_bits);
    int to = ptx_types[s.to].bits, from = ptx_types[s.from].bits;
    if (to <= from)
        return last_d(l, extend_exec(s.to, s.a_bits, s.d_bits), s.d, s.a, 0);
    bool twice = to < s.d_bits && ptx_types[s.from].kind != ptx_types[s.to].kind;
    if (!twice)
        return last_d(l, extend_exec(s.from, s.a_bits, s.d_bits), s.d, s.a, 0);
    uint32_t t = slot_new(l, SLOT_HIDDEN, 32, 0);
    return t && last_d(l, extend_exec(s.from, s.a_bits, 32), t, s.a, 0) &&
           last_d(l, extend_exec(s.to, 32, s.d_bits), s.d, t, 0);
}

/* The conversions with an executor of their own: registers as wide as the types, no flags. */
static enum exec_id convert_exec(const struct sides *s, enum ptx_word r)
{
    static const struct {
        enum ptx_word to, from, round;
        enum exec_id exec;
    } rows[] = {{TYPE_f32, TYPE_s32, WORD_rn, EXEC_cvt_f32_s32},
                {TYPE_f32, TYPE_u32, WORD_rn, EXEC_cvt_f32_u32},
                {TYPE_f32, TYPE_s64, WORD_rn, EXEC_cvt_f32_s64},
                {TYPE_f32, TYPE_u64, WORD_rn, EXEC_cvt_f32_u64},
                {TYPE_f64, TYPE_s32, WORD_rn, EXEC_cvt_f64_s32},
                {TYPE_f64, TYPE_u32, WORD_rn, EXEC_cvt_f64_u32},
                {TYPE_f64, TYPE_s64, WORD_rn, EXEC_cvt_f64_s64},
                {TYPE_f64, TYPE_u64, WORD_rn, EXEC_cvt_f64_u64},
                {TYPE_f32, TYPE_f16, WORD_unknown, EXEC_cvt_f32_f16},
                {TYPE_f32, TYPE_bf16, WORD_unknown, EXEC_cvt_f32_bf16},
                {TYPE_f16, TYPE_f32, WORD_rn, EXEC_cvt_f16_f32},
                {TYPE_bf16, TYPE_f32, WORD_rn, EXEC_cvt_bf16_f32},
                {TYPE_f32, TYPE_f64, WORD_rn, EXEC_cvt_f32_f64},
                {TYPE_s32, TYPE_f32, WORD_rzi, EXEC_cvt_rzi_s32_f32},
                {TYPE_s32, TYPE_f32, WORD_rni, EXEC_cvt_rni_s32_f32},
                {TYPE_u32, TYPE_f32, WORD_rzi, EXEC_cvt_rzi_u32_f32},
                {TYPE_f32, TYPE_f32, WORD_rni, EXEC_cvt_rni_f32},
                {TYPE_f32, TYPE_f32, WORD_rzi, EXEC_cvt_rzi_f32},
                {TYPE_f32, TYPE_f32, WORD_rmi, EXEC_cvt_rmi_f32},
                {TYPE_f32, TYPE_f32, WORD_rpi, EXEC_cvt_rpi_f32}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (rows[k].to == s->to && rows[k].from == s->from && rows[k].round == r)
            return rows[k].exec;
    return EXEC_convert_any;
}

bool lower_convert(struct lowerer *l)
{
    struct sides s;
    if (!sides_take(l, &s))
        return false;
    bool same_width = s.d_bits == ptx_types[s.to].bits && s.a_bits == ptx_types[s.from].bits;
    uint8_t flags = inst_float_flags(l->in);
    enum exec_id exec = EXEC_convert_any;
    if (same_width && !flags && !inst_has(l->in, WORD_satfinite))
        exec = convert_exec(&s, inst_round(l->in));
    if (same_width && flags == INST_SAT && s.to == TYPE_f32 && s.from == TYPE_f32 &&
        !inst_round(l->in))
        exec = EXEC_cvt_sat_f32;
    return generic_emit(l, exec, s.d, s.d_bits, s.a, s.a_bits);
}

/* cvt.rn.f16x2.f32 d, a, b: a is the upper half. */
bool lower_convert_x2(struct lowerer *l)
{
    if (!operand_count(l, 3, 3))
        return false;
    uint32_t d = target(l, 0, 32), a = source(l, 1, 32, TYPE_f32),
             b = source(l, 2, 32, TYPE_f32);
    bool plain = inst_round(l->in) == WORD_rn && !inst_float_flags(l->in) &&
                 !inst_has(l->in, WORD_satfinite);
    enum exec_id exec = !plain                         ? EXEC_convert_x2
                        : l->in->type[0] == TYPE_f16x2 ? EXEC_cvt_f16x2_f32
                                                       : EXEC_cvt_bf16x2_f32;
    if (!d || !a || !b || !generic_emit(l, exec, d, 32, a, 32))
        return false;
    l->image->inst[l->image->n_inst - 1].b = b;
    return true;
}

/* --- addresses between spaces ----------------------------------------------------------------
 */

bool lower_cvta(struct lowerer *l)
{
    int bits = ptx_types[inst_type(l->in)].bits;
    enum ptx_space space = inst_space(l->in);
    if (!operand_count(l, 2, 2))
        return false;
    uint32_t d = target(l, 0, bits), a = source(l, 1, bits, inst_type(l->in));
    if (!d || !a)
        return false;
    if (space == SPACE_PARAM && !l->function->entry)
        space = SPACE_LOCAL;
    enum exec_id exec = forms[l->form].exec;
    if (space == SPACE_GLOBAL || space == SPACE_CONST)
        exec = bits == 64 ? EXEC_mov_64 : EXEC_mov_32;
    if (!last_d(l, exec, d, a, 0))
        return false;
    struct inst *i = &l->image->inst[l->image->n_inst - 1];
    i->space = (uint8_t)space;
    i->flags = bits == 64 ? INST_WIDE | INST_ADDRESS64 : 0;
    return true;
}

bool lower_isspacep(struct lowerer *l)
{
    if (!operand_count(l, 2, 2))
        return false;
    const struct ptx_operand *o = operand(l, 1);
    bool wide = o->kind != OPERAND_REG || reg_bits(l, o->reg) == 64;
    uint32_t d = target(l, 0, 1), a = source(l, 1, wide ? 64 : 32, TYPE_u64);
    if (!d || !a || !last_d(l, EXEC_isspacep, d, a, 0))
        return false;
    struct inst *i = &l->image->inst[l->image->n_inst - 1];
    i->space = (uint8_t)inst_space(l->in);
    i->flags = wide ? INST_ADDRESS64 : 0;
    return true;
}
