/* SPDX-License-Identifier: Apache-2.0 */
#include "lower.h"

#include <string.h>

/* What an instruction's words say, and address operands. */

bool word_starts(const struct ptx_inst *i, const char *text)
{
    size_t n = strlen(text);
    for (int k = 0; k < i->n_word; k++)
        if (i->word_text[k].size >= n && !memcmp(i->word_text[k].text, text, n))
            return true;
    return false;
}

enum ptx_space inst_space(const struct ptx_inst *i)
{
    static const struct {
        const char *name;
        enum ptx_space space;
    } rows[] = {{"global", SPACE_GLOBAL},
                {"shared", SPACE_SHARED},
                {"local", SPACE_LOCAL},
                {"const", SPACE_CONST},
                {"param", SPACE_PARAM}};
    for (int k = 0; k < i->n_word; k++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            size_t n = strlen(rows[r].name);
            struct slice s = i->word_text[k];
            if (s.size >= n && !memcmp(s.text, rows[r].name, n) &&
                (s.size == n || s.text[n] == ':'))
                return rows[r].space;
        }
    return SPACE_GENERIC;
}

enum ptx_word inst_type(const struct ptx_inst *i)
{
    return i->n_type ? (enum ptx_word)i->type[i->n_type - 1] : WORD_unknown;
}

enum ptx_word inst_round(const struct ptx_inst *i)
{
    for (int k = 0; k < i->n_word; k++)
        if (i->word[k] >= WORD_rn && i->word[k] <= WORD_rpi)
            return (enum ptx_word)i->word[k];
    return WORD_unknown;
}

uint8_t inst_float_flags(const struct ptx_inst *i)
{
    return (uint8_t)((inst_has(i, WORD_ftz) ? INST_FTZ : 0) |
                     (inst_has(i, WORD_sat) ? INST_SAT : 0) |
                     (inst_has(i, WORD_relu) ? INST_RELU : 0) |
                     (inst_has(i, WORD_NaN) ? INST_NAN : 0));
}

/* Variables whose place depends on the running thread's frame. */
static bool in_frame(const struct lowerer *l, const struct ptx_symbol *s)
{
    return s->space == SPACE_LOCAL ||
           (s->space == SPACE_PARAM && (s->function || !l->function->entry));
}

static bool symbol_address(struct lowerer *l, const struct ptx_operand *o, enum ptx_space space,
                           struct address *ret)
{
    const struct ptx_symbol *s = o->item->symbol;
    if (s->kind != SYMBOL_VARIABLE)
        return lower_fail(l, "'%.*s' is not a variable", (int)s->name.size, s->name.text);
    enum ptx_space real = s->space == SPACE_CONST ? SPACE_GLOBAL : s->space;
    if (space != SPACE_GENERIC && space != s->space)
        return lower_fail(l, "'%.*s' is in another address space", (int)s->name.size,
                          s->name.text);
    if (in_frame(l, s)) {
        *ret = (struct address){l->image->frame_slot, false, s->address + o->bits, SPACE_LOCAL,
                                false};
        return true;
    }
    if (real == SPACE_PARAM && (o->bits >= s->size))
        return lower_fail(l, "offset %lld is outside parameter '%.*s'", (long long)o->bits,
                          (int)s->name.size, s->name.text);
    *ret = (struct address){0, real == SPACE_GLOBAL, s->address + o->bits, (uint8_t)real,
                            real == SPACE_PARAM};
    if (ret->wide) {
        ret->slot = slot_constant(l, 64, ret->offset);
        ret->offset = 0;
    } else {
        ret->slot = slot_constant(l, 32, 0);
    }
    return ret->slot != 0;
}

bool address_of(struct lowerer *l, int k, enum ptx_space space, struct address *ret)
{
    const struct ptx_operand *o = operand(l, k);
    if (!o)
        return false;
    if (o->kind != OPERAND_ADDRESS)
        return lower_fail(l, "operand %d must be an address in brackets", k + 1);
    const struct ptx_operand *base = o->item;
    if (base->kind == OPERAND_SYMBOL)
        return symbol_address(l, o, space, ret);
    uint8_t real = space == SPACE_CONST ? SPACE_GLOBAL : (uint8_t)space;
    if (space == SPACE_PARAM && !l->function->entry)
        real = SPACE_LOCAL;
    if (base->kind == OPERAND_INTEGER) {
        *ret = (struct address){slot_constant(l, 64, base->bits), true, o->bits, real, false};
        return ret->slot != 0;
    }
    if (base->kind != OPERAND_REG)
        return lower_fail(l, "an address is a register or a variable, plus a number");
    int bits = reg_bits(l, base->reg);
    if (bits != 32 && bits != 64)
        return lower_fail(l, "an address register has 32 or 64 bits, not %d", bits);
    *ret = (struct address){slot_reg(l, base->reg), bits == 64, o->bits, real, false};
    return true;
}
