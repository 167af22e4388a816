/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_EXEC_INSIDE_H
#define GPUPARITY_CUDA_SIM_EXEC_INSIDE_H

#include "exec.h"
#include "lane.h"

/* What the exec_*.c files share. They are compiled once for each SIM_ISA; the names of their
 * functions carry its name. */
#define ISA_JOIN_(name, isa) name##_##isa
#define ISA_JOIN(name, isa) ISA_JOIN_(name, isa)
#define EXECUTE(name) ISA_JOIN(execute_##name, SIM_ISA)

#define EXECUTOR(name) int EXECUTE(name)(struct warp * w, const struct inst *i, uint32_t mask)

#define CUSTOM(name) EXECUTOR(name);
#define UNARY(name, D, A, expression)
#define BINARY(name, D, A, B, expression)
#define TERNARY(name, D, A, B, C, expression)
#define COMPARE(name, A, expression)
#define PREDICATE(name, expression)
#include "exec.def"
#undef CUSTOM
#undef UNARY
#undef BINARY
#undef TERNARY
#undef COMPARE
#undef PREDICATE

/* The registers of a slot: 32 lanes, or one word of 32 predicate bits. */
#define LANES32(slot) ((u32 *)__builtin_assume_aligned(w->regs + (slot), 64))
#define LANES64(slot) ((u64 *)__builtin_assume_aligned(w->regs + (slot), 64))
#define PRED(slot) (*(u32 *)(w->regs + (slot)))

/* All ones where the lane is in the mask. */
static inline void mask_expand(uint32_t mask, uint32_t *ret_lane)
{
    for (uint32_t l = 0; l < WARP_LANES; l++)
        ret_lane[l] = -(mask >> l & 1);
}

static inline void pred_write(struct warp *w, uint32_t slot, uint32_t value, uint32_t mask)
{
    if (slot)
        PRED(slot) = (PRED(slot) & ~mask) | (value & mask);
}

/* d = r in the lanes of the mask. */
static inline void write32(u32 *d, const u32 *r, uint32_t mask)
{
    uint32_t lane[WARP_LANES];
    mask_expand(mask, lane);
    for (int l = 0; l < WARP_LANES; l++)
        d[l] = (d[l] & ~lane[l]) | (r[l] & lane[l]);
}

static inline void write64(u64 *d, const u64 *r, uint32_t mask)
{
    for (uint32_t l = 0; l < WARP_LANES; l++) {
        uint64_t lane = -(uint64_t)(mask >> l & 1);
        d[l] = (d[l] & ~lane) | (r[l] & lane);
    }
}

static inline uint32_t first_lane(uint32_t mask)
{
    return (uint32_t)__builtin_ctz(mask);
}

#endif
