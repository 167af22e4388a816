/* SPDX-License-Identifier: Apache-2.0 */
#include "lower.h"

#include <string.h>

/* Lowering of loads, stores, atomics and asynchronous copies. */

static bool is_strong(const struct ptx_inst *i)
{
    return inst_has(i, WORD_volatile) || inst_has(i, WORD_relaxed) ||
           inst_has(i, WORD_acquire) || inst_has(i, WORD_release) || word_starts(i, "mmio");
}

static void address_put(struct inst *i, const struct address *a)
{
    i->a = a->slot;
    i->imm = a->offset;
    i->space = a->space;
    i->flags |= a->wide ? INST_ADDRESS64 : 0;
}

/* How wide the register of a memory operand is: at least the element, 16, 32 or 64. */
static int element_bits(struct lowerer *l, const struct ptx_operand *o, enum ptx_word type)
{
    int bits = ptx_types[type].bits;
    int natural = bits == 64 ? 64 : bits == 32 ? 32 : 16;
    if (o->kind != OPERAND_REG)
        return natural;
    int have = reg_bits(l, o->reg);
    if (have == 1 || have < bits) {
        lower_fail(l, "register of %d bits for an element of %d", have, bits);
        return 0;
    }
    return have;
}

/* --- kernel parameters -----------------------------------------------------------------------
 */

/* They are registers already: a move from the parameter's slot. */
static bool param_load(struct lowerer *l, const struct address *at, uint32_t k,
                       enum ptx_word type, const struct ptx_operand *o)
{
    int bits = element_bits(l, o, type), size = ptx_types[type].bits / 8;
    uint64_t offset = at->offset + (uint64_t)k * (uint64_t)size;
    if (!bits)
        return false;
    if (offset + (uint64_t)size > l->image->param_size)
        return lower_fail(l, "reads behind the kernel's last parameter");
    uint32_t d = target_of(l, o, bits == 64 ? 64 : 32), p = 0;
    bool sign = ptx_types[type].kind == TYPE_KIND_SIGNED;
    for (uint32_t s = 1; s < l->image->n_slot && !p; s++) {
        const struct slot *have = &l->image->slot[s];
        if (have->kind == SLOT_PARAM && have->value == offset && have->size == size &&
            have->sign == sign && have->bits == (bits == 64 ? 64 : 32))
            p = s;
    }
    if (!p && !(p = slot_new(l, SLOT_PARAM, bits == 64 ? 64 : 32, offset)))
        return false;
    l->image->slot[p].size = (uint8_t)size;
    l->image->slot[p].sign = sign;
    struct inst *i = emit(l, bits == 64   ? EXEC_mov_64
                             : bits == 16 ? EXEC_ext_u16_32_32
                                          : EXEC_mov_32);
    if (!d || !i)
        return false;
    i->d = d;
    i->a = p;
    return true;
}

/* --- ld and st -------------------------------------------------------------------------------
 */

static enum exec_id load_exec(enum ptx_word type, int bits)
{
    bool sign = ptx_types[type].kind == TYPE_KIND_SIGNED;
    switch (ptx_types[type].bits) {
    case 8:
        return bits == 64   ? sign ? EXEC_ld_s8_64 : EXEC_ld_u8_64
               : bits == 32 ? sign ? EXEC_ld_s8_32 : EXEC_ld_u8_32
               : sign       ? EXEC_ld_s8_16
                            : EXEC_ld_u8_32;
    case 16:
        return bits == 64           ? sign ? EXEC_ld_s16_64 : EXEC_ld_u16_64
               : bits == 32 && sign ? EXEC_ld_s16_32
                                    : EXEC_ld_u16_32;
    case 32:
        return bits == 64 ? sign ? EXEC_ld_s32_64 : EXEC_ld_u32_64 : EXEC_ld_b32;
    default:
        return EXEC_ld_b64;
    }
}

static bool vector_operands(struct lowerer *l, const struct ptx_operand *o, enum ptx_word type,
                            uint32_t slot[8], int *ret_bits, bool load)
{
    uint32_t n = inst_has(l->in, WORD_v2) ? 2 : inst_has(l->in, WORD_v4) ? 4 : 8;
    int first = 0;
    if (o->kind != OPERAND_VECTOR || o->n != n)
        return lower_fail(l, "needs a vector of %u elements", n);
    if (n * (uint32_t)ptx_types[type].bits > 256)
        return lower_fail(l, "more than 256 bits in one access");
    for (uint32_t k = 0; k < n; k++) {
        bool sink = o->item[k].kind == OPERAND_SINK;
        int bits = element_bits(l, &o->item[k], type);
        bits = sink && first ? first : bits;
        if (!bits)
            return false;
        if (first && (bits == 64) != (first == 64))
            return lower_fail(l, "elements of different widths");
        first = bits;
        int wide = bits == 64 ? 64 : 32;
        slot[k] =
            load ? target_of(l, &o->item[k], wide) : source_of(l, &o->item[k], wide, type);
        if (!slot[k])
            return false;
    }
    *ret_bits = first;
    return true;
}

static bool vector_emit(struct lowerer *l, const struct address *at,
                        const struct ptx_operand *o, enum ptx_word type, bool load)
{
    uint32_t slot[8];
    int bits = 0;
    if (!vector_operands(l, o, type, slot, &bits, load))
        return false;
    struct inst *i = emit(l, load ? EXEC_ld_vector : EXEC_st_vector);
    if (!i)
        return false;
    address_put(i, at);
    i->size = (uint8_t)(ptx_types[type].bits / 8);
    i->type = (uint8_t)type;
    i->flags |= (bits == 64 ? INST_WIDE : 0) | (is_strong(l->in) ? INST_STRONG : 0);
    i->extra = bits == 16 ? 0xffff : UINT32_MAX;
    return emit_list(l, i, slot, o->n, load ? o->n : 0);
}

static bool is_vector(const struct ptx_inst *i)
{
    return inst_has(i, WORD_v2) || inst_has(i, WORD_v4) || inst_has(i, WORD_v8);
}

bool lower_load(struct lowerer *l)
{
    struct address at;
    enum ptx_word type = inst_type(l->in);
    if (l->in->n_operand == 3 && word_starts(l->in, "L2::cache_hint"))
        ; /* the third operand is a cache policy */
    else if (!operand_count(l, 2, 2))
        return false;
    enum ptx_space space = slice_is(l->in->op, "ldu") ? SPACE_GLOBAL : inst_space(l->in);
    const struct ptx_operand *o = operand(l, 0);
    if (!address_of(l, 1, space, &at))
        return false;
    if (at.param) {
        uint32_t n = is_vector(l->in) && o->kind == OPERAND_VECTOR ? o->n : 1;
        for (uint32_t k = 0; k < n; k++)
            if (!param_load(l, &at, k, type, is_vector(l->in) && o->n ? &o->item[k] : o))
                return false;
        return true;
    }
    if (is_vector(l->in))
        return vector_emit(l, &at, o, type, true);
    int bits = element_bits(l, o, type);
    uint32_t d = bits ? target(l, 0, bits == 64 ? 64 : 32) : 0;
    struct inst *i = d ? emit(l, load_exec(type, bits)) : NULL;
    if (!i)
        return false;
    address_put(i, &at);
    i->flags |= is_strong(l->in) ? INST_STRONG : 0;
    i->d = d;
    i->size = (uint8_t)(ptx_types[type].bits / 8);
    return true;
}

bool lower_store(struct lowerer *l)
{
    struct address at;
    enum ptx_word type = inst_type(l->in);
    if (l->in->n_operand == 3 && word_starts(l->in, "L2::cache_hint"))
        ;
    else if (!operand_count(l, 2, 2))
        return false;
    const struct ptx_operand *o = operand(l, 1);
    if (!address_of(l, 0, inst_space(l->in), &at))
        return false;
    if (at.param || inst_space(l->in) == SPACE_CONST)
        return lower_fail(l, "stores into read-only memory");
    if (is_vector(l->in))
        return vector_emit(l, &at, o, type, false);
    int bits = element_bits(l, o, type), size = ptx_types[type].bits / 8;
    uint32_t a = bits ? source(l, 1, bits == 64 ? 64 : 32, type) : 0;
    /* The low bytes of a 64-bit register: narrow it first. */
    if (a && bits == 64 && size < 8) {
        uint32_t t = slot_new(l, SLOT_HIDDEN, 32, 0);
        struct inst *i = emit(l, EXEC_ext_u32_64_32);
        if (!t || !i)
            return false;
        i->d = t;
        i->a = a;
        a = t;
    }
    enum exec_id exec = size == 1   ? EXEC_st_8
                        : size == 2 ? EXEC_st_16
                        : size == 4 ? EXEC_st_32
                                    : EXEC_st_64;
    struct inst *i = a ? emit(l, exec) : NULL;
    if (!i)
        return false;
    address_put(i, &at);
    i->flags |= is_strong(l->in) ? INST_STRONG : 0;
    i->b = a;
    i->size = (uint8_t)size;
    return true;
}

/* --- atomics ---------------------------------------------------------------------------------
 */

static enum ptx_word atomic_op(const struct ptx_inst *i)
{
    static const enum ptx_word op[] = {WORD_add, WORD_min, WORD_max, WORD_inc,  WORD_dec,
                                       WORD_and, WORD_or,  WORD_xor, WORD_exch, WORD_cas};
    for (size_t k = 0; k < sizeof op / sizeof *op; k++)
        if (inst_has(i, op[k]))
            return op[k];
    return WORD_unknown;
}

/* A register that nothing in the function reads. */
static bool never_read(const struct lowerer *l, uint32_t reg)
{
    const struct ptx_function *f = l->function;
    for (uint32_t k = 0; k < f->n_inst; k++) {
        const struct ptx_inst *i = &f->inst[k];
        if (i->guarded && i->guard == reg)
            return false;
        for (int n = 0; n < i->n_operand; n++) {
            const struct ptx_operand *o = &i->operand[n];
            if (o->kind == OPERAND_REG && o->reg == reg && (n > 0 || slice_is(i->op, "st")))
                return false;
            for (uint32_t e = 0; e < o->n; e++)
                if (o->item[e].kind == OPERAND_REG && o->item[e].reg == reg)
                    return false;
        }
    }
    return true;
}

/* Does the order of lanes and blocks show? */
static bool order_matters(const struct lowerer *l, enum ptx_word op, bool wanted)
{
    bool is_float = ptx_types[inst_type(l->in)].kind == TYPE_KIND_FLOAT;
    if (wanted)
        return true;
    return op == WORD_exch || op == WORD_cas || op == WORD_inc || op == WORD_dec ||
           (op == WORD_add && is_float);
}

bool lower_atom(struct lowerer *l)
{
    enum ptx_word op = atomic_op(l->in), type = inst_type(l->in);
    int returns = forms[l->form].extra, bits = ptx_types[type].bits, n = op == WORD_cas ? 3 : 2;
    struct address at;
    if (!operand_count(l, n + returns, n + returns) ||
        !address_of(l, returns, inst_space(l->in), &at))
        return false;
    int wide = bits == 64 ? 64 : 32;
    const struct ptx_operand *o = operand(l, 0);
    bool wanted = returns && o->kind == OPERAND_REG && !never_read(l, o->reg);
    uint32_t d = wanted ? target(l, 0, wide) : 0, b = source(l, returns + 1, wide, type), c = 0;
    if ((wanted && !d) || !b || (n == 3 && !(c = source(l, returns + 2, wide, type))))
        return false;
    struct inst *i = emit(l, EXEC_atom);
    if (!i)
        return false;
    address_put(i, &at);
    i->d = d;
    i->b = b;
    i->c = c;
    i->size = (uint8_t)(bits / 8);
    i->type = (uint8_t)type;
    i->round = (uint8_t)op;
    l->image->swaps |= op == WORD_cas;
    if (at.space != SPACE_SHARED && at.space != SPACE_LOCAL)
        l->image->ordered |= order_matters(l, op, wanted);
    return true;
}

/* --- copies and matrices ---------------------------------------------------------------------
 */

bool lower_cp_async(struct lowerer *l)
{
    struct address to, from;
    if (!operand_count(l, 3, 5) || !address_of(l, 0, SPACE_SHARED, &to) ||
        !address_of(l, 1, SPACE_GLOBAL, &from))
        return false;
    const struct ptx_operand *size = operand(l, 2);
    if (size->kind != OPERAND_INTEGER ||
        (size->bits != 4 && size->bits != 8 && size->bits != 16))
        return lower_fail(l, "copies 4, 8 or 16 bytes");
    bool hint = word_starts(l->in, "L2::cache_hint");
    uint32_t c = 0;
    if (l->in->n_operand - hint > 3 && !(c = source(l, 3, 32, TYPE_u32)))
        return false;
    if ((int64_t)from.offset != (int32_t)from.offset)
        return lower_fail(l, "the offset does not fit in 32 bits");
    struct inst *i = emit(l, EXEC_cp_async);
    if (!i)
        return false;
    address_put(i, &to);
    i->b = from.slot;
    i->extra = (uint32_t)from.offset;
    i->type2 = from.wide;
    i->c = c;
    i->size = (uint8_t)size->bits;
    return true;
}

bool lower_nop(struct lowerer *l)
{
    return emit(l, EXEC_nop) != NULL;
}

/* A cache policy is a number that nobody here reads. */
bool lower_policy(struct lowerer *l)
{
    uint32_t d = operand_count(l, 1, 4) ? target(l, 0, 64) : 0, a = slot_constant(l, 64, 0);
    struct inst *i = d && a ? emit(l, EXEC_mov_64) : NULL;
    if (!i)
        return false;
    i->d = d;
    i->a = a;
    return true;
}

static uint32_t matrix_count(const struct ptx_inst *i)
{
    return inst_has(i, WORD_x1) ? 1 : inst_has(i, WORD_x2) ? 2 : 4;
}

static bool matrix_emit(struct lowerer *l, int list, int where, enum exec_id exec)
{
    struct address at;
    uint32_t n = matrix_count(l->in), slot[4];
    enum ptx_space space = inst_space(l->in);
    if (!operand_count(l, 2, 2) || !address_of(l, where, space, &at))
        return false;
    const struct ptx_operand *o = operand(l, list);
    if (o->kind != OPERAND_VECTOR ? n != 1 : o->n != n)
        return lower_fail(l, "needs a vector of %u registers", n);
    for (uint32_t k = 0; k < n; k++) {
        const struct ptx_operand *e = o->kind == OPERAND_VECTOR ? &o->item[k] : o;
        slot[k] = exec == EXEC_ldmatrix ? target_of(l, e, 32) : source_of(l, e, 32, TYPE_b32);
        if (!slot[k])
            return false;
    }
    struct inst *i = emit(l, exec);
    if (!i)
        return false;
    address_put(i, &at);
    i->round = inst_has(l->in, WORD_trans) ? WORD_trans : 0;
    return emit_list(l, i, slot, n, exec == EXEC_ldmatrix ? n : 0);
}

bool lower_ldmatrix(struct lowerer *l)
{
    return matrix_emit(l, 0, 1, EXEC_ldmatrix);
}

bool lower_stmatrix(struct lowerer *l)
{
    return matrix_emit(l, 1, 0, EXEC_stmatrix);
}
