/* SPDX-License-Identifier: Apache-2.0 */
#include "watch.h"

#include <stdio.h>
#include <string.h>

enum shadow_use watch_use(const struct inst *i)
{
    switch (i->exec) {
    case EXEC_atom:
        return SHADOW_ATOMIC;
    case EXEC_st_8:
    case EXEC_st_16:
    case EXEC_st_32:
    case EXEC_st_64:
    case EXEC_st_vector:
        return i->flags & INST_STRONG ? SHADOW_ATOMIC_WRITE : SHADOW_WRITE;
    case EXEC_cp_async:
    case EXEC_wmma_store:
    case EXEC_stmatrix:
        return SHADOW_WRITE;
    case EXEC_ldmatrix:
    case EXEC_wmma_load:
        return SHADOW_READ;
    default:
        return i->flags & INST_STRONG ? SHADOW_ATOMIC_READ : SHADOW_READ;
    }
}

static const char *use_name(enum shadow_use u)
{
    static const char *const names[] = {"read", "written", "changed atomically",
                                        "read (volatile or ordered)",
                                        "written (volatile or ordered)"};
    return names[u];
}

static int finding_fault(struct warp *w, const struct inst *i, uint32_t lane, const char *space,
                         enum shadow_use use, const struct shadow_finding *f)
{
    const struct image *im = w->block->launch->image;
    if (f->kind == SIM_FAULT_UNINITIALISED)
        return warp_fault(w, i, (uint32_t)1 << lane, f->kind,
                          "reads %s memory at offset 0x%llx that nothing has written", space,
                          (unsigned long long)f->offset);
    if (f->other.warp == UINT16_MAX)
        return warp_fault(w, i, (uint32_t)1 << lane, f->kind,
                          "race: %s memory at offset 0x%llx is %s here and was read by another "
                          "warp too, with no barrier between",
                          space, (unsigned long long)f->offset, use_name(use));
    uint32_t line = f->other.pc < im->n_inst ? im->inst[f->other.pc].line : 0;
    return warp_fault(
        w, i, (uint32_t)1 << lane, f->kind,
        "race: %s memory at offset 0x%llx is %s here and was %s by block %u, warp %u at "
        "line %u with no barrier between",
        space, (unsigned long long)f->offset, use_name(use), use_name(f->other_use),
        f->other.block, f->other.warp, line);
}

/* A plain load beside an atomic operation of someone else, where loops of compare-and-swap start
 * that way. */
static bool starts_a_loop(const struct warp *w, enum shadow_use use,
                          const struct shadow_finding *f)
{
    return w->block->launch->image->swaps && f->kind == SIM_FAULT_RACE &&
           ((use == SHADOW_READ && f->other_use == SHADOW_ATOMIC) ||
            (use == SHADOW_ATOMIC && f->other_use == SHADOW_READ));
}

int watch_access(struct warp *w, const struct inst *i, uint32_t mask, const uint64_t *address,
                 uint32_t bytes, enum shadow_use use, const void *value, size_t stride)
{
    const struct launch_state *s = w->block->launch;
    const uint32_t *id = w->block->id, *grid = s->grid;
    struct shadow_actor actor = {(id[2] * grid[1] + id[1]) * grid[0] + id[0],
                                 (uint16_t)w->index, (uint16_t)w->block->interval,
                                 (uint32_t)(i - s->image->inst)};
    uint64_t shared = (uint64_t)(uintptr_t)w->block->shared,
             base = (uint64_t)(uintptr_t)s->memory->base;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        bool in_shared = address[l] - shared < s->shared_size;
        if (!in_shared && address[l] - base >= s->memory->capacity)
            continue;
        bool same = value && !memcmp((const void *)(uintptr_t)address[l],
                                     (const char *)value + l * stride, bytes);
        struct shadow_finding f;
        struct shadow_actor a = actor;
        if (in_shared)
            a.block = 0;
        if (shadow_access(in_shared ? s->shared_map : s->global_map, &a, use,
                          address[l] - (in_shared ? shared : base), bytes, same, &f) &&
            !starts_a_loop(w, use, &f)) {
            if (in_shared)
                f.other.block = actor.block;
            return finding_fault(w, i, l, in_shared ? "shared" : "global", use, &f);
        }
    }
    return RUN_NEXT;
}
