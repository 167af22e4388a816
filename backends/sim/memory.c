/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { GRANULE = 256, PAGE = 4096, BASE_ALIGN = 1 << 21 };
enum { POISON_NEW = 0xcd, POISON_FREED = 0xdd };
static const uint64_t POISON_MAX = 64u << 20; /* beyond it fresh pages, which are zero */
static const uint64_t RETURN_MIN = 1u << 20; /* freed ranges from here on go back to the host */
static const uint64_t NEAR = 1u << 20; /* how far off an address still "belongs" to a range */

struct range {
    uint64_t start, size; /* start relative to base; size as asked for */
    bool live;
};

/* Ranges are kept in the order of their addresses. */
struct sim_memory_private {
    pthread_mutex_t lock;
    struct range *range; /* owned */
    size_t count, room;
    uint64_t used; /* live bytes, whole granules */
    uint64_t top;  /* nothing at or beyond it was ever handed out */
};

static uint64_t granules(uint64_t size)
{
    return (size + GRANULE - 1) / GRANULE;
}

/* What a range occupies with the dead bytes after it. */
static uint64_t footprint(uint64_t size)
{
    return (granules(size) + 1) * GRANULE;
}

static void *reserve(uint64_t size, int protection)
{
    void *p = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

int sim_memory_init(struct sim_memory *m, uint64_t limit)
{
    *m = (struct sim_memory){0};
    if (limit == 0 || limit > UINT64_C(1) << 44)
        return EINVAL;
    m->limit = limit;
    m->capacity = (limit * 2 + BASE_ALIGN * 2 - 1) / BASE_ALIGN * BASE_ALIGN;
    m->base = reserve(m->capacity, PROT_NONE);
    m->live = reserve(m->capacity / GRANULE * sizeof *m->live, PROT_READ | PROT_WRITE);
    m->private = calloc(1, sizeof *m->private);
    if (!m->base || !m->live || !m->private) {
        sim_memory_release(m);
        return ENOMEM;
    }
    /* the first page stays dead: base is never an allocation */
    m->private->top = PAGE;
    pthread_mutex_init(&m->private->lock, NULL);
    return 0;
}

void sim_memory_release(struct sim_memory *m)
{
    if (m->base)
        munmap(m->base, m->capacity);
    if (m->live)
        munmap(m->live, m->capacity / GRANULE * sizeof *m->live);
    if (m->private) {
        if (m->private->top)
            pthread_mutex_destroy(&m->private->lock);
        free(m->private->range);
        free(m->private);
    }
    *m = (struct sim_memory){0};
}

static void live_mark(struct sim_memory *m, const struct range *r)
{
    uint64_t first = r->start / GRANULE;
    for (uint64_t left = r->size; left > 0; first++) {
        uint16_t n = left < GRANULE ? (uint16_t)left : GRANULE;
        __atomic_store_n(&m->live[first], r->live ? n : 0, __ATOMIC_RELAXED);
        left -= n;
    }
}

/* Index of the first range that starts beyond `offset`. */
static size_t range_after(const struct sim_memory_private *p, uint64_t offset)
{
    size_t low = 0, high = p->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->range[middle].start <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct range *range_at(const struct sim_memory_private *p, uint64_t offset)
{
    size_t i = range_after(p, offset);
    if (i == 0 || offset - p->range[i - 1].start >= p->range[i - 1].size)
        return NULL;
    return &p->range[i - 1];
}

static bool range_insert(struct sim_memory_private *p, const struct range *r)
{
    if (p->count == p->room) {
        size_t room = p->room ? p->room * 2 : 64;
        struct range *grown = realloc(p->range, room * sizeof *grown);
        if (!grown)
            return false;
        p->range = grown;
        p->room = room;
    }
    size_t at = range_after(p, r->start);
    memmove(&p->range[at + 1], &p->range[at], (p->count - at) * sizeof *p->range);
    p->range[at] = *r;
    p->count++;
    return true;
}

/* The first hole between live ranges with room for `need`; freed ranges in it are forgotten. */
static bool hole_find(struct sim_memory *m, uint64_t need, uint64_t *ret_start)
{
    struct sim_memory_private *p = m->private;
    uint64_t start = PAGE;
    size_t first = 0;
    for (size_t i = 0; i <= p->count; i++) {
        if (i < p->count && !p->range[i].live)
            continue;
        uint64_t end = i < p->count ? p->range[i].start : m->capacity;
        if (end - start >= need) {
            while (i > first && p->range[i - 1].start >= start + need)
                i--;
            memmove(&p->range[first], &p->range[i], (p->count - i) * sizeof *p->range);
            p->count -= i - first;
            *ret_start = start;
            return true;
        }
        if (i < p->count) {
            start = p->range[i].start + footprint(p->range[i].size);
            first = i + 1;
        }
    }
    return false;
}

/* Whole pages around [start, start+size). */
static bool pages_open(struct sim_memory *m, uint64_t start, uint64_t size)
{
    uint64_t first = start / PAGE * PAGE, end = (start + size + PAGE - 1) / PAGE * PAGE;
    return mprotect(m->base + first, end - first, PROT_READ | PROT_WRITE) == 0;
}

/* Pages no other range touches. Failing to give them back is no harm. */
static void pages_close(struct sim_memory *m, uint64_t start, uint64_t size)
{
    uint64_t first = (start + PAGE - 1) / PAGE * PAGE, end = (start + size) / PAGE * PAGE;
    if (end <= first)
        return;
    madvise(m->base + first, end - first, MADV_DONTNEED);
    mprotect(m->base + first, end - first, PROT_NONE);
}

/* Where the next range of `need` bytes goes; 0 if nowhere. */
static uint64_t place_find(struct sim_memory *m, uint64_t need)
{
    struct sim_memory_private *p = m->private;
    uint64_t start = p->top;
    if (need <= m->capacity - p->top) {
        p->top += need;
        return start;
    }
    if (!hole_find(m, need, &start))
        return 0;
    pages_close(m, start, need - GRANULE); /* so that old contents are gone */
    return start;
}

static uint64_t alloc_locked(struct sim_memory *m, uint64_t size)
{
    struct sim_memory_private *p = m->private;
    const uint64_t bytes = granules(size) * GRANULE;
    if (bytes > m->limit - p->used)
        return 0;
    struct range r = {.start = place_find(m, footprint(size)), .size = size, .live = true};
    if (r.start == 0 || !pages_open(m, r.start, bytes) || !range_insert(p, &r))
        return 0;
    memset(m->base + r.start, POISON_NEW, size < POISON_MAX ? size : POISON_MAX);
    live_mark(m, &r);
    p->used += bytes;
    return (uint64_t)(uintptr_t)m->base + r.start;
}

uint64_t sim_memory_alloc(struct sim_memory *m, uint64_t size)
{
    if (size == 0 || size > m->limit)
        return 0;
    pthread_mutex_lock(&m->private->lock);
    uint64_t address = alloc_locked(m, size);
    pthread_mutex_unlock(&m->private->lock);
    return address;
}

static bool free_locked(struct sim_memory *m, uint64_t offset)
{
    struct range *r = range_at(m->private, offset);
    if (!r || !r->live || r->start != offset)
        return false;
    r->live = false;
    live_mark(m, r);
    m->private->used -= granules(r->size) * GRANULE;
    if (r->size < RETURN_MIN) {
        memset(m->base + offset, POISON_FREED, r->size);
        return true;
    }
    memset(m->base + offset, POISON_FREED, PAGE);
    memset(m->base + offset + r->size - PAGE, POISON_FREED, PAGE);
    pages_close(m, offset, r->size);
    return true;
}

bool sim_memory_free(struct sim_memory *m, uint64_t address)
{
    uint64_t offset = address - (uint64_t)(uintptr_t)m->base;
    pthread_mutex_lock(&m->private->lock);
    bool done = free_locked(m, offset);
    pthread_mutex_unlock(&m->private->lock);
    return done;
}

bool sim_memory_find(struct sim_memory *m, uint64_t address, uint64_t *ret_start,
                     uint64_t *ret_size)
{
    uint64_t base = (uint64_t)(uintptr_t)m->base;
    pthread_mutex_lock(&m->private->lock);
    const struct range *r = range_at(m->private, address - base);
    bool found = r && r->live;
    if (found) {
        *ret_start = base + r->start;
        *ret_size = r->size;
    }
    pthread_mutex_unlock(&m->private->lock);
    return found;
}

uint64_t sim_memory_used(struct sim_memory *m)
{
    pthread_mutex_lock(&m->private->lock);
    uint64_t used = m->private->used;
    pthread_mutex_unlock(&m->private->lock);
    return used;
}

bool sim_memory_ok_slow(const struct sim_memory *m, uint64_t address, uint64_t size)
{
    uint64_t offset = address - (uint64_t)(uintptr_t)m->base;
    if (offset >= m->capacity || size > m->capacity - offset)
        return false;
    uint64_t first = offset / GRANULE, end = offset % GRANULE + size;
    for (; end > GRANULE; first++, end -= GRANULE)
        if (__atomic_load_n(&m->live[first], __ATOMIC_RELAXED) != GRANULE)
            return false;
    return end <= __atomic_load_n(&m->live[first], __ATOMIC_RELAXED);
}

static void range_print(const struct sim_memory *m, const struct range *r, char *text,
                        size_t size)
{
    snprintf(text, size, "the %s%" PRIu64 "-byte allocation at 0x%" PRIxPTR,
             r->live ? "" : "freed ", r->size, (uintptr_t)m->base + (uintptr_t)r->start);
}

/* The range whose end or start is nearest to an offset that lies in none. */
static const struct range *range_near(const struct sim_memory_private *p, uint64_t offset,
                                      uint64_t *ret_distance, bool *ret_after)
{
    const size_t next = range_after(p, offset);
    const struct range *before = next > 0 ? &p->range[next - 1] : NULL;
    const struct range *after = next < p->count ? &p->range[next] : NULL;
    uint64_t over = before ? offset - before->start - before->size : UINT64_MAX;
    uint64_t under = after ? after->start - offset : UINT64_MAX;
    *ret_after = over <= under;
    *ret_distance = *ret_after ? over : under;
    return *ret_distance <= NEAR ? (*ret_after ? before : after) : NULL;
}

static enum sim_fault_kind explain_locked(struct sim_memory *m, uint64_t offset, uint64_t size,
                                          char *text, size_t text_size)
{
    char name[96];
    const struct range *r = range_at(m->private, offset);
    if (r) {
        uint64_t in = offset - r->start;
        range_print(m, r, name, sizeof name);
        if (!r->live) {
            snprintf(text, text_size, "%" PRIu64 " bytes into %s", in, name);
            return SIM_FAULT_FREED;
        }
        if (size <= r->size - in) {
            snprintf(text, text_size, "inside %s", name);
            return SIM_FAULT_NONE;
        }
        snprintf(text, text_size, "%" PRIu64 " bytes over the end of %s", size - (r->size - in),
                 name);
        return SIM_FAULT_ADDRESS;
    }
    uint64_t distance;
    bool after;
    r = offset < m->capacity ? range_near(m->private, offset, &distance, &after) : NULL;
    if (!r) {
        snprintf(text, text_size, "not near any allocation");
        return SIM_FAULT_ADDRESS;
    }
    range_print(m, r, name, sizeof name);
    snprintf(text, text_size, "%" PRIu64 " bytes %s %s", distance, after ? "after" : "before",
             name);
    return SIM_FAULT_ADDRESS;
}

enum sim_fault_kind sim_memory_explain(struct sim_memory *m, uint64_t address, uint64_t size,
                                       char *ret_text, size_t text_size)
{
    if (address < PAGE) {
        snprintf(ret_text, text_size, "a null pointer plus %" PRIu64, address);
        return SIM_FAULT_ADDRESS;
    }
    pthread_mutex_lock(&m->private->lock);
    enum sim_fault_kind kind =
        explain_locked(m, address - (uint64_t)(uintptr_t)m->base, size, ret_text, text_size);
    pthread_mutex_unlock(&m->private->lock);
    return kind;
}
