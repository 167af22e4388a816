/* SPDX-License-Identifier: Apache-2.0 */
#include "arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

struct arena_chunk {
    struct arena_chunk *next;
    alignas(16) unsigned char bytes[];
};

static const size_t arena_limit = (size_t)2 << 30;

static int chunk_add(struct arena *a, size_t size)
{
    size_t room = size > (1 << 16) ? size : 1 << 16;
    struct arena_chunk *c = a->total + room <= arena_limit ? calloc(1, sizeof *c + room) : NULL;
    if (!c) {
        a->failed = 1;
        return 0;
    }

    c->next = a->chunk;
    a->chunk = c;
    a->used = 0;
    a->size = room;
    a->total += room;
    return 1;
}

void *arena_alloc(struct arena *a, size_t size)
{
    if (size > arena_limit || a->failed) {
        a->failed = 1;
        return NULL;
    }
    size = (size + 15) & ~(size_t)15;
    if ((!a->chunk || a->used + size > a->size) && !chunk_add(a, size))
        return NULL;

    void *p = a->chunk->bytes + a->used;
    a->used += size;
    return p;
}

void *arena_grow(struct arena *a, void *old, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return old;
    size_t room = *capacity ? *capacity * 2 : 8;
    void *p = arena_alloc(a, room * size);
    if (!p)
        return NULL;
    if (count)
        memcpy(p, old, count * size);
    *capacity = room;
    return p;
}

void arena_release(struct arena *a)
{
    while (a->chunk) {
        struct arena_chunk *next = a->chunk->next;
        free(a->chunk);
        a->chunk = next;
    }
    memset(a, 0, sizeof *a);
}
