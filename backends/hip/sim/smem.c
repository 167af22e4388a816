/* SPDX-License-Identifier: Apache-2.0 */
#include "exec.h"

#include <string.h>

int exec_smem_nothing(struct wave *w, const struct inst *i)
{
    (void)w, (void)i;
    return WAVE_GOES_ON;
}

static uint32_t scalar_offset(const struct wave *w, const struct inst *i)
{
    return i->saddr == WAVE_NULL ? 0 : w->s[i->saddr];
}

/* Four words of buffer resource: base (48 bits), stride, number of records, flags. */
static bool buffer_where(const struct wave *w, const struct inst *i, uint64_t *ret_address)
{
    const uint32_t *resource = &w->s[i->address];
    const uint64_t base = resource[0] | (uint64_t)(resource[1] & 0xffff) << 32;
    const uint32_t stride = resource[1] >> 16 & 0x3fff;
    const uint64_t limit = stride ? (uint64_t)stride * resource[2] : resource[2];
    const uint32_t offset = ((uint32_t)i->imm + scalar_offset(w, i)) & ~3u;
    *ret_address = (base + offset) & ~3ull;
    return offset + 4ull * i->code->bytes <= limit;
}

bool smem_where(const struct wave *w, const struct inst *i, uint64_t *ret_address)
{
    if (i->code->exec == exec_smem_buffer_load)
        return buffer_where(w, i, ret_address);
    const uint64_t base = w->s[i->address] | (uint64_t)w->s[i->address + 1] << 32;
    *ret_address = (base + (uint64_t)(int64_t)i->imm + scalar_offset(w, i)) & ~3ull;
    return true;
}

int exec_smem_load(struct wave *w, const struct inst *i)
{
    const uint32_t size = 4u * i->code->bytes;
    uint64_t address;
    if (!smem_where(w, i, &address)) {
        memset(&w->s[i->d], 0, size);
        return WAVE_GOES_ON;
    }
    if (!sim_memory_ok(w->block->memory, address, size))
        return wave_bad_address(w, i, -1, address, size, "reads");
    memcpy(&w->s[i->d], (const void *)(uintptr_t)address, size);
    return WAVE_GOES_ON;
}

int exec_smem_buffer_load(struct wave *w, const struct inst *i)
{
    return exec_smem_load(w, i);
}
