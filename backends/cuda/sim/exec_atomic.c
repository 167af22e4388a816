/* SPDX-License-Identifier: Apache-2.0 */
#include "exec_address.h"
#include "exec_inside.h"
#include "fp.h"
#include "rules.h"

/* atom and red. Lanes act one after the other in ascending order; other host threads may act on
 * the same place, so every step is a compare-and-swap. */

struct atomic_args {
    uint64_t value, compare;
};

static uint64_t add_float(const struct inst *i, uint64_t old, uint64_t value, bool global)
{
    struct fp_env v = {&cuda_rules, FP_RNE, 0, 0, false};
    /* Global f32 adds flush subnormals; shared ones and other formats do not. */
    if (i->type == TYPE_f32 && global)
        v.flush_in = v.flush_out = 1 << FP_F32;
    switch (i->type) {
    case TYPE_f64:
        return fp_add(&v, FP_F64, old, value);
    case TYPE_f32:
        return fp_add(&v, FP_F32, old, value);
    case TYPE_f16:
        return fp_add(&v, FP_F16, old, value);
    case TYPE_bf16:
        return fp_add(&v, FP_BF16, old, value);
    default:
        break;
    }
    enum fp_format f = i->type == TYPE_f16x2 ? FP_F16 : FP_BF16;
    return fp_add(&v, f, old & 0xffff, value & 0xffff) |
           fp_add(&v, f, old >> 16 & 0xffff, value >> 16 & 0xffff) << 16;
}

static bool less(const struct inst *i, uint64_t x, uint64_t y)
{
    switch (i->type) {
    case TYPE_s32:
        return (int32_t)x < (int32_t)y;
    case TYPE_s64:
        return (int64_t)x < (int64_t)y;
    default:
        return x < y;
    }
}

static uint64_t next_value(const struct inst *i, uint64_t old, const struct atomic_args *g,
                           bool global)
{
    uint64_t v = g->value;
    switch (i->round) {
    case WORD_add:
        return ptx_types[i->type].kind == TYPE_KIND_FLOAT ? add_float(i, old, v, global)
                                                          : old + v;
    case WORD_min:
        return less(i, v, old) ? v : old;
    case WORD_max:
        return less(i, old, v) ? v : old;
    case WORD_inc:
        return old >= v ? 0 : old + 1;
    case WORD_dec:
        return !old || old > v ? v : old - 1;
    case WORD_and:
        return old & v;
    case WORD_or:
        return old | v;
    case WORD_xor:
        return old ^ v;
    case WORD_cas:
        return old == g->compare ? v : old;
    default: /* exch */
        return v;
    }
}

#define STEP(bits)                                                                             \
    static uint64_t step##bits(const struct inst *i, uint64_t at, const struct atomic_args *g, \
                               bool global)                                                    \
    {                                                                                          \
        uint##bits##_t *p = (uint##bits##_t *)(uintptr_t)at;                                   \
        uint##bits##_t old = __atomic_load_n(p, __ATOMIC_SEQ_CST), next;                       \
        do                                                                                     \
            next = (uint##bits##_t)next_value(i, old, g, global);                              \
        while (!__atomic_compare_exchange_n(p, &old, next, 0, __ATOMIC_SEQ_CST,                \
                                            __ATOMIC_SEQ_CST));                                \
        return old;                                                                            \
    }
STEP(16)
STEP(32)
STEP(64)

/* a: address, b: operand, c: the third operand of cas; d: the old value, or none. */
EXECUTOR(atom)
{
    uint64_t address[WARP_LANES];
    if (resolve(w, i, mask, address, i->size))
        return RUN_FAULT;
    uint64_t shared = (uint64_t)(uintptr_t)w->block->shared,
             room = w->block->launch->shared_size;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = first_lane(left);
        bool wide = i->size == 8, global = address[l] - shared >= room;
        struct atomic_args g = {wide ? LANES64(i->b)[l] : LANES32(i->b)[l], 0};
        if (i->round == WORD_cas) {
            g.compare = g.value;
            g.value = wide ? LANES64(i->c)[l] : LANES32(i->c)[l];
        }
        uint64_t old = i->size == 2   ? step16(i, address[l], &g, global)
                       : i->size == 4 ? step32(i, address[l], &g, global)
                                      : step64(i, address[l], &g, global);
        if (i->d && wide)
            LANES64(i->d)[l] = old;
        else if (i->d)
            LANES32(i->d)[l] = (uint32_t)old;
    }
    return RUN_NEXT;
}
