/* SPDX-License-Identifier: Apache-2.0 */
#include "exec.h"
#include "trace_warp.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Lanes that branch apart become splits. The split with the lowest pc runs; splits that meet at
 * a pc become one again, which reconverges structured code at its joins. A split that spins is
 * made to give way now and then, so that one lane can wait for another. */

enum { TURN_SPLIT = 4096, HOLD = 512 };

int warp_fault(struct warp *w, const struct inst *i, uint32_t mask, enum sim_fault_kind kind,
               const char *format, ...)
{
    const struct block *b = w->block;
    const struct image *im = b->launch->image;
    char what[256];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);

    struct sim_fault *f = b->fault;
    uint32_t lane = mask ? (uint32_t)__builtin_ctz(mask) : 0,
             thread = w->index * WARP_LANES + lane;
    const uint32_t *dim = b->launch->block;
    f->pc = (uint64_t)(i - im->inst);
    f->lane = mask ? (int)thread : -1;
    memcpy(f->block, b->id, sizeof f->block);
    sim_fault_set(f, kind, "%s: PTX line %u: %s, block (%u,%u,%u) thread (%u,%u,%u)", im->name,
                  i->line, what, b->id[0], b->id[1], b->id[2], thread % dim[0],
                  thread / dim[0] % dim[1], thread / dim[0] / dim[1]);
    return RUN_FAULT;
}

/* --- splits ----------------------------------------------------------------------------------
 */

static void split_remove(struct warp *w, uint32_t k)
{
    memmove(&w->other[k], &w->other[k + 1], (--w->n_other - k) * sizeof *w->other);
}

static void split_park(struct warp *w, enum split_state state, uint32_t barrier)
{
    if (w->mask)
        w->other[w->n_other++] = (struct split){w->mask, w->pc, state, barrier, w->alive};
    w->mask = 0;
}

static void split_take(struct warp *w, uint32_t k)
{
    struct split s = w->other[k];
    split_remove(w, k);
    if (w->mask)
        split_park(w, SPLIT_READY, 0);
    w->mask = s.mask;
    w->pc = s.pc;
    w->turns = 0;
}

static void split_merge(struct warp *w)
{
    for (uint32_t k = 0; k < w->n_other;)
        if (w->other[k].pc == w->pc && w->other[k].state != SPLIT_BLOCK) {
            w->mask |= w->other[k].mask;
            split_remove(w, k);
        } else {
            k++;
        }
}

static int split_lowest(const struct warp *w)
{
    int best = -1;
    for (uint32_t k = 0; k < w->n_other; k++)
        if (w->other[k].state == SPLIT_READY &&
            (best < 0 || w->other[k].pc < w->other[best].pc))
            best = (int)k;
    return best;
}

/* Merges with whom we have met, gives way to a split that is behind, and finds where the next
 * meeting may be. */
static void split_meet(struct warp *w)
{
    split_merge(w);
    int low = w->hold ? -1 : split_lowest(w);
    if (low >= 0 && w->other[low].pc < w->pc) {
        split_take(w, (uint32_t)low);
        split_merge(w);
    }
    w->switch_pc = UINT32_MAX;
    for (uint32_t k = 0; k < w->n_other; k++)
        if (w->other[k].state != SPLIT_BLOCK && w->other[k].pc > w->pc &&
            w->other[k].pc < w->switch_pc)
            w->switch_pc = w->other[k].pc;
}

/* The running split has gone: another one runs. False: none can. */
static bool split_next(struct warp *w)
{
    int k = split_lowest(w);
    w->hold = 0;
    for (uint32_t j = 0; k < 0 && j < w->n_other; j++)
        if (w->other[j].state == SPLIT_SYNC && w->other[j].alive != w->alive)
            k = (int)j;
    if (k < 0)
        return false;
    split_take(w, (uint32_t)k);
    split_meet(w);
    return true;
}

static void split_rotate(struct warp *w)
{
    for (uint32_t k = 0; k < w->n_other; k++)
        if (w->other[k].state == SPLIT_READY) {
            split_take(w, k);
            w->hold = HOLD;
            split_meet(w);
            return;
        }
}

int warp_branch(struct warp *w, const struct inst *i, uint32_t mask, uint32_t taken,
                uint32_t target)
{
    uint32_t next = (uint32_t)(i - w->block->launch->image->inst) + 1, stay = mask & ~taken;
    if (!stay) {
        w->pc = target;
    } else if (!taken) {
        w->pc = next;
    } else {
        w->other[w->n_other++] = (struct split){stay, next, SPLIT_READY, 0, 0};
        w->mask = taken;
        w->pc = target;
    }
    return RUN_JUMP;
}

void warp_release(struct warp *w, uint32_t id)
{
    for (uint32_t k = 0; k < w->n_other; k++)
        if (w->other[k].state == SPLIT_BLOCK && w->other[k].barrier == id) {
            w->other[k].state = SPLIT_READY;
            w->other[k].pc++;
        }
}

/* --- running ---------------------------------------------------------------------------------
 */

static int budget_fault(struct warp *w, const struct inst *i)
{
    return warp_fault(w, i, w->mask, SIM_FAULT_BUDGET,
                      "the instruction budget of %llu is used up (an endless loop? raise "
                      "GPUPARITY_SIM_BUDGET)",
                      (unsigned long long)w->block->turn->limit);
}

/* After a jump: budget, turns, meetings. False: the warp gives way. */
static bool jump_settle(struct warp *w)
{
    if (w->hold)
        w->hold--;
    if (++w->turns > TURN_SPLIT && w->n_other && !w->hold) {
        w->turns = 0;
        split_rotate(w);
    }
    if (w->n_other)
        split_meet(w);
    else
        w->switch_pc = UINT32_MAX;
    return w->turns <= w->block->turn_warp;
}

int warp_run(struct warp *w)
{
    struct block *b = w->block;
    const struct inst *code = b->launch->image->inst;
    w->turns = 0;
    if (w->mask)
        split_meet(w);
    else if (!split_next(w))
        return w->alive ? RUN_BLOCK : RUN_NEXT;

    const bool traced = b->launch->trace != NULL;
    uint32_t pc = w->pc, mask = w->mask;
    uint64_t count = 0;
    for (;;) {
        if (pc >= w->switch_pc) {
            w->pc = pc;
            split_meet(w);
            pc = w->pc;
            mask = w->mask;
        }
        const struct inst *i = &code[pc];
        uint32_t m = mask;
        count++;
        if (i->guard) {
            m &= *(const uint32_t *)(w->regs + i->guard) ^ i->guard_flip;
            if (!m) {
                pc++;
                continue;
            }
        }
        int r = __builtin_expect(traced, 0) ? trace_run(w, i, m) : i->run(w, i, m);
        if (r == RUN_NEXT) {
            pc++;
            continue;
        }
        b->count += count;
        count = 0;
        if (r == RUN_FAULT)
            return r;
        if (sim_grid_over(b->turn, b->count))
            return budget_fault(w, i);
        if (r != RUN_JUMP) {
            w->pc = pc;
            split_park(w, r == RUN_SYNC ? SPLIT_SYNC : SPLIT_BLOCK, w->waits);
        }
        if (!w->mask && !split_next(w))
            return w->alive ? RUN_BLOCK : RUN_NEXT;
        if (!jump_settle(w))
            return RUN_JUMP;
        pc = w->pc;
        mask = w->mask;
    }
}
