/* SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fatbin.h"

/* Modules, their functions and launches. */

enum { JIT_INFO_LOG = 3, JIT_INFO_SIZE = 4, JIT_ERROR_LOG = 5, JIT_ERROR_SIZE = 6 };

static void **option_find(unsigned count, const int *option, void **value, int wanted)
{
    for (unsigned k = 0; k < count; k++)
        if (option[k] == wanted)
            return &value[k];
    return NULL;
}

/* Sizes travel as unsigned numbers in the place of a pointer. */
static void log_write(unsigned count, const int *option, void **value, int log, int log_size,
                      const char *text)
{
    void **buffer = option_find(count, option, value, log);
    void **size = option_find(count, option, value, log_size);
    if (!buffer || !*buffer || !size)
        return;
    unsigned room = (unsigned)(uintptr_t)*size;
    int n = room ? snprintf(*buffer, room, "%s", text) : 0;
    *size = (void *)(uintptr_t)(unsigned)n;
}

static CUresult text_load(struct gpu *g, const void *image, struct sim_module **ret_module,
                          struct ptx_error *e)
{
    struct fatbin_text t;
    enum fatbin_status s = fatbin_text_find(image, &t, e);
    if (s != FATBIN_OK)
        return s == FATBIN_NO_PTX ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_ERROR_INVALID_IMAGE;
    CUresult r = module_load(g, t.text, t.size, ret_module, e);
    fatbin_text_release(&t);
    return r;
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, int *option,
                            void **value)
{
    CUresult r;
    struct gpu *g = gpu_use(&r);
    if (!g)
        return r;
    if (!module || !image || (count && (!option || !value)))
        return gpu_leave(g, CUDA_ERROR_INVALID_VALUE);
    struct ptx_error e = {0};
    struct sim_module *m = NULL;
    r = text_load(g, image, &m, &e);
    log_write(count, option, value, JIT_ERROR_LOG, JIT_ERROR_SIZE, e.text);
    log_write(count, option, value, JIT_INFO_LOG, JIT_INFO_SIZE, "");
    if (r)
        snprintf(g->fault.text, sizeof g->fault.text, "module not loaded: %.350s", e.text);
    else
        *module = m;
    return gpu_leave(g, r);
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
    return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult cuModuleLoad(CUmodule *module, const char *path)
{
    FILE *f = path ? fopen(path, "rb") : NULL;
    if (!f)
        return CUDA_ERROR_FILE_NOT_FOUND;
    long size = fseek(f, 0, SEEK_END) ? -1 : ftell(f);
    char *text = size >= 0 && !fseek(f, 0, SEEK_SET) ? calloc(1, (size_t)size + 16) : NULL;
    bool ok = text && fread(text, 1, (size_t)size, f) == (size_t)size;
    fclose(f);
    CUresult r = ok ? cuModuleLoadData(module, text) : CUDA_ERROR_INVALID_IMAGE;
    free(text);
    return r;
}

CUresult cuModuleUnload(CUmodule module)
{
    CUresult r;
    struct gpu *g = gpu_use(&r);
    if (!g)
        return r;
    bool known = module_known(g, module);
    if (known)
        module_unload(g, module);
    return gpu_leave(g, known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    CUresult r;
    struct gpu *g = gpu_use(&r);
    if (!g)
        return r;
    if (!function || !name || !module_known(g, module))
        return gpu_leave(g, function && name ? CUDA_ERROR_INVALID_HANDLE
                                             : CUDA_ERROR_INVALID_VALUE);
    struct sim_function *f = module_function(module, name);
    if (f)
        *function = f;
    return gpu_leave(g, f ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *size, CUmodule module,
                              const char *name)
{
    CUresult r;
    struct gpu *g = gpu_use(&r);
    if (!g)
        return r;
    uint64_t a, n;
    r = name && module_known(g, module) ? module_global(module, name, &a, &n)
                                        : CUDA_ERROR_INVALID_VALUE;
    if (!r && address)
        *address = a;
    if (!r && size)
        *size = n;
    return gpu_leave(g, r);
}

CUresult cuModuleGetLoadingMode(int *mode)
{
    if (!mode)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = 1; /* eager */
    return CUDA_SUCCESS;
}

/* --- functions -------------------------------------------------------------------------------
 */

enum {
    FUNC_MAX_THREADS,
    FUNC_SHARED,
    FUNC_CONST,
    FUNC_LOCAL,
    FUNC_REGISTERS,
    FUNC_PTX,
    FUNC_BINARY,
    FUNC_CACHE_MODE,
    FUNC_MAX_DYNAMIC,
    FUNC_CARVEOUT
};

static int attribute_get(const struct sim_function *f, int attribute)
{
    const struct image *im = &f->image;
    const uint32_t *limit = im->entry->max_threads;
    int most = limit[0] ? (int)(limit[0] * limit[1] * limit[2]) : 1024;
    switch (attribute) {
    case FUNC_MAX_THREADS:
        return most < 1024 ? most : 1024;
    case FUNC_SHARED:
        return (int)im->shared_size;
    case FUNC_LOCAL:
        return (int)im->local_size;
    case FUNC_REGISTERS:
        return 32;
    case FUNC_PTX:
        return im->module->target;
    case FUNC_BINARY:
        return 86;
    case FUNC_MAX_DYNAMIC:
        return f->max_dynamic;
    case FUNC_CARVEOUT:
        return f->preferred;
    default:
        return 0;
    }
}

CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function)
{
    CUresult r;
    struct gpu *g = gpu_use(&r);
    if (!g)
        return r;
    if (!value || attribute < 0 || !function_known(g, function))
        return gpu_leave(g, value ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
    *value = attribute_get(function, attribute);
    return gpu_leave(g, CUDA_SUCCESS);
}

CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value)
{
    CUresult r;
    struct gpu *g = gpu_use(&r);
    if (!g)
        return r;
    if (!function_known(g, function))
        return gpu_leave(g, CUDA_ERROR_INVALID_HANDLE);
    if (attribute == FUNC_CARVEOUT) {
        function->preferred = value;
        return gpu_leave(g, CUDA_SUCCESS);
    }
    bool ok = attribute == FUNC_MAX_DYNAMIC && value >= 0 &&
              value + (int)function->image.shared_size <= 101376;
    if (ok)
        function->max_dynamic = value;
    return gpu_leave(g, ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuFuncSetCacheConfig(CUfunction function, int config)
{
    (void)config;
    return function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncGetName(const char **name, CUfunction function)
{
    if (!name || !function)
        return CUDA_ERROR_INVALID_VALUE;
    *name = function->image.name;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetModule(CUmodule *module, CUfunction function)
{
    if (!module || !function)
        return CUDA_ERROR_INVALID_VALUE;
    *module = function->module;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size)
{
    if (!function || !offset)
        return CUDA_ERROR_INVALID_VALUE;
    const struct ptx_symbol *s = function->image.entry->param;
    while (s && index--)
        s = s->next;
    if (!s)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = s->address;
    if (size)
        *size = s->size;
    return CUDA_SUCCESS;
}

/* --- launches --------------------------------------------------------------------------------
 */

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        CUstream stream, void **param, void **extra)
{
    CUresult r;
    struct gpu *g = gpu_use(&r);
    (void)stream;
    if (!g)
        return r;
    if (!function_known(g, function))
        return gpu_leave(g, CUDA_ERROR_INVALID_HANDLE);
    struct launch_request q = {
        function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, param, extra};
    return gpu_leave(g, launch_run(g, &q));
}
