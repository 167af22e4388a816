/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "approx.h"
#include "lower.h"

/* Lowering of mma, wmma and movmatrix. */

enum { MMA_LINEAR = 1, MMA_HALF_C = 2, MMA_HALF_D = 4, MMA_REGISTERS = 40 };

struct shape {
    int m, n, k;
};

static bool shape_take(struct lowerer *l, struct shape *s)
{
    for (int k = 0; k < l->in->n_word; k++) {
        char word[16];
        struct slice t = l->in->word_text[k];
        if (t.size >= sizeof word)
            continue;
        snprintf(word, sizeof word, "%.*s", (int)t.size, t.text);
        if (sscanf(word, "m%dn%dk%d", &s->m, &s->n, &s->k) == 3)
            return true;
    }
    return lower_fail(l, "no shape");
}

static bool registers_take(struct lowerer *l, int k, int n, bool write, int bits,
                           uint32_t *slot)
{
    const struct ptx_operand *o = operand(l, k);
    if (!o)
        return false;
    bool single = o->kind != OPERAND_VECTOR;
    if (single ? n != 1 : (int)o->n != n)
        return lower_fail(l, "operand %d needs %d registers", k + 1, n);
    for (int e = 0; e < n; e++) {
        const struct ptx_operand *x = single ? o : &o->item[e];
        slot[e] = write ? target_of(l, x, bits)
                        : source_of(l, x, bits, bits == 64 ? TYPE_b64 : TYPE_b32);
        if (!slot[e])
            return false;
    }
    return true;
}

/* Registers a lane holds of `elements` elements of a type; fragments of f16 have eight. */
static int register_count(int elements, enum ptx_word type)
{
    int n = elements * ptx_types[type].bits / 32 / 32;
    return n ? n : 1;
}

struct mma {
    struct shape s;
    enum ptx_word a, b, c, d;
    int n_a, n_b, n_c, n_d, flags;
};

static bool mma_emit(struct lowerer *l, const struct mma *m)
{
    uint32_t slot[4 * MMA_REGISTERS];
    if (!operand_count(l, 4, 4) || !registers_take(l, 0, m->n_d, true, 32, slot) ||
        !registers_take(l, 1, m->n_a, false, 32, slot + m->n_d) ||
        !registers_take(l, 2, m->n_b, false, 32, slot + m->n_d + m->n_a) ||
        !registers_take(l, 3, m->n_c, false, 32, slot + m->n_d + m->n_a + m->n_b))
        return false;
    struct inst *i = emit(l, EXEC_mma);
    if (!i)
        return false;
    i->type = (uint8_t)m->a;
    i->type2 = (uint8_t)m->b;
    i->extra = (uint32_t)(m->s.m | m->s.n << 6 | m->s.k << 12);
    i->imm = (uint64_t)m->n_d | (uint64_t)m->n_a << 8 | (uint64_t)m->n_b << 16 |
             (uint64_t)m->n_c << 24 | (uint64_t)m->flags << 32;
    i->flags = inst_has(l->in, WORD_satfinite) ? INST_SAT : 0;
    i->round = inst_has(l->in, WORD_and) ? WORD_and : WORD_xor;
    if (ptx_types[m->a].kind == TYPE_KIND_FLOAT)
        l->image->marks |= (uint64_t)1 << MARK_HMMA;
    return emit_list(l, i, slot, (uint32_t)(m->n_d + m->n_a + m->n_b + m->n_c),
                     (uint32_t)m->n_d);
}

/* mma.sync...dtype.atype.btype.ctype */
bool lower_mma(struct lowerer *l)
{
    const uint8_t *t = l->in->type;
    struct mma m = {.d = t[0], .a = t[1], .b = t[2], .c = t[3]};
    if (l->in->n_type != 4 || !shape_take(l, &m.s))
        return lower_fail(l, "needs four types and a shape");
    int out = m.s.m * m.s.n;
    m.n_a = register_count(m.s.m * m.s.k, m.a);
    m.n_b = register_count(m.s.n * m.s.k, m.b);
    m.n_c = register_count(out, m.c);
    m.n_d = register_count(out, m.d);
    m.flags = (m.c == TYPE_f16 ? MMA_HALF_C : 0) | (m.d == TYPE_f16 ? MMA_HALF_D : 0);
    return mma_emit(l, &m);
}

bool lower_mma_f64(struct lowerer *l)
{
    uint32_t slot[6];
    if (!operand_count(l, 4, 4) || !registers_take(l, 0, 2, true, 64, slot) ||
        !registers_take(l, 1, 1, false, 64, slot + 2) ||
        !registers_take(l, 2, 1, false, 64, slot + 3) ||
        !registers_take(l, 3, 2, false, 64, slot + 4))
        return false;
    struct inst *i = emit(l, EXEC_mma_f64);
    l->image->marks |= (uint64_t)1 << MARK_HMMA;
    return i && emit_list(l, i, slot, 6, 2);
}

/* --- wmma ------------------------------------------------------------------------------------
 */

static int fragment_registers(int elements, enum ptx_word type, bool input)
{
    return input && type == TYPE_f16 ? 8 : register_count(elements, type);
}

/* wmma.mma.sync.aligned.alayout.blayout.shape.dtype[.atype.btype].ctype */
bool lower_wmma_mma(struct lowerer *l)
{
    const uint8_t *t = l->in->type;
    int n = l->in->n_type;
    if (n != 2 && n != 4)
        return lower_fail(l, "needs two or four types");
    struct mma m = {
        .d = t[0], .a = n == 4 ? t[1] : TYPE_f16, .b = n == 4 ? t[2] : TYPE_f16, .c = t[n - 1]};
    if (!shape_take(l, &m.s))
        return false;
    int out = m.s.m * m.s.n;
    m.n_a = fragment_registers(m.s.m * m.s.k, m.a, true);
    m.n_b = fragment_registers(m.s.n * m.s.k, m.b, true);
    m.n_c = register_count(out, m.c);
    m.n_d = register_count(out, m.d);
    m.flags =
        MMA_LINEAR | (m.c == TYPE_f16 ? MMA_HALF_C : 0) | (m.d == TYPE_f16 ? MMA_HALF_D : 0);
    return mma_emit(l, &m);
}

/* Which fragment: rows along the register order and elements in a row. A runs along k, B
 * (column by column) along k, C along n. */
static bool fragment_shape(struct lowerer *l, const struct shape *s, int *ret_outer,
                           int *ret_inner, bool *ret_across)
{
    bool row = inst_has(l->in, WORD_row);
    enum ptx_word what = l->in->word[1];
    *ret_outer = what == WORD_b ? s->n : s->m;
    *ret_inner = what == WORD_a || what == WORD_b ? s->k : s->n;
    *ret_across = what == WORD_b ? row : !row;
    return true;
}

static bool fragment_emit(struct lowerer *l, int list, int where, enum exec_id exec)
{
    struct shape s;
    struct address at;
    int outer, inner;
    bool across;
    enum ptx_word type = inst_type(l->in);
    if (!operand_count(l, 2, 3) || !shape_take(l, &s) ||
        !fragment_shape(l, &s, &outer, &inner, &across) ||
        !address_of(l, where, inst_space(l->in), &at))
        return false;
    bool input = l->in->word[1] == WORD_a || l->in->word[1] == WORD_b,
         load = exec == EXEC_wmma_load;
    int n = fragment_registers(outer * inner, type, input);
    uint32_t slot[MMA_REGISTERS], stride;
    if (!registers_take(l, list, n, load, 32, slot))
        return false;
    stride = l->in->n_operand == 3 ? source(l, 2, 32, TYPE_u32)
                                   : slot_constant(l, 32, (uint64_t)(across ? outer : inner));
    struct inst *i = stride ? emit(l, exec) : NULL;
    if (!i)
        return false;
    int bits = ptx_types[type].bits;
    i->a = at.slot;
    i->target = (uint32_t)at.offset;
    i->space = at.space;
    i->flags = at.wide ? INST_ADDRESS64 : 0;
    i->b = stride;
    i->size = (uint8_t)(bits / 8);
    i->extra = (uint32_t)inner;
    i->imm = (uint64_t)(outer * inner * bits / 32);
    i->round = across;
    return emit_list(l, i, slot, (uint32_t)n, load ? (uint32_t)n : 0);
}

bool lower_wmma_load(struct lowerer *l)
{
    return fragment_emit(l, 0, 1, EXEC_wmma_load);
}

bool lower_wmma_store(struct lowerer *l)
{
    return fragment_emit(l, 1, 0, EXEC_wmma_store);
}

bool lower_movmatrix(struct lowerer *l)
{
    if (!operand_count(l, 2, 2))
        return false;
    uint32_t d = target(l, 0, 32), a = source(l, 1, 32, TYPE_b32);
    struct inst *i = d && a ? emit(l, EXEC_movmatrix) : NULL;
    if (i) {
        i->d = d;
        i->a = a;
    }
    return i != NULL;
}
