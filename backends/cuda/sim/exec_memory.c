/* SPDX-License-Identifier: Apache-2.0 */
#include "exec_inside.h"
#include "exec_address.h"

/* Loads and stores. resolve() turns the lanes' addresses into checked host addresses; what
 * moves the bytes then does not care about spaces. */

static inline bool consecutive(const uint64_t *address, uint64_t size)
{
    uint64_t differs = 0;
    for (uint64_t l = 0; l < WARP_LANES; l++)
        differs |= address[l] ^ (address[0] + l * size);
    return !differs;
}

static inline bool uniform(const uint64_t *address)
{
    uint64_t differs = 0;
    for (int l = 0; l < WARP_LANES; l++)
        differs |= address[l] ^ address[0];
    return !differs;
}

#define LOAD_LANES(M, D)                                                                       \
    const M *p = (const M *)(uintptr_t)address[0];                                             \
    if (consecutive(address, sizeof(M))) {                                                     \
        for (int l = 0; l < WARP_LANES; l++)                                                   \
            r[l] = (D)p[l];                                                                    \
    } else if (uniform(address)) {                                                             \
        const D value = (D)*p;                                                                 \
        for (int l = 0; l < WARP_LANES; l++)                                                   \
            r[l] = value;                                                                      \
    } else {                                                                                   \
        for (int l = 0; l < WARP_LANES; l++)                                                   \
            r[l] = (D) * (const M *)(uintptr_t)address[l];                                     \
    }

/* M: what lies in memory, D: lanes of the register, S: through which type it is extended. */
#define LOAD(name, M, D, bits)                                                                 \
    EXECUTOR(name)                                                                             \
    {                                                                                          \
        uint64_t address[WARP_LANES];                                                          \
        u##bits r[WARP_LANES] __attribute__((aligned(64)));                                    \
        if (resolve(w, i, mask, address, sizeof(M)))                                           \
            return RUN_FAULT;                                                                  \
        LOAD_LANES(M, D)                                                                       \
        write##bits(LANES##bits(i->d), r, mask);                                               \
        return RUN_NEXT;                                                                       \
    }

typedef uint8_t u8 __attribute__((may_alias));
typedef int8_t s8 __attribute__((may_alias));
typedef uint16_t u16 __attribute__((may_alias));
typedef int16_t s16 __attribute__((may_alias));

LOAD(ld_u8_32, u8, uint32_t, 32)
LOAD(ld_s8_32, s8, uint32_t, 32)
LOAD(ld_u16_32, u16, uint32_t, 32)
LOAD(ld_s16_32, s16, uint32_t, 32)
LOAD(ld_b32, u32, uint32_t, 32)
LOAD(ld_s8_16, s8, uint16_t, 32)
LOAD(ld_u8_64, u8, uint64_t, 64)
LOAD(ld_s8_64, s8, uint64_t, 64)
LOAD(ld_u16_64, u16, uint64_t, 64)
LOAD(ld_s16_64, s16, uint64_t, 64)
LOAD(ld_u32_64, u32, uint64_t, 64)
LOAD(ld_s32_64, s32, uint64_t, 64)
LOAD(ld_b64, u64, uint64_t, 64)

/* Lanes in ascending order: of several that store to one place the last one stays. */
#define STORE(name, M, bits)                                                                   \
    EXECUTOR(name)                                                                             \
    {                                                                                          \
        uint64_t address[WARP_LANES];                                                          \
        if (resolve(w, i, mask, address, sizeof(M)))                                           \
            return RUN_FAULT;                                                                  \
        const u##bits *a = LANES##bits(i->b);                                                  \
        if (w->block->launch->global_map &&                                                    \
            watch_access(w, i, mask, address, sizeof(M), watch_use(i), a, sizeof *a))          \
            return RUN_FAULT;                                                                  \
        if (mask == UINT32_MAX && consecutive(address, sizeof(M))) {                           \
            M *p = (M *)(uintptr_t)address[0];                                                 \
            for (int l = 0; l < WARP_LANES; l++)                                               \
                p[l] = (M)a[l];                                                                \
            return RUN_NEXT;                                                                   \
        }                                                                                      \
        for (uint32_t left = mask; left; left &= left - 1)                                     \
            *(M *)(uintptr_t)address[first_lane(left)] = (M)a[first_lane(left)];               \
        return RUN_NEXT;                                                                       \
    }
STORE(st_8, u8, 32)
STORE(st_16, u16, 32)
STORE(st_32, u32, 32)
STORE(st_64, u64, 64)

/* --- vectors and the rest: any element size and register width -------------------------------
 */

static inline uint64_t element_read(uint64_t address, uint32_t size, bool sign)
{
    uint64_t v = 0;
    switch (size) {
    case 1:
        v = *(const u8 *)(uintptr_t)address;
        return sign ? (uint64_t)(int8_t)v : v;
    case 2:
        v = *(const u16 *)(uintptr_t)address;
        return sign ? (uint64_t)(int16_t)v : v;
    case 4:
        v = *(const u32 *)(uintptr_t)address;
        return sign ? (uint64_t)(int32_t)v : v;
    default:
        return *(const u64 *)(uintptr_t)address;
    }
}

static inline void element_write(uint64_t address, uint32_t size, uint64_t v)
{
    switch (size) {
    case 1:
        *(u8 *)(uintptr_t)address = (uint8_t)v;
        break;
    case 2:
        *(u16 *)(uintptr_t)address = (uint16_t)v;
        break;
    case 4:
        *(u32 *)(uintptr_t)address = (uint32_t)v;
        break;
    default:
        *(u64 *)(uintptr_t)address = v;
    }
}

static void vector_load32(struct warp *w, const struct inst *i, uint32_t mask, uint32_t k,
                          const uint64_t *address)
{
    u32 r[WARP_LANES] __attribute__((aligned(64)));
    for (int l = 0; l < WARP_LANES; l++)
        r[l] = ((const u32 *)(uintptr_t)address[l])[k];
    write32(LANES32(i->list[k]), r, mask);
}

EXECUTOR(ld_vector)
{
    uint64_t address[WARP_LANES];
    if (resolve(w, i, mask, address, (uint32_t)i->size * i->n_list))
        return RUN_FAULT;
    bool sign = ptx_types[i->type].kind == TYPE_KIND_SIGNED, wide = i->flags & INST_WIDE;
    for (uint32_t k = 0; k < i->n_list; k++) {
        if (!i->list[k])
            continue;
        if (i->size == 4 && !wide) {
            vector_load32(w, i, mask, k, address);
            continue;
        }
        for (uint32_t left = mask; left; left &= left - 1) {
            uint32_t l = first_lane(left);
            uint64_t v = element_read(address[l] + (uint64_t)k * i->size, i->size, sign);
            if (wide)
                LANES64(i->list[k])[l] = v;
            else
                LANES32(i->list[k])[l] = (uint32_t)v & i->extra;
        }
    }
    return RUN_NEXT;
}

/* Lane l's elements at address[l]. */
static inline void vector_write(struct warp *w, const struct inst *i, uint32_t mask,
                                const uint64_t *address)
{
    bool wide = i->flags & INST_WIDE;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = first_lane(left);
        for (uint32_t k = 0; k < i->n_list; k++) {
            uint64_t v = wide ? LANES64(i->list[k])[l] : LANES32(i->list[k])[l];
            element_write(address[l] + (uint64_t)k * i->size, i->size, v);
        }
    }
}

static int vector_watch(struct warp *w, const struct inst *i, uint32_t mask,
                        const uint64_t *address)
{
    uint64_t value[WARP_LANES][4], place[WARP_LANES]; /* 32 bytes are the most */
    for (int l = 0; l < WARP_LANES; l++)
        place[l] = (uint64_t)(uintptr_t)value[l];
    vector_write(w, i, mask, place);
    return watch_access(w, i, mask, address, (uint32_t)i->size * i->n_list, watch_use(i), value,
                        sizeof *value);
}

EXECUTOR(st_vector)
{
    uint64_t address[WARP_LANES];
    if (resolve(w, i, mask, address, (uint32_t)i->size * i->n_list))
        return RUN_FAULT;
    if (w->block->launch->global_map && vector_watch(w, i, mask, address))
        return RUN_FAULT;
    vector_write(w, i, mask, address);
    return RUN_NEXT;
}

/* --- address spaces --------------------------------------------------------------------------
 */

static inline uint64_t window_of(uint32_t space)
{
    return space == SPACE_SHARED  ? WINDOW_SHARED
           : space == SPACE_LOCAL ? WINDOW_LOCAL
           : space == SPACE_PARAM ? WINDOW_PARAM
                                  : 0;
}

static int address_shift(struct warp *w, const struct inst *i, uint32_t mask, uint64_t add)
{
    bool wide = i->flags & INST_WIDE, from64 = i->flags & INST_ADDRESS64;
    for (uint32_t l = 0; l < WARP_LANES; l++) {
        if (!(mask >> l & 1))
            continue;
        uint64_t v = (from64 ? LANES64(i->a)[l] : LANES32(i->a)[l]) + add;
        if (wide)
            LANES64(i->d)[l] = v;
        else
            LANES32(i->d)[l] = (uint32_t)v;
    }
    return RUN_NEXT;
}

EXECUTOR(cvta_to)
{
    return address_shift(w, i, mask, -window_of(i->space));
}

EXECUTOR(cvta_from)
{
    return address_shift(w, i, mask, window_of(i->space));
}

EXECUTOR(isspacep)
{
    uint64_t start = window_of(i->space);
    uint32_t r = 0;
    for (uint32_t l = 0; l < WARP_LANES; l++) {
        uint64_t v = i->flags & INST_ADDRESS64 ? LANES64(i->a)[l] : LANES32(i->a)[l];
        bool inside = start ? v - start < WINDOW_SIZE : v >= WINDOW_LIMIT;
        r |= (uint32_t)inside << l;
    }
    pred_write(w, i->d, r, mask);
    return RUN_NEXT;
}

/* Arguments and results of calls: `extra` bytes from frame offset imm to frame offset target.
 */
EXECUTOR(param_copy)
{
    const struct launch_state *s = w->block->launch;
    const u32 *frame = LANES32(i->a);
    uint32_t size = s->image->local_size, bytes = i->extra;
    for (uint32_t l = 0; l < WARP_LANES; l++) {
        if (!(mask >> l & 1))
            continue;
        uint64_t from = frame[l] + i->imm, to = (uint64_t)frame[l] + i->target;
        if (from + bytes > size || to + bytes > size)
            return warp_fault(w, i, mask, SIM_FAULT_ADDRESS,
                              "the call stack of %u bytes a thread is used up", size);
        memmove(w->local + (size_t)l * size + to, w->local + (size_t)l * size + from, bytes);
    }
    return RUN_NEXT;
}

/* cp.async: done at once. a, imm: destination; b, extra: source, type2: its address has 64
 * bits; c: bytes to read, the rest becomes zero. */
EXECUTOR(cp_async)
{
    uint64_t to[WARP_LANES], from[WARP_LANES];
    struct inst source = *i;
    source.a = i->b;
    source.exec = EXEC_ld_b32;
    source.space = SPACE_GLOBAL;
    source.flags = i->type2 ? INST_ADDRESS64 : 0;
    source.imm = (uint64_t)(int32_t)i->extra;
    uint32_t n = i->size;
    if (i->c) {
        n = LANES32(i->c)[first_lane(mask)];
        n = n < i->size ? n : i->size;
    }
    if (resolve(w, i, mask, to, i->size))
        return RUN_FAULT;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = first_lane(left);
        if (i->c)
            n = LANES32(i->c)[l] < i->size ? LANES32(i->c)[l] : i->size;
        if (n && resolve_at(w, &source, i, (uint32_t)1 << l, from, n))
            return RUN_FAULT;
        if (n)
            memcpy((void *)(uintptr_t)to[l], (const void *)(uintptr_t)from[l], n);
        memset((uint8_t *)(uintptr_t)to[l] + n, 0, i->size - n);
    }
    return RUN_NEXT;
}

/* --- matrices --------------------------------------------------------------------------------
 */

static void matrix_read(uint32_t *ret_row, const uint64_t *address, uint32_t k, uint32_t lane)
{
    uint64_t row = address[k * 8 + lane / 4];
    *ret_row = *(const u32 *)(uintptr_t)(row + lane % 4 * 4);
}

static uint32_t matrix_read_trans(const uint64_t *address, uint32_t k, uint32_t lane)
{
    uint32_t v = 0;
    for (uint32_t h = 0; h < 2; h++) {
        uint64_t row = address[k * 8 + lane % 4 * 2 + h];
        v |= (uint32_t) * (const u16 *)(uintptr_t)(row + lane / 4 * 2) << (16 * h);
    }
    return v;
}

/* The row addresses come from lanes 0..7 of each matrix; unused lanes' addresses do not count.
 */
static int matrix_resolve(struct warp *w, const struct inst *i, uint32_t mask, uint32_t n,
                          uint64_t *address)
{
    if (mask != w->alive)
        return RUN_SYNC;
    if (mask != UINT32_MAX)
        return warp_fault(w, i, mask, SIM_FAULT_BARRIER, "needs all 32 lanes of the warp");
    uint32_t rows = n >= 4 ? UINT32_MAX : ((uint32_t)1 << n * 8) - 1;
    return resolve(w, i, rows, address, 16);
}

EXECUTOR(ldmatrix)
{
    uint64_t address[WARP_LANES];
    int r = matrix_resolve(w, i, mask, i->n_list, address);
    if (r)
        return r;
    for (uint32_t k = 0; k < i->n_list; k++) {
        u32 v[WARP_LANES];
        for (uint32_t l = 0; l < WARP_LANES; l++)
            if (i->round == WORD_trans)
                v[l] = matrix_read_trans(address, k, l);
            else
                matrix_read(&v[l], address, k, l);
        if (i->list[k])
            memcpy(LANES32(i->list[k]), v, sizeof v);
    }
    return RUN_NEXT;
}

EXECUTOR(stmatrix)
{
    uint64_t address[WARP_LANES];
    int r = matrix_resolve(w, i, mask, i->n_list, address);
    if (r)
        return r;
    for (uint32_t k = 0; k < i->n_list; k++)
        for (uint32_t l = 0; l < WARP_LANES; l++) {
            uint32_t v = LANES32(i->list[k])[l];
            for (uint32_t h = 0; h < 2; h++) {
                bool trans = i->round == WORD_trans;
                uint64_t row = address[k * 8 + (trans ? l % 4 * 2 + h : l / 4)];
                uint64_t at = row + (trans ? l / 4 * 2 : l % 4 * 4 + h * 2);
                *(u16 *)(uintptr_t)at = (uint16_t)(v >> (16 * h));
            }
        }
    return RUN_NEXT;
}
