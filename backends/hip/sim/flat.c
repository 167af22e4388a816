/* SPDX-License-Identifier: Apache-2.0 */
#include "address.h"

#include <string.h>

static int load(struct wave *w, const struct inst *i)
{
    const struct access a = access_of(w, i, false, "reads");
    uint8_t *pointer[WAVE_LANES];
    if (address_lanes(w, &a, pointer))
        return WAVE_FAULT;
    lanes_load(w, pointer, a.mask, i->d, a.size, (enum mem_extend)i->code->detail);
    return WAVE_GOES_ON;
}

static int store(struct wave *w, const struct inst *i)
{
    const struct access a = access_of(w, i, true, "writes");
    uint8_t *pointer[WAVE_LANES];
    if (address_lanes(w, &a, pointer))
        return WAVE_FAULT;
    lanes_write(w, pointer, a.mask, i->src[0].index, a.size, i->code->detail);
    return WAVE_GOES_ON;
}

int exec_flat_load(struct wave *w, const struct inst *i)
{
    return load(w, i);
}
int exec_scratch_load(struct wave *w, const struct inst *i)
{
    return load(w, i);
}
int exec_flat_store(struct wave *w, const struct inst *i)
{
    return store(w, i);
}
int exec_scratch_store(struct wave *w, const struct inst *i)
{
    return store(w, i);
}

/* --- global memory, the common cases: all lanes at work on one stretch or on one word */

/* If all 32 lanes access consecutive `size`-byte pieces that are live: where they begin. */
static uint8_t *stretch(const struct wave *w, const struct inst *i, unsigned size)
{
    if (w->s[WAVE_EXEC] != ~0u || w->block->watch)
        return NULL;
    const uint32_t *low = w->v[i->address];
    uint32_t odd = 0;
    uint64_t first;
    if (i->saddr != WAVE_NULL) {
        for (int l = 0; l < WAVE_LANES; l++)
            odd |= low[l] ^ (low[0] + (uint32_t)l * size);
        if (low[0] > UINT32_MAX - 32 * size)
            return NULL;
        first = (w->s[i->saddr] | (uint64_t)w->s[i->saddr + 1] << 32) + low[0];
    } else {
        const uint32_t *high = w->v[i->address + 1];
        for (int l = 0; l < WAVE_LANES; l++)
            odd |= (low[l] ^ (low[0] + (uint32_t)l * size)) | (high[l] ^ high[0]);
        if (low[0] > UINT32_MAX - 32 * size)
            return NULL;
        first = low[0] | (uint64_t)high[0] << 32;
    }
    first += (uint64_t)(int64_t)i->imm;
    if (odd || !sim_memory_ok(w->block->memory, first, 32 * size))
        return NULL;
    return (uint8_t *)(uintptr_t)first;
}

int exec_global_load(struct wave *w, const struct inst *i)
{
    const uint8_t *p = i->code->bytes == 4 ? stretch(w, i, 4) : NULL;
    if (!p)
        return load(w, i);
    memcpy(w->v[i->d], p, sizeof(wave_row));
    return WAVE_GOES_ON;
}

int exec_global_store(struct wave *w, const struct inst *i)
{
    uint8_t *p = i->code->bytes == 4 ? stretch(w, i, 4) : NULL;
    if (!p)
        return store(w, i);
    memcpy(p, w->v[i->src[0].index], sizeof(wave_row));
    return WAVE_GOES_ON;
}

/* --- atomics: lane after lane; blocks may run side by side, so the word changes by the host's
 * compare and swap */

static uint64_t data_word(const struct wave *w, unsigned reg, int lane, unsigned bytes)
{
    uint64_t v = w->v[reg][lane];
    return bytes == 8 ? v | (uint64_t)w->v[reg + 1][lane] << 32 : v;
}

static uint64_t update_32(uint8_t *p, atomic_fn *fn, uint64_t data, uint64_t other)
{
    uint32_t *word = (uint32_t *)(void *)p;
    uint32_t old = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(word, &old, (uint32_t)fn(old, data, other), false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        ;
    return old;
}

static uint64_t update_64(uint8_t *p, atomic_fn *fn, uint64_t data, uint64_t other)
{
    uint64_t *word = (uint64_t *)(void *)p;
    uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(word, &old, fn(old, data, other), false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        ;
    return old;
}

int atomic_run(struct wave *w, const struct access *a, uint8_t *const pointer[WAVE_LANES])
{
    const struct inst *i = a->inst;
    const unsigned bytes = a->size, data = i->src[0].index;
    for (uint32_t rest = a->mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        if ((uintptr_t)pointer[lane] % bytes)
            return wave_fault(
                w, i, SIM_FAULT_ALIGNMENT, lane, (uintptr_t)pointer[lane],
                "updates an address that is not a multiple of the operand's size");
        /* compare-and-swap: the new value is first, the expected one follows */
        uint64_t first = data_word(w, data, lane, bytes);
        uint64_t second = data_word(
            w, data + bytes / 4 < WAVE_VGPRS - 1 ? data + bytes / 4 : data, lane, bytes);
        uint64_t old = bytes == 8 ? update_64(pointer[lane], i->code->fn, first, second)
                                  : update_32(pointer[lane], i->code->fn, first, second);
        if (!i->glc)
            continue;
        w->v[i->d][lane] = (uint32_t)old;
        if (bytes == 8)
            w->v[i->d + 1][lane] = (uint32_t)(old >> 32);
    }
    return WAVE_GOES_ON;
}

int exec_flat_atomic(struct wave *w, const struct inst *i)
{
    const struct access a = access_of(w, i, true, "updates");
    uint8_t *pointer[WAVE_LANES];
    return address_lanes(w, &a, pointer) ? WAVE_FAULT : atomic_run(w, &a, pointer);
}
