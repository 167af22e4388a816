/* SPDX-License-Identifier: Apache-2.0 */
#include "liveness.h"

#include <stdlib.h>
#include <string.h>

struct basic_block {
    uint32_t start, end;            /* instructions [start, end) */
    uint64_t *use, *def, *in, *out; /* a bit a slot */
};

struct flow {
    const struct image *im;
    struct basic_block *block;
    uint32_t n_block, n_word;
    uint32_t *block_of; /* by instruction */
    uint64_t *bits;     /* all the blocks' sets */
};

static bool is_jump(const struct inst *i)
{
    return i->exec == EXEC_bra || i->exec == EXEC_bra_if || i->exec == EXEC_brx ||
           i->exec == EXEC_exit;
}

static bool falls_through(const struct inst *i)
{
    return i->exec == EXEC_bra_if || !is_jump(i) || i->guard;
}

static const uint32_t *list_of(const struct image *im, const struct inst *i)
{
    return i->n_list ? im->pool + ((uintptr_t)i->list - 1) : NULL;
}

static bool blocks_find(struct flow *f)
{
    const struct image *im = f->im;
    uint8_t *leader = calloc((size_t)im->n_inst + 1, 1);
    if (!leader)
        return false;
    leader[0] = 1;
    for (uint32_t k = 0; k < im->n_inst; k++) {
        const struct inst *i = &im->inst[k];
        if (!is_jump(i))
            continue;
        leader[k + 1] = 1;
        if (i->exec == EXEC_brx)
            for (uint32_t e = 0; e < i->n_list; e++)
                leader[list_of(im, i)[e]] = 1;
        else if (i->exec != EXEC_exit)
            leader[i->target] = 1;
    }
    for (uint32_t k = 0; k < im->n_inst; k++)
        f->n_block += leader[k];
    f->block = calloc(f->n_block, sizeof *f->block);
    f->block_of = calloc(im->n_inst, sizeof *f->block_of);
    f->bits = calloc((size_t)f->n_block * 4, f->n_word * sizeof(uint64_t));
    bool ok = f->block && f->block_of && f->bits;
    uint32_t b = UINT32_MAX;
    for (uint32_t k = 0; ok && k < im->n_inst; k++) {
        if (leader[k])
            f->block[++b].start = k;
        f->block[b].end = k + 1;
        f->block_of[k] = b;
    }
    for (uint32_t n = 0; ok && n < f->n_block; n++) {
        uint64_t *set = f->bits + (size_t)n * 4 * f->n_word;
        struct basic_block *x = &f->block[n];
        x->use = set, x->def = set + f->n_word, x->in = set + 2 * f->n_word,
        x->out = set + 3 * f->n_word;
    }
    free(leader);
    return ok;
}

/* --- uses and definitions --------------------------------------------------------------------
 */

static bool bit_get(const uint64_t *set, uint32_t n)
{
    return set[n >> 6] >> (n & 63) & 1;
}

static void bit_set(uint64_t *set, uint32_t n)
{
    set[n >> 6] |= (uint64_t)1 << (n & 63);
}

typedef void slot_fn(void *context, uint32_t slot, bool written);

/* A guarded instruction may leave its result as it was: it reads it too. So do all that write
 * predicates, whose words hold the other lanes' bits. */
static void slots_visit(const struct image *im, const struct inst *i, slot_fn *f, void *context)
{
    const uint32_t *list = i->exec == EXEC_brx ? NULL : list_of(im, i);
    const uint32_t written[] = {i->d, i->e}, read[] = {i->a, i->b, i->c, i->guard};
    for (int k = 0; k < 4; k++)
        if (read[k])
            f(context, read[k], false);
    for (uint32_t k = i->n_write; list && k < i->n_list; k++)
        if (list[k])
            f(context, list[k], false);
    for (int k = 0; k < 2; k++) {
        if (!written[k])
            continue;
        if (i->guard)
            f(context, written[k], false);
        f(context, written[k], true);
    }
    for (uint32_t k = 0; list && k < i->n_write; k++) {
        if (list[k] && i->guard)
            f(context, list[k], false);
        if (list[k])
            f(context, list[k], true);
    }
}

static void sets_note(void *context, uint32_t slot, bool written)
{
    struct basic_block *b = context;
    if (written)
        bit_set(b->def, slot);
    else if (!bit_get(b->def, slot))
        bit_set(b->use, slot);
}

static bool successor_join(struct flow *f, struct basic_block *b, uint32_t to)
{
    uint64_t added = 0;
    const uint64_t *in = f->block[to].in;
    for (uint32_t w = 0; w < f->n_word; w++) {
        added |= in[w] & ~b->out[w];
        b->out[w] |= in[w];
    }
    return added != 0;
}

static bool block_update(struct flow *f, struct basic_block *b)
{
    const struct inst *last = &f->im->inst[b->end - 1];
    bool changed = false;
    if (falls_through(last) && b->end < f->im->n_inst)
        changed |= successor_join(f, b, f->block_of[b->end]);
    if (last->exec == EXEC_bra || last->exec == EXEC_bra_if)
        changed |= successor_join(f, b, f->block_of[last->target]);
    for (uint32_t k = 0; last->exec == EXEC_brx && k < last->n_list; k++)
        changed |= successor_join(f, b, f->block_of[list_of(f->im, last)[k]]);
    for (uint32_t w = 0; w < f->n_word; w++) {
        uint64_t in = b->use[w] | (b->out[w] & ~b->def[w]);
        changed |= in != b->in[w];
        b->in[w] = in;
    }
    return changed;
}

static void flow_solve(struct flow *f)
{
    for (uint32_t n = 0; n < f->n_block; n++)
        for (uint32_t k = f->block[n].start; k < f->block[n].end; k++)
            slots_visit(f->im, &f->im->inst[k], sets_note, &f->block[n]);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = f->n_block; n-- > 0;)
            changed |= block_update(f, &f->block[n]);
    }
}

/* --- stretches -------------------------------------------------------------------------------
 */

struct stretch {
    struct liveness *l;
    uint32_t at;
};

static void stretch_extend(struct liveness *l, uint32_t slot, uint32_t at)
{
    l->first[slot] = at < l->first[slot] ? at : l->first[slot];
    l->last[slot] = at > l->last[slot] ? at : l->last[slot];
}

/* A result is alive to the end of its instruction at least, so that it never lies where an
 * operand of the same instruction does. */
static void stretch_note(void *context, uint32_t slot, bool written)
{
    const struct stretch *s = context;
    stretch_extend(s->l, slot, 2 * s->at + (written ? 0 : 1));
    if (written)
        stretch_extend(s->l, slot, 2 * s->at + 1);
    else
        stretch_extend(s->l, slot, 2 * s->at);
}

static void set_extend(struct liveness *l, const struct flow *f, const uint64_t *set,
                       uint32_t at)
{
    for (uint32_t w = 0; w < f->n_word; w++)
        for (uint64_t left = set[w]; left; left &= left - 1)
            stretch_extend(l, w * 64 + (uint32_t)__builtin_ctzll(left), at);
}

static void stretches_find(struct liveness *l, const struct flow *f)
{
    for (uint32_t n = 0; n < f->n_block; n++) {
        const struct basic_block *b = &f->block[n];
        set_extend(l, f, b->in, 2 * b->start);
        set_extend(l, f, b->out, 2 * b->end - 1);
        for (uint32_t k = b->start; k < b->end; k++) {
            struct stretch s = {l, k};
            slots_visit(f->im, &f->im->inst[k], stretch_note, &s);
        }
    }
    for (uint32_t s = 0; s < f->im->n_slot; s++)
        l->entry[s] = (uint8_t)bit_get(f->block[0].in, s);
}

bool liveness_init(struct liveness *l, const struct image *im)
{
    memset(l, 0, sizeof *l);
    struct flow f = {.im = im, .n_word = im->n_slot / 64 + 1};
    l->first = malloc(im->n_slot * sizeof *l->first);
    l->last = calloc(im->n_slot, sizeof *l->last);
    l->entry = calloc(im->n_slot, 1);
    bool ok = l->first && l->last && l->entry && im->n_inst && blocks_find(&f);
    if (ok) {
        memset(l->first, 0xff, im->n_slot * sizeof *l->first);
        flow_solve(&f);
        stretches_find(l, &f);
    }
    free(f.block);
    free(f.block_of);
    free(f.bits);
    if (!ok)
        liveness_release(l);
    return ok;
}

void liveness_release(struct liveness *l)
{
    free(l->first);
    free(l->last);
    free(l->entry);
    memset(l, 0, sizeof *l);
}
