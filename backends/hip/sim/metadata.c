/* SPDX-License-Identifier: Apache-2.0 */
#include "metadata.h"

#include <msgpack.h>
#include <stdio.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { KERNARG_MAX = 65536, NEST_MAX = 64 };

static const char *const hidden_names[] = {
#define HIDDEN(name, value) #name,
#include "hidden.def"
#undef HIDDEN
};

static int refuse(char *why, size_t size, const char *text)
{
    snprintf(why, size, "metadata of the code object: %s", text);
    return 1;
}

static const msgpack_object *map_get(const msgpack_object *o, const char *key)
{
    if (!o || o->type != MSGPACK_OBJECT_MAP)
        return NULL;
    for (uint32_t n = 0; n < o->via.map.size; n++) {
        const msgpack_object *k = &o->via.map.ptr[n].key;
        if (k->type == MSGPACK_OBJECT_STR && k->via.str.size == strlen(key) &&
            memcmp(k->via.str.ptr, key, k->via.str.size) == 0)
            return &o->via.map.ptr[n].val;
    }
    return NULL;
}

static uint32_t map_number(const msgpack_object *o, const char *key)
{
    const msgpack_object *v = map_get(o, key);
    if (!v || v->type != MSGPACK_OBJECT_POSITIVE_INTEGER || v->via.u64 > UINT32_MAX)
        return 0;
    return (uint32_t)v->via.u64;
}

/* Owned; NULL if it is no text. */
static char *map_text(const msgpack_object *o, const char *key)
{
    const msgpack_object *v = map_get(o, key);
    if (!v || v->type != MSGPACK_OBJECT_STR || memchr(v->via.str.ptr, 0, v->via.str.size))
        return NULL;
    return strndup(v->via.str.ptr, v->via.str.size);
}

static enum arg_kind kind_read(const msgpack_object *arg)
{
    const msgpack_object *v = map_get(arg, ".value_kind");
    if (!v || v->type != MSGPACK_OBJECT_STR)
        return ARG_UNKNOWN;
    if (v->via.str.size < 7 || memcmp(v->via.str.ptr, "hidden_", 7) != 0)
        return ARG_EXPLICIT;
    for (size_t n = 0; n < sizeof hidden_names / sizeof *hidden_names; n++)
        if (strlen(hidden_names[n]) == v->via.str.size &&
            memcmp(hidden_names[n], v->via.str.ptr, v->via.str.size) == 0)
            return (enum arg_kind)(ARG_EXPLICIT + 1 + n);
    return ARG_UNKNOWN;
}

static int args_read(const msgpack_object *o, struct kernel_metadata *k, char *why, size_t size)
{
    const msgpack_object *args = map_get(o, ".args");
    if (!args)
        return 0;
    if (args->type != MSGPACK_OBJECT_ARRAY || args->via.array.size > KERNARG_MAX)
        return refuse(why, size, ".args is no list");
    k->arg = calloc(args->via.array.size + 1, sizeof *k->arg);
    if (!k->arg)
        return refuse(why, size, "out of memory");
    for (uint32_t n = 0; n < args->via.array.size; n++) {
        const msgpack_object *a = &args->via.array.ptr[n];
        struct kernel_arg *r = &k->arg[k->n_arg++];
        *r =
            (struct kernel_arg){map_number(a, ".offset"), map_number(a, ".size"), kind_read(a)};
        if (r->offset > k->kernarg_size || r->size > k->kernarg_size - r->offset)
            return refuse(why, size, "an argument lies outside the argument segment");
    }
    return 0;
}

static int kernel_read(const msgpack_object *o, struct kernel_metadata *k, char *why,
                       size_t size)
{
    const msgpack_object *dynamic = map_get(o, ".uses_dynamic_stack");
    k->name = map_text(o, ".name");
    k->symbol = map_text(o, ".symbol");
    k->kernarg_size = map_number(o, ".kernarg_segment_size");
    k->lds = map_number(o, ".group_segment_fixed_size");
    k->scratch = map_number(o, ".private_segment_fixed_size");
    k->wavefront = map_number(o, ".wavefront_size");
    k->max_threads = map_number(o, ".max_flat_workgroup_size");
    k->dynamic_stack =
        dynamic && dynamic->type == MSGPACK_OBJECT_BOOLEAN && dynamic->via.boolean;
    if (!k->name || !k->symbol)
        return refuse(why, size, "a kernel has no name");
    if (k->kernarg_size > KERNARG_MAX)
        return refuse(why, size, "an argument segment is larger than 64 KiB");
    return args_read(o, k, why, size);
}

static int kernels_read(const msgpack_object *root, struct metadata *ret, char *why,
                        size_t size)
{
    const msgpack_object *list = map_get(root, "amdhsa.kernels");
    if (!list)
        return 0;
    if (list->type != MSGPACK_OBJECT_ARRAY)
        return refuse(why, size, "amdhsa.kernels is no list");
    ret->kernel = calloc(list->via.array.size + 1u, sizeof *ret->kernel);
    if (!ret->kernel)
        return refuse(why, size, "out of memory");
    for (uint32_t n = 0; n < list->via.array.size; n++) {
        ret->n_kernel++;
        if (kernel_read(&list->via.array.ptr[n], &ret->kernel[n], why, size))
            return 1;
    }
    return 0;
}

/* --- before anything is allocated: no list may claim more items than there are bytes
 * ----------- */

struct item {
    uint64_t inside; /* further items it contains */
    uint64_t skip;   /* bytes behind the tag and the length */
};

static uint64_t big_endian(const uint8_t *p, unsigned size)
{
    uint64_t v = 0;
    for (unsigned n = 0; n < size; n++)
        v = v << 8 | p[n];
    return v;
}

/* Tags 0xc0 to 0xdf: bytes of the length field, what it counts, or the size of a plain value.
 */
static const struct {
    uint8_t length, extra, plain;
    enum { COUNTS_BYTES, COUNTS_ITEMS, COUNTS_PAIRS } counts;
} tags[32] = {[0x04] = {.length = 1},
              [0x05] = {.length = 2},
              [0x06] = {.length = 4},
              [0x07] = {.length = 1, .extra = 1},
              [0x08] = {.length = 2, .extra = 1},
              [0x09] = {.length = 4, .extra = 1},
              [0x0a] = {.plain = 4},
              [0x0b] = {.plain = 8},
              [0x0c] = {.plain = 1},
              [0x0d] = {.plain = 2},
              [0x0e] = {.plain = 4},
              [0x0f] = {.plain = 8},
              [0x10] = {.plain = 1},
              [0x11] = {.plain = 2},
              [0x12] = {.plain = 4},
              [0x13] = {.plain = 8},
              [0x14] = {.plain = 2},
              [0x15] = {.plain = 3},
              [0x16] = {.plain = 5},
              [0x17] = {.plain = 9},
              [0x18] = {.plain = 17},
              [0x19] = {.length = 1},
              [0x1a] = {.length = 2},
              [0x1b] = {.length = 4},
              [0x1c] = {.length = 2, .counts = COUNTS_ITEMS},
              [0x1d] = {.length = 4, .counts = COUNTS_ITEMS},
              [0x1e] = {.length = 2, .counts = COUNTS_PAIRS},
              [0x1f] = {.length = 4, .counts = COUNTS_PAIRS}};

/* The item at `p`; bytes of tag and length in *ret_head. */
static bool item_read(const uint8_t *p, uint64_t left, struct item *ret, uint64_t *ret_head)
{
    const uint8_t tag = p[0];
    *ret = (struct item){0};
    *ret_head = 1;
    if (tag < 0x80 || tag >= 0xe0)
        return true;
    if (tag < 0xc0) {
        ret->inside = tag < 0x90 ? (tag & 15u) * 2 : tag < 0xa0 ? tag & 15u : 0;
        ret->skip = tag < 0xa0 ? 0 : tag & 31u;
        return true;
    }
    const unsigned n = tag & 31, length = tags[n].length;
    if (left < 1 + (uint64_t)length)
        return false;
    const uint64_t count = big_endian(p + 1, length);
    *ret_head = 1 + length;
    ret->skip = tags[n].plain + tags[n].extra + (tags[n].counts == COUNTS_BYTES ? count : 0);
    ret->inside = tags[n].counts == COUNTS_ITEMS   ? count
                  : tags[n].counts == COUNTS_PAIRS ? 2 * count
                                                   : 0;
    return true;
}

static bool counts_are_sane(const uint8_t *p, uint64_t left)
{
    for (uint64_t waiting = 1; waiting; waiting--) {
        struct item i;
        uint64_t head;
        if (!left || !item_read(p, left, &i, &head) || i.skip > left - head)
            return false;
        p += head + i.skip;
        left -= head + i.skip;
        waiting += i.inside;
        if (waiting - 1 > left)
            return false;
    }
    return true;
}

int metadata_read(const void *bytes, size_t size, struct metadata *ret, char *why,
                  size_t why_size)
{
    *ret = (struct metadata){0};
    msgpack_unpacked m;
    msgpack_unpacked_init(&m);
    size_t at = 0;
    int r;
    if (!counts_are_sane(bytes, size))
        r = refuse(why, why_size, "a list is longer than the note that holds it");
    else if (msgpack_unpack_next(&m, bytes, size, &at) != MSGPACK_UNPACK_SUCCESS)
        r = refuse(why, why_size, "not readable as msgpack");
    else
        r = kernels_read(&m.data, ret, why, why_size);
    msgpack_unpacked_destroy(&m);
    if (r)
        metadata_release(ret);
    return r;
}

bool metadata_append(struct metadata *to, struct metadata *from)
{
    const size_t count = (size_t)to->n_kernel + (size_t)from->n_kernel;
    if (!from->n_kernel)
        return true;
    struct kernel_metadata *more = count <= INT_MAX ? realloc(to->kernel, count * sizeof *more) : NULL;
    if (!more)
        return false;
    memcpy(more + to->n_kernel, from->kernel, (size_t)from->n_kernel * sizeof *more);
    to->kernel = more;
    to->n_kernel = (int)count;
    free(from->kernel);
    *from = (struct metadata){0};
    return true;
}

void metadata_release(struct metadata *m)
{
    for (int n = 0; n < m->n_kernel; n++) {
        free(m->kernel[n].name);
        free(m->kernel[n].symbol);
        free(m->kernel[n].arg);
    }
    free(m->kernel);
    *m = (struct metadata){0};
}
