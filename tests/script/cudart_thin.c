/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* As much of NVIDIA's runtime library as a program needs that `gpuparity minimize` wrote, on
 * top of the driver API: the real one asks its driver for tables that are not documented. Link
 * it instead of cudart (nvcc -cudart none). */

typedef int CUresult;
CUresult cuInit(unsigned flags);
CUresult cuDeviceGet(int *device, int n);
CUresult cuDevicePrimaryCtxRetain(void **context, int device);
CUresult cuCtxSetCurrent(void *context);
CUresult cuModuleLoadData(void **module, const void *image);
CUresult cuModuleGetFunction(void **function, void *module, const char *name);
CUresult cuMemAlloc_v2(uint64_t *p, size_t size);
CUresult cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size);
CUresult cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size);
CUresult cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, void *stream, void **args,
                        void **extra);
CUresult cuCtxSynchronize(void);

struct dim {
    unsigned x, y, z;
};

/* What nvcc's code hands over: magic, version, the fat binary. */
struct wrapper {
    int magic, version;
    const void *data;
};

enum { FUNCTIONS_MAX = 1024 };
static const void *image;
static void *module;
static struct {
    const void *host;
    const char *name;
} functions[FUNCTIONS_MAX];
static int n_function;

void **__cudaRegisterFatBinary(void *binary);
void **__cudaRegisterFatBinary(void *binary)
{
    image = ((const struct wrapper *)binary)->data;
    return &module;
}

void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

void __cudaUnregisterFatBinary(void **handle);
void __cudaUnregisterFatBinary(void **handle)
{
    (void)handle;
}

char __cudaInitModule(void **handle);
char __cudaInitModule(void **handle)
{
    (void)handle;
    return 1;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name)
{
    (void)handle, (void)device;
    if (n_function < FUNCTIONS_MAX) {
        functions[n_function].host = host;
        functions[n_function++].name = name;
    }
}

/* Only <<<>>> uses these. */
unsigned __cudaPushCallConfiguration(struct dim grid, struct dim block, size_t shared,
                                     void *stream);
unsigned __cudaPushCallConfiguration(struct dim grid, struct dim block, size_t shared,
                                     void *stream)
{
    (void)grid, (void)block, (void)shared, (void)stream;
    return 1;
}

int __cudaPopCallConfiguration(struct dim *grid, struct dim *block, size_t *shared,
                               void *stream);
int __cudaPopCallConfiguration(struct dim *grid, struct dim *block, size_t *shared,
                               void *stream)
{
    (void)grid, (void)block, (void)shared, (void)stream;
    return 1;
}

int __cudaGetKernel(void **kernel, const void *host);
int __cudaGetKernel(void **kernel, const void *host)
{
    (void)kernel, (void)host;
    return 1;
}

int __cudaLaunchKernel(void *kernel, struct dim grid, struct dim block, void **args,
                       size_t shared, void *stream);
int __cudaLaunchKernel(void *kernel, struct dim grid, struct dim block, void **args,
                       size_t shared, void *stream)
{
    (void)kernel, (void)grid, (void)block, (void)args, (void)shared, (void)stream;
    return 1;
}

static int started(void)
{
    int device, code;
    void *context;
    if (module)
        return 0;
    if ((code = cuInit(0)) || (code = cuDeviceGet(&device, 0)) ||
        (code = cuDevicePrimaryCtxRetain(&context, device)) ||
        (code = cuCtxSetCurrent(context)))
        return code;
    return cuModuleLoadData(&module, image);
}

int cudaMalloc(void **p, size_t size);
int cudaMalloc(void **p, size_t size)
{
    uint64_t address = 0;
    int code = started();
    code = code ? code : cuMemAlloc_v2(&address, size);
    memcpy(p, &address, sizeof *p);
    return code;
}

int cudaMemcpy(void *to, const void *from, size_t size, int kind);
int cudaMemcpy(void *to, const void *from, size_t size, int kind)
{
    return kind == 1 ? cuMemcpyHtoD_v2((uintptr_t)to, from, size)
                     : cuMemcpyDtoH_v2(to, (uintptr_t)from, size);
}

int cudaLaunchKernel(const void *host, struct dim g, struct dim b, void **args, size_t shared,
                     void *stream);
int cudaLaunchKernel(const void *host, struct dim g, struct dim b, void **args, size_t shared,
                     void *stream)
{
    void *f = NULL;
    for (int i = 0; i < n_function; i++)
        if (functions[i].host == host) {
            int code = cuModuleGetFunction(&f, module, functions[i].name);
            return code ? code
                        : cuLaunchKernel(f, g.x, g.y, g.z, b.x, b.y, b.z, (unsigned)shared,
                                         stream, args, NULL);
        }
    return 98;
}

int cudaDeviceSynchronize(void);
int cudaDeviceSynchronize(void)
{
    return cuCtxSynchronize();
}

const char *cudaGetErrorString(int code);
const char *cudaGetErrorString(int code)
{
    static char text[32];
    snprintf(text, sizeof text, "CUDA error %d", code);
    return text;
}
