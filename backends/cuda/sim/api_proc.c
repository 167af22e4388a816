/* SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include <string.h>

/* Looking functions up by name: what cudart and other programs do instead of linking. */

/* The names are those of the API without a version; each gives its newest version here. */
static const struct {
    const char *name;
    void (*function)(void);
} functions[] = {
#define FUNCTION(name, symbol, arguments) {#name, (void (*)(void))symbol},
#include "function.def"
#undef FUNCTION
};

static void (*function_find(const char *name))(void)
{
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
        if (!strcmp(functions[k].name, name))
            return functions[k].function;
    return NULL;
}

CUresult cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                             int *status)
{
    (void)flags;
    if (!name || !function)
        return CUDA_ERROR_INVALID_VALUE;
    /* The one function whose arguments changed with CUDA 13. */
    if (version >= 13000 && !strcmp(name, "cuCtxCreate"))
        name = "cuCtxCreate_v4";
    void (*f)(void) = function_find(name);
    memcpy(function, &f, sizeof f);
    if (status)
        *status = f ? 0 : 1; /* CU_GET_PROC_ADDRESS_SUCCESS, _SYMBOL_NOT_FOUND */
    return f ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char *name, void **function, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
