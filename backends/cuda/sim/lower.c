/* SPDX-License-Identifier: Apache-2.0 */
#include "exec.h"
#include "lower.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What all lowerings use: errors, emitting, slots and operands. */

bool lower_fail(struct lowerer *l, const char *format, ...)
{
    char what[320];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    const struct ptx_inst *i = l->in;
    if (!i)
        return ptx_error_set(l->error, 0, 0, "%s", what);
    int size = i->text.size < 100 ? (int)i->text.size : 100;
    return ptx_error_set(l->error, i->line, i->column, "'%.*s': %s", size, i->text.text, what);
}

static void *list_grow(struct lowerer *l, void *list, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return list;
    size_t more = *room ? *room * 2 : 256;
    void *p = realloc(list, more * size);
    if (!p) {
        l->memory_failed = true;
        lower_fail(l, "not enough memory");
        return NULL;
    }
    memset((char *)p + *room * size, 0, (more - *room) * size);
    *room = more;
    return p;
}

struct inst *emit(struct lowerer *l, enum exec_id exec)
{
    struct image *im = l->image;
    struct inst *list = list_grow(l, im->inst, im->n_inst, &l->inst_room, sizeof *list);
    if (!list)
        return NULL;
    im->inst = list;
    struct inst *i = &list[im->n_inst++];
    memset(i, 0, sizeof *i);
    i->exec = (uint16_t)exec;
    i->form = (uint16_t)l->form;
    if (l->in) {
        i->line = (uint32_t)l->in->line;
        i->guard = l->in->guarded ? slot_reg(l, l->in->guard) : 0;
        i->guard_flip = l->in->guard_not ? UINT32_MAX : 0;
    }
    return i;
}

/* While lowering, `list` holds an offset into the pool, plus one. */
bool emit_list(struct lowerer *l, struct inst *i, const uint32_t *slot, uint32_t n,
               uint32_t n_write)
{
    struct image *im = l->image;
    size_t at = (size_t)(i - im->inst);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t *pool = list_grow(l, im->pool, l->n_pool + k, &l->pool_room, sizeof *pool);
        if (!pool)
            return false;
        im->pool = pool;
        pool[l->n_pool + k] = slot[k];
    }
    i = &im->inst[at];
    i->list = (uint32_t *)(uintptr_t)(l->n_pool + 1);
    i->n_list = (uint16_t)n;
    i->n_write = (uint16_t)n_write;
    l->n_pool += n;
    return true;
}

/* --- slots -----------------------------------------------------------------------------------
 */

uint32_t slot_new(struct lowerer *l, enum slot_kind kind, int bits, uint64_t value)
{
    struct image *im = l->image;
    struct slot *list = list_grow(l, im->slot, im->n_slot, &l->slot_room, sizeof *list);
    if (!list)
        return 0;
    im->slot = list;
    list[im->n_slot] = (struct slot){.kind = kind, .bits = (uint8_t)bits, .value = value};
    return im->n_slot++;
}

static uint64_t constant_hash(int bits, uint64_t value)
{
    uint64_t h = (value ^ (uint64_t)bits << 57) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 31;
}

static bool constants_grow(struct lowerer *l)
{
    size_t room = l->constant_room ? l->constant_room * 2 : 256;
    uint32_t *table = calloc(room, sizeof *table);
    if (!table)
        return lower_fail(l, "not enough memory");
    for (size_t k = 0; k < l->constant_room; k++) {
        uint32_t s = l->constant[k];
        if (!s)
            continue;
        size_t at = constant_hash(l->image->slot[s].bits, l->image->slot[s].value) & (room - 1);
        while (table[at])
            at = (at + 1) & (room - 1);
        table[at] = s;
    }
    free(l->constant);
    l->constant = table;
    l->constant_room = room;
    return true;
}

uint32_t slot_constant(struct lowerer *l, int bits, uint64_t value)
{
    if (bits == 32)
        value &= UINT32_MAX;
    if (l->n_constant * 2 >= l->constant_room && !constants_grow(l))
        return 0;
    size_t at = constant_hash(bits, value) & (l->constant_room - 1);
    for (uint32_t s; (s = l->constant[at]); at = (at + 1) & (l->constant_room - 1))
        if (l->image->slot[s].bits == bits && l->image->slot[s].value == value)
            return s;
    l->n_constant++;
    return l->constant[at] = slot_new(l, SLOT_CONSTANT, bits, value);
}

uint32_t slot_special(struct lowerer *l, enum ptx_special special)
{
    for (uint32_t s = 1; s < l->image->n_slot; s++)
        if (l->image->slot[s].kind == SLOT_SPECIAL && l->image->slot[s].value == special)
            return s;
    return slot_new(l, SLOT_SPECIAL, ptx_special_bits[special], special);
}

uint32_t slot_reg(struct lowerer *l, uint32_t reg)
{
    return l->reg_base[l->function->index] + reg;
}

int reg_bits(const struct lowerer *l, uint32_t reg)
{
    int bits = ptx_types[l->function->reg_type[reg]].bits;
    return bits == 8 ? 16 : bits;
}

/* --- operands --------------------------------------------------------------------------------
 */

const struct ptx_operand *operand(struct lowerer *l, int k)
{
    if (k < l->in->n_operand)
        return &l->in->operand[k];
    lower_fail(l, "needs at least %d operands, has %d", k + 1, l->in->n_operand);
    return NULL;
}

bool operand_count(struct lowerer *l, int least, int most)
{
    int n = l->in->n_operand;
    if (n >= least && n <= most)
        return true;
    if (least == most)
        return lower_fail(l, "needs %d operands, has %d", least, n);
    return lower_fail(l, "needs %d to %d operands, has %d", least, most, n);
}

static int slot_bits(int declared)
{
    return declared == 16 ? 32 : declared;
}

static uint64_t immediate(const struct ptx_operand *o, int bits, enum ptx_word type)
{
    uint64_t v = o->bits;
    if (o->kind == OPERAND_F64 && ptx_types[type].bits == 32) {
        double d;
        memcpy(&d, &v, sizeof d);
        float f = (float)d;
        uint32_t u;
        memcpy(&u, &f, sizeof u);
        v = u;
    } else if (o->kind == OPERAND_F32 && ptx_types[type].bits == 64 &&
               ptx_types[type].kind == TYPE_KIND_FLOAT) {
        uint32_t u = (uint32_t)v;
        float f;
        memcpy(&f, &u, sizeof f);
        double d = f;
        memcpy(&v, &d, sizeof v);
    }
    if (ptx_types[type].bits == 16)
        v &= 0xffff;
    return bits == 32 ? v & UINT32_MAX : v;
}

/* Symbols as values: addresses in their own space. */
static uint32_t symbol_source(struct lowerer *l, const struct ptx_operand *o, int bits)
{
    const struct ptx_symbol *s = o->symbol;
    if (s->kind == SYMBOL_FUNCTION)
        return slot_constant(l, bits, WINDOW_CODE + 16 * (uint64_t)s->function->index);
    if (s->kind != SYMBOL_VARIABLE) {
        lower_fail(l, "'%.*s' cannot be an operand here", (int)s->name.size, s->name.text);
        return 0;
    }
    if (s->space != SPACE_LOCAL &&
        !(s->space == SPACE_PARAM && (s->function || !l->function->entry)))
        return slot_constant(l, bits, s->address + o->bits);
    struct inst *i = emit(l, EXEC_frame_address);
    if (!i)
        return 0;
    size_t at = (size_t)(i - l->image->inst);
    uint32_t slot = slot_new(l, SLOT_HIDDEN, bits, 0);
    i = &l->image->inst[at];
    i->d = slot;
    i->a = l->image->frame_slot;
    i->imm = s->address + o->bits;
    i->flags = bits == 64 ? INST_WIDE : 0;
    return slot;
}

static uint32_t clock_source(struct lowerer *l, const struct ptx_operand *o)
{
    struct inst *i = emit(l, EXEC_clock);
    if (!i)
        return 0;
    size_t at = (size_t)(i - l->image->inst);
    bool high = o->special == SPECIAL_CLOCK_HI || o->special == SPECIAL_GLOBALTIMER_HI;
    int bits = ptx_special_bits[o->special];
    uint32_t slot = slot_new(l, SLOT_HIDDEN, bits, 0);
    i = &l->image->inst[at];
    i->d = slot;
    i->flags = bits == 64 ? INST_WIDE : 0;
    i->imm = high ? 32 : 0;
    return slot;
}

static uint32_t special_source(struct lowerer *l, const struct ptx_operand *o, int bits)
{
    uint32_t slot =
        o->special >= SPECIAL_CLOCK ? clock_source(l, o) : slot_special(l, o->special);
    if (!slot || bits == ptx_special_bits[o->special])
        return slot;
    struct inst *i = emit(l, bits == 64 ? EXEC_ext_u32_32_64 : EXEC_ext_u32_64_32);
    if (!i)
        return 0;
    size_t at = (size_t)(i - l->image->inst);
    uint32_t other = slot_new(l, SLOT_HIDDEN, bits, 0);
    l->image->inst[at].a = slot;
    return l->image->inst[at].d = other;
}

uint32_t source_of(struct lowerer *l, const struct ptx_operand *o, int bits, enum ptx_word type)
{
    switch (o->kind) {
    case OPERAND_REG: {
        int have = slot_bits(reg_bits(l, o->reg));
        if (have == bits)
            return slot_reg(l, o->reg);
        lower_fail(l, "register of %d bits where %d are needed (line %d, column %d)",
                   reg_bits(l, o->reg), bits, o->line, o->column);
        return 0;
    }
    case OPERAND_INTEGER:
    case OPERAND_F32:
    case OPERAND_F64:
        return slot_constant(l, bits, bits == 1 ? o->bits != 0 : immediate(o, bits, type));
    case OPERAND_SPECIAL:
        return special_source(l, o, bits);
    case OPERAND_SYMBOL:
        return symbol_source(l, o, bits);
    default:
        lower_fail(l, "this operand is not a value (line %d, column %d)", o->line, o->column);
        return 0;
    }
}

uint32_t source(struct lowerer *l, int k, int bits, enum ptx_word type)
{
    const struct ptx_operand *o = operand(l, k);
    return o ? source_of(l, o, bits, type) : 0;
}

uint32_t target_of(struct lowerer *l, const struct ptx_operand *o, int bits)
{
    if (o->kind == OPERAND_SINK)
        return slot_new(l, SLOT_HIDDEN, bits, 0);
    if (o->kind != OPERAND_REG) {
        lower_fail(l, "the result must be a register (line %d, column %d)", o->line, o->column);
        return 0;
    }
    int have = slot_bits(reg_bits(l, o->reg));
    if (have == bits)
        return slot_reg(l, o->reg);
    lower_fail(l, "result register of %d bits where %d are needed", reg_bits(l, o->reg), bits);
    return 0;
}

uint32_t target(struct lowerer *l, int k, int bits)
{
    const struct ptx_operand *o = operand(l, k);
    return o ? target_of(l, o, bits) : 0;
}

uint32_t source_pred(struct lowerer *l, int k, bool *ret_flip)
{
    const struct ptx_operand *o = operand(l, k);
    if (!o)
        return 0;
    *ret_flip = o->negated;
    return source_of(l, o, 1, TYPE_pred);
}
