/* SPDX-License-Identifier: Apache-2.0 */
#include "address.h"

#include <string.h>

#include "../../sim/fp.h"
#include "encoding.h"
#include "rules.h"
#include "watch.h"

int exec_ds_load(struct wave *w, const struct inst *i)
{
    const struct access a = access_of(w, i, false, "reads");
    uint8_t *pointer[WAVE_LANES];
    if (address_ds(w, &a, (uint32_t)i->imm, pointer))
        return WAVE_FAULT;
    lanes_load(w, pointer, a.mask, i->d, a.size, (enum mem_extend)i->code->detail);
    return WAVE_GOES_ON;
}

int exec_ds_store(struct wave *w, const struct inst *i)
{
    const struct access a = access_of(w, i, true, "writes");
    uint8_t *pointer[WAVE_LANES];
    if (address_ds(w, &a, (uint32_t)i->imm, pointer))
        return WAVE_FAULT;
    lanes_write(w, pointer, a.mask, i->src[0].index, a.size, i->code->detail);
    return WAVE_GOES_ON;
}

/* The two offsets of a 2addr instruction in bytes. */
static void offsets(const struct inst *i, unsigned size, unsigned stride, uint32_t ret[2])
{
    ret[0] = ((uint32_t)i->imm & 255) * size * stride;
    ret[1] = ((uint32_t)i->imm >> 8 & 255) * size * stride;
}

int exec_ds_load2(struct wave *w, const struct inst *i)
{
    const struct access a = access_of(w, i, false, "reads");
    uint8_t *first[WAVE_LANES], *second[WAVE_LANES];
    uint32_t offset[2];
    offsets(i, a.size, i->code->detail, offset);
    struct access b = a;
    b.loaded = i->d + a.size / 4;
    if (address_ds(w, &a, offset[0], first) || address_ds(w, &b, offset[1], second))
        return WAVE_FAULT;
    lanes_load(w, first, a.mask, i->d, a.size, EXT_ZERO);
    lanes_load(w, second, a.mask, i->d + a.size / 4, a.size, EXT_ZERO);
    return WAVE_GOES_ON;
}

int exec_ds_store2(struct wave *w, const struct inst *i)
{
    const struct access a = access_of(w, i, true, "writes");
    uint8_t *first[WAVE_LANES], *second[WAVE_LANES];
    uint32_t offset[2];
    offsets(i, a.size, i->code->detail, offset);
    struct access b = a;
    b.data = i->src[1].index;
    if (address_ds(w, &a, offset[0], first) || address_ds(w, &b, offset[1], second))
        return WAVE_FAULT;
    lanes_write(w, first, a.mask, i->src[0].index, a.size, false);
    lanes_write(w, second, a.mask, i->src[1].index, a.size, false);
    return WAVE_GOES_ON;
}

static uint64_t word_read(const uint8_t *p, unsigned bytes)
{
    uint64_t v = 0;
    memcpy(&v, p, bytes);
    return v;
}

static uint64_t data_word(const struct wave *w, unsigned reg, int lane, unsigned bytes)
{
    uint64_t v = w->v[reg][lane];
    return bytes == 8 ? v | (uint64_t)w->v[reg + 1][lane] << 32 : v;
}

static void data_write(struct wave *w, unsigned reg, int lane, unsigned bytes, uint64_t v)
{
    w->v[reg][lane] = (uint32_t)v;
    if (bytes == 8)
        w->v[reg + 1][lane] = (uint32_t)(v >> 32);
}

/* Additions of f32 follow the denormal mode but not the rounding mode (LLVM, AMDGPUUsage). */
static uint64_t add_f32(const struct wave *w, uint64_t memory, uint64_t data)
{
    const unsigned keep = w->mode >> MODE_DENORM_32_SHIFT & 3;
    const struct fp_env v = {.rules = &hip_rules,
                             .round = FP_RNE,
                             .flush_in = keep & 1 ? 0 : 1 << FP_F32,
                             .flush_out = keep & 2 ? 0 : 1 << FP_F32};
    return fp_add(&v, FP_F32, memory, data);
}

static uint64_t update(const struct wave *w, atomic_fn *fn, uint64_t memory, uint64_t data,
                       uint64_t other)
{
    return fn == atomic_add_f32 ? add_f32(w, memory, data) : fn(memory, data, other);
}

int exec_ds_atomic(struct wave *w, const struct inst *i)
{
    const struct access a = access_of(w, i, true, "updates");
    const unsigned bytes = a.size;
    uint8_t *pointer[WAVE_LANES];
    if (address_ds(w, &a, (uint32_t)i->imm, pointer))
        return WAVE_FAULT;
    for (uint32_t rest = a.mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint64_t old = word_read(pointer[lane], bytes);
        uint64_t now = update(w, i->code->fn, old, data_word(w, i->src[0].index, lane, bytes),
                              data_word(w, i->src[1].index, lane, bytes));
        memcpy(pointer[lane], &now, bytes);
        if (i->code->detail)
            data_write(w, i->d, lane, bytes, old);
    }
    return WAVE_GOES_ON;
}

int exec_ds_exchange2(struct wave *w, const struct inst *i)
{
    struct access a = access_of(w, i, true, "updates");
    const bool far = strstr(i->code->name, "stride64") != NULL;
    uint8_t *first[WAVE_LANES], *second[WAVE_LANES];
    uint32_t offset[2];
    a.size = strstr(i->code->name, "b64") ? 8 : 4;
    a.loaded = i->d;
    struct access b = a;
    b.data = i->src[1].index;
    b.loaded = i->d + a.size / 4;
    offsets(i, a.size, far ? 64 : 1, offset);
    if (address_ds(w, &a, offset[0], first) || address_ds(w, &b, offset[1], second))
        return WAVE_FAULT;
    for (uint32_t rest = a.mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint64_t old[2] = {word_read(first[lane], a.size), word_read(second[lane], a.size)};
        uint64_t now[2] = {data_word(w, i->src[0].index, lane, a.size),
                           data_word(w, i->src[1].index, lane, a.size)};
        memcpy(first[lane], &now[0], a.size);
        memcpy(second[lane], &now[1], a.size);
        data_write(w, i->d, lane, a.size, old[0]);
        data_write(w, i->d + a.size / 4, lane, a.size, old[1]);
    }
    return WAVE_GOES_ON;
}

int exec_ds_nop(struct wave *w, const struct inst *i)
{
    (void)w, (void)i;
    return WAVE_GOES_ON;
}

/* One counter for the wave at M0's offset: append adds the number of active lanes, consume
 * subtracts it; every active lane gets the old value. */
int exec_ds_append(struct wave *w, const struct inst *i)
{
    struct access a = access_of(w, i, true, "updates");
    const uint32_t exec = a.mask, base = (w->s[WAVE_M0] & 0xffff) + (uint32_t)i->imm;
    uint8_t *pointer[WAVE_LANES];
    a.mask = 1;
    a.data = WAVE_VGPRS;
    pointer[0] = address_shared(w, &a, 0, base);
    if (!pointer[0] || (w->block->watch && watch_access(w, &a, pointer)))
        return WAVE_FAULT;
    uint32_t old = (uint32_t)word_read(pointer[0], 4),
             count = (uint32_t)__builtin_popcount(exec);
    uint32_t now = strcmp(i->code->name, "ds_append") == 0 ? old + count : old - count;
    memcpy(pointer[0], &now, 4);
    for (uint32_t rest = exec; rest; rest &= rest - 1)
        w->v[i->d][__builtin_ctz(rest)] = old;
    return WAVE_GOES_ON;
}

int exec_ds_addtid(struct wave *w, const struct inst *i)
{
    const bool writes = strstr(i->code->name, "store") != NULL;
    const struct access a = access_of(w, i, writes, writes ? "writes" : "reads");
    const uint32_t base = (w->s[WAVE_M0] & 0xffff) + (uint32_t)i->imm;
    uint8_t *pointer[WAVE_LANES];
    for (uint32_t rest = a.mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        pointer[lane] = address_shared(w, &a, lane, base + 4 * (uint32_t)lane);
        if (!pointer[lane])
            return WAVE_FAULT;
    }
    if (w->block->watch && watch_access(w, &a, pointer))
        return WAVE_FAULT;
    if (writes)
        lanes_write(w, pointer, a.mask, i->src[0].index, 4, false);
    else
        lanes_load(w, pointer, a.mask, i->d, 4, EXT_ZERO);
    return WAVE_GOES_ON;
}

/* --- between lanes, without memory. A lane that is switched off reads as 0. */

void permute_row(const struct wave *w, const struct inst *i, const uint32_t *data, uint32_t *r)
{
    const uint32_t exec = w->s[WAVE_EXEC], *address = w->v[i->address];
    const bool backward = strcmp(i->code->name, "ds_bpermute_b32") == 0;
    memset(r, 0, sizeof(wave_row));
    for (uint32_t rest = exec; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        int other = (address[lane] + (uint32_t)i->imm) >> 2 & 31;
        if (!backward)
            r[other] = data[lane];
        else if (exec >> other & 1)
            r[lane] = data[other];
    }
}

int exec_ds_permute(struct wave *w, const struct inst *i)
{
    const uint32_t exec = w->s[WAVE_EXEC];
    wave_row r;
    permute_row(w, i, w->v[i->src[0].index], r);
    for (uint32_t rest = exec; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        w->v[i->d][lane] = r[lane];
    }
    return WAVE_GOES_ON;
}

static int swizzle_source(uint32_t pattern, int lane)
{
    if (pattern >= 0xe000)
        return -1;
    if (pattern >= 0xc000) { /* rotate within 32 */
        int amount = pattern >> 5 & 31, mask = pattern & 31;
        int turned = pattern >> 10 & 1 ? lane - amount : lane + amount;
        return ((turned & ~mask & 31) | (lane & mask)) & 31;
    }
    if (pattern & 0x8000)
        return (lane & ~3) + (int)(pattern >> 2 * (lane & 3) & 3);
    return (int)((((uint32_t)lane & pattern) | pattern >> 5) ^ pattern >> 10) & 31;
}

int exec_ds_swizzle(struct wave *w, const struct inst *i)
{
    const uint32_t exec = w->s[WAVE_EXEC];
    wave_row old;
    memcpy(old, w->v[i->address], sizeof old);
    if ((uint32_t)i->imm >= 0xe000)
        return wave_fault(w, i, SIM_FAULT_INSTRUCTION, -1, 0,
                          "the FFT patterns of ds_swizzle are not simulated");
    for (uint32_t rest = exec; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest), source = swizzle_source((uint32_t)i->imm, lane);
        w->v[i->d][lane] = exec >> source & 1 ? old[source] : 0;
    }
    return WAVE_GOES_ON;
}
