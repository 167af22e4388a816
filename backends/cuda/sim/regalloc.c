/* SPDX-License-Identifier: Apache-2.0 */
#include "regalloc.h"

#include <stdlib.h>
#include <string.h>

static uint32_t slot_size(const struct slot *s)
{
    return s->bits == 1 ? 4 : s->bits / 8 * 32;
}

typedef void visit_fn(struct image *im, uint32_t *slot, void *context);

/* Calls `f` for every slot number in an instruction. */
static void inst_visit(struct image *im, struct inst *i, visit_fn *f, void *context)
{
    f(im, &i->d, context);
    f(im, &i->e, context);
    f(im, &i->a, context);
    f(im, &i->b, context);
    f(im, &i->c, context);
    f(im, &i->guard, context);
    if (i->exec == EXEC_brx)
        return;
    for (uint32_t k = 0; k < i->n_list; k++)
        f(im, &im->pool[(uintptr_t)i->list - 1 + k], context);
}

static void slot_mark(struct image *im, uint32_t *slot, void *context)
{
    (void)im;
    ((uint8_t *)context)[*slot] = 1;
}

static void slot_resolve(struct image *im, uint32_t *slot, void *context)
{
    (void)context;
    *slot = *slot ? im->slot[*slot].offset : 0;
}

/* Offsets are multiples of four: the low bits say whether it is 1, 32 or 64 bits wide. */
static void slot_resolve_kind(struct image *im, uint32_t *slot, void *context)
{
    int bits = im->slot[*slot].bits;
    uint32_t kind = bits == 64 ? 2 : bits == 32 ? 1 : 0;
    bool place = *slot != 0;
    slot_resolve(im, slot, context);
    *slot |= place ? kind : 0;
}

bool registers_place(struct image *im)
{
    uint8_t *used = calloc(im->n_slot, 1);
    im->zeroed = calloc(im->n_slot, sizeof *im->zeroed);
    if (!used || !im->zeroed) {
        free(used);
        return false;
    }
    for (uint32_t k = 0; k < im->n_inst; k++)
        inst_visit(im, &im->inst[k], slot_mark, used);
    used[0] = 0;
    used[im->frame_slot] = 1;
    for (uint32_t k = 0; k < im->n_function; k++)
        if (im->function[k].return_slot)
            used[im->function[k].return_slot] = 1;

    uint32_t at = 64;
    for (int predicates = 1; predicates >= 0; predicates--) {
        at = (at + 63) / 64 * 64;
        for (uint32_t k = 1; k < im->n_slot; k++) {
            struct slot *s = &im->slot[k];
            if (!used[k] || (s->bits == 1) != predicates)
                continue;
            s->offset = at;
            at += slot_size(s);
            if (s->kind == SLOT_REG || s->kind == SLOT_HIDDEN)
                im->zeroed[im->n_zeroed++] = k;
        }
    }
    for (uint32_t k = 1; k < im->n_slot; k++)
        if (!used[k])
            im->slot[k].kind = SLOT_NONE;
    im->register_bytes = (at + 63) / 64 * 64;
    for (uint32_t k = 0; k < im->n_inst; k++) {
        struct inst *in = &im->inst[k];
        uint16_t n = in->n_list;
        bool kept = in->exec == EXEC_frame_save || in->exec == EXEC_frame_restore;
        for (uint32_t e = 0; kept && e < n; e++)
            slot_resolve_kind(im, &im->pool[(uintptr_t)in->list - 1 + e], NULL);
        in->n_list = kept ? 0 : n;
        inst_visit(im, in, slot_resolve, NULL);
        in->n_list = n;
    }
    for (uint32_t k = 0; k < im->n_function; k++)
        if (im->function[k].return_slot)
            im->function[k].return_slot = im->slot[im->function[k].return_slot].offset;
    im->frame_slot = im->slot[im->frame_slot].offset;
    free(used);
    return true;
}
