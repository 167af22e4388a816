/* SPDX-License-Identifier: Apache-2.0 */
#include "backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"

#define BACKEND(name) extern const struct backend backend_##name;
#include "backends.def"
#undef BACKEND

const struct backend *const backends[] = {
#define BACKEND(name) &backend_##name,
#include "backends.def"
#undef BACKEND
    NULL,
};

const struct backend *backend_find(const char *name)
{
    for (int i = 0; backends[i]; i++)
        if (!strcmp(backends[i]->name, name))
            return backends[i];
    return strcmp(name, backend_host.name) ? NULL : &backend_host;
}

void code_release(struct code *c)
{
    free(c->bytes);
    free(c->log);
    free(c->options);
    memset(c, 0, sizeof *c);
}

void kernel_list_release(struct kernel_list *l)
{
    free(l->kernel);
    memset(l, 0, sizeof *l);
}

struct kernel_layout *kernel_list_add(struct kernel_list *l, const char *name, size_t size)
{
    if (!(l->count & (l->count - 1))) { /* grows at powers of two */
        size_t room = l->count ? 2 * (size_t)l->count : 1;
        struct kernel_layout *more = realloc(l->kernel, room * sizeof *more);
        if (!more)
            return NULL;
        l->kernel = more;
    }
    struct kernel_layout *k = &l->kernel[l->count++];
    memset(k, 0, sizeof *k);
    snprintf(k->name, sizeof k->name, "%.*s", (int)(size < sizeof k->name ? size : 255), name);
    return k;
}
