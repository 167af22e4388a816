/* SPDX-License-Identifier: Apache-2.0 */
#include "exec.h"
#include "shadow.h"

#include <fenv.h>
#include <string.h>

/* A block: its warps take turns; each runs until it waits, ends or has had its turn. */

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* The workspace: block, warps, register files, shared memory, local memory. */
struct layout {
    size_t warps, regs, shared, local, total;
};

static struct layout layout_of(const struct launch_state *l)
{
    struct layout o;
    o.warps = round_up(sizeof(struct block) + sizeof(struct launch_state *), 64);
    o.regs = round_up(o.warps + l->n_warp * sizeof(struct warp), 64);
    o.shared = o.regs + l->n_warp * l->warp_stride;
    o.local = round_up(o.shared + l->shared_size, 64);
    o.total = o.local + (size_t)l->n_warp * WARP_LANES * l->image->local_size;
    return o;
}

size_t block_workspace_size(const struct launch_state *l)
{
    return layout_of(l).total + 64;
}

/* --- registers that have a value before the first instruction --------------------------------
 */

static uint64_t special_value(const struct warp *w, enum ptx_special s, uint32_t lane)
{
    const struct launch_state *l = w->block->launch;
    uint32_t t = w->index * WARP_LANES + lane;
    switch (s) {
    case SPECIAL_TID_X:
        return t % l->block[0];
    case SPECIAL_TID_Y:
        return t / l->block[0] % l->block[1];
    case SPECIAL_TID_Z:
        return t / l->block[0] / l->block[1];
    case SPECIAL_NTID_X:
    case SPECIAL_NTID_Y:
    case SPECIAL_NTID_Z:
        return l->block[s - SPECIAL_NTID_X];
    case SPECIAL_CTAID_X:
    case SPECIAL_CTAID_Y:
    case SPECIAL_CTAID_Z:
        return w->block->id[s - SPECIAL_CTAID_X];
    case SPECIAL_NCTAID_X:
    case SPECIAL_NCTAID_Y:
    case SPECIAL_NCTAID_Z:
        return l->grid[s - SPECIAL_NCTAID_X];
    case SPECIAL_LANEID:
        return lane;
    case SPECIAL_WARPID:
        return w->index;
    case SPECIAL_NWARPID:
        return l->n_warp;
    case SPECIAL_SMID:
        return w->block->id[0] % 82;
    case SPECIAL_NSMID:
        return 82;
    case SPECIAL_GRIDID:
        return l->grid_id;
    case SPECIAL_LANEMASK_EQ:
        return (uint32_t)1 << lane;
    case SPECIAL_LANEMASK_LE:
        return ((uint64_t)2 << lane) - 1;
    case SPECIAL_LANEMASK_LT:
        return ((uint64_t)1 << lane) - 1;
    case SPECIAL_LANEMASK_GE:
        return (uint32_t) ~(((uint64_t)1 << lane) - 1);
    case SPECIAL_LANEMASK_GT:
        return (uint32_t) ~(((uint64_t)2 << lane) - 1);
    case SPECIAL_DYNAMIC_SMEM:
        return l->dynamic_size;
    case SPECIAL_TOTAL_SMEM:
        return l->shared_size;
    case SPECIAL_CLUSTER_NCTARANK:
        return 1;
    default:
        return 0;
    }
}

static uint64_t param_value(const struct launch_state *l, const struct slot *s)
{
    uint64_t v = 0;
    memcpy(&v, l->param + s->value, s->size);
    if (s->sign && s->size < 8 && v >> (s->size * 8 - 1))
        v |= UINT64_MAX << (s->size * 8);
    return v;
}

static void slot_fill(struct warp *w, const struct slot *s, uint64_t value)
{
    uint8_t *at = w->regs + s->offset;
    for (int l = 0; l < WARP_LANES; l++)
        if (s->bits == 64)
            ((uint64_t *)at)[l] = value;
        else
            ((uint32_t *)at)[l] = (uint32_t)value;
}

static void special_fill(struct warp *w, const struct slot *s)
{
    uint8_t *at = w->regs + s->offset;
    for (uint32_t l = 0; l < WARP_LANES; l++) {
        uint64_t v = special_value(w, (enum ptx_special)s->value, l);
        if (s->bits == 64)
            ((uint64_t *)at)[l] = v;
        else
            ((uint32_t *)at)[l] = (uint32_t)v;
    }
}

/* `first`: the workspace has not served this launch before. */
static void slots_fill(struct warp *w, bool first)
{
    const struct image *im = w->block->launch->image;
    for (uint32_t k = 0; k < im->n_slot; k++) {
        const struct slot *s = &im->slot[k];
        if (s->kind == SLOT_SPECIAL)
            special_fill(w, s);
        else if (first && s->kind == SLOT_CONSTANT && s->bits == 1)
            *(uint32_t *)(w->regs + s->offset) = s->value ? UINT32_MAX : 0;
        else if (first && s->kind == SLOT_CONSTANT)
            slot_fill(w, s, s->value);
        else if (first && s->kind == SLOT_PARAM)
            slot_fill(w, s, param_value(w->block->launch, s));
    }
    for (uint32_t k = 0; k < im->n_zeroed; k++) {
        const struct slot *s = &im->slot[im->zeroed[k]];
        memset(w->regs + s->offset, 0, s->bits == 1 ? 4 : s->bits / 8 * WARP_LANES);
    }
}

void warp_start(struct warp *w)
{
    uint32_t left = w->block->launch->n_thread - w->index * WARP_LANES;
    w->alive = left >= WARP_LANES ? UINT32_MAX : ((uint32_t)1 << left) - 1;
    w->mask = w->alive;
    w->pc = 0;
    w->n_other = w->turns = w->hold = 0;
    w->switch_pc = UINT32_MAX;
}

/* --- barriers --------------------------------------------------------------------------------
 */

static uint32_t threads_alive(const struct block *b)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < b->launch->n_warp; k++)
        n += (uint32_t)__builtin_popcount(b->warp[k].alive);
    return n;
}

/* An aligned barrier wants all lanes of a warp at the same instruction. */
static int alignment_check(struct block *b, uint32_t id)
{
    for (uint32_t k = 0; k < b->launch->n_warp; k++) {
        struct warp *w = &b->warp[k];
        const struct split *first = NULL;
        for (uint32_t s = 0; s < w->n_other; s++) {
            const struct split *o = &w->other[s];
            if (o->state != SPLIT_BLOCK || o->barrier != id)
                continue;
            const struct inst *i = &b->launch->image->inst[o->pc];
            if (first && first->pc != o->pc)
                return warp_fault(
                    w, i, o->mask, SIM_FAULT_BARRIER,
                    "divergent barrier: lanes 0x%08x wait here, lanes 0x%08x of the "
                    "same warp at line %u",
                    o->mask, first->mask, b->launch->image->inst[first->pc].line);
            first = o;
        }
    }
    return RUN_NEXT;
}

/* Opens every barrier that is complete. Returns how many, or -1 with the fault filled. */
static int barriers_open(struct block *b)
{
    int opened = 0;
    for (uint32_t id = 0; id < BARRIER_COUNT; id++) {
        struct barrier *r = &b->barrier[id];
        if (!r->arrived)
            continue;
        uint32_t wanted = r->expected ? r->expected : threads_alive(b);
        if (r->arrived < wanted)
            continue;
        if (alignment_check(b, id))
            return -1;
        r->result = r->count;
        r->result_of = r->arrived;
        r->arrived = r->count = r->expected = 0;
        b->interval++;
        for (uint32_t k = 0; k < b->launch->n_warp; k++)
            warp_release(&b->warp[k], id);
        opened++;
    }
    return opened;
}

/* Nothing can go on: says who waits where. */
static int deadlock_fault(struct block *b)
{
    for (uint32_t k = 0; k < b->launch->n_warp; k++) {
        struct warp *w = &b->warp[k];
        if (!w->n_other)
            continue;
        const struct split *s = &w->other[0];
        const struct inst *i = &b->launch->image->inst[s->pc];
        if (s->state == SPLIT_BLOCK)
            return warp_fault(w, i, s->mask, SIM_FAULT_BARRIER,
                              "divergent barrier: %u of %u threads have come, the others have "
                              "ended or wait elsewhere",
                              b->barrier[s->barrier].arrived, b->launch->n_thread);
        return warp_fault(
            w, i, s->mask, SIM_FAULT_BARRIER,
            "lanes 0x%08x wait for lanes of the mask that have ended or wait elsewhere",
            s->mask);
    }
    return RUN_FAULT;
}

/* --- the block -------------------------------------------------------------------------------
 */

static int warps_run(struct block *b)
{
    const uint32_t n_warp = b->launch->n_warp;
    for (uint64_t round = 0;; round++) {
        const uint64_t salt = b->turn->number << 20 ^ round;
        uint32_t ended = 0;
        bool moved = false;
        b->turn_warp = sim_order_turn(b->turn->order, salt, TURN_WARP);
        for (uint32_t k = 0; k < n_warp; k++) {
            struct warp *w = &b->warp[sim_order_place(b->turn->order, salt, k, n_warp)];
            if (!w->alive) {
                ended++;
                continue;
            }
            uint64_t before = b->count;
            int r = warp_run(w);
            if (r == RUN_FAULT)
                return r;
            moved |= b->count != before;
            ended += r == RUN_NEXT;
        }
        if (ended == n_warp)
            return RUN_NEXT;
        int opened = barriers_open(b);
        if (opened < 0)
            return RUN_FAULT;
        if (!opened && !moved)
            return deadlock_fault(b);
    }
}

static struct block *block_prepare(const struct launch_state *l, void *workspace, uint8_t fill,
                                   bool *ret_first)
{
    struct layout o = layout_of(l);
    uint8_t *base = workspace;
    struct block *b = workspace;
    *ret_first = b->launch != l;
    b->launch = l;
    b->warp = (struct warp *)(base + o.warps);
    b->shared = base + o.shared;
    memset(b->barrier, 0, sizeof b->barrier);
    b->interval = 0;
    if (l->shared_map) {
        shadow_begin(l->shared_map, 1);
        shadow_unwrite(l->shared_map, 0, l->shared_size);
    }
    for (uint32_t k = 0; k < l->n_warp; k++) {
        b->warp[k].regs = base + o.regs + k * l->warp_stride;
        b->warp[k].local = base + o.local + (size_t)k * WARP_LANES * l->image->local_size;
        b->warp[k].block = b;
        b->warp[k].index = k;
    }
    /* What an unwritten byte of shared or local memory holds must not depend on the thread. */
    memset(b->shared, fill, o.total - o.shared);
    return b;
}

int block_run(void *context, void *workspace, const uint32_t id[3],
              const struct sim_grid_turn *turn, uint64_t *instructions, struct sim_fault *f)
{
    const struct launch_state *l = context;
    bool first;
    struct block *b = block_prepare(l, workspace, turn->order->fill, &first);
    fenv_t environment;
    memcpy(b->id, id, sizeof b->id);
    b->fault = f;
    b->count = *instructions;
    b->turn = turn;
    for (uint32_t k = 0; k < l->n_warp; k++) {
        warp_start(&b->warp[k]);
        slots_fill(&b->warp[k], first);
    }
    fegetenv(&environment);
    fesetenv(FE_DFL_ENV);
    int r = warps_run(b);
    fesetenv(&environment);
    *instructions = b->count;
    return r == RUN_FAULT;
}
