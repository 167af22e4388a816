/* SPDX-License-Identifier: Apache-2.0 */
#include "exec_inside.h"

/* Branches, calls, ends and barriers. */

static uint32_t pc_of(const struct warp *w, const struct inst *i)
{
    return (uint32_t)(i - w->block->launch->image->inst);
}

/* The lanes outside `mask` go on behind this instruction, those inside stay the running split.
 */
static void mask_isolate(struct warp *w, const struct inst *i, uint32_t mask)
{
    uint32_t rest = w->mask & ~mask;
    if (rest)
        w->other[w->n_other++] = (struct split){rest, pc_of(w, i) + 1, SPLIT_READY, 0, 0};
    w->mask = mask;
}

EXECUTOR(bra)
{
    (void)mask;
    w->pc = i->target;
    return RUN_JUMP;
}

/* The guard of a branch is its operand a. */
EXECUTOR(bra_if)
{
    return warp_branch(w, i, mask, mask & (PRED(i->a) ^ (uint32_t)i->imm), i->target);
}

EXECUTOR(brx)
{
    const u32 *index = LANES32(i->a);
    mask_isolate(w, i, mask);
    uint32_t left = mask;
    while (left) {
        uint32_t lane = first_lane(left), same = 0;
        for (uint32_t l = lane; l < WARP_LANES; l++)
            if ((left >> l & 1) && index[l] == index[lane])
                same |= (uint32_t)1 << l;
        if (index[lane] >= i->n_list)
            return warp_fault(w, i, same, SIM_FAULT_INSTRUCTION,
                              "brx.idx: index %u of a table of %u", index[lane], i->n_list);
        left &= ~same;
        w->mask = same;
        w->pc = i->list[index[lane]];
        if (left)
            w->other[w->n_other++] = (struct split){same, w->pc, SPLIT_READY, 0, 0};
    }
    return RUN_JUMP;
}

EXECUTOR(call)
{
    u32 *back = LANES32(i->d);
    for (uint32_t l = 0; l < WARP_LANES; l++)
        if (mask >> l & 1)
            back[l] = pc_of(w, i) + 1;
    return warp_branch(w, i, w->mask, mask, i->target);
}

EXECUTOR(call_indirect)
{
    const struct image *im = w->block->launch->image;
    const u64 *address = LANES64(i->a);
    mask_isolate(w, i, mask);
    uint32_t left = mask;
    while (left) {
        uint32_t lane = first_lane(left), same = 0;
        for (uint32_t l = lane; l < WARP_LANES; l++)
            if ((left >> l & 1) && address[l] == address[lane])
                same |= (uint32_t)1 << l;
        uint64_t n = (address[lane] - WINDOW_CODE) / 16;
        if (address[lane] < WINDOW_CODE || address[lane] % 16 || n >= im->n_function ||
            im->function[n].start == UINT32_MAX)
            return warp_fault(w, i, same, SIM_FAULT_ADDRESS,
                              "call of address 0x%llx: no function",
                              (unsigned long long)address[lane]);
        u32 *back = LANES32(im->function[n].return_slot);
        for (uint32_t l = 0; l < WARP_LANES; l++)
            if (same >> l & 1)
                back[l] = pc_of(w, i) + 1;
        left &= ~same;
        w->mask = same;
        w->pc = im->function[n].start;
        if (left)
            w->other[w->n_other++] = (struct split){same, w->pc, SPLIT_READY, 0, 0};
    }
    return RUN_JUMP;
}

EXECUTOR(ret)
{
    const u32 *back = LANES32(i->a);
    mask_isolate(w, i, mask);
    uint32_t left = mask;
    while (left) {
        uint32_t lane = first_lane(left), same = 0;
        for (uint32_t l = lane; l < WARP_LANES; l++)
            if ((left >> l & 1) && back[l] == back[lane])
                same |= (uint32_t)1 << l;
        left &= ~same;
        w->mask = same;
        w->pc = back[lane];
        if (left)
            w->other[w->n_other++] = (struct split){same, w->pc, SPLIT_READY, 0, 0};
    }
    return RUN_JUMP;
}

EXECUTOR(exit)
{
    w->alive &= ~mask;
    w->mask &= ~mask;
    w->pc = pc_of(w, i) + 1;
    return RUN_JUMP;
}

EXECUTOR(trap)
{
    return warp_fault(w, i, mask, SIM_FAULT_TRAP, "the kernel executed trap");
}

EXECUTOR(nop)
{
    (void)w, (void)i, (void)mask;
    return RUN_NEXT;
}

/* --- barriers of the block -------------------------------------------------------------------
 */

/* Operand a: the barrier's number, b: how many threads (or none). */
static struct barrier *barrier_of(struct warp *w, const struct inst *i, uint32_t mask,
                                  uint32_t *ret_id)
{
    uint32_t lane = first_lane(mask), id = LANES32(i->a)[lane];
    if (id >= BARRIER_COUNT) {
        warp_fault(w, i, mask, SIM_FAULT_BARRIER, "barrier %u: there are only 16", id);
        return NULL;
    }
    struct barrier *r = &w->block->barrier[id];
    if (i->b)
        r->expected = LANES32(i->b)[lane];
    /* With a thread count a warp counts whole. */
    r->arrived += i->b && mask == w->alive ? WARP_LANES : (uint32_t)__builtin_popcount(mask);
    *ret_id = id;
    return r;
}

EXECUTOR(bar_sync)
{
    mask_isolate(w, i, mask);
    return barrier_of(w, i, mask, &w->waits) ? RUN_BLOCK : RUN_FAULT;
}

EXECUTOR(bar_arrive)
{
    uint32_t id;
    return barrier_of(w, i, mask, &id) ? RUN_NEXT : RUN_FAULT;
}

/* First pass: counts the lanes whose predicate c is true and waits. The result is fetched by
 * the instruction behind it (bar_result). */
EXECUTOR(bar_red)
{
    mask_isolate(w, i, mask);
    struct barrier *r = barrier_of(w, i, mask, &w->waits);
    if (!r)
        return RUN_FAULT;
    uint32_t p = PRED(i->c) ^ (i->flags & INST_FLIP_C ? UINT32_MAX : 0);
    r->count += (uint32_t)__builtin_popcount(p & mask);
    return RUN_BLOCK;
}

EXECUTOR(bar_result)
{
    uint32_t id = LANES32(i->a)[first_lane(mask)] & (BARRIER_COUNT - 1);
    const struct barrier *r = &w->block->barrier[id];
    if (i->round == WORD_popc) {
        u32 value[WARP_LANES];
        for (int l = 0; l < WARP_LANES; l++)
            value[l] = r->result;
        write32(LANES32(i->d), value, mask);
        return RUN_NEXT;
    }
    bool all = r->result == r->result_of, any = r->result != 0;
    pred_write(w, i->d, (i->round == WORD_and ? all : any) ? UINT32_MAX : 0, mask);
    return RUN_NEXT;
}

/* --- warps -----------------------------------------------------------------------------------
 */

EXECUTOR(warp_sync)
{
    uint32_t need = LANES32(i->a)[first_lane(mask)] & w->alive;
    return (mask & need) == need ? RUN_NEXT : RUN_SYNC;
}

EXECUTOR(clock)
{
    uint64_t value = w->block->count;
    for (uint32_t l = 0; l < WARP_LANES; l++) {
        if (!(mask >> l & 1))
            continue;
        if (i->flags & INST_WIDE)
            LANES64(i->d)[l] = value;
        else
            LANES32(i->d)[l] = (uint32_t)(value >> i->imm);
    }
    return RUN_NEXT;
}

/* The address, in the local window's offsets, of a place in the running function's frame. */
EXECUTOR(frame_address)
{
    const u32 *frame = LANES32(i->a);
    for (uint32_t l = 0; l < WARP_LANES; l++) {
        if (!(mask >> l & 1))
            continue;
        if (i->flags & INST_WIDE)
            LANES64(i->d)[l] = frame[l] + i->imm;
        else
            LANES32(i->d)[l] = frame[l] + (uint32_t)i->imm;
    }
    return RUN_NEXT;
}
