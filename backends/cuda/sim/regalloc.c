/* SPDX-License-Identifier: Apache-2.0 */
#include "regalloc.h"

#include <stdlib.h>
#include <string.h>

#include "liveness.h"

static uint32_t slot_size(const struct slot *s)
{
    return s->bits == 1 ? 4 : s->bits / 8 * 32u;
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
static void slot_resolve_kind(struct image *im, uint32_t *slot)
{
    int bits = im->slot[*slot].bits;
    uint32_t kind = bits == 64 ? 2 : bits == 32 ? 1 : 0;
    *slot = *slot ? im->slot[*slot].offset | kind : 0;
}

static void slots_resolve(struct image *im)
{
    for (uint32_t k = 0; k < im->n_inst; k++) {
        struct inst *i = &im->inst[k];
        uint16_t n = i->n_list;
        bool kept = i->exec == EXEC_frame_save || i->exec == EXEC_frame_restore;
        for (uint32_t e = 0; kept && e < n; e++)
            slot_resolve_kind(im, &im->pool[(uintptr_t)i->list - 1 + e]);
        i->n_list = kept ? 0 : n;
        inst_visit(im, i, slot_resolve, NULL);
        i->n_list = n;
    }
    for (uint32_t k = 0; k < im->n_function; k++)
        if (im->function[k].return_slot)
            im->function[k].return_slot = im->slot[im->function[k].return_slot].offset;
    im->frame_slot = im->slot[im->frame_slot].offset;
}

/* --- places ----------------------------------------------------------------------------------
 */

static bool is_register(const struct image *im, uint32_t slot)
{
    const struct slot *s = &im->slot[slot];
    return s->kind == SLOT_REG || s->kind == SLOT_HIDDEN;
}

/* Predicates first, then everything that keeps a place of its own. */
static uint32_t places_give(struct image *im, const uint8_t *used, const uint8_t *shared,
                            uint32_t at)
{
    for (int predicates = 1; predicates >= 0; predicates--) {
        at = (at + 63) / 64 * 64;
        for (uint32_t k = 1; k < im->n_slot; k++) {
            struct slot *s = &im->slot[k];
            if (!used[k] || shared[k] || (s->bits == 1) != predicates)
                continue;
            s->offset = at;
            at += slot_size(s);
        }
    }
    return (at + 63) / 64 * 64;
}

struct stretch {
    uint32_t slot, first, last;
};

static int by_first(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;
    return x->first < y->first   ? -1
           : x->first > y->first ? 1
           : x->slot < y->slot   ? -1
                                 : x->slot > y->slot;
}

static int by_last(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;
    return x->last < y->last   ? -1
           : x->last > y->last ? 1
           : x->slot < y->slot ? -1
                               : x->slot > y->slot;
}

/* Linear scan over the stretches: a register takes a place of its width that is free again, or
 * a new one. `end` and `free_place` have room for `n`. */
static uint32_t places_share(struct image *im, struct stretch *start, struct stretch *end,
                             uint32_t n, uint32_t *free_place, uint32_t at)
{
    uint32_t n_free[2] = {0, 0}, over = 0;
    memcpy(end, start, n * sizeof *end);
    qsort(start, n, sizeof *start, by_first);
    qsort(end, n, sizeof *end, by_last);
    for (uint32_t k = 0; k < n; k++) {
        for (; over < n && end[over].last < start[k].first; over++) {
            const struct slot *s = &im->slot[end[over].slot];
            int wide = s->bits == 64;
            free_place[wide * n + n_free[wide]++] = s->offset;
        }
        struct slot *s = &im->slot[start[k].slot];
        int wide = s->bits == 64;
        if (n_free[wide]) {
            s->offset = free_place[wide * n + --n_free[wide]];
            continue;
        }
        s->offset = at;
        at += slot_size(s);
    }
    return at;
}

static bool shared_place(struct image *im, const struct liveness *l, uint8_t *shared,
                         uint32_t *at)
{
    uint32_t n = 0;
    struct stretch *start = malloc((im->n_slot + 1) * sizeof *start),
                   *end = malloc((im->n_slot + 1) * sizeof *end);
    uint32_t *free_place = malloc(((size_t)im->n_slot + 1) * 2 * sizeof *free_place);
    bool ok = start && end && free_place;
    for (uint32_t k = 1; ok && k < im->n_slot; k++)
        if (shared[k])
            start[n++] = (struct stretch){k, l->first[k], l->last[k]};
    if (ok)
        *at = places_share(im, start, end, n, free_place, *at);
    free(start);
    free(end);
    free(free_place);
    return ok;
}

static uint32_t functions_count(const struct image *im)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < im->n_function; k++)
        n += im->function[k].start != UINT32_MAX;
    return n;
}

static void used_find(struct image *im, uint8_t *used)
{
    for (uint32_t k = 0; k < im->n_inst; k++)
        inst_visit(im, &im->inst[k], slot_mark, used);
    used[0] = 0;
    used[im->frame_slot] = 1;
    for (uint32_t k = 0; k < im->n_function; k++)
        if (im->function[k].return_slot)
            used[im->function[k].return_slot] = 1;
}

/* With calls every register keeps its own place and starts as zero. */
static bool registers_arrange(struct image *im, const uint8_t *used, uint8_t *shared)
{
    struct liveness l = {0};
    bool single = functions_count(im) == 1;
    if (single && !liveness_init(&l, im))
        return false;
    for (uint32_t k = 1; k < im->n_slot; k++) {
        if (!used[k] || !is_register(im, k))
            continue;
        shared[k] =
            single && k != im->frame_slot && im->slot[k].bits != 1 && l.first[k] <= l.last[k];
        if (!single || k == im->frame_slot || l.entry[k])
            im->zeroed[im->n_zeroed++] = k;
    }
    uint32_t at = places_give(im, used, shared, 64);
    bool ok = !single || shared_place(im, &l, shared, &at);
    im->register_bytes = (at + 63) / 64 * 64;
    liveness_release(&l);
    return ok;
}

bool registers_place(struct image *im)
{
    uint8_t *used = calloc(im->n_slot, 1), *shared = calloc(im->n_slot, 1);
    im->zeroed = calloc(im->n_slot, sizeof *im->zeroed);
    bool ok = used && shared && im->zeroed;
    if (ok) {
        used_find(im, used);
        ok = registers_arrange(im, used, shared);
    }
    if (ok) {
        for (uint32_t k = 1; k < im->n_slot; k++)
            if (!used[k])
                im->slot[k].kind = SLOT_NONE;
        slots_resolve(im);
    }
    free(used);
    free(shared);
    return ok;
}
