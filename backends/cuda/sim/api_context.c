/* SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include <stdlib.h>

/* Contexts. There is one card and one address space: a context is little more than a handle. */

static bool context_known(const struct gpu *g, const struct sim_context *c)
{
    if (c == &g->primary)
        return g->primary.references > 0;
    const struct sim_context *k = g->context;
    while (k && k != c)
        k = k->next;
    return k != NULL;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    CUresult r;
    struct gpu *g = gpu_enter(&r);
    if (!r && (!context || device))
        r = context ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        g->primary.primary = true;
        g->primary.references++;
        *context = &g->primary;
    }
    return gpu_leave(g, r);
}

/* Kernels' faults belong to a context: the last one that goes takes them along. */
static void context_gone(struct gpu *g)
{
    if (!g->context && g->primary.references <= 0)
        g->sticky = CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    CUresult r;
    struct gpu *g = gpu_enter(&r);
    if (!r && (device || g->primary.references <= 0))
        r = device ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_CONTEXT;
    if (!r) {
        g->primary.references--;
        context_gone(g);
    }
    return gpu_leave(g, r);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    return cuDevicePrimaryCtxRelease_v2(device);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    CUresult r;
    struct gpu *g = gpu_enter(&r);
    if (!r && device)
        r = CUDA_ERROR_INVALID_DEVICE;
    if (!r)
        g->sticky = CUDA_SUCCESS;
    return gpu_leave(g, r);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags)
{
    CUresult r;
    struct gpu *g = gpu_enter(&r);
    g->primary.flags = flags;
    return gpu_leave(g, r ? r : device ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    CUresult r;
    struct gpu *g = gpu_enter(&r);
    if (!r && (device || !flags || !active))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        *flags = g->primary.flags;
        *active = g->primary.references > 0;
    }
    return gpu_leave(g, r);
}

CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device)
{
    CUresult r;
    struct gpu *g = gpu_enter(&r);
    if (!r && (!context || device))
        r = CUDA_ERROR_INVALID_VALUE;
    struct sim_context *c = r ? NULL : calloc(1, sizeof *c);
    if (!r && !c)
        r = CUDA_ERROR_OUT_OF_MEMORY;
    if (!r) {
        c->flags = flags;
        c->next = g->context;
        g->context = c;
        gpu_context_set(c);
        *context = c;
    }
    return gpu_leave(g, r);
}

CUresult cuCtxCreate_v4(CUcontext *context, void *params, unsigned flags, CUdevice device)
{
    return params ? CUDA_ERROR_NOT_SUPPORTED : cuCtxCreate_v2(context, flags, device);
}

CUresult cuCtxDestroy_v2(CUcontext context)
{
    CUresult r;
    struct gpu *g = gpu_enter(&r);
    struct sim_context **at = &g->context;
    while (*at && *at != context)
        at = &(*at)->next;
    if (!r && !*at)
        r = CUDA_ERROR_INVALID_CONTEXT;
    if (!r) {
        *at = context->next;
        if (gpu_context() == context)
            gpu_context_set(NULL);
        free(context);
        context_gone(g);
    }
    return gpu_leave(g, r);
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    CUresult r;
    struct gpu *g = gpu_enter(&r);
    if (!r && context && !context_known(g, context))
        r = CUDA_ERROR_INVALID_CONTEXT;
    if (!r)
        gpu_context_set(context);
    return gpu_leave(g, r);
}

/* The stack holds one context: enough for push, work, pop. */
CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    return cuCtxSetCurrent(context);
}

CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    CUresult r;
    struct gpu *g = gpu_enter(&r);
    if (!r && !gpu_context())
        r = CUDA_ERROR_INVALID_CONTEXT;
    if (!r) {
        if (context)
            *context = gpu_context();
        gpu_context_set(NULL);
    }
    return gpu_leave(g, r);
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
    CUresult r;
    struct gpu *g = gpu_enter(&r);
    if (!r && !context)
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r)
        *context = gpu_context();
    return gpu_leave(g, r);
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    CUresult r;
    struct gpu *g = gpu_enter(&r);
    if (!r)
        r = !device         ? CUDA_ERROR_INVALID_VALUE
            : gpu_context() ? CUDA_SUCCESS
                            : CUDA_ERROR_INVALID_CONTEXT;
    if (!r)
        *device = 0;
    return gpu_leave(g, r);
}

CUresult cuCtxGetApiVersion(CUcontext context, unsigned *version)
{
    (void)context;
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = 3020;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned *flags)
{
    if (!flags || !gpu_context())
        return flags ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
    *flags = gpu_context()->flags;
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
    CUresult r;
    struct gpu *g = gpu_use(&r);
    return g ? gpu_leave(g, CUDA_SUCCESS) : r;
}

/* CU_LIMIT_STACK_SIZE, _PRINTF_FIFO_SIZE, _MALLOC_HEAP_SIZE: remembered. */
static int *limit_of(struct gpu *g, int limit)
{
    return limit == 0   ? &g->stack_limit
           : limit == 1 ? &g->printf_limit
           : limit == 2 ? &g->heap_limit
                        : NULL;
}

CUresult cuCtxSetLimit(int limit, size_t value)
{
    CUresult r;
    struct gpu *g = gpu_use(&r);
    if (!g)
        return r;
    int *at = limit_of(g, limit);
    if (at && value <= INT32_MAX)
        *at = (int)value;
    return gpu_leave(g, at ? CUDA_SUCCESS : CUDA_ERROR_UNSUPPORTED_LIMIT);
}

CUresult cuCtxGetLimit(size_t *value, int limit)
{
    CUresult r;
    struct gpu *g = gpu_use(&r);
    if (!g)
        return r;
    const int *at = limit_of(g, limit);
    if (at && value)
        *value = (size_t)*at;
    return gpu_leave(g, !value ? CUDA_ERROR_INVALID_VALUE
                        : at   ? CUDA_SUCCESS
                               : CUDA_ERROR_UNSUPPORTED_LIMIT);
}
