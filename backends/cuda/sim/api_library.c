/* SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include <string.h>

/* Libraries and kernels (CUDA 12): here the same things as modules and functions. Occupancy and
 * the extended launch. */

CUresult cuLibraryLoadData(CUmodule *library, const void *code, int *jit_option,
                           void **jit_value, unsigned jit_count, int *option, void **value,
                           unsigned count)
{
    (void)option, (void)value, (void)count;
    return cuModuleLoadDataEx(library, code, jit_count, jit_option, jit_value);
}

CUresult cuLibraryLoadFromFile(CUmodule *library, const char *path, int *jit_option,
                               void **jit_value, unsigned jit_count, int *option, void **value,
                               unsigned count)
{
    (void)jit_option, (void)jit_value, (void)jit_count, (void)option, (void)value, (void)count;
    return cuModuleLoad(library, path);
}

CUresult cuLibraryUnload(CUmodule library)
{
    return cuModuleUnload(library);
}

CUresult cuLibraryGetKernel(CUfunction *kernel, CUmodule library, const char *name)
{
    return cuModuleGetFunction(kernel, library, name);
}

CUresult cuLibraryGetModule(CUmodule *module, CUmodule library)
{
    if (!module || !library)
        return CUDA_ERROR_INVALID_VALUE;
    *module = library;
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetGlobal(CUdeviceptr *address, size_t *size, CUmodule library,
                            const char *name)
{
    return cuModuleGetGlobal_v2(address, size, library, name);
}

CUresult cuLibraryGetManaged(CUdeviceptr *address, size_t *size, CUmodule library,
                             const char *name)
{
    return cuModuleGetGlobal_v2(address, size, library, name);
}

static unsigned functions_count(const struct sim_module *m)
{
    unsigned n = 0;
    for (const struct sim_function *f = m->function; f; f = f->next)
        n++;
    return n;
}

CUresult cuModuleGetFunctionCount(unsigned *count, CUmodule module)
{
    CUresult r;
    struct gpu *g = gpu_use(&r);
    if (!g)
        return r;
    r = count && module_known(g, module) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (!r)
        *count = functions_count(module);
    return gpu_leave(g, r);
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned count, CUmodule module)
{
    CUresult r;
    struct gpu *g = gpu_use(&r);
    if (!g)
        return r;
    r = functions && module_known(g, module) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    struct sim_function *f = r ? NULL : module->function;
    for (unsigned k = 0; k < count && f; k++, f = f->next)
        functions[k] = f;
    return gpu_leave(g, r);
}

CUresult cuLibraryGetKernelCount(unsigned *count, CUmodule library)
{
    return cuModuleGetFunctionCount(count, library);
}

CUresult cuLibraryEnumerateKernels(CUfunction *kernels, unsigned count, CUmodule library)
{
    return cuModuleEnumerateFunctions(kernels, count, library);
}

CUresult cuKernelGetFunction(CUfunction *function, CUfunction kernel)
{
    if (!function || !kernel)
        return CUDA_ERROR_INVALID_VALUE;
    *function = kernel;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetAttribute(int *value, int attribute, CUfunction kernel, CUdevice device)
{
    (void)device;
    return cuFuncGetAttribute(value, attribute, kernel);
}

CUresult cuKernelSetAttribute(int attribute, int value, CUfunction kernel, CUdevice device)
{
    (void)device;
    return cuFuncSetAttribute(kernel, attribute, value);
}

CUresult cuKernelGetName(const char **name, CUfunction kernel)
{
    return cuFuncGetName(name, kernel);
}

CUresult cuKernelGetParamInfo(CUfunction kernel, size_t index, size_t *offset, size_t *size)
{
    return cuFuncGetParamInfo(kernel, index, offset, size);
}

/* --- extended launch -------------------------------------------------------------------------
 */

enum { ATTRIBUTE_COOPERATIVE = 2, ATTRIBUTE_CLUSTER = 4 };

CUresult cuLaunchKernelEx(const struct launch_config *config, CUfunction function, void **param,
                          void **extra)
{
    if (!config)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned k = 0; k < config->n_attribute; k++) {
        const struct launch_attribute *a = &config->attribute[k];
        bool cooperative = a->id == ATTRIBUTE_COOPERATIVE && a->value[0];
        bool cluster = a->id == ATTRIBUTE_CLUSTER &&
                       (a->value[0] > 1 || a->value[1] > 1 || a->value[2] > 1);
        if (cooperative || cluster)
            return CUDA_ERROR_NOT_SUPPORTED;
    }
    const unsigned *g = config->grid, *b = config->block;
    return cuLaunchKernel(function, g[0], g[1], g[2], b[0], b[1], b[2], config->shared,
                          config->stream, param, extra);
}

/* Blocks that wait for each other across the grid would need all of them resident. */
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared, CUstream stream,
                                   void **param)
{
    if ((uint64_t)grid_x * grid_y * grid_z > 1)
        return CUDA_ERROR_NOT_SUPPORTED;
    return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared,
                          stream, param, NULL);
}

/* --- occupancy: threads, blocks and shared memory; registers do not limit a simulation
 * -------- */

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function,
                                                              int threads, size_t shared,
                                                              unsigned flags)
{
    CUresult r;
    struct gpu *g = gpu_use(&r);
    (void)flags;
    if (!g)
        return r;
    if (!blocks || !function_known(g, function) || threads < 1)
        return gpu_leave(g, CUDA_ERROR_INVALID_VALUE);
    int warps = (threads + 31) / 32, n = threads > 1024 ? 0 : 48 / warps;
    size_t need = function->image.shared_size + shared + 1024;
    if (n > 16)
        n = 16;
    if (need && (size_t)n > 102400 / need)
        n = (int)(102400 / need);
    *blocks = n;
    return gpu_leave(g, CUDA_SUCCESS);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function,
                                                     int threads, size_t shared)
{
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads,
                                                                shared, 0);
}

CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function,
                                          size_t (*shared_for)(int), size_t shared, int limit)
{
    int best = 0, threads = 0;
    if (!grid || !block)
        return CUDA_ERROR_INVALID_VALUE;
    int top = limit > 0 && limit < 1024 ? limit : 1024;
    for (int t = top; t >= 32; t -= 32) {
        int n;
        CUresult r = cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &n, function, t, shared_for ? shared_for(t) : shared);
        if (r)
            return r;
        if (n * t > best) {
            best = n * t;
            threads = t;
            *grid = n * 82;
        }
    }
    *block = threads;
    return threads ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
