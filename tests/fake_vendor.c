/* SPDX-License-Identifier: Apache-2.0 */
/* A vendor's runtime library that computes nothing, for tests of the client and the workers: it
 * exports the functions of backends/cuda/api.def, keeps "device" memory in host memory, and
 * misbehaves on request. FAKE in the environment is WHAT or WHAT:ENTRY; with ENTRY it
 * misbehaves only for kernels of that name.
 *
 * A launch writes byte i of the third argument's tensor, guards not counted: byte i of the
 * first (cyclic) xor byte i of the second (cyclic) xor i. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/cuda/vendor.h"

/* Prototypes from the same list as the client's. */
#define API(name, symbol, ret, args, need) ret symbol args;
#include "backends/cuda/api.def"

#define EXPORT __attribute__((visibility("default")))

enum { FAKE_GUARD = 4096, FAKE_ALLOCS = 4096, FAKE_NAME = 64 };

static struct {
    unsigned char *bytes;
    size_t size;
} allocs[FAKE_ALLOCS];
static int n_alloc;
static int streams;      /* made and not destroyed */
static size_t pending;   /* bytes that are being filled in another stream */
static int sticky; /* as a real context after a fault */

static int wants(const char *what, const char *entry)
{
    const char *fake = getenv("FAKE");
    size_t n = strlen(what);
    if (!fake || strncmp(fake, what, n) || (fake[n] && fake[n] != ':'))
        return 0;
    return !fake[n] || (entry && !strcmp(fake + n + 1, entry));
}

/* The ways to die that any call may choose. */
static void misbehave(const char *call, const char *entry)
{
    char what[64];
    static const char *const way[] = {"crash", "abort", "exit", "hang", "close"};
    for (int i = 0; i < 5; i++) {
        snprintf(what, sizeof what, "%s-%s", call, way[i]);
        if (!wants(what, entry))
            continue;
        printf("fake: about to %s in %s\n", way[i], call);
        fflush(stdout);
        if (i == 0)
            raise(SIGSEGV);
        if (i == 1)
            abort();
        if (i == 2)
            exit(0);
        if (i == 4)
            for (int fd = 3; fd < 1024; fd++)
                close(fd);
        for (;;)
            sleep(1);
    }
}

EXPORT int cuInit(unsigned flags)
{
    (void)flags;
    misbehave("init", NULL);
    return wants("init-fails", NULL) ? 999 : 0;
}

EXPORT int cuDriverGetVersion(int *version)
{
    *version = 12340;
    return 0;
}

EXPORT int cuDeviceGetCount(int *count)
{
    *count = wants("no-card", NULL) ? 0 : 2;
    return 0;
}

EXPORT int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal + 70;
    return 0;
}

EXPORT int cuDeviceGetName(char *name, int size, int device)
{
    snprintf(name, (size_t)size, "Fake card %d", device);
    return 0;
}

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = (size_t)3 << 30;
    return device < 70;
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    *value = attribute == 10 ? 32 : attribute == 75 ? 8 : attribute == 76 ? 9 : -1;
    return device < 70;
}

EXPORT int cuDevicePrimaryCtxRetain(CUcontext *context, int device)
{
    *context = (CUcontext)allocs;
    misbehave("context", NULL);
    return device < 70;
}

EXPORT int cuCtxSetCurrent(CUcontext context)
{
    return context && context != (CUcontext)allocs ? 201 : 0;
}

EXPORT int cuStreamCreate(CUstream *stream, unsigned flags)
{
    if (wants("no-streams", NULL) || flags != 1)
        return 801;
    *stream = (CUstream)malloc(1);
    streams++;
    return 0;
}

EXPORT int cuStreamDestroy_v2(CUstream stream)
{
    free(stream);
    streams--;
    return 0;
}

EXPORT int cuMemsetD8Async(unsigned long long to, unsigned char value, size_t size,
                           CUstream stream)
{
    (void)to, (void)value;
    pending += stream ? size : 0;
    return 0;
}

EXPORT int cuCtxSynchronize(void)
{
    pending = 0;
    return sticky;
}

EXPORT int cuMemAlloc_v2(unsigned long long *address, size_t size)
{
    if (wants("alloc-fails", NULL) || n_alloc == FAKE_ALLOCS)
        return 2;
    allocs[n_alloc].bytes = malloc(size);
    allocs[n_alloc].size = size;
    *address = (uintptr_t)allocs[n_alloc++].bytes;
    return 0;
}

EXPORT int cuMemFree_v2(unsigned long long address)
{
    for (int i = 0; i < n_alloc; i++)
        if ((uintptr_t)allocs[i].bytes == address) {
            free(allocs[i].bytes);
            allocs[i] = allocs[--n_alloc];
            return 0;
        }
    return 1;
}

/* The bytes at an address, if all `size` are inside one allocation. */
static unsigned char *find(unsigned long long address, size_t size, size_t *ret_left)
{
    for (int i = 0; i < n_alloc; i++) {
        uintptr_t start = (uintptr_t)allocs[i].bytes;
        if (address < start || address - start > allocs[i].size)
            continue;
        size_t left = allocs[i].size - (address - start);
        if (size <= left) {
            *ret_left = left;
            return allocs[i].bytes + (address - start);
        }
    }
    return NULL;
}

EXPORT int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t size)
{
    size_t left;
    unsigned char *p = find(to, size, &left);
    if (p)
        memcpy(p, from, size);
    return p ? 0 : 1;
}

EXPORT int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t size)
{
    size_t left;
    unsigned char *p = find(from, size, &left);
    if (p)
        memcpy(to, p, size);
    return p ? sticky : 1;
}

EXPORT int cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned n, int *option,
                              void **value)
{
    misbehave("load", NULL);
    for (unsigned i = 0; i < n; i++)
        if (option[i] == 5 && wants("load-fails", NULL))
            strcpy(value[i], "fake: line 1: too new\nand more");
    if (wants("load-fails", NULL))
        return 222;
    *module = (CUmodule)strdup(image);
    return 0;
}

EXPORT int cuModuleUnload(CUmodule module)
{
    free(module);
    return 0;
}

/* A module has the kernels whose names stand in its text. */
EXPORT int cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    static char names[16][FAKE_NAME];
    static int next;
    if (!strstr((const char *)module, name))
        return 500;
    next = (next + 1) % 16;
    snprintf(names[next], FAKE_NAME, "%s", name);
    *function = (CUfunction)names[next];
    return 0;
}

/* A kernel that forgets to wait for another stream, or whose blocks end in another order when
 * the card is busy. */
static int is_disturbed(CUstream stream, const char *entry)
{
    return (wants("stream", entry) && stream) || (wants("busy", entry) && pending >= 1u << 30);
}

static void compute(void **arg, const char *entry, int disturbed)
{
    unsigned char *p[3];
    size_t size[3];
    for (int i = 0; i < 3; i++) {
        unsigned long long address;
        memcpy(&address, arg[i], sizeof address);
        p[i] = find(address, 0, &size[i]);
        size[i] -= FAKE_GUARD;
    }
    size_t n = size[2] - (wants("unwritten", entry) && size[2] >= 4 ? 4 : 0);
    for (size_t i = 0; i < n; i++)
        p[2][i] = (unsigned char)((size[0] ? p[0][i % size[0]] : 0) ^
                                  (size[1] ? p[1][i % size[1]] : 0) ^ i);
    if (disturbed && n > 8)
        p[2][8] ^= 1;
    if (wants("guard-before", entry))
        memset(p[2] - 7, 0, 7);
    if (wants("input", entry) && size[1])
        p[1][size[1] - 1] ^= 1;
    if (wants("guard-after", entry))
        p[2][size[2] + 100] = 1;
}

EXPORT int cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
                          unsigned bx, unsigned by, unsigned bz, unsigned shared,
                          CUstream stream, void **arg, void **extra)
{
    const char *entry = (const char *)function;
    (void)shared, (void)extra;
    misbehave("launch", entry);
    if (!gx || !gy || !gz || !bx || !by || !bz || bx * by * bz > 1024)
        return 1;
    if (wants("launch-faults", entry))
        sticky = 700;
    if (sticky)
        return sticky;
    compute(arg, entry, is_disturbed(stream, entry));
    return 0;
}

EXPORT int cuGetErrorName(int code, const char **text)
{
    *text = code == 700 ? "FAKE_ILLEGAL_ADDRESS" : code == 222 ? "FAKE_PTX" : "FAKE_ERROR";
    return 0;
}

EXPORT int cuGetErrorString(int code, const char **text)
{
    *text = "words of the fake";
    return code < 0;
}
