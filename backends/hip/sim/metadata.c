/* SPDX-License-Identifier: Apache-2.0 */
#include "metadata.h"

#include <msgpack.h>
#include <stdio.h>
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

int metadata_read(const void *bytes, size_t size, struct metadata *ret, char *why,
                  size_t why_size)
{
    *ret = (struct metadata){0};
    msgpack_unpacked m;
    msgpack_unpacked_init(&m);
    size_t at = 0;
    int r;
    if (msgpack_unpack_next(&m, bytes, size, &at) != MSGPACK_UNPACK_SUCCESS)
        r = refuse(why, why_size, "not readable as msgpack");
    else
        r = kernels_read(&m.data, ret, why, why_size);
    msgpack_unpacked_destroy(&m);
    if (r)
        metadata_release(ret);
    return r;
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
