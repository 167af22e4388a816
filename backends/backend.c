/* SPDX-License-Identifier: Apache-2.0 */
#include "backend.h"

#include <stdlib.h>
#include <string.h>

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
    return NULL;
}

void code_release(struct code *c)
{
    free(c->bytes);
    free(c->log);
    free(c->options);
    memset(c, 0, sizeof *c);
}
