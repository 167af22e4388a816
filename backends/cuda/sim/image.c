/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec.h"
#include "lower.h"
#include "regalloc.h"

/* From a kernel's PTX to an image: which functions and shared variables it needs, frames,
 * bodies, jumps, and places in the register file. */

static uint64_t align_up(uint64_t n, uint64_t align)
{
    return align > 1 ? (n + align - 1) / align * align : n;
}

/* --- what is needed --------------------------------------------------------------------------
 */

enum { WANTED = 1, SCANNED = 2 };

/* Local memory for calls whose depth is not known, and for arguments of vprintf and the like.
 */
enum { RECURSION_STACK = 32 << 10, SYSTEM_STACK = 64 };

static void symbol_note(struct lowerer *l, const struct ptx_symbol *s, bool dynamic)
{
    if (!s)
        return;
    if (s->kind == SYMBOL_FUNCTION && !l->function_state[s->function->index])
        l->function_state[s->function->index] = WANTED;
    if (s->kind != SYMBOL_VARIABLE || s->space != SPACE_SHARED || s->placed == l->image ||
        (s->array_open && !dynamic) || (!s->array_open && dynamic))
        return;
    struct ptx_symbol *place = (struct ptx_symbol *)s;
    uint64_t at = align_up(l->image->shared_size, s->align);
    place->address = at;
    place->placed = l->image;
    if (!dynamic)
        l->image->shared_size = (uint32_t)(at + s->size);
}

static void operand_scan(struct lowerer *l, const struct ptx_operand *o, bool dynamic)
{
    symbol_note(l, o->symbol, dynamic);
    for (uint32_t k = 0; k < o->n; k++)
        operand_scan(l, &o->item[k], dynamic);
}

static bool is_indirect(const struct ptx_inst *i)
{
    for (int k = 0; slice_is(i->op, "call") && k < i->n_operand; k++)
        if (i->operand[k].kind == OPERAND_REG)
            return true;
    return false;
}

static void function_scan(struct lowerer *l, const struct ptx_function *f, bool dynamic)
{
    for (uint32_t k = 0; k < f->n_inst; k++) {
        const struct ptx_inst *i = &f->inst[k];
        for (int n = 0; n < i->n_operand; n++)
            operand_scan(l, &i->operand[n], dynamic);
        if (is_indirect(i))
            for (const struct ptx_function *g = l->module->function; g; g = g->next)
                if (!g->entry && !l->function_state[g->index])
                    l->function_state[g->index] = WANTED;
    }
}

/* First the static shared variables in the order they are met; the dynamic ones start behind.
 */
static bool needs_find(struct lowerer *l)
{
    bool more = true;
    l->function_state[l->function->index] = WANTED;
    while (more) {
        more = false;
        for (const struct ptx_function *f = l->module->function; f; f = f->next)
            if (l->function_state[f->index] == WANTED) {
                function_scan(l, f, false);
                l->function_state[f->index] = SCANNED;
                more = true;
            }
        if (l->image->shared_size > WINDOW_SIZE / 2)
            return lower_fail(l, "more shared memory than any card has");
    }
    l->image->shared_size = (uint32_t)align_up(l->image->shared_size, 16);
    for (const struct ptx_function *f = l->module->function; f; f = f->next)
        if (l->function_state[f->index])
            function_scan(l, f, true);
    return true;
}

/* --- frames and registers --------------------------------------------------------------------
 */

static bool frame_place(struct lowerer *l, struct ptx_symbol *list, uint64_t *size,
                        enum ptx_space space)
{
    for (struct ptx_symbol *s = list; s; s = s->next) {
        if (s->space != space)
            continue;
        *size = align_up(*size, s->align);
        s->address = *size;
        *size += s->size;
        if (*size > WINDOW_SIZE / 2)
            return lower_fail(l, "'%.*s': more than 8 MiB of local memory a thread",
                              (int)s->name.size, s->name.text);
    }
    return true;
}

static bool function_prepare(struct lowerer *l, const struct ptx_function *f)
{
    struct image_function *g = &l->image->function[f->index];
    uint64_t size = 0;
    if (f->entry) {
        if (!frame_place(l, f->param, &size, SPACE_PARAM))
            return false;
        l->image->param_size = (uint32_t)size;
        size = 0;
    } else if (!frame_place(l, f->param, &size, SPACE_PARAM) ||
               !frame_place(l, f->result, &size, SPACE_PARAM)) {
        return false;
    }
    if (!frame_place(l, f->variable, &size, SPACE_PARAM) ||
        !frame_place(l, f->variable, &size, SPACE_LOCAL))
        return false;
    size = align_up(size, 16);
    g->saved = (uint32_t)size;
    if (g->recursive)
        size += ((uint64_t)f->n_reg + 1) * 8;
    g->frame = (uint32_t)align_up(size, 16);
    l->reg_base[f->index] = l->image->n_slot;
    for (uint32_t r = 0; r < f->n_reg; r++) {
        int bits = ptx_types[f->reg_type[r]].bits;
        if (!slot_new(l, SLOT_REG, bits == 1 || bits == 64 ? bits : 32, 0))
            return false;
    }
    g->return_slot = f->entry ? 0 : slot_new(l, SLOT_HIDDEN, 32, 0);
    return f->entry || g->return_slot;
}

static bool may_call(const struct ptx_inst *i, const struct ptx_function *g)
{
    if (!slice_is(i->op, "call"))
        return false;
    bool called = is_indirect(i) && !g->entry;
    for (int n = 0; n < i->n_operand; n++)
        called |= i->operand[n].symbol == g->symbol;
    return called;
}

static void reached_mark(const struct lowerer *l, const struct ptx_function *f, uint8_t *seen)
{
    for (const struct ptx_function *g = l->module->function; g; g = g->next)
        for (uint32_t k = 0; k < f->n_inst && !seen[g->index]; k++)
            if (may_call(&f->inst[k], g)) {
                seen[g->index] = 1;
                reached_mark(l, g, seen);
            }
}

/* Which functions may call themselves, also by way of others. */
static bool recursion_find(struct lowerer *l)
{
    size_t n = (size_t)l->module->n_function;
    uint8_t *seen = malloc(n);
    if (!seen)
        return lower_fail(l, "not enough memory");
    for (const struct ptx_function *f = l->module->function; f; f = f->next) {
        if (!l->function_state[f->index] || f->entry)
            continue;
        memset(seen, 0, n);
        reached_mark(l, f, seen);
        l->image->function[f->index].recursive = seen[f->index];
    }
    free(seen);
    return true;
}

/* Bytes of call stack from `f` downwards; a recursive function ends the walk. */
static uint64_t stack_depth(const struct lowerer *l, const struct ptx_function *f)
{
    uint64_t deepest = 0;
    if (l->image->function[f->index].recursive)
        return RECURSION_STACK;
    for (const struct ptx_function *g = l->module->function; g; g = g->next)
        for (uint32_t k = 0; k < f->n_inst; k++)
            if (may_call(&f->inst[k], g)) {
                uint64_t size = stack_depth(l, g);
                deepest = size > deepest ? size : deepest;
                break;
            }
    return l->image->function[f->index].frame + deepest;
}

static bool calls_system(const struct lowerer *l)
{
    for (const struct ptx_function *f = l->module->function; f; f = f->next)
        if (l->function_state[f->index] && !f->defined)
            return true;
    return false;
}

static bool functions_prepare(struct lowerer *l)
{
    if (!recursion_find(l))
        return false;
    for (const struct ptx_function *f = l->module->function; f; f = f->next) {
        l->image->function[f->index].function = f;
        l->image->function[f->index].start = UINT32_MAX;
        if (l->function_state[f->index] && f->defined && (f == l->function || !f->entry) &&
            !function_prepare(l, f))
            return false;
    }
    uint64_t size = stack_depth(l, l->function) + (calls_system(l) ? SYSTEM_STACK : 0);
    if (size > WINDOW_SIZE / 2)
        return lower_fail(l, "more than 8 MiB of local memory a thread");
    l->image->local_size = (uint32_t)align_up(size, 16);
    return true;
}

/* --- bodies ----------------------------------------------------------------------------------
 */

/* Products and negations that went into a fused instruction. */
static bool dropped(const struct lowerer *l)
{
    if (!l->fuse.step)
        return false;
    uint8_t action = l->fuse.step[l->in - l->function->inst].action;
    return action == FUSE_DROP || action == FUSE_NEG_DROP;
}

static bool inst_lower(struct lowerer *l)
{
    bool known;
    int f = form_find(l->in, &known);
    const char *why = f < 0 ? form_refusal(l->in) : NULL;
    if (why)
        return lower_fail(l, "%s", why);
    if (f < 0)
        return known ? lower_fail(
                           l, "this form of the instruction is not supported by the simulator")
                     : lower_fail(l, "unknown instruction");
    l->form = f;
    l->image->form_count[f]++;
    return dropped(l) || forms[f].lower(l);
}

static void jumps_patch(struct lowerer *l, size_t from)
{
    struct image *im = l->image;
    for (size_t k = from; k < l->n_patch; k++) {
        struct patch *p = &l->patch[k];
        if (p->kind == PATCH_TARGET)
            im->inst[p->inst].target = l->start[p->target];
        else if (p->kind == PATCH_LIST)
            im->pool[(uintptr_t)im->inst[p->inst].list - 1 + p->item] = l->start[p->target];
    }
}

static bool function_lower(struct lowerer *l, const struct ptx_function *f)
{
    size_t patches = l->n_patch;
    l->function = f;
    l->image->function[f->index].start = l->image->n_inst;
    free(l->start);
    l->start = calloc((size_t)f->n_inst + 1, sizeof *l->start);
    if (!l->start ||
        (l->option.fuse && !l->module->debug && !fuse_plan_make(f, &l->arena, &l->fuse)))
        return lower_fail(l, "not enough memory");
    for (uint32_t k = 0; k < f->n_inst; k++) {
        l->start[k] = l->image->n_inst;
        l->in = &f->inst[k];
        if (!inst_lower(l))
            return false;
    }
    l->start[f->n_inst] = l->image->n_inst;
    l->in = NULL;
    if (!lower_ret(l)) /* what falls off the end */
        return false;
    jumps_patch(l, patches);
    return true;
}

static bool bodies_lower(struct lowerer *l)
{
    const struct ptx_function *entry = l->function;
    if (!function_lower(l, entry))
        return false;
    for (const struct ptx_function *f = l->module->function; f; f = f->next)
        if (f != entry && l->function_state[f->index] && f->defined && !f->entry &&
            !function_lower(l, f))
            return false;
    for (size_t k = 0; k < l->n_patch; k++)
        if (l->patch[k].kind == PATCH_FUNCTION)
            l->image->inst[l->patch[k].inst].target =
                l->image->function[l->patch[k].target].start;
    l->function = entry;
    return true;
}

/* --- the image -------------------------------------------------------------------------------
 */

static void executors_resolve(struct image *im)
{
    const struct exec_table *t = exec_table_best();
    for (uint32_t k = 0; k < im->n_inst; k++) {
        struct inst *i = &im->inst[k];
        i->run = t->run[i->exec];
        i->list = i->n_list ? im->pool + ((uintptr_t)i->list - 1) : NULL;
    }
}

static bool image_build(struct lowerer *l)
{
    struct image *im = l->image;
    size_t n = (size_t)l->module->n_function;
    im->n_function = (uint32_t)n;
    im->function = calloc(n, sizeof *im->function);
    im->form_count = calloc(FORM_COUNT_, sizeof *im->form_count);
    l->function_state = calloc(n, 1);
    l->reg_base = calloc(n, sizeof *l->reg_base);
    if (!im->function || !im->form_count || !l->function_state || !l->reg_base)
        return lower_fail(l, "not enough memory");
    slot_new(l, SLOT_NONE, 32, 0);
    im->frame_slot = slot_new(l, SLOT_HIDDEN, 32, 0);
    l->carry = slot_new(l, SLOT_HIDDEN, 1, 0);
    if (!im->frame_slot || !l->carry || !needs_find(l) || !functions_prepare(l) ||
        !bodies_lower(l))
        return false;
    if (!registers_place(im))
        return lower_fail(l, "not enough memory");
    executors_resolve(im);
    return true;
}

bool image_init(struct image *ret_image, const struct ptx_module *m,
                const struct ptx_function *entry, const struct lower_options *o,
                struct ptx_error *ret_error)
{
    memset(ret_image, 0, sizeof *ret_image);
    memset(ret_error, 0, sizeof *ret_error);
    struct lowerer l = {
        .image = ret_image, .module = m, .function = entry, .error = ret_error, .option = *o};
    ret_image->module = m;
    ret_image->entry = entry;
    snprintf(ret_image->name, sizeof ret_image->name, "%.*s", (int)entry->name.size,
             entry->name.text);
    bool ok = image_build(&l);
    if (!ok && !ret_error->text[0])
        lower_fail(&l, "not enough memory");
    free(l.function_state);
    free(l.reg_base);
    free(l.start);
    free(l.patch);
    free(l.constant);
    arena_release(&l.arena);
    if (!ok)
        image_release(ret_image);
    return ok;
}

void image_release(struct image *i)
{
    free(i->inst);
    free(i->pool);
    free(i->slot);
    free(i->function);
    free(i->zeroed);
    free(i->form_count);
    memset(i, 0, sizeof *i);
}
