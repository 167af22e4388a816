/* SPDX-License-Identifier: Apache-2.0 */
#include "watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "codemap.h"
#include "taint.h"

struct watch *watch_open(const struct sim_memory *memory, int *ret_error)
{
    const char *wanted = getenv("GPUPARITY_SIM_CHECK");
    *ret_error = 0;
    if (!wanted || !*wanted || strcmp(wanted, "0") == 0)
        return NULL;
    struct watch *c = calloc(1, sizeof *c);
    *ret_error = c ? shadow_init(&c->global, memory->capacity) : ENOMEM;
    if (*ret_error) {
        free(c);
        return NULL;
    }
    c->memory = memory;
    return c;
}

void watch_close(struct watch *c)
{
    if (c)
        shadow_release(&c->global);
    free(c);
}

static uint64_t offset_of(const struct watch *c, uint64_t address)
{
    return address - (uint64_t)(uintptr_t)c->memory->base;
}

void watch_fresh(struct watch *c, uint64_t address, uint64_t size)
{
    if (c && offset_of(c, address) < c->global.size)
        shadow_unwrite(&c->global, offset_of(c, address), size);
}

void watch_wrote(struct watch *c, uint64_t address, uint64_t size)
{
    if (c && offset_of(c, address) < c->global.size)
        shadow_write(&c->global, offset_of(c, address), size);
}

bool watch_written(const struct watch *c, const void *p, uint64_t size)
{
    return shadow_is_written(&c->global, offset_of(c, (uintptr_t)p), size);
}

int watch_launch(struct watch *c, uint64_t blocks)
{
    return c ? shadow_begin(&c->global, blocks) : 0;
}

static size_t wave_size(size_t private_size)
{
    return (sizeof(struct taint) + private_size + 63) / 64 * 64;
}

struct taint *watch_taint(const struct watch_block *b, unsigned n, size_t private_size,
                          uint8_t **ret_scratch)
{
    struct taint *t = (void *)(b->waves + n * wave_size(private_size));
    *ret_scratch = (uint8_t *)(t + 1);
    return t;
}

/* Zeroed, at a price that does not depend on the size. */
static int zeroed(uint8_t **memory, size_t *size, size_t wanted)
{
    if (*size >= wanted)
        return madvise(*memory, *size, MADV_DONTNEED) ? errno : 0;
    if (*memory)
        munmap(*memory, *size);
    *size = 0;
    *memory = mmap(NULL, wanted, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (*memory == MAP_FAILED) {
        *memory = NULL;
        return ENOMEM;
    }
    *size = wanted;
    return 0;
}

int watch_block_begin(struct watch_block *b, struct watch *c, uint64_t number,
                      uint32_t lds_size, unsigned waves, size_t private_size)
{
    b->watch = c;
    b->number = (uint32_t)number;
    b->interval = 0;
    int error = zeroed(&b->waves, &b->waves_size, waves * wave_size(private_size));
    if (error || !lds_size)
        return error;
    if (!b->known && !(b->known = malloc(LDS_WATCHED)))
        return ENOMEM;
    memset(b->known, 0, LDS_WATCHED);
    error = b->shared.size ? 0 : shadow_init(&b->shared, LDS_WATCHED);
    if (error)
        return error;
    shadow_unwrite(&b->shared, 0, lds_size);
    return shadow_begin(&b->shared, 1);
}

void watch_block_release(struct watch_block *b)
{
    shadow_release(&b->shared);
    free(b->known);
    if (b->waves)
        munmap(b->waves, b->waves_size);
    *b = (struct watch_block){0};
}

/* Does the instruction follow a wait for all stores? Compilers place one before a release
 * store, which is a plain store otherwise. */
static bool follows_release(const struct wave *w, const struct inst *i)
{
    enum { DELAY = 0xbf87, WAIT = 0xbf89 };
    static const uint32_t wait_for_stores = 0xbc7c0000;
    const struct codemap *m = w->block->code;
    size_t pc = w->pc - i->advance;
    while (pc > 0 && (m->word[pc - 1] >> 16 == DELAY || m->word[pc - 1] >> 16 == WAIT))
        pc--;
    return pc > 0 && m->word[pc - 1] == wait_for_stores;
}

/* Loads that bypass the caches are what atomic ones compile to. */
static enum shadow_use use_of(const struct wave *w, const struct access *a)
{
    const struct inst *i = a->inst;
    if (i->code->form == FORM_ATOMIC)
        return SHADOW_ATOMIC;
    if (i->glc || (a->writes && follows_release(w, i)))
        return a->writes ? SHADOW_ATOMIC_WRITE : SHADOW_ATOMIC_READ;
    return a->writes ? SHADOW_WRITE : SHADOW_READ;
}

/* Does the lane store what is there already? */
static bool same_bytes(const struct wave *w, const struct access *a, const uint8_t *p, int lane)
{
    if (!a->writes || a->inst->code->form == FORM_ATOMIC || a->data >= WAVE_VGPRS)
        return false;
    uint32_t value[4] = {0};
    for (unsigned n = 0; n < 4 && a->data + n < WAVE_VGPRS; n++)
        value[n] = w->v[a->data + n][lane];
    if (a->size < 4 && a->inst->code->form == FORM_STORE && a->inst->code->detail)
        value[0] >>= 16;
    return memcmp(p, value, a->size) == 0;
}

/* A plain load beside an atomic operation of someone else, where loops of compare-and-swap
 * start that way. */
static bool starts_a_loop(const struct watch_block *b, enum shadow_use use,
                          const struct shadow_finding *f)
{
    return b->swaps && ((use == SHADOW_READ && f->other_use == SHADOW_ATOMIC) ||
                        (use == SHADOW_ATOMIC && f->other_use == SHADOW_READ));
}

/* A relaxed atomic store cannot be told from a plain one: beside an atomic load it is taken for
 * one. */
static bool may_be_atomic(enum shadow_use use, const struct shadow_finding *f)
{
    return (use == SHADOW_ATOMIC_READ && f->other_use == SHADOW_WRITE) ||
           (use == SHADOW_WRITE && f->other_use == SHADOW_ATOMIC_READ);
}

static int finding_report(struct wave *w, const struct access *a, int lane, const uint8_t *p,
                          const char *where, const struct shadow_finding *f,
                          const struct shadow_actor *actor)
{
    char who[160], text[300];
    shadow_explain(f, actor, who, sizeof who);
    snprintf(text, sizeof text, "%s %u bytes of %s at %p: %s", a->what, a->size, where,
             (const void *)p, who);
    return wave_fault(w, a->inst, f->kind, lane, (uintptr_t)p, text);
}

int watch_access(struct wave *w, const struct access *a, uint8_t *const pointer[WAVE_LANES])
{
    struct watch_block *b = w->block->watch;
    struct shadow_actor actor = {.block = b->number,
                                 .warp = (uint16_t)w->number,
                                 .interval = b->interval,
                                 .pc = 4 * (w->pc - a->inst->advance)};
    const enum shadow_use use = use_of(w, a);
    const int found = taint_access(w, a, pointer);
    if (found)
        return found;
    for (uint32_t rest = a->mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        const uint8_t *p = pointer[lane];
        const bool shared = p >= w->block->lds && p < w->block->lds + w->block->lds_size;
        const uint64_t offset =
            shared ? (uint64_t)(p - w->block->lds) : offset_of(b->watch, (uintptr_t)p);
        struct shadow_map *m = shared ? &b->shared : &b->watch->global;
        struct shadow_finding f;
        actor.block = shared ? 0 : b->number;
        if (offset < m->size &&
            shadow_access(m, &actor, use, offset, a->size, same_bytes(w, a, p, lane), &f) &&
            f.kind == SIM_FAULT_RACE && !starts_a_loop(b, use, &f) && !may_be_atomic(use, &f))
            return finding_report(w, a, lane, p, shared ? "shared memory" : "global memory", &f,
                                  &actor);
    }
    return WAVE_GOES_ON;
}
