/* SPDX-License-Identifier: Apache-2.0 */
#include "lower.h"
#include "system.h"

#include <stdlib.h>
#include <string.h>

/* Lowering of branches, calls, barriers and what lanes tell each other. */

static bool patch_add(struct lowerer *l, enum patch_kind kind, uint32_t item, uint32_t to)
{
    if (l->n_patch == l->patch_room) {
        size_t room = l->patch_room ? l->patch_room * 2 : 64;
        struct patch *list = realloc(l->patch, room * sizeof *list);
        if (!list)
            return lower_fail(l, "not enough memory");
        l->patch = list;
        l->patch_room = room;
    }
    l->patch[l->n_patch++] = (struct patch){kind, l->image->n_inst - 1, item, to};
    return true;
}

static bool label_target(struct lowerer *l, const struct ptx_operand *o, uint32_t *ret_target)
{
    if (!o || o->kind != OPERAND_LABEL || !o->symbol || o->symbol->function != l->function)
        return o && lower_fail(l, "the destination must be a label of this function");
    *ret_target = o->symbol->target;
    return true;
}

bool lower_bra(struct lowerer *l)
{
    uint32_t to = 0;
    if (!operand_count(l, 1, 1) || !label_target(l, operand(l, 0), &to))
        return false;
    struct inst *i = emit(l, l->in->guarded ? EXEC_bra_if : EXEC_bra);
    if (!i)
        return false;
    i->a = i->guard;
    i->imm = i->guard_flip;
    i->guard = i->guard_flip = 0;
    return patch_add(l, PATCH_TARGET, 0, to);
}

bool lower_brx(struct lowerer *l)
{
    if (!operand_count(l, 2, 2))
        return false;
    const struct ptx_operand *o = operand(l, 1);
    uint32_t a = source(l, 0, 32, TYPE_u32), n = o->symbol ? o->symbol->n_item : 0;
    if (!a)
        return false;
    if (o->kind != OPERAND_SYMBOL || o->symbol->kind != SYMBOL_TARGETS || n > UINT16_MAX)
        return lower_fail(l, "the second operand must be a .branchtargets list");
    struct inst *i = emit(l, EXEC_brx);
    uint32_t *zero = calloc(n ? n : 1, sizeof *zero);
    if (!i || !zero) {
        free(zero);
        return i && lower_fail(l, "not enough memory");
    }
    i->a = a;
    bool ok = emit_list(l, i, zero, n, 0);
    free(zero);
    for (uint32_t k = 0; ok && k < n; k++) {
        uint32_t to = 0;
        ok = label_target(l, o->symbol->item[k], &to) && patch_add(l, PATCH_LIST, k, to);
    }
    return ok;
}

bool lower_ret(struct lowerer *l)
{
    struct inst *i = emit(l, l->function->entry ? EXEC_exit : EXEC_ret);
    if (!i)
        return false;
    i->a = l->function->entry ? 0 : l->image->function[l->function->index].return_slot;
    return true;
}

bool lower_exit(struct lowerer *l)
{
    return emit(l, forms[l->form].exec) != NULL;
}

/* --- calls -----------------------------------------------------------------------------------
 */

struct call {
    const struct ptx_operand *result, *callee, *argument;
};

static bool call_parts(struct lowerer *l, struct call *c)
{
    memset(c, 0, sizeof *c);
    int k = 0;
    if (k < l->in->n_operand && l->in->operand[k].kind == OPERAND_LIST)
        c->result = &l->in->operand[k++];
    c->callee = operand(l, k++);
    if (k < l->in->n_operand && l->in->operand[k].kind == OPERAND_LIST)
        c->argument = &l->in->operand[k++];
    return c->callee != NULL;
}

/* Copies parameters between the caller's variables and the callee's frame, whose parameters
 * stand in order from its start, results behind them. */
static bool copies_emit(struct lowerer *l, const struct ptx_operand *list, uint32_t frame,
                        uint64_t *offset, bool back)
{
    for (uint32_t k = 0; list && k < list->n; k++) {
        const struct ptx_symbol *s = list->item[k].symbol;
        if (list->item[k].kind != OPERAND_SYMBOL || !s || s->kind != SYMBOL_VARIABLE ||
            s->space != SPACE_PARAM)
            return lower_fail(l, "arguments and results must be .param variables");
        uint64_t align = s->align ? s->align : 1;
        *offset = (*offset + align - 1) / align * align;
        struct inst *i = emit(l, EXEC_param_copy);
        if (!i)
            return false;
        i->a = l->image->frame_slot;
        i->imm = back ? frame + *offset : s->address;
        i->target = (uint32_t)(back ? s->address : frame + *offset);
        i->extra = (uint32_t)s->size;
        *offset += s->size;
    }
    return true;
}

static void offset_skip(const struct ptx_operand *list, uint64_t *offset)
{
    for (uint32_t k = 0; list && k < list->n; k++) {
        const struct ptx_symbol *s = list->item[k].symbol;
        uint64_t align = s && s->align ? s->align : 1;
        *offset = (*offset + align - 1) / align * align + (s ? s->size : 0);
    }
}

static bool frame_move(struct lowerer *l, uint32_t frame, enum exec_id exec)
{
    uint32_t size = slot_constant(l, 32, frame);
    struct inst *i = emit(l, exec);
    if (!i || !size)
        return false;
    i->d = i->a = l->image->frame_slot;
    i->b = size;
    return true;
}

static bool jump_emit(struct lowerer *l, const struct call *c)
{
    if (c->callee->kind == OPERAND_REG) {
        uint32_t a = source_of(l, c->callee, 64, TYPE_u64);
        struct inst *i = a ? emit(l, EXEC_call_indirect) : NULL;
        if (i)
            i->a = a;
        return i != NULL;
    }
    const struct ptx_symbol *s = c->callee->symbol;
    if (c->callee->kind != OPERAND_SYMBOL || s->kind != SYMBOL_FUNCTION || s->function->entry)
        return lower_fail(l, "the callee must be a function or a register");
    if (!s->function->defined)
        return lower_fail(l, "function '%.*s' is not defined in this module", (int)s->name.size,
                          s->name.text);
    struct inst *i = emit(l, EXEC_call);
    if (!i)
        return false;
    i->d = l->image->function[s->function->index].return_slot;
    return patch_add(l, PATCH_FUNCTION, 0, (uint32_t)s->function->index);
}

/* A recursive function keeps its registers in its frame while it calls. */
static bool registers_keep(struct lowerer *l, enum exec_id exec)
{
    const struct image_function *f = &l->image->function[l->function->index];
    if (!f->recursive)
        return true;
    uint32_t n = l->function->n_reg, *slot = calloc((size_t)n + 1, sizeof *slot);
    struct inst *i = slot && n < UINT16_MAX ? emit(l, exec) : NULL;
    if (!i) {
        free(slot);
        return lower_fail(l, "too many registers for a recursive function");
    }
    i->a = l->image->frame_slot;
    i->imm = f->saved;
    for (uint32_t k = 0; k < n; k++)
        slot[k] = slot_reg(l, k);
    slot[n] = f->return_slot;
    bool ok = emit_list(l, i, slot, n + 1, exec == EXEC_frame_restore ? n + 1 : 0);
    free(slot);
    return ok;
}

/* Functions the driver provides: vprintf and what assert calls. */
static bool system_call(struct lowerer *l, const struct call *c, bool *ret_is)
{
    static const struct {
        const char *name;
        enum system_call number;
    } rows[] = {{"vprintf", SYSTEM_VPRINTF}, {"__assertfail", SYSTEM_ASSERT}};
    const struct ptx_symbol *s = c->callee->symbol;
    *ret_is = false;
    if (c->callee->kind != OPERAND_SYMBOL || s->kind != SYMBOL_FUNCTION || s->function->defined)
        return true;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        if (!slice_is(s->name, rows[k].name))
            continue;
        struct inst *i = emit(l, EXEC_system_call);
        if (!i)
            return false;
        i->a = l->image->frame_slot;
        i->extra = rows[k].number;
        *ret_is = true;
    }
    return true;
}

bool lower_call(struct lowerer *l)
{
    struct call c;
    uint32_t frame = l->image->function[l->function->index].frame;
    uint64_t offset = 0;
    bool system = false;
    if (!call_parts(l, &c))
        return false;
    if (!copies_emit(l, c.argument, frame, &offset, false) ||
        !registers_keep(l, EXEC_frame_save) || !frame_move(l, frame, EXEC_add_u32) ||
        !system_call(l, &c, &system) || (!system && !jump_emit(l, &c)) ||
        !frame_move(l, frame, EXEC_sub_u32) || !registers_keep(l, EXEC_frame_restore))
        return false;
    offset = 0;
    offset_skip(c.argument, &offset);
    return copies_emit(l, c.result, frame, &offset, true);
}

/* --- barriers --------------------------------------------------------------------------------
 */

bool lower_bar(struct lowerer *l)
{
    if (!operand_count(l, 1, 2))
        return false;
    uint32_t a = source(l, 0, 32, TYPE_u32), b = 0;
    if (!a || (l->in->n_operand > 1 && !(b = source(l, 1, 32, TYPE_u32))))
        return false;
    struct inst *i = emit(l, forms[l->form].exec);
    if (!i)
        return false;
    i->a = a;
    i->b = b;
    l->image->barrier = true;
    return true;
}

/* bar.red d, a, [b,] c: one instruction that waits and one that fetches the result. */
bool lower_bar_red(struct lowerer *l)
{
    int n = l->in->n_operand;
    bool count = inst_has(l->in, WORD_popc), flip = false;
    if (!operand_count(l, 3, 4))
        return false;
    uint32_t d = target(l, 0, count ? 32 : 1), a = source(l, 1, 32, TYPE_u32), b = 0;
    uint32_t c = source_pred(l, n - 1, &flip);
    if (!d || !a || !c || (n > 3 && !(b = source(l, 2, 32, TYPE_u32))))
        return false;
    struct inst *i = emit(l, EXEC_bar_red);
    if (!i)
        return false;
    i->a = a;
    i->b = b;
    i->c = c;
    i->flags = flip ? INST_FLIP_C : 0;
    i = emit(l, EXEC_bar_result);
    if (!i)
        return false;
    i->d = d;
    i->a = a;
    i->round = count ? WORD_popc : inst_has(l->in, WORD_and) ? WORD_and : WORD_or;
    l->image->barrier = true;
    return true;
}

bool lower_warp_sync(struct lowerer *l)
{
    if (!operand_count(l, 1, 1))
        return false;
    uint32_t a = source(l, 0, 32, TYPE_b32);
    struct inst *i = a ? emit(l, EXEC_warp_sync) : NULL;
    if (i)
        i->a = a;
    return i != NULL;
}

/* --- lanes -----------------------------------------------------------------------------------
 */

/* Result operand 0, which may be a pair d|p. */
static bool pair_target(struct lowerer *l, uint32_t *ret_d, uint32_t *ret_e)
{
    const struct ptx_operand *o = operand(l, 0);
    *ret_d = *ret_e = 0;
    if (!o)
        return false;
    if (o->kind != OPERAND_PAIR)
        return (*ret_d = target_of(l, o, 32)) != 0;
    return (*ret_d = target_of(l, &o->item[0], 32)) && (*ret_e = target_of(l, &o->item[1], 1));
}

static bool lanes_emit(struct lowerer *l, const uint32_t slot[5], uint32_t members,
                       enum ptx_word mode)
{
    struct inst *i = emit(l, forms[l->form].exec);
    if (!i)
        return false;
    i->d = slot[0];
    i->e = slot[1];
    i->a = slot[2];
    i->b = slot[3];
    i->c = slot[4];
    i->round = (uint8_t)mode;
    i->type = (uint8_t)inst_type(l->in);
    return !members || emit_list(l, i, &members, 1, 0);
}

bool lower_shfl(struct lowerer *l)
{
    uint32_t s[5], members;
    if (!operand_count(l, 5, 5) || !pair_target(l, &s[0], &s[1]))
        return false;
    if (!(s[2] = source(l, 1, 32, TYPE_b32)) || !(s[3] = source(l, 2, 32, TYPE_b32)) ||
        !(s[4] = source(l, 3, 32, TYPE_b32)) || !(members = source(l, 4, 32, TYPE_b32)))
        return false;
    return lanes_emit(l, s, members, l->in->word[1]);
}

bool lower_vote(struct lowerer *l)
{
    uint32_t s[5] = {0}, members;
    bool flip = false;
    if (!operand_count(l, 3, 3))
        return false;
    if (!(s[0] = target(l, 0, inst_has(l->in, WORD_ballot) ? 32 : 1)) ||
        !(s[4] = source_pred(l, 1, &flip)) || !(members = source(l, 2, 32, TYPE_b32)))
        return false;
    if (!lanes_emit(l, s, members, l->in->word[1]))
        return false;
    l->image->inst[l->image->n_inst - 1].flags = flip ? INST_FLIP_C : 0;
    return true;
}

bool lower_match(struct lowerer *l)
{
    uint32_t s[5] = {0}, members;
    int bits = ptx_types[inst_type(l->in)].bits;
    if (!operand_count(l, 3, 3) || !pair_target(l, &s[0], &s[1]) ||
        !(s[2] = source(l, 1, bits, inst_type(l->in))) ||
        !(members = source(l, 2, 32, TYPE_b32)))
        return false;
    if (!lanes_emit(l, s, members, l->in->word[0]))
        return false;
    l->image->inst[l->image->n_inst - 1].flags = bits == 64 ? INST_WIDE : 0;
    return true;
}

bool lower_redux(struct lowerer *l)
{
    uint32_t s[5] = {0}, members;
    if (!operand_count(l, 3, 3) || !(s[0] = target(l, 0, 32)) ||
        !(s[2] = source(l, 1, 32, TYPE_b32)) || !(members = source(l, 2, 32, TYPE_b32)))
        return false;
    return lanes_emit(l, s, members, l->in->word[1]);
}

bool lower_elect(struct lowerer *l)
{
    uint32_t s[5] = {0}, members;
    if (!operand_count(l, 2, 2) || !pair_target(l, &s[0], &s[1]) ||
        !(members = source(l, 1, 32, TYPE_b32)))
        return false;
    return lanes_emit(l, s, members, WORD_unknown);
}

bool lower_activemask(struct lowerer *l)
{
    uint32_t s[5] = {0};
    return operand_count(l, 1, 1) && (s[0] = target(l, 0, 32)) &&
           lanes_emit(l, s, 0, WORD_unknown);
}
