/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_EXEC_ADDRESS_H
#define GPUPARITY_CUDA_SIM_EXEC_ADDRESS_H

#include "watch.h"
#include "exec_inside.h"

/* Addresses of a warp's access: from registers to checked host addresses. */

/* Generic addresses below are in no window and in no memory. */
static const uint64_t WINDOW_LIMIT = WINDOW_CODE + (uint64_t)WINDOW_SIZE;

static inline int address_fault(struct warp *w, const struct inst *i, uint32_t mask,
                                uint64_t address, uint32_t bytes)
{
    char where[160];
    struct sim_memory *m = w->block->launch->memory;
    enum sim_fault_kind kind = sim_memory_explain(m, address, bytes, where, sizeof where);
    return warp_fault(w, i, mask, kind ? kind : SIM_FAULT_ADDRESS,
                      "access of %u bytes at 0x%llx: %s", bytes, (unsigned long long)address,
                      where);
}

static inline int align_fault(struct warp *w, const struct inst *i, uint32_t mask,
                              uint64_t address, uint32_t bytes)
{
    return warp_fault(w, i, mask, SIM_FAULT_ALIGNMENT,
                      "access of %u bytes at 0x%llx, which is not a multiple of %u", bytes,
                      (unsigned long long)address, bytes);
}

static inline int window_fault(struct warp *w, const struct inst *i, uint32_t mask,
                               uint64_t offset, uint32_t bytes, uint64_t size, const char *what)
{
    return warp_fault(w, i, mask, SIM_FAULT_ADDRESS,
                      "access of %u bytes at %s address 0x%llx; the %s memory has %llu bytes",
                      bytes, what, (unsigned long long)offset, what, (unsigned long long)size);
}

static inline int global_slow(struct warp *w, const struct inst *i, const struct inst *where,
                              uint32_t mask, const uint64_t *address, uint32_t bytes)
{
    struct sim_memory *m = w->block->launch->memory;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = first_lane(left);
        if (!sim_memory_ok(m, address[l], bytes))
            return address_fault(w, where, (uint32_t)1 << l, address[l], bytes);
    }
    uint32_t k = (uint32_t)(where - w->block->launch->image->inst) % WARP_RANGES;
    uint64_t start, size;
    (void)i;
    if (sim_memory_find(m, address[first_lane(mask)], &start, &size)) {
        w->range[k].start = start;
        w->range[k].size = size;
    }
    return RUN_NEXT;
}

static inline int global_check(struct warp *w, const struct inst *i, const struct inst *where,
                               uint32_t mask, const uint64_t *address, uint32_t bytes)
{
    uint32_t k = (uint32_t)(where - w->block->launch->image->inst) % WARP_RANGES;
    uint64_t start = w->range[k].start, size = w->range[k].size;
    uint64_t room = size >= bytes ? size - bytes + 1 : 0, bad = 0;
    for (int l = 0; l < WARP_LANES; l++)
        bad |= address[l] - start >= room;
    return bad ? global_slow(w, i, where, mask, address, bytes) : RUN_NEXT;
}

static inline int offset_check(struct warp *w, const struct inst *i, uint32_t mask,
                               const uint64_t *address, uint32_t bytes, uint64_t size,
                               const char *what)
{
    uint64_t room = size >= bytes ? size - bytes + 1 : 0, bad = 0;
    for (int l = 0; l < WARP_LANES; l++)
        bad |= address[l] >= room;
    if (!bad)
        return RUN_NEXT;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = first_lane(left);
        if (address[l] >= room)
            return window_fault(w, i, (uint32_t)1 << l, address[l], bytes, size, what);
    }
    return RUN_NEXT;
}

/* Lane by lane: windows and global memory may be mixed. */
static inline int generic_check(struct warp *w, const struct inst *i, const struct inst *where,
                                uint32_t mask, uint64_t *address, uint32_t bytes)
{
    const struct launch_state *s = w->block->launch;
    uint64_t low = 0;
    for (int l = 0; l < WARP_LANES; l++)
        low |= address[l] < WINDOW_LIMIT;
    if (!low)
        return global_check(w, i, where, mask, address, bytes);
    for (uint32_t l = 0; l < WARP_LANES; l++) {
        uint64_t v = address[l], size, host;
        const char *what;
        uint32_t lane = mask >> l & 1 ? (uint32_t)1 << l : mask;
        if (v - WINDOW_SHARED < WINDOW_SIZE) {
            v -= WINDOW_SHARED, size = s->shared_size, what = "shared";
            host = (uint64_t)(uintptr_t)w->block->shared;
        } else if (v - WINDOW_LOCAL < WINDOW_SIZE) {
            v -= WINDOW_LOCAL, size = s->image->local_size, what = "local";
            host = (uint64_t)(uintptr_t)w->local + (uint64_t)l * size;
        } else if (v - WINDOW_PARAM < WINDOW_SIZE) {
            v -= WINDOW_PARAM, size = s->image->param_size, what = "parameter";
            host = (uint64_t)(uintptr_t)s->param;
        } else {
            if (!sim_memory_ok(s->memory, v, bytes))
                return address_fault(w, where, lane, v, bytes);
            continue;
        }
        if (v >= size || size - v < bytes)
            return window_fault(w, where, lane, v, bytes, size, what);
        address[l] = host + v;
    }
    return RUN_NEXT;
}

static inline int space_check(struct warp *w, const struct inst *i, const struct inst *where,
                              uint32_t mask, uint64_t *address, uint32_t bytes)
{
    const struct launch_state *s = w->block->launch;
    uint64_t base, stride = 0;
    switch (i->space) {
    case SPACE_GLOBAL:
    case SPACE_CONST:
        return global_check(w, i, where, mask, address, bytes);
    case SPACE_SHARED:
        base = (uint64_t)(uintptr_t)w->block->shared;
        if (offset_check(w, where, mask, address, bytes, s->shared_size, "shared"))
            return RUN_FAULT;
        break;
    case SPACE_LOCAL:
        base = (uint64_t)(uintptr_t)w->local;
        stride = s->image->local_size;
        if (offset_check(w, where, mask, address, bytes, stride, "local"))
            return RUN_FAULT;
        break;
    case SPACE_PARAM:
        base = (uint64_t)(uintptr_t)s->param;
        if (offset_check(w, where, mask, address, bytes, s->image->param_size, "parameter"))
            return RUN_FAULT;
        break;
    default:
        return generic_check(w, i, where, mask, address, bytes);
    }
    for (uint64_t l = 0; l < WARP_LANES; l++)
        address[l] += base + l * stride;
    return RUN_NEXT;
}

/* The lanes' addresses as the operand has them. */
static inline void resolve_fill(struct warp *w, const struct inst *i, uint64_t *address)
{
    if (i->flags & INST_ADDRESS64) {
        const u64 *a = LANES64(i->a);
        for (int l = 0; l < WARP_LANES; l++)
            address[l] = a[l] + i->imm;
    } else {
        const u32 *a = LANES32(i->a);
        for (int l = 0; l < WARP_LANES; l++)
            address[l] = (uint32_t)(a[l] + (uint32_t)i->imm);
    }
}

/* Stores report themselves: they know what they write. */
static inline bool is_store(const struct inst *i)
{
    return (i->exec >= EXEC_st_8 && i->exec <= EXEC_st_64) || i->exec == EXEC_st_vector;
}

/* Turns them into checked host addresses of `bytes` each; lanes outside the mask get one that
 * is as good as the first lane's. `where` is the instruction to blame. */
static inline int resolve_filled(struct warp *w, const struct inst *i, const struct inst *where,
                                 uint32_t mask, uint64_t *address, uint32_t bytes)
{
    if (mask != UINT32_MAX) {
        uint64_t first = address[first_lane(mask)];
        for (uint32_t l = 0; l < WARP_LANES; l++)
            address[l] = mask >> l & 1 ? address[l] : first;
    }
    uint64_t crooked = 0, unit = bytes & -bytes;
    for (int l = 0; l < WARP_LANES; l++)
        crooked |= address[l];
    if (crooked & (unit - 1) && bytes == unit)
        for (uint32_t l = 0; l < WARP_LANES; l++)
            if (address[l] & (unit - 1))
                return align_fault(w, where, mask >> l & 1 ? (uint32_t)1 << l : mask,
                                   address[l], bytes);
    int r = space_check(w, i, where, mask, address, bytes);
    if (!r && w->block->launch->global_map && !is_store(i))
        r = watch_access(w, where, mask, address, bytes, watch_use(i), NULL, 0);
    return r;
}

static inline int resolve_at(struct warp *w, const struct inst *i, const struct inst *where,
                             uint32_t mask, uint64_t *address, uint32_t bytes)
{
    resolve_fill(w, i, address);
    return resolve_filled(w, i, where, mask, address, bytes);
}

static inline int resolve(struct warp *w, const struct inst *i, uint32_t mask,
                          uint64_t *address, uint32_t bytes)
{
    return resolve_at(w, i, i, mask, address, bytes);
}

#endif
