/* SPDX-License-Identifier: Apache-2.0 */
#include "lower.h"

/* Lowering of integer arithmetic, bits, comparisons and selection. */

const struct exec_shape exec_shapes[EXEC_COUNT_] = {
#define BITS_u32 32
#define BITS_s32 32
#define BITS_f32 32
#define BITS_u64 64
#define BITS_s64 64
#define BITS_f64 64
#define UNARY(name, D, A, expression) [EXEC_##name] = {BITS_##D, BITS_##A, 0, 0},
#define BINARY(name, D, A, B, expression) [EXEC_##name] = {BITS_##D, BITS_##A, BITS_##B, 0},
#define TERNARY(name, D, A, B, C, expression)                                                  \
    [EXEC_##name] = {BITS_##D, BITS_##A, BITS_##B, BITS_##C},
#define COMPARE(name, A, expression) [EXEC_##name] = {1, BITS_##A, BITS_##A, 0},
#define PREDICATE(name, expression) [EXEC_##name] = {1, 1, 1, 0},
#define CUSTOM(name)
#include "exec.def"
#undef UNARY
#undef BINARY
#undef TERNARY
#undef COMPARE
#undef PREDICATE
#undef CUSTOM
};

static bool emit3(struct lowerer *l, enum exec_id exec, uint32_t d, uint32_t a, uint32_t b,
                  uint32_t c)
{
    struct inst *i = emit(l, exec);
    if (!i)
        return false;
    i->d = d;
    i->a = a;
    i->b = b;
    i->c = c;
    return true;
}

static bool alu_emit(struct lowerer *l, enum exec_id exec)
{
    const struct exec_shape *s = &exec_shapes[exec];
    int n = 2 + (s->b != 0) + (s->c != 0);
    if (!operand_count(l, n, n))
        return false;
    enum ptx_word type = inst_type(l->in);
    uint32_t d = target(l, 0, s->d), a = source(l, 1, s->a, type), b = 0, c = 0;
    if (!d || !a || (s->b && !(b = source(l, 2, s->b, type))) ||
        (s->c && !(c = source(l, 3, s->c, type))))
        return false;
    return emit3(l, exec, d, a, b, c);
}

bool lower_alu(struct lowerer *l)
{
    return alu_emit(l, forms[l->form].exec);
}

bool lower_pred(struct lowerer *l)
{
    enum exec_id exec = forms[l->form].exec;
    bool one = exec == EXEC_mov_pred || exec == EXEC_not_pred, flip_a = false, flip_b = false;
    if (!operand_count(l, one ? 2 : 3, one ? 2 : 3))
        return false;
    uint32_t d = target(l, 0, 1), a = source_pred(l, 1, &flip_a), b = 0;
    if (!d || !a || (!one && !(b = source_pred(l, 2, &flip_b))))
        return false;
    if (flip_a || flip_b)
        return lower_fail(l, "a negated predicate is not allowed here");
    return emit3(l, exec, d, a, b, 0);
}

bool lower_dp2a(struct lowerer *l)
{
    if (!operand_count(l, 4, 4))
        return false;
    uint32_t d = target(l, 0, 32), a = source(l, 1, 32, TYPE_u32),
             b = source(l, 2, 32, TYPE_u32);
    uint32_t c = source(l, 3, 32, TYPE_u32);
    if (!d || !a || !b || !c || !emit3(l, EXEC_dp2a, d, a, b, c))
        return false;
    struct inst *i = &l->image->inst[l->image->n_inst - 1];
    i->type = l->in->type[0];
    i->type2 = l->in->type[1];
    i->imm = inst_has(l->in, WORD_hi);
    return true;
}

/* extra: bit 0 subtract, bit 1 reads the carry; .cc writes it. */
bool lower_carry(struct lowerer *l)
{
    enum ptx_word type = inst_type(l->in);
    int bits = ptx_types[type].bits, extra = forms[l->form].extra;
    if (!operand_count(l, 3, 3))
        return false;
    uint32_t d = target(l, 0, bits), a = source(l, 1, bits, type), b = source(l, 2, bits, type);
    if (!d || !a || !b || !emit3(l, EXEC_carry_add, d, a, b, extra & 2 ? l->carry : 0))
        return false;
    struct inst *i = &l->image->inst[l->image->n_inst - 1];
    i->e = inst_has(l->in, WORD_cc) ? l->carry : 0;
    i->imm = extra & 1;
    i->flags = bits == 64 ? INST_WIDE : 0;
    return true;
}

bool lower_carry_mad(struct lowerer *l)
{
    enum ptx_word type = inst_type(l->in);
    int bits = ptx_types[type].bits, extra = forms[l->form].extra;
    if (!operand_count(l, 4, 4))
        return false;
    uint32_t d = target(l, 0, bits), a = source(l, 1, bits, type), b = source(l, 2, bits, type);
    uint32_t c = source(l, 3, bits, type);
    if (!d || !a || !b || !c || !emit3(l, EXEC_carry_mad, d, a, b, c))
        return false;
    struct inst *i = &l->image->inst[l->image->n_inst - 1];
    i->e = inst_has(l->in, WORD_cc) ? l->carry : 0;
    i->imm = inst_has(l->in, WORD_hi);
    i->type = (uint8_t)type;
    i->flags = bits == 64 ? INST_WIDE : 0;
    return !(extra & 2) || emit_list(l, i, &l->carry, 1, 0);
}

bool lower_bfi(struct lowerer *l)
{
    enum ptx_word type = inst_type(l->in);
    int bits = ptx_types[type].bits;
    if (!operand_count(l, 5, 5))
        return false;
    uint32_t d = target(l, 0, bits), a = source(l, 1, bits, type), b = source(l, 2, bits, type);
    uint32_t c = source(l, 3, 32, TYPE_u32), n = source(l, 4, 32, TYPE_u32);
    if (!d || !a || !b || !c || !n || !emit3(l, forms[l->form].exec, d, a, b, c))
        return false;
    return emit_list(l, &l->image->inst[l->image->n_inst - 1], &n, 1, 0);
}

bool lower_prmt_mode(struct lowerer *l)
{
    if (!operand_count(l, 4, 4))
        return false;
    uint32_t d = target(l, 0, 32), a = source(l, 1, 32, TYPE_b32),
             b = source(l, 2, 32, TYPE_b32);
    uint32_t c = source(l, 3, 32, TYPE_b32);
    if (!d || !a || !b || !c || !emit3(l, EXEC_prmt_mode, d, a, b, c))
        return false;
    l->image->inst[l->image->n_inst - 1].round = (uint8_t)l->in->word[l->in->n_word - 1];
    return true;
}

bool lower_lop3(struct lowerer *l)
{
    if (!operand_count(l, 5, 5))
        return false;
    const struct ptx_operand *table = operand(l, 4);
    if (table->kind != OPERAND_INTEGER || table->bits > 255)
        return lower_fail(l, "the table must be a number from 0 to 255");
    uint32_t d = target(l, 0, 32), a = source(l, 1, 32, TYPE_b32),
             b = source(l, 2, 32, TYPE_b32);
    uint32_t c = source(l, 3, 32, TYPE_b32);
    if (!d || !a || !b || !c || !emit3(l, EXEC_lop3, d, a, b, c))
        return false;
    l->image->inst[l->image->n_inst - 1].imm = table->bits;
    return true;
}

/* --- comparisons -----------------------------------------------------------------------------
 */

/* The relation as its place in a group of COMPARE rows; lo ls hi hs are the unsigned names. */
static int relation_index(const struct ptx_inst *i)
{
    switch (i->word[0]) {
    case WORD_lo:
        return WORD_lt - WORD_eq;
    case WORD_ls:
        return WORD_le - WORD_eq;
    case WORD_hi:
        return WORD_gt - WORD_eq;
    case WORD_hs:
        return WORD_ge - WORD_eq;
    default:
        return i->word[0] < WORD_equ ? i->word[0] - WORD_eq : i->word[0] - WORD_equ + 6;
    }
}

static enum ptx_word bool_word(const struct ptx_inst *i)
{
    return inst_has(i, WORD_and)   ? WORD_and
           : inst_has(i, WORD_or)  ? WORD_or
           : inst_has(i, WORD_xor) ? WORD_xor
                                   : WORD_unknown;
}

/* d = t, or t joined with predicate operand 3; `invert`: with !t. */
static bool combine(struct lowerer *l, uint32_t d, uint32_t t, bool invert)
{
    enum ptx_word w = bool_word(l->in);
    if (!w)
        return emit3(l, invert ? EXEC_not_pred : EXEC_mov_pred, d, t, 0, 0);
    bool flip = false;
    uint32_t c = source_pred(l, 3, &flip);
    if (!c)
        return false;
    if (flip) {
        uint32_t other = slot_new(l, SLOT_HIDDEN, 1, 0);
        if (!other || !emit3(l, EXEC_not_pred, other, c, 0, 0))
            return false;
        c = other;
    }
    enum exec_id plain = w == WORD_and  ? EXEC_and_pred
                         : w == WORD_or ? EXEC_or_pred
                                        : EXEC_xor_pred;
    enum exec_id inverse = w == WORD_and  ? EXEC_andn_pred
                           : w == WORD_or ? EXEC_orn_pred
                                          : EXEC_xorn_pred;
    return emit3(l, invert ? inverse : plain, d, t, c, 0);
}

/* Writes the comparison `t` (and for p|q its inverse) into operand 0. */
static bool compare_finish(struct lowerer *l, uint32_t t, uint32_t t2)
{
    const struct ptx_operand *o = operand(l, 0);
    if (!o)
        return false;
    if (o->kind != OPERAND_PAIR) {
        uint32_t d = target_of(l, o, 1);
        return d && combine(l, d, t, false);
    }
    /* Both results read the same inputs: the second must not see the first one's. */
    uint32_t d = target_of(l, &o->item[0], 1), e = target_of(l, &o->item[1], 1);
    uint32_t hidden = slot_new(l, SLOT_HIDDEN, 1, 0);
    if (!d || !e || !hidden || !combine(l, hidden, t2 ? t2 : t, !t2) ||
        !combine(l, d, t, false))
        return false;
    return emit3(l, EXEC_mov_pred, e, hidden, 0, 0);
}

static bool simple_compare(const struct lowerer *l)
{
    return l->in->operand[0].kind != OPERAND_PAIR && !bool_word(l->in);
}

/* The comparison itself, straight into the result when nothing else is asked. */
static uint32_t compare_emit(struct lowerer *l, enum exec_id first, bool straight)
{
    enum exec_id exec = first + relation_index(l->in);
    int bits = exec_shapes[first].a;
    enum ptx_word type = inst_type(l->in);
    uint32_t a = source(l, 1, bits, type), b = source(l, 2, bits, type);
    uint32_t d = straight ? target(l, 0, 1) : slot_new(l, SLOT_HIDDEN, 1, 0);
    return a && b && d && emit3(l, exec, d, a, b, 0) ? d : 0;
}

bool lower_setp(struct lowerer *l)
{
    if (!operand_count(l, bool_word(l->in) ? 4 : 3, bool_word(l->in) ? 4 : 3))
        return false;
    bool straight = simple_compare(l);
    uint32_t t = compare_emit(l, forms[l->form].exec, straight);
    return t && (straight || compare_finish(l, t, 0));
}

/* Half precision with .ftz goes through the packed comparison: d is its lower half. */
static uint32_t half_flushed(struct lowerer *l)
{
    uint32_t a = source(l, 1, 32, TYPE_f16), b = source(l, 2, 32, TYPE_f16);
    uint32_t t = slot_new(l, SLOT_HIDDEN, 1, 0);
    if (!a || !b || !t || !emit3(l, EXEC_compare_x2, t, a, b, 0))
        return 0;
    struct inst *i = &l->image->inst[l->image->n_inst - 1];
    i->type = TYPE_f16;
    i->round = (uint8_t)l->in->word[0];
    i->flags = INST_FTZ;
    return t;
}

bool lower_setp_half(struct lowerer *l)
{
    if (!inst_has(l->in, WORD_ftz))
        return lower_setp(l);
    if (!operand_count(l, bool_word(l->in) ? 4 : 3, bool_word(l->in) ? 4 : 3))
        return false;
    uint32_t t = half_flushed(l);
    return t && compare_finish(l, t, 0);
}

bool lower_setp_x2(struct lowerer *l)
{
    if (!operand_count(l, bool_word(l->in) ? 4 : 3, bool_word(l->in) ? 4 : 3))
        return false;
    uint32_t a = source(l, 1, 32, TYPE_b32), b = source(l, 2, 32, TYPE_b32);
    uint32_t t = slot_new(l, SLOT_HIDDEN, 1, 0), t2 = slot_new(l, SLOT_HIDDEN, 1, 0);
    if (!a || !b || !t || !t2 || !emit3(l, EXEC_compare_x2, t, a, b, 0))
        return false;
    struct inst *i = &l->image->inst[l->image->n_inst - 1];
    i->e = t2;
    i->type = (uint8_t)inst_type(l->in);
    i->round = (uint8_t)l->in->word[0];
    i->flags = inst_float_flags(l->in);
    return compare_finish(l, t, t2);
}

/* What `set` gives for true: all ones, or 1.0 of the result's type. */
static uint64_t true_value(enum ptx_word type)
{
    switch (type) {
    case TYPE_f32:
        return 0x3f800000;
    case TYPE_f16:
    case TYPE_f16x2:
        return 0x3c00;
    case TYPE_bf16:
    case TYPE_bf16x2:
        return 0x3f80;
    default:
        return ptx_types[type].bits == 16 ? 0xffff : 0xffffffff;
    }
}

bool lower_set(struct lowerer *l)
{
    if (!operand_count(l, bool_word(l->in) ? 4 : 3, bool_word(l->in) ? 4 : 3))
        return false;
    bool half = inst_type(l->in) == TYPE_f16 && inst_has(l->in, WORD_ftz);
    uint32_t t = half ? half_flushed(l) : compare_emit(l, forms[l->form].exec, false), p = t;
    if (t && bool_word(l->in)) {
        p = slot_new(l, SLOT_HIDDEN, 1, 0);
        if (!p || !combine(l, p, t, false))
            return false;
    }
    uint32_t d = target(l, 0, 32), yes = slot_constant(l, 32, true_value(l->in->type[0]));
    uint32_t no = slot_constant(l, 32, 0);
    return t && d && yes && no && emit3(l, EXEC_selp_32, d, yes, no, p);
}

bool lower_set_x2(struct lowerer *l)
{
    if (!operand_count(l, 3, 3))
        return false;
    uint32_t d = target(l, 0, 32), a = source(l, 1, 32, TYPE_b32),
             b = source(l, 2, 32, TYPE_b32);
    if (!d || !a || !b || !emit3(l, EXEC_set_x2, d, a, b, 0))
        return false;
    struct inst *i = &l->image->inst[l->image->n_inst - 1];
    enum ptx_word to = l->in->type[0];
    i->type = (uint8_t)inst_type(l->in);
    i->round = (uint8_t)l->in->word[0];
    i->flags = inst_float_flags(l->in);
    i->imm = ptx_types[to].kind == TYPE_KIND_FLOAT ? true_value(to) : 0xffff;
    return true;
}

bool lower_testp(struct lowerer *l)
{
    int bits = ptx_types[inst_type(l->in)].bits;
    if (!operand_count(l, 2, 2))
        return false;
    uint32_t d = target(l, 0, 1), a = source(l, 1, bits, inst_type(l->in));
    if (!d || !a || !emit3(l, forms[l->form].exec, d, a, 0, 0))
        return false;
    l->image->inst[l->image->n_inst - 1].round = (uint8_t)l->in->word[0];
    return true;
}

bool lower_selp(struct lowerer *l)
{
    enum ptx_word type = inst_type(l->in);
    int bits = ptx_types[type].bits == 64 ? 64 : 32;
    bool flip = false;
    if (!operand_count(l, 4, 4))
        return false;
    uint32_t d = target(l, 0, bits), a = source(l, 1, bits, type), b = source(l, 2, bits, type);
    uint32_t c = source_pred(l, 3, &flip);
    if (!d || !a || !b || !c || !emit3(l, forms[l->form].exec, d, a, b, c))
        return false;
    l->image->inst[l->image->n_inst - 1].flags = flip ? INST_FLIP_C : 0;
    return true;
}
