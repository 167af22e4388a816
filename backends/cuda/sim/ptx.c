/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx.h"

#include <stdlib.h>
#include <string.h>

const struct ptx_type_info ptx_types[TYPE_COUNT_] = {
#define TYPE(name, bits, kind) [TYPE_##name] = {#name, bits, TYPE_KIND_##kind},
#include "type.def"
#undef TYPE
};

const int ptx_special_bits[SPECIAL_COUNT_] = {
#define SPECIAL(id, name, component, bits) bits,
#include "special.def"
#undef SPECIAL
};

static uint64_t name_hash(int scope, struct slice name)
{
    uint64_t h = 0x9e3779b97f4a7c15u ^ (uint64_t)scope * 0xff51afd7ed558ccdu;
    for (uint32_t i = 0; i < name.size; i++)
        h = (h ^ (unsigned char)name.text[i]) * 0x100000001b3u;
    return h ^ h >> 29;
}

static struct ptx_symbol *scope_find(const struct ptx_module *m, int scope, struct slice name)
{
    if (!m->hash_size)
        return NULL;
    struct ptx_symbol *s = m->hash[name_hash(scope, name) & (m->hash_size - 1)];
    while (s && !(s->scope == scope && slice_equal(s->name, name)))
        s = s->next_hash;
    return s;
}

/* %r12 of a declaration %r<100> is found by its prefix. */
static struct ptx_symbol *range_find(const struct ptx_module *m, int scope, struct slice name)
{
    uint32_t n = name.size;
    while (n && name.text[n - 1] >= '0' && name.text[n - 1] <= '9')
        n--;
    if (n == name.size || name.size - n > 9)
        return NULL;
    struct ptx_symbol *s = scope_find(m, scope, (struct slice){name.text, n});
    return s && s->range ? s : NULL;
}

struct ptx_symbol *ptx_find(const struct ptx_module *m, int scope, struct slice name)
{
    for (;; scope = m->scope_parent[scope]) {
        struct ptx_symbol *s = scope_find(m, scope, name);
        if (s && !s->range)
            return s;
        s = range_find(m, scope, name);
        if (s || !scope)
            return s;
    }
}

static bool hash_grow(struct ptx_module *m)
{
    size_t size = m->hash_size ? m->hash_size * 4 : 1024;
    struct ptx_symbol **table = arena_alloc(&m->arena, size * sizeof(void *));
    if (!table)
        return false;
    for (size_t i = 0; i < m->hash_size; i++)
        for (struct ptx_symbol *s = m->hash[i], *next; s; s = next) {
            next = s->next_hash;
            struct ptx_symbol **slot = &table[name_hash(s->scope, s->name) & (size - 1)];
            s->next_hash = *slot;
            *slot = s;
        }
    m->hash = table;
    m->hash_size = size;
    return true;
}

struct ptx_symbol *ptx_add(struct ptx_module *m, int scope, struct slice name,
                           enum ptx_symbol_kind kind)
{
    if (m->n_symbol >= m->hash_size && !hash_grow(m))
        return NULL;
    struct ptx_symbol *s = arena_alloc(&m->arena, sizeof *s);
    if (!s)
        return NULL;
    s->kind = kind;
    s->name = name;
    s->scope = scope;
    s->vector = 1;
    struct ptx_symbol **slot = &m->hash[name_hash(scope, name) & (m->hash_size - 1)];
    s->next_hash = *slot;
    *slot = s;
    m->n_symbol++;
    return s;
}

void ptx_release(struct ptx_module *m)
{
    arena_release(&m->arena);
    free(m->text);
    memset(m, 0, sizeof *m);
}
