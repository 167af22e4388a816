/* SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include <stdlib.h>
#include <string.h>

/* Device memory. Everything happens at once: the asynchronous forms are the plain ones. */

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    CUresult r;
    struct gpu *g = gpu_use(&r);
    if (!g)
        return r;
    if (!free_bytes || !total)
        return gpu_leave(g, CUDA_ERROR_INVALID_VALUE);
    *total = g->memory.limit;
    *free_bytes = g->memory.limit - sim_memory_used(&g->memory);
    return gpu_leave(g, CUDA_SUCCESS);
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size)
{
    CUresult r;
    struct gpu *g = gpu_use(&r);
    if (!g)
        return r;
    if (!address || !size)
        return gpu_leave(g, CUDA_ERROR_INVALID_VALUE);
    uint64_t a = sim_memory_alloc(&g->memory, size);
    if (a) {
        *address = a;
        gpu_note_alloc(g, a, size);
    }
    return gpu_leave(g, a ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
                            unsigned element)
{
    (void)element;
    size_t row = (width + 511) / 512 * 512;
    if (!pitch || !width || !height || row > SIZE_MAX / height)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = cuMemAlloc_v2(address, row * height);
    if (!r)
        *pitch = row;
    return r;
}

CUresult cuMemAllocManaged(CUdeviceptr *address, size_t size, unsigned flags)
{
    (void)flags;
    return cuMemAlloc_v2(address, size);
}

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t size, CUstream stream)
{
    (void)stream;
    return cuMemAlloc_v2(address, size);
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
    CUresult r;
    struct gpu *g = gpu_use(&r);
    if (!g)
        return r;
    bool ok = !address || sim_memory_free(&g->memory, address);
    return gpu_leave(g, ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    (void)stream;
    return cuMemFree_v2(address);
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *start, size_t *size, CUdeviceptr address)
{
    CUresult r;
    struct gpu *g = gpu_use(&r);
    if (!g)
        return r;
    uint64_t s, n;
    bool ok = sim_memory_find(&g->memory, address, &s, &n);
    if (ok && start)
        *start = s;
    if (ok && size)
        *size = n;
    return gpu_leave(g, ok ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
}

/* --- host memory: device memory that the host can touch, since addresses are the same
 * --------- */

CUresult cuMemAllocHost_v2(void **pointer, size_t size)
{
    CUdeviceptr a;
    if (!pointer)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = cuMemAlloc_v2(&a, size);
    if (!r)
        *pointer = (void *)(uintptr_t)a;
    return r;
}

CUresult cuMemHostAlloc(void **pointer, size_t size, unsigned flags)
{
    (void)flags;
    return cuMemAllocHost_v2(pointer, size);
}

CUresult cuMemFreeHost(void *pointer)
{
    return cuMemFree_v2((CUdeviceptr)(uintptr_t)pointer);
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *pointer, unsigned flags)
{
    (void)flags;
    if (!address)
        return CUDA_ERROR_INVALID_VALUE;
    *address = (CUdeviceptr)(uintptr_t)pointer;
    return CUDA_SUCCESS;
}

/* CU_POINTER_ATTRIBUTE_CONTEXT 1, MEMORY_TYPE 2, DEVICE_POINTER 3, HOST_POINTER 4,
 * DEVICE_ORDINAL 9, RANGE_START_ADDR 11, RANGE_SIZE 12 */
CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr address)
{
    CUresult r;
    struct gpu *g = gpu_use(&r);
    if (!g)
        return r;
    uint64_t start, size;
    bool known = sim_memory_find(&g->memory, address, &start, &size);
    r = !value || !known ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    if (!r && attribute == 1)
        *(CUcontext *)value = gpu_context();
    else if (!r && attribute == 2)
        *(unsigned *)value = 2;
    else if (!r && (attribute == 3 || attribute == 4))
        *(CUdeviceptr *)value = address;
    else if (!r && attribute == 9)
        *(int *)value = 0;
    else if (!r && attribute == 11)
        *(CUdeviceptr *)value = start;
    else if (!r && attribute == 12)
        *(size_t *)value = size;
    else if (!r)
        r = CUDA_ERROR_NOT_SUPPORTED;
    return gpu_leave(g, r);
}

/* --- copies ----------------------------------------------------------------------------------
 */

/* Which of the two sides are device addresses. */
enum side { TO_DEVICE = 1, FROM_DEVICE = 2 };

static CUresult copy(uint64_t to, uint64_t from, size_t size, int sides)
{
    CUresult r;
    struct gpu *g = gpu_use(&r);
    if (!g)
        return r;
    if (!size)
        return gpu_leave(g, CUDA_SUCCESS);
    if (!to || !from || (sides & TO_DEVICE && !sim_memory_ok_slow(&g->memory, to, size)) ||
        (sides & FROM_DEVICE && !sim_memory_ok_slow(&g->memory, from, size)))
        return gpu_leave(g, CUDA_ERROR_INVALID_VALUE);
    memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, size);
    gpu_note_write(g, to, size);
    return gpu_leave(g, CUDA_SUCCESS);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size)
{
    return copy(to, (uint64_t)(uintptr_t)from, size, TO_DEVICE);
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size)
{
    return copy((uint64_t)(uintptr_t)to, from, size, FROM_DEVICE);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t size)
{
    return copy(to, from, size, TO_DEVICE | FROM_DEVICE);
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size)
{
    return copy(to, from, size, 0);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, CUstream stream)
{
    (void)stream;
    return cuMemcpyHtoD_v2(to, from, size);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream stream)
{
    (void)stream;
    return cuMemcpyDtoH_v2(to, from, size);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
    (void)stream;
    return cuMemcpyDtoD_v2(to, from, size);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
    (void)stream;
    return cuMemcpy(to, from, size);
}

static CUresult fill(CUdeviceptr to, uint32_t value, size_t unit, size_t count)
{
    CUresult r;
    struct gpu *g = gpu_use(&r);
    if (!g)
        return r;
    if (!count)
        return gpu_leave(g, CUDA_SUCCESS);
    if (to % unit || count > SIZE_MAX / unit ||
        !sim_memory_ok_slow(&g->memory, to, count * unit))
        return gpu_leave(g, CUDA_ERROR_INVALID_VALUE);
    uint8_t *at = (uint8_t *)(uintptr_t)to;
    for (size_t k = 0; k < count; k++)
        memcpy(at + k * unit, &value, unit);
    gpu_note_write(g, to, count * unit);
    return gpu_leave(g, CUDA_SUCCESS);
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count)
{
    return fill(to, value, 1, count);
}

CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count)
{
    return fill(to, value, 2, count);
}

CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count)
{
    return fill(to, value, 4, count);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
    (void)stream;
    return fill(to, value, 1, count);
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream)
{
    (void)stream;
    return fill(to, value, 2, count);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream)
{
    (void)stream;
    return fill(to, value, 4, count);
}
