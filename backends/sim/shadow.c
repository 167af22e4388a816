/* SPDX-License-Identifier: Apache-2.0 */
#include "shadow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { WORD = 4 };

/* The last access of a kind to a word. 24 bytes would do; 32 keep the index a shift. */
struct shadow_record {
    struct shadow_actor actor;
    uint32_t launch, clock;
    uint8_t bytes; /* of the word, a bit each */
    uint8_t use;
    bool shared; /* reads: by others too */
};

static void *reserve(uint64_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static uint64_t written_size(const struct shadow_map *m)
{
    return m->size / 8 + 1;
}

static uint64_t record_size(const struct shadow_map *m)
{
    return (m->size / WORD + 1) * 2 * sizeof *m->record;
}

int shadow_init(struct shadow_map *m, uint64_t size)
{
    *m = (struct shadow_map){.size = size, .launch = 1};
    if (size == 0 || size > UINT64_C(1) << 42)
        return EINVAL;
    m->written = reserve(written_size(m));
    m->record = reserve(record_size(m));
    if (m->written && m->record)
        return 0;
    shadow_release(m);
    return ENOMEM;
}

static void clocks_release(struct shadow_map *m)
{
    if (m->block_atomic)
        munmap(m->block_atomic, m->blocks * sizeof *m->block_atomic);
    if (m->warp_atomic)
        munmap(m->warp_atomic, m->blocks * SHADOW_WARPS * sizeof *m->warp_atomic);
    m->block_atomic = m->warp_atomic = NULL;
    m->blocks = 0;
}

void shadow_release(struct shadow_map *m)
{
    clocks_release(m);
    if (m->written)
        munmap(m->written, written_size(m));
    if (m->record)
        munmap(m->record, record_size(m));
    *m = (struct shadow_map){0};
}

/* A single block keeps its small tables and clears them. */
static int clocks_make(struct shadow_map *m, uint64_t blocks)
{
    if (blocks == m->blocks && blocks <= 16) {
        memset(m->block_atomic, 0, blocks * sizeof *m->block_atomic);
        memset(m->warp_atomic, 0, blocks * SHADOW_WARPS * sizeof *m->warp_atomic);
        return 0;
    }
    clocks_release(m);
    m->blocks = blocks;
    m->block_atomic = reserve(blocks * sizeof *m->block_atomic);
    m->warp_atomic = reserve(blocks * SHADOW_WARPS * sizeof *m->warp_atomic);
    if (m->block_atomic && m->warp_atomic)
        return 0;
    clocks_release(m);
    return ENOMEM;
}

int shadow_begin(struct shadow_map *m, uint64_t blocks)
{
    if (blocks == 0 || blocks > UINT32_MAX)
        return EINVAL;
    m->clock = 0;
    if (++m->launch == 0) { /* all numbers used: old records must go */
        madvise(m->record, record_size(m), MADV_DONTNEED);
        m->launch = 1;
    }
    return clocks_make(m, blocks);
}

static bool range_cut(const struct shadow_map *m, uint64_t offset, uint64_t *size)
{
    if (offset >= m->size)
        return false;
    if (*size > m->size - offset)
        *size = m->size - offset;
    return *size > 0;
}

/* Whole bytes of the bit map at once, the ragged ends bit by bit. */
static void bits_set(struct shadow_map *m, uint64_t offset, uint64_t size, bool value)
{
    if (!range_cut(m, offset, &size))
        return;
    uint64_t end = offset + size;
    for (; offset < end && offset % 8; offset++)
        m->written[offset / 8] = (uint8_t)((m->written[offset / 8] & ~(1u << offset % 8)) |
                                           (unsigned)value << offset % 8);
    if (end - offset >= 8) {
        memset(m->written + offset / 8, value ? 0xff : 0, (end - offset) / 8);
        offset += (end - offset) / 8 * 8;
    }
    for (; offset < end; offset++)
        m->written[offset / 8] = (uint8_t)((m->written[offset / 8] & ~(1u << offset % 8)) |
                                           (unsigned)value << offset % 8);
}

void shadow_unwrite(struct shadow_map *m, uint64_t offset, uint64_t size)
{
    bits_set(m, offset, size, false);
}

void shadow_write(struct shadow_map *m, uint64_t offset, uint64_t size)
{
    bits_set(m, offset, size, true);
}

/* The first byte nobody wrote, or offset + size. */
static uint64_t hole_find(const struct shadow_map *m, uint64_t offset, uint64_t size)
{
    const uint64_t end = offset + size;
    while (offset < end) {
        if (offset % 8 == 0 && end - offset >= 8 && m->written[offset / 8] == 0xff)
            offset += 8;
        else if (m->written[offset / 8] >> offset % 8 & 1)
            offset++;
        else
            break;
    }
    return offset;
}

bool shadow_is_written(const struct shadow_map *m, uint64_t offset, uint64_t size)
{
    return !range_cut(m, offset, &size) || hole_find(m, offset, size) == offset + size;
}

static bool is_atomic(enum shadow_use use)
{
    return use >= SHADOW_ATOMIC;
}

static bool is_read(enum shadow_use use)
{
    return use == SHADOW_READ || use == SHADOW_ATOMIC_READ;
}

static bool same_party(const struct shadow_actor *a, const struct shadow_actor *b)
{
    return a->block == b->block && a->warp == b->warp;
}

/* Is the access in `r` known to come before what `a` does now? */
static bool ordered(const struct shadow_map *m, const struct shadow_record *r,
                    const struct shadow_actor *a)
{
    const struct shadow_actor *o = &r->actor;
    if (o->block == a->block) {
        const uint32_t *clock = m->warp_atomic + (uint64_t)a->block * SHADOW_WARPS;
        return o->warp == a->warp || o->interval != a->interval ||
               (clock[o->warp] > r->clock && clock[a->warp] > r->clock);
    }
    return m->block_atomic[o->block] > r->clock && m->block_atomic[a->block] > r->clock;
}

static bool races(const struct shadow_map *m, const struct shadow_record *r,
                  const struct shadow_actor *a, enum shadow_use use, unsigned bytes)
{
    if (r->launch != m->launch || !(r->bytes & bytes))
        return false;
    if (is_atomic((enum shadow_use)r->use) && is_atomic(use))
        return false;
    if (r->shared && same_party(&r->actor, a)) /* then another one read it as well */
        return r->actor.interval == a->interval && m->block_atomic[a->block] <= r->clock;
    return !ordered(m, r, a);
}

static void record_set(struct shadow_map *m, struct shadow_record *r,
                       const struct shadow_actor *a, enum shadow_use use, unsigned bytes)
{
    const bool ours = r->launch == m->launch && same_party(&r->actor, a) &&
                      r->actor.interval == a->interval && r->use == use;
    *r = (struct shadow_record){.actor = *a,
                                .launch = m->launch,
                                .clock = m->clock,
                                .bytes = (uint8_t)(ours ? r->bytes | bytes : bytes),
                                .use = (uint8_t)use,
                                .shared = ours && r->shared};
}

/* Of several readers the first stays, so that one of another party is there to be found. */
static void read_set(struct shadow_map *m, struct shadow_record *r,
                     const struct shadow_actor *a, enum shadow_use use, unsigned bytes)
{
    const bool current = r->launch == m->launch && !ordered(m, r, a);
    if (!current || same_party(&r->actor, a)) {
        record_set(m, r, a, use, bytes);
        return;
    }
    r->bytes |= (uint8_t)bytes;
    r->shared = true;
}

static void race_found(struct shadow_finding *f, const struct shadow_record *r,
                       const struct shadow_actor *a, uint64_t word, unsigned bytes)
{
    if (f->kind != SIM_FAULT_NONE)
        return;
    *f = (struct shadow_finding){.kind = SIM_FAULT_RACE,
                                 .offset =
                                     word * WORD + (unsigned)__builtin_ctz(r->bytes & bytes),
                                 .other_use = (enum shadow_use)r->use,
                                 .other = r->actor};
    if (same_party(&r->actor, a))
        f->other.warp = UINT16_MAX;
}

static void word_access(struct shadow_map *m, const struct shadow_actor *a, enum shadow_use use,
                        uint64_t word, unsigned bytes, bool same, struct shadow_finding *f)
{
    struct shadow_record *write = &m->record[word * 2], *read = write + 1;
    const bool nothing_changes = same && use == SHADOW_WRITE;
    if (!nothing_changes && races(m, write, a, use, bytes))
        race_found(f, write, a, word, bytes);
    if (is_read(use)) {
        read_set(m, read, a, use, bytes);
        return;
    }
    if (!nothing_changes && races(m, read, a, use, bytes))
        race_found(f, read, a, word, bytes);
    if (!nothing_changes)
        record_set(m, write, a, use, bytes);
}

static void atomic_note(struct shadow_map *m, const struct shadow_actor *a)
{
    m->clock++;
    m->block_atomic[a->block] = m->clock;
    m->warp_atomic[(uint64_t)a->block * SHADOW_WARPS + a->warp] = m->clock;
}

bool shadow_access(struct shadow_map *m, const struct shadow_actor *a, enum shadow_use use,
                   uint64_t offset, uint32_t size, bool same,
                   struct shadow_finding *ret_finding)
{
    uint64_t rest = size;
    *ret_finding = (struct shadow_finding){.kind = SIM_FAULT_NONE};
    if (!range_cut(m, offset, &rest) || a->block >= m->blocks || a->warp >= SHADOW_WARPS)
        return false;
    const uint64_t hole =
        is_read(use) || use == SHADOW_ATOMIC ? hole_find(m, offset, rest) : offset + rest;
    if (hole < offset + rest)
        *ret_finding = (struct shadow_finding){.kind = SIM_FAULT_UNINITIALISED, .offset = hole};
    if (is_atomic(use))
        atomic_note(m, a);
    const uint64_t end = offset + rest;
    for (uint64_t word = offset / WORD; word * WORD < end; word++) {
        const unsigned first = word * WORD < offset ? (unsigned)(offset % WORD) : 0;
        const unsigned last = (word + 1) * WORD > end ? (unsigned)(end - word * WORD) : WORD;
        word_access(m, a, use, word, (1u << last) - (1u << first), same, ret_finding);
    }
    if (!is_read(use))
        shadow_write(m, offset, rest);
    return ret_finding->kind != SIM_FAULT_NONE;
}

void shadow_explain(const struct shadow_finding *f, const struct shadow_actor *a,
                    char *ret_text, size_t size)
{
    static const char *const uses[] = {"read", "wrote", "updated", "read", "wrote"};
    if (f->kind == SIM_FAULT_UNINITIALISED)
        snprintf(ret_text, size, "nothing was ever written there");
    else if (f->kind != SIM_FAULT_RACE)
        snprintf(ret_text, size, "no finding");
    else if (f->other.warp == UINT16_MAX)
        snprintf(ret_text, size, "another warp reads it, and nothing orders the two");
    else if (f->other.block != a->block)
        snprintf(ret_text, size,
                 "block %" PRIu32 ", warp %u %s it at pc 0x%" PRIx32
                 ", and nothing orders the two blocks",
                 f->other.block, f->other.warp, uses[f->other_use], f->other.pc);
    else
        snprintf(ret_text, size,
                 "warp %u of the same block %s it at pc 0x%" PRIx32 ", with no barrier between",
                 f->other.warp, uses[f->other_use], f->other.pc);
}
