/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "exec.h"

/* Loading: parse, give the module's variables memory, lower every kernel. */

static uint64_t symbol_value(const struct ptx_symbol *s)
{
    return s->kind == SYMBOL_FUNCTION ? WINDOW_CODE + 16 * (uint64_t)s->function->index
                                      : s->address;
}

static void variable_fill(struct gpu *g, const struct ptx_symbol *s)
{
    uint8_t *at = (uint8_t *)(uintptr_t)s->address;
    memset(at, 0, s->size);
    gpu_note_write(g, s->address, s->size);
    if (s->bytes)
        memcpy(at, s->bytes, s->size);
    for (const struct ptx_fixup *f = s->fixup; f; f = f->next) {
        uint64_t v = symbol_value(f->symbol) + f->addend;
        memcpy(at + f->offset, &v, (size_t)f->size);
    }
}

static bool in_memory(const struct ptx_symbol *s)
{
    return s->space == SPACE_GLOBAL || s->space == SPACE_CONST;
}

static bool variables_place(struct gpu *g, struct ptx_symbol *list, struct ptx_error *e)
{
    for (struct ptx_symbol *s = list; s; s = s->next) {
        if (!in_memory(s))
            continue;
        if (s->external && !s->size)
            return ptx_error_set(e, s->line, s->column,
                                 "'%.*s' is external and nothing defines it", (int)s->name.size,
                                 s->name.text);
        s->address = sim_memory_alloc(&g->memory, s->size ? s->size : 1);
        if (!s->address)
            return ptx_error_set(e, s->line, s->column, "no memory for '%.*s' (%llu bytes)",
                                 (int)s->name.size, s->name.text, (unsigned long long)s->size);
    }
    return true;
}

static bool memory_place(struct gpu *g, struct ptx_module *m, struct ptx_error *e)
{
    if (!variables_place(g, m->variable, e))
        return false;
    for (struct ptx_function *f = m->function; f; f = f->next)
        if (!variables_place(g, f->variable, e))
            return false;
    for (const struct ptx_symbol *s = m->variable; s; s = s->next)
        if (in_memory(s))
            variable_fill(g, s);
    for (const struct ptx_function *f = m->function; f; f = f->next)
        for (const struct ptx_symbol *s = f->variable; s; s = s->next)
            if (in_memory(s))
                variable_fill(g, s);
    return true;
}

static void memory_free(struct gpu *g, const struct ptx_symbol *list)
{
    for (const struct ptx_symbol *s = list; s; s = s->next)
        if (in_memory(s) && s->address)
            sim_memory_free(&g->memory, s->address);
}

static bool fuse_wanted(void)
{
    const char *text = getenv("GPUPARITY_SIM_FUSE");
    return !text || strcmp(text, "0");
}

static bool kernels_lower(struct sim_module *m, struct ptx_error *e)
{
    struct lower_options o = {.fuse = fuse_wanted()};
    for (const struct ptx_function *f = m->ptx.function; f; f = f->next) {
        if (!f->entry || !f->defined)
            continue;
        struct sim_function *k = calloc(1, sizeof *k);
        if (!k)
            return ptx_error_set(e, 0, 0, "not enough memory");
        k->next = m->function;
        m->function = k;
        k->module = m;
        k->max_dynamic = 48 << 10;
        if (!image_init(&k->image, &m->ptx, f, &o, e))
            return false;
    }
    return true;
}

static void module_release(struct gpu *g, struct sim_module *m)
{
    while (m->function) {
        struct sim_function *next = m->function->next;
        image_release(&m->function->image);
        free(m->function);
        m->function = next;
    }
    memory_free(g, m->ptx.variable);
    for (const struct ptx_function *f = m->ptx.function; f; f = f->next)
        memory_free(g, f->variable);
    ptx_release(&m->ptx);
    free(m);
}

CUresult module_load(struct gpu *g, const char *text, size_t size,
                     struct sim_module **ret_module, struct ptx_error *ret_error)
{
    struct sim_module *m = calloc(1, sizeof *m);
    if (!m)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!ptx_parse(text, size, &m->ptx, ret_error)) {
        free(m);
        return CUDA_ERROR_INVALID_PTX;
    }
    if (!memory_place(g, &m->ptx, ret_error) || !kernels_lower(m, ret_error)) {
        module_release(g, m);
        return CUDA_ERROR_INVALID_PTX;
    }
    m->next = g->module;
    g->module = m;
    *ret_module = m;
    return CUDA_SUCCESS;
}

void module_unload(struct gpu *g, struct sim_module *m)
{
    struct sim_module **at = &g->module;
    while (*at && *at != m)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = m->next;
    module_release(g, m);
}

bool module_known(const struct gpu *g, const struct sim_module *m)
{
    const struct sim_module *k = g->module;
    while (k && k != m)
        k = k->next;
    return k != NULL;
}

bool function_known(const struct gpu *g, const struct sim_function *f)
{
    for (const struct sim_module *m = g->module; m; m = m->next)
        for (const struct sim_function *k = m->function; k; k = k->next)
            if (k == f)
                return true;
    return false;
}

struct sim_function *module_function(struct sim_module *m, const char *name)
{
    struct sim_function *f = m->function;
    while (f && !slice_is(f->image.entry->name, name))
        f = f->next;
    return f;
}

CUresult module_global(struct sim_module *m, const char *name, uint64_t *ret_address,
                       uint64_t *ret_size)
{
    for (const struct ptx_symbol *s = m->ptx.variable; s; s = s->next)
        if (in_memory(s) && slice_is(s->name, name)) {
            *ret_address = s->address;
            *ret_size = s->size;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}
