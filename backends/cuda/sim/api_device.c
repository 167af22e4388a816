/* SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Start-up, versions and what the card is. */

static const uint64_t memory_size = (uint64_t)24 << 30;
static const char device_name[] = "NVIDIA GeForce RTX 3090 (simulated by gpuparity)";

CUresult cuInit(unsigned flags)
{
    CUresult r;
    struct gpu *g = gpu_enter(&r);
    r = flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    if (!r && !g->initialised) {
        r = sim_memory_init(&g->memory, memory_size) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
        const char *check = getenv("GPUPARITY_SIM_CHECK");
        g->checked =
            !r && check && !strcmp(check, "1") && !shadow_init(&g->written, g->memory.capacity);
        g->initialised = !r;
        g->stack_limit = 1024;
        g->heap_limit = 8 << 20;
        g->printf_limit = 1 << 20;
    }
    return gpu_leave(g, r);
}

CUresult cuDriverGetVersion(int *version)
{
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = 13000;
    return CUDA_SUCCESS;
}

static CUresult device_check(CUdevice device)
{
    CUresult r;
    struct gpu *g = gpu_enter(&r);
    gpu_leave(g, r);
    return r ? r : device ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    *count = 1;
    return device_check(0);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    *device = 0;
    return device_check(ordinal);
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
    if (!name || size < 1)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)size, "%s", device_name);
    return device_check(device);
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    if (!bytes)
        return CUDA_ERROR_INVALID_VALUE;
    *bytes = memory_size;
    return device_check(device);
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
    static const struct {
        int attribute, value;
    } rows[] = {
#define ATTRIBUTE(attribute, value, what) {attribute, value},
#include "attribute.def"
#undef ATTRIBUTE
    };
    if (!value || attribute < 1)
        return CUDA_ERROR_INVALID_VALUE;
    *value = 0;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (rows[k].attribute == attribute)
            *value = rows[k].value;
    return device_check(device);
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
    if (!major || !minor)
        return CUDA_ERROR_INVALID_VALUE;
    *major = 8;
    *minor = 6;
    return device_check(device);
}

CUresult cuDeviceGetUuid_v2(unsigned char *uuid, CUdevice device)
{
    if (!uuid)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(uuid, "gpuparity-sim-86", 16);
    return device_check(device);
}

CUresult cuDeviceGetPCIBusId(char *text, int size, CUdevice device)
{
    if (!text || size < 1)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(text, (size_t)size, "0000:01:00.0");
    return device_check(device);
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    if (!can)
        return CUDA_ERROR_INVALID_VALUE;
    *can = 0;
    return device_check(device | peer);
}

/* --- errors ----------------------------------------------------------------------------------
 */

struct error_row {
    CUresult value;
    const char *name, *text;
};

static const struct error_row *error_find(CUresult value)
{
    static const struct error_row rows[] = {
#define ERROR(name, value, text) {value, #name, text},
#include "error.def"
#undef ERROR
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (rows[k].value == value)
            return &rows[k];
    return NULL;
}

CUresult cuGetErrorName(CUresult error, const char **text)
{
    const struct error_row *row = error_find(error);
    if (!text)
        return CUDA_ERROR_INVALID_VALUE;
    *text = row ? row->name : NULL;
    return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
    const struct error_row *row = error_find(error);
    if (!text)
        return CUDA_ERROR_INVALID_VALUE;
    *text = row ? row->text : NULL;
    return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
