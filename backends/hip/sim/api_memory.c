/* SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include <string.h>

#include "runtime.h"

static int allocate(void **address, size_t size)
{
    struct runtime *r = runtime_get();
    if (!r)
        return hipErrorNoDevice;
    if (!address)
        return hipErrorInvalidValue;
    *address = NULL;
    if (!size)
        return hipSuccess;
    *address = (void *)(uintptr_t)sim_memory_alloc(&r->memory, size);
    watch_fresh(r->watch, (uintptr_t)*address, size);
    return *address ? hipSuccess : hipErrorOutOfMemory;
}

static int release(void *address)
{
    struct runtime *r = runtime_get();
    if (!r)
        return hipErrorNoDevice;
    if (!address || sim_memory_free(&r->memory, (uintptr_t)address))
        return hipSuccess;
    return hipErrorInvalidValue;
}

hip_error hipMalloc(void **address, size_t size)
{
    return runtime_result(allocate(address, size));
}

hip_error hipExtMallocWithFlags(void **address, size_t size, unsigned flags)
{
    (void)flags;
    return runtime_result(allocate(address, size));
}

hip_error hipMallocManaged(void **address, size_t size, unsigned flags)
{
    (void)flags;
    return runtime_result(allocate(address, size));
}

hip_error hipMallocAsync(void **address, size_t size, hip_stream stream)
{
    (void)stream;
    return runtime_result(allocate(address, size));
}

hip_error hipMallocPitch(void **address, size_t *pitch, size_t width, size_t height)
{
    if (!pitch || width > SIZE_MAX - 255)
        return runtime_result(hipErrorInvalidValue);
    *pitch = (width + 255) / 256 * 256;
    size_t size;
    if (__builtin_mul_overflow(*pitch, height, &size))
        return runtime_result(hipErrorOutOfMemory);
    return runtime_result(allocate(address, size));
}

/* Host memory comes from the card's range too, so kernels can reach it. */
hip_error hipHostMalloc(void **address, size_t size, unsigned flags)
{
    (void)flags;
    return runtime_result(allocate(address, size));
}

hip_error hipHostAlloc(void **address, size_t size, unsigned flags)
{
    (void)flags;
    return runtime_result(allocate(address, size));
}

hip_error hipMallocHost(void **address, size_t size)
{
    return runtime_result(allocate(address, size));
}

hip_error hipFree(void *address)
{
    return runtime_result(release(address));
}

hip_error hipFreeAsync(void *address, hip_stream stream)
{
    (void)stream;
    return runtime_result(release(address));
}

hip_error hipHostFree(void *address)
{
    return runtime_result(release(address));
}

hip_error hipFreeHost(void *address)
{
    return runtime_result(release(address));
}

hip_error hipHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    struct runtime *r = runtime_get();
    uint64_t start, size;
    (void)flags;
    if (!r || !device || !sim_memory_find(&r->memory, (uintptr_t)host, &start, &size))
        return runtime_result(hipErrorInvalidValue);
    *device = host;
    return hipSuccess;
}

/* Other memory of the process is out of the card's reach. */
hip_error hipHostRegister(void *address, size_t size, unsigned flags)
{
    (void)address, (void)size, (void)flags;
    return runtime_result(hipErrorNotSupported);
}

hip_error hipHostUnregister(void *address)
{
    (void)address;
    return runtime_result(hipErrorHostMemoryNotRegistered);
}

hip_error hipMemGetInfo(size_t *available, size_t *total)
{
    struct runtime *r = runtime_get();
    if (!r)
        return runtime_result(hipErrorNoDevice);
    if (available)
        *available = r->memory.limit - sim_memory_used(&r->memory);
    if (total)
        *total = r->memory.limit;
    return hipSuccess;
}

hip_error hipMemGetAddressRange(void **base, size_t *size, void *address)
{
    struct runtime *r = runtime_get();
    uint64_t start, bytes;
    if (!r || !sim_memory_find(&r->memory, (uintptr_t)address, &start, &bytes))
        return runtime_result(hipErrorInvalidValue);
    if (base)
        *base = (void *)(uintptr_t)start;
    if (size)
        *size = bytes;
    return hipSuccess;
}

hip_error hipMemPtrGetInfo(void *address, size_t *size)
{
    return hipMemGetAddressRange(NULL, size, address);
}

/* hipPointerAttribute_t */
struct pointer_attributes {
    int type, device; /* type 1 before ROCm 6 and 2 from then on: device memory */
    void *device_pointer, *host_pointer;
    int managed;
    unsigned flags;
};

hip_error hipPointerGetAttributes(void *attributes, const void *address)
{
    struct runtime *r = runtime_get();
    struct pointer_attributes *p = attributes;
    uint64_t start, size;
    if (!r || !p || !sim_memory_find(&r->memory, (uintptr_t)address, &start, &size))
        return runtime_result(hipErrorInvalidValue);
    *p = (struct pointer_attributes){.type = 2, .device_pointer = (void *)(uintptr_t)address};
    return hipSuccess;
}

/* --- copies
 * ----------------------------------------------------------------------------------- */

static int copy(void *to, const void *from, size_t size)
{
    struct runtime *r = runtime_get();
    if (!r)
        return hipErrorNoDevice;
    if (!size)
        return hipSuccess;
    if (!runtime_can_copy(r, to, size) || !runtime_can_copy(r, from, size)) {
        runtime_explain(r, "a copy reaches outside the memory that was allocated");
        return hipErrorInvalidValue;
    }
    memmove(to, from, size);
    watch_wrote(r->watch, (uintptr_t)to, size);
    return hipSuccess;
}

static int copy_kind(void *to, const void *from, size_t size, int kind)
{
    if (kind < 0 || kind > 4)
        return hipErrorInvalidMemcpyDirection;
    return copy(to, from, size);
}

hip_error hipMemcpy(void *to, const void *from, size_t size, int kind)
{
    return runtime_result(copy_kind(to, from, size, kind));
}

hip_error hipMemcpyAsync(void *to, const void *from, size_t size, int kind, hip_stream stream)
{
    (void)stream;
    return runtime_result(copy_kind(to, from, size, kind));
}

hip_error hipMemcpyWithStream(void *to, const void *from, size_t size, int kind,
                              hip_stream stream)
{
    (void)stream;
    return runtime_result(copy_kind(to, from, size, kind));
}

#define COPY_FUNCTION(name)                                                                    \
    hip_error name(void *to, void *from, size_t size)                                          \
    {                                                                                          \
        return runtime_result(copy(to, from, size));                                           \
    }                                                                                          \
    hip_error name##Async(void *to, void *from, size_t size, hip_stream stream)                \
    {                                                                                          \
        (void)stream;                                                                          \
        return runtime_result(copy(to, from, size));                                           \
    }
COPY_FUNCTION(hipMemcpyHtoD)
COPY_FUNCTION(hipMemcpyDtoH)
COPY_FUNCTION(hipMemcpyDtoD)

hip_error hipMemcpyPeer(void *to, int device, const void *from, int source, size_t size)
{
    return runtime_result(device || source ? hipErrorInvalidDevice : copy(to, from, size));
}

hip_error hipMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                      size_t width, size_t height, int kind)
{
    if (width > to_pitch || width > from_pitch)
        return runtime_result(hipErrorInvalidPitchValue);
    for (size_t row = 0; row < height; row++) {
        int error = copy_kind((char *)to + row * to_pitch,
                              (const char *)from + row * from_pitch, width, kind);
        if (error)
            return runtime_result(error);
    }
    return hipSuccess;
}

hip_error hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                           size_t width, size_t height, int kind, hip_stream stream)
{
    (void)stream;
    return hipMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}

/* --- filling
 * ---------------------------------------------------------------------------------- */

static int fill(void *to, const void *pattern, size_t width, size_t count)
{
    struct runtime *r = runtime_get();
    size_t size;
    if (!r)
        return hipErrorNoDevice;
    if (!count)
        return hipSuccess;
    if (__builtin_mul_overflow(width, count, &size) || !runtime_can_copy(r, to, size))
        return hipErrorInvalidValue;
    for (size_t n = 0; width > 1 && n < count; n++)
        memcpy((char *)to + n * width, pattern, width);
    watch_wrote(r->watch, (uintptr_t)to, size);
    if (width == 1)
        memset(to, *(const unsigned char *)pattern, count);
    return hipSuccess;
}

hip_error hipMemset(void *to, int value, size_t size)
{
    const unsigned char byte = (unsigned char)value;
    return runtime_result(fill(to, &byte, 1, size));
}

hip_error hipMemsetAsync(void *to, int value, size_t size, hip_stream stream)
{
    (void)stream;
    return hipMemset(to, value, size);
}

hip_error hipMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)
{
    if (width > pitch)
        return runtime_result(hipErrorInvalidPitchValue);
    for (size_t row = 0; row < height; row++) {
        hip_error error = hipMemset((char *)to + row * pitch, value, width);
        if (error)
            return error;
    }
    return hipSuccess;
}

hip_error hipMemsetD8(void *to, unsigned char value, size_t count)
{
    return runtime_result(fill(to, &value, sizeof value, count));
}

hip_error hipMemsetD16(void *to, unsigned short value, size_t count)
{
    return runtime_result(fill(to, &value, sizeof value, count));
}

hip_error hipMemsetD32(void *to, int value, size_t count)
{
    return runtime_result(fill(to, &value, sizeof value, count));
}

hip_error hipMemsetD8Async(void *to, unsigned char value, size_t count, hip_stream stream)
{
    (void)stream;
    return hipMemsetD8(to, value, count);
}

hip_error hipMemsetD32Async(void *to, int value, size_t count, hip_stream stream)
{
    (void)stream;
    return hipMemsetD32(to, value, count);
}

/* The pool is the card's memory; nothing is kept back that could be trimmed. */
hip_error hipDeviceGetDefaultMemPool(void **pool, int device)
{
    if (!pool || !runtime_get())
        return runtime_result(pool ? hipErrorNoDevice : hipErrorInvalidValue);
    if (device)
        return runtime_result(hipErrorInvalidDevice);
    *pool = &runtime_get()->memory;
    return hipSuccess;
}

hip_error hipMemPoolTrimTo(void *pool, size_t keep)
{
    (void)keep;
    return runtime_result(pool ? hipSuccess : hipErrorInvalidValue);
}

hip_error hipMemPrefetchAsync(const void *address, size_t size, int device, hip_stream stream)
{
    (void)address, (void)size, (void)device, (void)stream;
    return hipSuccess;
}

hip_error hipMemAdvise(const void *address, size_t size, int advice, int device)
{
    (void)address, (void)size, (void)advice, (void)device;
    return hipSuccess;
}
