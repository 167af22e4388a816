/* SPDX-License-Identifier: Apache-2.0 */
#include "address.h"

#include <stdio.h>
#include <string.h>

#include "watch.h"

static bool returns_old(const struct inst *i)
{
    return i->code->form == FORM_ATOMIC && (i->encoding == ENC_DS ? i->code->detail : i->glc);
}

struct access access_of(const struct wave *w, const struct inst *i, bool writes,
                        const char *what)
{
    return (struct access){.inst = i,
                           .size = i->code->bytes,
                           .mask = w->s[WAVE_EXEC],
                           .writes = writes,
                           .data = writes ? i->src[0].index : WAVE_VGPRS,
                           .loaded = !writes || returns_old(i) ? i->d : WAVE_VGPRS,
                           .what = what};
}

uint8_t *address_global(struct wave *w, const struct access *a, int lane, uint64_t address)
{
    if (!sim_memory_ok(w->block->memory, address, a->size)) {
        wave_bad_address(w, a->inst, lane, address, a->size, a->what);
        return NULL;
    }
    return (uint8_t *)(uintptr_t)address;
}

static uint8_t *window(struct wave *w, const struct access *a, int lane, uint64_t offset,
                       uint8_t *base, uint64_t size, const char *name)
{
    if (offset <= size && size - offset >= a->size)
        return base + offset;
    char text[160];
    snprintf(text, sizeof text, "%s %u bytes at offset 0x%llx of %s, which has %llu bytes",
             a->what, a->size, (unsigned long long)offset, name, (unsigned long long)size);
    wave_fault(w, a->inst, SIM_FAULT_ADDRESS, lane, offset, text);
    return NULL;
}

uint8_t *address_shared(struct wave *w, const struct access *a, int lane, uint64_t offset)
{
    return window(w, a, lane, offset, w->block->lds, w->block->lds_size, "shared memory");
}

uint8_t *address_private(struct wave *w, const struct access *a, int lane, uint64_t offset)
{
    uint64_t size = w->block->scratch_size;
    return window(w, a, lane, offset, w->scratch + (uint64_t)lane * size, size,
                  "private memory");
}

uint64_t address_lane(const struct wave *w, const struct inst *i, int lane)
{
    const uint32_t low = w->v[i->address][lane];
    if (i->encoding == ENC_SCRATCH) {
        uint32_t offset = (i->sve ? low : 0) + (i->saddr != WAVE_NULL ? w->s[i->saddr] : 0);
        return offset + (uint32_t)i->imm;
    }
    if (i->saddr != WAVE_NULL)
        return (w->s[i->saddr] | (uint64_t)w->s[i->saddr + 1] << 32) + low +
               (uint64_t)(int64_t)i->imm;
    return (low | (uint64_t)w->v[i->address + 1][lane] << 32) + (uint64_t)(int64_t)i->imm;
}

static uint8_t *lane_pointer(struct wave *w, const struct access *a, int lane)
{
    const uint64_t address = address_lane(w, a->inst, lane);
    if (a->inst->encoding == ENC_SCRATCH)
        return address_private(w, a, lane, (uint32_t)address);
    if (a->inst->encoding == ENC_FLAT) {
        if (address >> 32 == APERTURE_SHARED)
            return address_shared(w, a, lane, (uint32_t)address);
        if (address >> 32 == APERTURE_PRIVATE)
            return address_private(w, a, lane, (uint32_t)address);
    }
    return address_global(w, a, lane, address);
}

int address_lanes(struct wave *w, const struct access *a, uint8_t *ret_pointer[WAVE_LANES])
{
    for (uint32_t rest = a->mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        ret_pointer[lane] = lane_pointer(w, a, lane);
        if (!ret_pointer[lane])
            return WAVE_FAULT;
    }
    return w->block->watch ? watch_access(w, a, ret_pointer) : WAVE_GOES_ON;
}

int address_ds(struct wave *w, const struct access *a, uint32_t offset,
               uint8_t *ret_pointer[WAVE_LANES])
{
    const uint32_t *v = w->v[a->inst->address];
    for (uint32_t rest = a->mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        ret_pointer[lane] = address_shared(w, a, lane, (uint32_t)(v[lane] + offset));
        if (!ret_pointer[lane])
            return WAVE_FAULT;
    }
    return w->block->watch ? watch_access(w, a, ret_pointer) : WAVE_GOES_ON;
}

uint32_t lane_extended(uint32_t old, const uint8_t *p, unsigned bytes, enum mem_extend extend)
{
    uint32_t v = 0;
    memcpy(&v, p, bytes);
    if (extend == EXT_SIGN || extend == EXT_SIGN_LOW || extend == EXT_SIGN_HIGH)
        v = bytes == 1 ? (uint32_t)(int8_t)v : (uint32_t)(int16_t)v;
    if (extend == EXT_ZERO_LOW || extend == EXT_SIGN_LOW)
        return (old & 0xffff0000) | (v & 0xffff);
    if (extend == EXT_ZERO_HIGH || extend == EXT_SIGN_HIGH)
        return (old & 0xffff) | v << 16;
    return v;
}

void lanes_load(struct wave *w, uint8_t *const pointer[WAVE_LANES], uint32_t mask,
                unsigned first, unsigned bytes, enum mem_extend extend)
{
    if (bytes < 4) {
        for (uint32_t rest = mask; rest; rest &= rest - 1) {
            int lane = __builtin_ctz(rest);
            uint32_t *d = &w->v[first][lane];
            *d = lane_extended(*d, pointer[lane], bytes, extend);
        }
        return;
    }
    for (unsigned n = 0; n < bytes / 4; n++) {
        uint32_t *d = w->v[first + n];
        for (uint32_t rest = mask; rest; rest &= rest - 1) {
            int lane = __builtin_ctz(rest);
            memcpy(&d[lane], pointer[lane] + 4 * n, 4);
        }
    }
}

void lanes_write(struct wave *w, uint8_t *const pointer[WAVE_LANES], uint32_t mask,
                 unsigned first, unsigned bytes, bool high)
{
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        if (bytes < 4) {
            uint32_t v = w->v[first][lane] >> (high ? 16 : 0);
            memcpy(pointer[lane], &v, bytes);
            continue;
        }
        for (unsigned n = 0; n < bytes / 4; n++)
            memcpy(pointer[lane] + 4 * n, &w->v[first + n][lane], 4);
    }
}
