/* SPDX-License-Identifier: Apache-2.0 */
#include "address.h"

#include <string.h>

#include "taint.h"
#include "watch.h"

/* Vector accesses through a buffer resource: what lies outside reads as 0 and is not written.
 * The offset of the instruction and of the lane are checked, the scalar one is not; loads and
 * stores of several words are checked word by word (16 bytes may end at the buffer's end),
 * atomics as a whole. Swizzled buffers and typed accesses are refused. */

struct resource {
    uint64_t base;
    uint32_t stride, records;
    unsigned
        check;  /* OOB_SELECT: 0 record and stride, 1 record, 2 only an empty buffer, 3 raw */
    bool plain; /* neither swizzled nor indexed by the lane's number, type 0 */
};

static struct resource resource_of(const struct wave *w, const struct inst *i)
{
    const uint32_t *r = &w->s[i->saddr];
    return (struct resource){.base = r[0] | (uint64_t)(r[1] & 0xffff) << 32,
                             .stride = r[1] >> 16 & 0x3fff,
                             .records = r[2],
                             .check = r[3] >> 28 & 3,
                             .plain = !(r[1] >> 30) && !(r[3] >> 23 & 1) && !(r[3] >> 30)};
}

/* Bytes of `size` from `offset` in record `index` that lie inside. */
static uint32_t bytes_inside(const struct resource *r, uint32_t index, uint64_t offset,
                             uint32_t size)
{
    if (r->check == 2)
        return r->records ? size : 0;
    if (r->check != 3 && index >= r->records)
        return 0;
    if (r->check == 1)
        return size;
    const uint64_t end = r->check == 3 ? r->records : r->stride;
    const uint32_t piece = size < 4 ? size : 4;
    uint32_t inside = 0;
    while (inside < size && offset + inside + piece <= end)
        inside += piece;
    return inside;
}

static uint64_t lane_address(const struct wave *w, const struct inst *i,
                             const struct resource *r, int lane, uint32_t size,
                             uint32_t *ret_bytes)
{
    const uint32_t index = i->idxen ? w->v[i->address][lane] : 0;
    const uint32_t own = i->offen ? w->v[i->address + (i->idxen ? 1u : 0u)][lane] : 0;
    const uint64_t offset = (uint64_t)own + (uint32_t)i->imm;
    *ret_bytes =
        bytes_inside(r, index, offset + (r->check == 3 ? (uint64_t)r->stride * index : 0), size);
    return r->base + scalar_32(w, &i->src[1]) + offset + (uint64_t)r->stride * index;
}

uint64_t buffer_lane(const struct wave *w, const struct inst *i, int lane, uint32_t *ret_bytes)
{
    const struct resource r = resource_of(w, i);
    return lane_address(w, i, &r, lane, i->code->bytes, ret_bytes);
}

static int lane_find(struct wave *w, const struct access *a, const struct resource *r, int lane,
                     uint32_t *ret_bytes, uint8_t **ret_pointer)
{
    struct access piece = *a;
    const uint64_t address = lane_address(w, a->inst, r, lane, a->size, &piece.size);
    if (a->inst->code->form == FORM_ATOMIC && piece.size < a->size)
        piece.size = 0;
    *ret_bytes = piece.size;
    *ret_pointer = piece.size ? address_global(w, &piece, lane, address) : NULL;
    return piece.size && !*ret_pointer ? WAVE_FAULT : WAVE_GOES_ON;
}

/* What lies outside the buffer. */
static void zeros_load(struct wave *w, const struct access *a, int lane, uint32_t from)
{
    static const uint8_t zeros[16];
    uint8_t *pointer[WAVE_LANES];
    pointer[lane] = (uint8_t *)(uintptr_t)zeros; /* only read */
    const unsigned reg = a->loaded + from / 4;
    lanes_load(w, pointer, 1u << lane, reg, a->size - from,
               (enum mem_extend)a->inst->code->detail);
    if (w->taint)
        taint_clear(w, a, lane, reg, a->size - from);
}

static int lane_run(struct wave *w, const struct access *a, int lane, uint32_t bytes,
                    uint8_t *p)
{
    uint8_t *pointer[WAVE_LANES];
    const struct inst *i = a->inst;
    struct access one = *a;
    one.mask = 1u << lane;
    one.size = bytes;
    pointer[lane] = p;
    if (bytes && w->block->watch && watch_access(w, &one, pointer))
        return WAVE_FAULT;
    if (i->code->form == FORM_ATOMIC && bytes)
        return atomic_run(w, &one, pointer);
    if (a->writes && bytes)
        lanes_write(w, pointer, one.mask, a->data, bytes, i->code->detail);
    if (a->loaded == WAVE_VGPRS)
        return WAVE_GOES_ON;
    if (bytes && !a->writes)
        lanes_load(w, pointer, one.mask, a->loaded, bytes, (enum mem_extend)i->code->detail);
    if (bytes < a->size)
        zeros_load(w, a, lane, bytes);
    return WAVE_GOES_ON;
}

static int run(struct wave *w, const struct inst *i, bool writes, const char *what)
{
    const struct access a = access_of(w, i, writes, what);
    const struct resource r = resource_of(w, i);
    if (!r.plain)
        return wave_fault(
            w, i, SIM_FAULT_INSTRUCTION, -1, 0,
            "uses a swizzled, lane-indexed or typed buffer, which is not simulated");
    for (uint32_t rest = a.mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        uint32_t bytes;
        uint8_t *p;
        if (lane_find(w, &a, &r, lane, &bytes, &p) || lane_run(w, &a, lane, bytes, p))
            return WAVE_FAULT;
    }
    return WAVE_GOES_ON;
}

int exec_buffer_load(struct wave *w, const struct inst *i)
{
    return run(w, i, false, "reads");
}
int exec_buffer_store(struct wave *w, const struct inst *i)
{
    return run(w, i, true, "writes");
}
int exec_buffer_atomic(struct wave *w, const struct inst *i)
{
    return run(w, i, true, "updates");
}
