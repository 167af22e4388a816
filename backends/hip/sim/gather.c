/* SPDX-License-Identifier: Apache-2.0 */
#include "valu_full.h"

/* 32-bit words of global memory for a whole wave: if all lanes' addresses lie near each other,
 * one look at the memory map serves them all. Anything else takes the general way. */

enum { SPAN_MAX = 16384 };

static void addresses(const struct wave *w, const struct inst *i, uint64_t *ret)
{
    const uint32_t *low = w->v[i->address];
    const uint64_t offset = (uint64_t)(int64_t)i->imm;
    if (i->saddr != WAVE_NULL) {
        const uint64_t base = (w->s[i->saddr] | (uint64_t)w->s[i->saddr + 1] << 32) + offset;
        _Pragma("GCC ivdep") for (int l = 0; l < WAVE_LANES; l++) ret[l] = base + low[l];
        return;
    }
    const uint32_t *high = w->v[i->address + 1];
    _Pragma("GCC ivdep") for (int l = 0; l < WAVE_LANES; l++) ret[l] =
        (low[l] | (uint64_t)high[l] << 32) + offset;
}

/* Lanes that are off take the address of one that is on. False: not near, or not all live. */
static bool near_and_live(const struct wave *w, uint64_t *at)
{
    const uint32_t exec = w->s[WAVE_EXEC];
    if (!exec || w->block->watch)
        return false;
    const uint64_t some = at[__builtin_ctz(exec)];
    if (exec != ~0u)
        for (int l = 0; l < WAVE_LANES; l++)
            at[l] = exec >> l & 1 ? at[l] : some;
    uint64_t least = some, most = some;
    for (int l = 0; l < WAVE_LANES; l++) {
        least = at[l] < least ? at[l] : least;
        most = at[l] > most ? at[l] : most;
    }
    return most - least < SPAN_MAX &&
           sim_memory_ok(w->block->memory, least, (uint32_t)(most - least) + 4);
}

int VARIANT_NAME(exec_gather)(struct wave *w, const struct inst *i)
{
    uint64_t at[WAVE_LANES] __attribute__((aligned(64)));
    wave_row r;
    addresses(w, i, at);
    if (!near_and_live(w, at))
        return exec_global_load(w, i);
    for (int l = 0; l < WAVE_LANES; l++)
        memcpy(&r[l], (const void *)(uintptr_t)at[l], 4);
    lanes_store(w->v[i->d], r, w->s[WAVE_EXEC]);
    return WAVE_GOES_ON;
}

/* Lanes in order: of two that write one word the higher wins. */
int VARIANT_NAME(exec_scatter)(struct wave *w, const struct inst *i)
{
    uint64_t at[WAVE_LANES] __attribute__((aligned(64)));
    const uint32_t *data = w->v[i->src[0].index];
    addresses(w, i, at);
    if (!near_and_live(w, at))
        return exec_global_store(w, i);
    for (uint32_t rest = w->s[WAVE_EXEC]; rest; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        memcpy((void *)(uintptr_t)at[l], &data[l], 4);
    }
    return WAVE_GOES_ON;
}

/* --- the same for words of shared memory
 * ------------------------------------------------------ */

static bool offsets(const struct wave *w, const struct inst *i, uint32_t offset, uint32_t *ret)
{
    const uint32_t *v = w->v[i->address], exec = w->s[WAVE_EXEC];
    uint32_t most = 0;
    if (w->block->watch || w->block->lds_size < 4)
        return false;
    uint32_t m[WAVE_LANES] __attribute__((aligned(64)));
    lanes_expand(exec, m);
    _Pragma("GCC ivdep") for (int l = 0; l < WAVE_LANES; l++) ret[l] = (v[l] + offset) & m[l];
    for (int l = 0; l < WAVE_LANES; l++)
        most = ret[l] > most ? ret[l] : most;
    return most <= w->block->lds_size - 4;
}

static void words_load(struct wave *w, const uint32_t *offset, unsigned d)
{
    wave_row r;
    for (int l = 0; l < WAVE_LANES; l++)
        memcpy(&r[l], w->block->lds + offset[l], 4);
    lanes_store(w->v[d], r, w->s[WAVE_EXEC]);
}

int VARIANT_NAME(exec_lds_word)(struct wave *w, const struct inst *i)
{
    wave_row at;
    if (!offsets(w, i, (uint32_t)i->imm, at))
        return exec_ds_load(w, i);
    words_load(w, at, i->d);
    return WAVE_GOES_ON;
}

int VARIANT_NAME(exec_lds_words)(struct wave *w, const struct inst *i)
{
    wave_row first, second;
    const uint32_t stride = 4u * i->code->detail;
    if (!offsets(w, i, ((uint32_t)i->imm & 255) * stride, first) ||
        !offsets(w, i, ((uint32_t)i->imm >> 8 & 255) * stride, second))
        return exec_ds_load2(w, i);
    words_load(w, first, i->d);
    words_load(w, second, i->d + 1u);
    return WAVE_GOES_ON;
}
