/* SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "occupancy.h"
#include "runtime.h"

hip_error hipModuleLoadData(hip_module *module, const void *image)
{
    struct runtime *r = runtime_get();
    if (!r)
        return runtime_result(hipErrorNoDevice);
    if (!module || !image)
        return runtime_result(hipErrorInvalidValue);
    return runtime_result(runtime_module_load(r, image, 0, module));
}

hip_error hipModuleLoadDataEx(hip_module *module, const void *image, unsigned count,
                              int *options, void **values)
{
    (void)count, (void)options, (void)values;
    return hipModuleLoadData(module, image);
}

static void *file_read(const char *path, size_t *ret_size)
{
    FILE *f = fopen(path, "rb");
    void *bytes = NULL;
    long size = -1;
    if (f && fseek(f, 0, SEEK_END) == 0)
        size = ftell(f);
    if (size > 0 && fseek(f, 0, SEEK_SET) == 0)
        bytes = malloc((size_t)size);
    if (bytes && fread(bytes, 1, (size_t)size, f) != (size_t)size) {
        free(bytes);
        bytes = NULL;
    }
    if (f)
        fclose(f);
    *ret_size = bytes ? (size_t)size : 0;
    return bytes;
}

hip_error hipModuleLoad(hip_module *module, const char *path)
{
    struct runtime *r = runtime_get();
    if (!r)
        return runtime_result(hipErrorNoDevice);
    if (!module || !path)
        return runtime_result(hipErrorInvalidValue);
    size_t size;
    void *bytes = file_read(path, &size);
    if (!bytes)
        return runtime_result(hipErrorFileNotFound);
    int error = runtime_module_load(r, bytes, size, module);
    free(bytes);
    return runtime_result(error);
}

hip_error hipModuleUnload(hip_module module)
{
    struct runtime *r = runtime_get();
    if (!r)
        return runtime_result(hipErrorNoDevice);
    pthread_mutex_lock(&r->lock);
    struct ihipModule_t **link = &r->modules;
    while (*link && *link != module)
        link = &(*link)->next;
    const bool found = *link != NULL;
    if (found)
        *link = module->next;
    pthread_mutex_unlock(&r->lock);
    if (!found)
        return runtime_result(hipErrorInvalidHandle);
    codeobject_release(&module->object);
    for (struct ihipModuleSymbol_t *f = module->functions, *next; f; f = next) {
        next = f->next;
        free(f);
    }
    free(module);
    return hipSuccess;
}

hip_error hipModuleGetFunction(hip_function *function, hip_module module, const char *name)
{
    struct runtime *r = runtime_get();
    if (!r || !function || !module || !name)
        return runtime_result(r ? hipErrorInvalidValue : hipErrorNoDevice);
    hip_function f = runtime_function(r, module, name);
    if (!f)
        return runtime_result(hipErrorNotFound);
    *function = f;
    return hipSuccess;
}

hip_error hipModuleGetGlobal(void **address, size_t *size, hip_module module, const char *name)
{
    if (!module || !name)
        return runtime_result(hipErrorInvalidValue);
    const struct global *g = codeobject_global(&module->object, name);
    if (!g)
        return runtime_result(hipErrorNotFound);
    if (address)
        *address = (void *)(uintptr_t)g->address;
    if (size)
        *size = g->size;
    return hipSuccess;
}

/* The `extra` array: pairs of a tag and a value, up to the end tag. */
enum { EXTRA_BUFFER = 1, EXTRA_SIZE = 2, EXTRA_END = 3, EXTRA_PAIRS_MAX = 8 };

static bool extra_read(void **extra, const void **ret_bytes, size_t *ret_size)
{
    *ret_bytes = NULL;
    *ret_size = 0;
    for (int n = 0; n < EXTRA_PAIRS_MAX; n++) {
        const uintptr_t tag = (uintptr_t)extra[2 * n];
        if (tag == EXTRA_END)
            return *ret_bytes || !*ret_size;
        if (tag == EXTRA_BUFFER)
            *ret_bytes = extra[2 * n + 1];
        else if (tag == EXTRA_SIZE)
            *ret_size = *(const size_t *)extra[2 * n + 1];
        else
            return false;
    }
    return false;
}

static int launch(hip_function f, const uint32_t grid[3], const uint32_t block[3],
                  uint32_t shared, void **params, void **extra)
{
    struct runtime *r = runtime_get();
    const void *bytes;
    size_t size;
    if (!r)
        return hipErrorNoDevice;
    if (!f || (params && extra))
        return hipErrorInvalidValue;
    if (params)
        return runtime_launch_values(r, f, grid, block, shared, params);
    if (!extra)
        return runtime_launch(r, f, grid, block, shared, NULL, 0);
    if (!extra_read(extra, &bytes, &size))
        return hipErrorInvalidValue;
    return runtime_launch(r, f, grid, block, shared, bytes, size);
}

hip_error hipModuleLaunchKernel(hip_function function, unsigned grid_x, unsigned grid_y,
                                unsigned grid_z, unsigned block_x, unsigned block_y,
                                unsigned block_z, unsigned shared, hip_stream stream,
                                void **params, void **extra)
{
    const uint32_t grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
    (void)stream;
    return runtime_result(launch(function, grid, block, shared, params, extra));
}

/* Takes the grid in threads. A remainder would need partial blocks. */
hip_error hipExtModuleLaunchKernel(hip_function function, uint32_t threads_x,
                                   uint32_t threads_y, uint32_t threads_z, uint32_t block_x,
                                   uint32_t block_y, uint32_t block_z, size_t shared,
                                   hip_stream stream, void **params, void **extra,
                                   hip_event start, hip_event stop, uint32_t flags)
{
    const uint32_t block[3] = {block_x, block_y, block_z};
    const uint32_t threads[3] = {threads_x, threads_y, threads_z};
    uint32_t grid[3];
    (void)flags;
    for (int n = 0; n < 3; n++) {
        if (!block[n] || threads[n] % block[n])
            return runtime_result(hipErrorInvalidConfiguration);
        grid[n] = threads[n] / block[n];
    }
    if (start)
        hipEventRecord(start, stream);
    int error = launch(function, grid, block, (uint32_t)shared, params, extra);
    if (stop)
        hipEventRecord(stop, stream);
    return runtime_result(error);
}

hip_error
_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j(
    hip_function function, uint32_t threads_x, uint32_t threads_y, uint32_t threads_z,
    uint32_t block_x, uint32_t block_y, uint32_t block_z, size_t shared, hip_stream stream,
    void **params, void **extra, hip_event start, hip_event stop, uint32_t flags)
{
    return hipExtModuleLaunchKernel(function, threads_x, threads_y, threads_z, block_x, block_y,
                                    block_z, shared, stream, params, extra, start, stop, flags);
}

hip_error hipFuncGetAttribute(int *value, int attribute, hip_function function)
{
    if (!value || !function)
        return runtime_result(hipErrorInvalidValue);
    return runtime_result(occupancy_attribute(function->kernel, attribute, value));
}

hip_error hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, hip_function function,
                                                             int threads, size_t shared)
{
    if (!blocks || !function || threads <= 0)
        return runtime_result(hipErrorInvalidValue);
    *blocks = occupancy_blocks(function->kernel, (unsigned)threads, shared);
    return hipSuccess;
}

hip_error hipModuleOccupancyMaxPotentialBlockSize(int *grid, int *block, hip_function function,
                                                  size_t shared, int limit)
{
    if (!grid || !block || !function)
        return runtime_result(hipErrorInvalidValue);
    occupancy_best(function->kernel, shared, limit, grid, block);
    return hipSuccess;
}
