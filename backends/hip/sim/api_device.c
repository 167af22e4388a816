/* SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../backend.h"
#include "runtime.h"

static const char card_name[] = "AMD Radeon RX 7900 XTX";
enum { RUNTIME_VERSION = 60000000, DRIVER_VERSION = 60000000 };

static int device_check(int device)
{
    if (!runtime_get())
        return hipErrorNoDevice;
    return device == 0 ? hipSuccess : hipErrorInvalidDevice;
}

/* Checks the device and a result pointer. */
#define TRY_DEVICE(device, pointer)                                                            \
    do {                                                                                       \
        int try_error_ = (pointer) ? device_check(device) : hipErrorInvalidValue;              \
        if (try_error_)                                                                        \
            return runtime_result(try_error_);                                                 \
    } while (0)

hip_error hipInit(unsigned flags)
{
    if (flags)
        return runtime_result(hipErrorInvalidValue);
    return runtime_result(device_check(0));
}

hip_error hipDriverGetVersion(int *version)
{
    TRY_DEVICE(0, version);
    *version = DRIVER_VERSION;
    return hipSuccess;
}

hip_error hipRuntimeGetVersion(int *version)
{
    TRY_DEVICE(0, version);
    *version = RUNTIME_VERSION;
    return hipSuccess;
}

hip_error hipGetDeviceCount(int *count)
{
    TRY_DEVICE(0, count);
    *count = 1;
    return hipSuccess;
}

hip_error hipDeviceGet(int *device, int ordinal)
{
    TRY_DEVICE(ordinal, device);
    *device = ordinal;
    return hipSuccess;
}

hip_error hipGetDevice(int *device)
{
    TRY_DEVICE(0, device);
    *device = 0;
    return hipSuccess;
}

hip_error hipSetDevice(int device)
{
    return runtime_result(device_check(device));
}

hip_error hipDeviceGetName(char *name, int size, int device)
{
    TRY_DEVICE(device, name);
    if (size <= 0)
        return runtime_result(hipErrorInvalidValue);
    snprintf(name, (size_t)size, "%s", card_name);
    return hipSuccess;
}

hip_error hipDeviceTotalMem(size_t *bytes, int device)
{
    TRY_DEVICE(device, bytes);
    *bytes = runtime_get()->memory.limit;
    return hipSuccess;
}

hip_error hipDeviceComputeCapability(int *major, int *minor, int device)
{
    TRY_DEVICE(device, major && minor ? major : NULL);
    *major = 11;
    *minor = 0;
    return hipSuccess;
}

hip_error hipDeviceGetPCIBusId(char *text, int size, int device)
{
    TRY_DEVICE(device, text);
    if (size < 13)
        return runtime_result(hipErrorInvalidValue);
    snprintf(text, (size_t)size, "0000:03:00.0");
    return hipSuccess;
}

hip_error hipDeviceGetUuid(void *uuid, int device)
{
    TRY_DEVICE(device, uuid);
    memcpy(uuid, "GPU-simulated-01", 16);
    return hipSuccess;
}

hip_error hipDeviceGetAttribute(int *value, int attribute, int device)
{
    TRY_DEVICE(device, value);
    switch (attribute) {
#define ATTRIBUTE(number, name, v)                                                             \
    case number:                                                                               \
        *value = v;                                                                            \
        return hipSuccess;
#include "attributes.def"
#undef ATTRIBUTE
    default:
        *value = 0;
        return attribute >= 0 && attribute < 20000 ? hipSuccess
                                                   : runtime_result(hipErrorInvalidValue);
    }
}

/* --- the two layouts of hipDeviceProp_t
 * ------------------------------------------------------- */

typedef void *void_pointer;
#define FIELD(type, name, count) type name[count];
struct properties_r0000 {
#include "properties_r0000.def"
};
struct properties_r0600 {
#include "properties_r0600.def"
};
#undef FIELD

/* The fields both have, with the values of attributes.def. */
#define PROPERTIES_COMMON(p)                                                                   \
    do {                                                                                       \
        memset(p, 0, sizeof *(p));                                                             \
        snprintf((p)->name, sizeof(p)->name, "%s", card_name);                                 \
        snprintf((p)->gcnArchName, sizeof(p)->gcnArchName, "gfx1100");                         \
        (p)->totalGlobalMem[0] = runtime_get()->memory.limit;                                  \
        (p)->sharedMemPerBlock[0] = LDS_BYTES;                                                 \
        (p)->maxSharedMemoryPerMultiProcessor[0] = LDS_BYTES;                                  \
        (p)->regsPerBlock[0] = 65536;                                                          \
        (p)->warpSize[0] = WAVE_LANES;                                                         \
        (p)->maxThreadsPerBlock[0] = THREADS_MAX;                                              \
        for (int n_ = 0; n_ < 3; n_++) {                                                       \
            (p)->maxThreadsDim[n_] = THREADS_MAX;                                              \
            (p)->maxGridSize[n_] = n_ ? 65536 : INT32_MAX;                                     \
        }                                                                                      \
        (p)->clockRate[0] = 2304000;                                                           \
        (p)->memoryClockRate[0] = 1249000;                                                     \
        (p)->memoryBusWidth[0] = 384;                                                          \
        (p)->totalConstMem[0] = INT32_MAX;                                                     \
        (p)->major[0] = 11;                                                                    \
        (p)->multiProcessorCount[0] = 48;                                                      \
        (p)->l2CacheSize[0] = 6 << 20;                                                         \
        (p)->maxThreadsPerMultiProcessor[0] = 2048;                                            \
        (p)->clockInstructionRate[0] = 100000;                                                 \
        (p)->concurrentKernels[0] = 1;                                                         \
        (p)->pciBusID[0] = 3;                                                                  \
        (p)->canMapHostMemory[0] = 1;                                                          \
        (p)->memPitch[0] = INT32_MAX;                                                          \
        (p)->textureAlignment[0] = 256;                                                        \
        (p)->texturePitchAlignment[0] = 256;                                                   \
        (p)->managedMemory[0] = 1;                                                             \
        (p)->isLargeBar[0] = 1;                                                                \
        (p)->arch[0] = 0xfbff; /* all features but surfaces and dynamic parallelism */         \
    } while (0)

hip_error hipGetDeviceProperties(void *properties, int device)
{
    struct properties_r0000 *p = properties;
    TRY_DEVICE(device, p);
    PROPERTIES_COMMON(p);
    p->gcnArch[0] = 1100;
    return hipSuccess;
}

hip_error hipGetDevicePropertiesR0600(void *properties, int device)
{
    struct properties_r0600 *p = properties;
    TRY_DEVICE(device, p);
    PROPERTIES_COMMON(p);
    p->unifiedAddressing[0] = 1;
    p->asyncEngineCount[0] = 4;
    p->sharedMemPerMultiprocessor[0] = LDS_BYTES;
    p->sharedMemPerBlockOptin[0] = LDS_BYTES;
    p->regsPerMultiprocessor[0] = 65536;
    p->maxBlocksPerMultiProcessor[0] = 2;
    return hipSuccess;
}

/* --- the rest
 * --------------------------------------------------------------------------------- */

/* Work ends before a launch returns; what is left is to report how it went. */
hip_error hipDeviceSynchronize(void)
{
    struct runtime *r = runtime_get();
    if (!r)
        return runtime_result(hipErrorNoDevice);
    pthread_mutex_lock(&r->lock);
    int error = r->pending;
    r->pending = hipSuccess;
    pthread_mutex_unlock(&r->lock);
    return runtime_result(error);
}

hip_error hipDeviceReset(void)
{
    return runtime_result(device_check(0));
}

hip_error hipSetDeviceFlags(unsigned flags)
{
    (void)flags;
    return runtime_result(device_check(0));
}

hip_error hipGetDeviceFlags(unsigned *flags)
{
    TRY_DEVICE(0, flags);
    *flags = 0;
    return hipSuccess;
}

hip_error hipDeviceGetLimit(size_t *value, int limit)
{
    TRY_DEVICE(0, value);
    *value = limit == 0 ? 16384 : 4 << 20; /* stack; printf buffer and heap */
    return hipSuccess;
}

hip_error hipDeviceSetLimit(int limit, size_t value)
{
    (void)limit, (void)value;
    return runtime_result(device_check(0));
}

hip_error hipDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    if (least)
        *least = 1;
    if (greatest)
        *greatest = -1;
    return runtime_result(device_check(0));
}

hip_error hipDeviceCanAccessPeer(int *can, int device, int peer)
{
    TRY_DEVICE(device, can);
    *can = 0;
    return runtime_result(device_check(peer));
}

hip_error hipDeviceEnablePeerAccess(int peer, unsigned flags)
{
    (void)peer, (void)flags;
    return runtime_result(hipErrorInvalidDevice);
}

hip_error hipDeviceDisablePeerAccess(int peer)
{
    (void)peer;
    return runtime_result(hipErrorPeerAccessNotEnabled);
}

static const struct {
    int number;
    const char *name, *text;
} errors[] = {
#define HIP_ERROR(name, number, text) {number, #name, text},
#include "errors.def"
#undef HIP_ERROR
};

const char *hipGetErrorName(hip_error error)
{
    for (size_t n = 0; n < sizeof errors / sizeof *errors; n++)
        if (errors[n].number == error)
            return errors[n].name;
    return "hipErrorUnknown";
}

const char *hipGetErrorString(hip_error error)
{
    for (size_t n = 0; n < sizeof errors / sizeof *errors; n++)
        if (errors[n].number == error)
            return errors[n].text;
    return "unknown error";
}

hip_error hipGetLastError(void)
{
    return runtime_last_error(true);
}

hip_error hipPeekAtLastError(void)
{
    return runtime_last_error(false);
}

void gpuparity_sim_stats(struct device_stats *ret)
{
    struct runtime *r = runtime_get();
    *ret = (struct device_stats){0};
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    ret->instructions = r->instructions;
    snprintf(ret->marks, sizeof ret->marks, "%s", r->marks);
    pthread_mutex_unlock(&r->lock);
}

void gpuparity_sim_stats_reset(void)
{
    struct runtime *r = runtime_get();
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    r->instructions = 0;
    r->marks[0] = 0;
    pthread_mutex_unlock(&r->lock);
}

const char *gpuparity_sim_last_fault(void)
{
    struct runtime *r = runtime_get();
    return r ? r->last_fault : "the simulated card could not be opened";
}
