/* SPDX-License-Identifier: Apache-2.0 */
#include "cudasim.h"

/* The driver API: state, handles, limits and messages. */

SIM_API void gpuparity_sim_stats(struct device_stats *ret_stats);

#define KERNEL(body)                                                                           \
    ".version 8.0\n.target sm_86\n.address_size 64\n.visible .entry k(.param .u64 p, .param "  \
    ".u32 n)\n{\n.reg .b64 %q; .reg .b32 %r<4>; .reg .f32 %f<4>;\n" body "\nret;\n}\n"

static const char store_text[] = KERNEL(
    "ld.param.u64 %q, [p]; ld.param.u32 %r0, [n]; mov.u32 %r1, %ctaid.x; add.u32 %r0, %r0, "
    "%r1; st.global.u32 [%q], %r0;") ".visible .global .align 4 .u32 counter = 41;\n";

START_TEST(before_init)
{
    int n;
    CUdeviceptr p;
    const char *text;
    ck_assert_int_eq(cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
    ck_assert_int_eq(cuMemAlloc_v2(&p, 4), CUDA_ERROR_NOT_INITIALIZED);
    ck_assert_int_eq(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(cuInit(0), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemAlloc_v2(&p, 4), CUDA_ERROR_INVALID_CONTEXT);
    ck_assert_int_eq(cuGetErrorName(700, &text), CUDA_SUCCESS);
    ck_assert_str_eq(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
    ck_assert_int_eq(cuGetErrorString(2, &text), CUDA_SUCCESS);
    ck_assert_int_eq(cuGetErrorName(12345, &text), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(device)
{
    char name[64];
    int v, minor;
    size_t bytes, left;
    gpu_start();
    ck_assert_int_eq(cuDeviceGet(&v, 1), CUDA_ERROR_INVALID_DEVICE);
    ck_assert_int_eq(cuDeviceGetName(name, sizeof name, 0), CUDA_SUCCESS);
    ck_assert(strstr(name, "RTX 3090") && strstr(name, "simulated"));
    ck_assert_int_eq(cuDeviceTotalMem_v2(&bytes, 0), CUDA_SUCCESS);
    ck_assert_uint_eq(bytes, (uint64_t)24 << 30);
    ck_assert_int_eq(cuDeviceGetAttribute(&v, 16, 0), CUDA_SUCCESS);
    ck_assert_int_eq(v, 82);
    ck_assert_int_eq(cuDeviceComputeCapability(&v, &minor, 0), CUDA_SUCCESS);
    ck_assert_int_eq(v * 10 + minor, 86);
    ck_assert_int_eq(cuMemGetInfo_v2(&left, &bytes), CUDA_SUCCESS);
    ck_assert_uint_le(left, bytes);
}
END_TEST

START_TEST(memory)
{
    unsigned char out[64];
    CUdeviceptr p, start;
    size_t size;
    gpu_start();
    ck_assert_int_eq(cuMemAlloc_v2(&p, 0), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(cuMemAlloc_v2(&p, (size_t)1 << 40), CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_int_eq(cuMemAlloc_v2(&p, sizeof out), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemsetD8_v2(p, 7, 64), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemsetD32_v2(p + 8, 0x01020304, 2), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemsetD16_v2(p + 1, 1, 1), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(cuMemsetD8_v2(p, 7, 65), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(cuMemcpyDtoH_v2(out, p, 64), CUDA_SUCCESS);
    ck_assert(out[7] == 7 && out[8] == 4 && out[15] == 1 && out[16] == 7);
    ck_assert_int_eq(cuMemcpyDtoH_v2(out, p + 1, 64), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(cuMemcpyDtoD_v2(p + 32, p, 16), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemGetAddressRange_v2(&start, &size, p + 40), CUDA_SUCCESS);
    ck_assert(start == p && size == 64);
    ck_assert_int_eq(cuMemFree_v2(p + 4), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(cuMemFree_v2(p), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemFree_v2(p), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(cuMemFree_v2(0), CUDA_SUCCESS);
}
END_TEST

static CUresult run(CUfunction f, CUdeviceptr p, uint32_t n, unsigned grid, unsigned block)
{
    void *arg[] = {&p, &n};
    return cuLaunchKernel(f, grid, 1, 1, block, 1, 1, 0, NULL, arg, NULL);
}

START_TEST(modules)
{
    CUmodule m = NULL;
    CUfunction f;
    CUdeviceptr p, counter;
    size_t size;
    uint32_t v;
    gpu_start();
    ck_assert_int_eq(cuModuleLoadData(&m, store_text), CUDA_SUCCESS);
    ck_assert_int_eq(cuModuleGetFunction(&f, m, "nothing"), CUDA_ERROR_NOT_FOUND);
    ck_assert_int_eq(cuModuleGetFunction(&f, m, "k"), CUDA_SUCCESS);
    ck_assert_int_eq(cuModuleGetGlobal_v2(&counter, &size, m, "counter"), CUDA_SUCCESS);
    ck_assert_uint_eq(size, 4);
    ck_assert_int_eq(cuMemcpyDtoH_v2(&v, counter, 4), CUDA_SUCCESS);
    ck_assert_uint_eq(v, 41);
    ck_assert_int_eq(run(f, counter, 5, 1, 1), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemcpyDtoH_v2(&v, counter, 4), CUDA_SUCCESS);
    ck_assert_uint_eq(v, 5);
    ck_assert_int_eq(cuMemAlloc_v2(&p, 4), CUDA_SUCCESS);
    ck_assert_int_eq(run(f, p, 5, 0, 1), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(run(f, p, 5, 1, 1025), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(cuLaunchKernel(f, 1, 65536, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                     CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                     CUDA_ERROR_INVALID_VALUE);
    struct {
        CUdeviceptr p;
        uint32_t n;
    } buffer = {p, 77};
    size = 12;
    void *extra[] = {(void *)1, &buffer, (void *)2, &size, NULL};
    ck_assert_int_eq(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemcpyDtoH_v2(&v, p, 4), CUDA_SUCCESS);
    ck_assert_uint_eq(v, 77);
    ck_assert_int_eq(cuModuleUnload(m), CUDA_SUCCESS);
    ck_assert_int_eq(cuModuleUnload(m), CUDA_ERROR_INVALID_HANDLE);
    ck_assert_int_eq(run(f, p, 5, 1, 1), CUDA_ERROR_INVALID_HANDLE);
    ck_assert_int_eq(cuMemcpyDtoH_v2(&v, counter, 4), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(bad_modules)
{
    static const char elf[64] = "\177ELF";
    char log[400] = "";
    int option[] = {5, 6};
    void *value[] = {log, (void *)(uintptr_t)sizeof log};
    CUmodule m;
    gpu_start();
    ck_assert_int_eq(cuModuleLoadDataEx(&m, KERNEL("nonsense;"), 2, option, value),
                     CUDA_ERROR_INVALID_PTX);
    ck_assert(strstr(log, "line 7, column 1") && strstr(log, "nonsense"));
    ck_assert_uint_eq((uintptr_t)value[1], strlen(log));
    value[1] = (void *)(uintptr_t)10;
    ck_assert_int_eq(cuModuleLoadDataEx(&m, KERNEL("nonsense;"), 2, option, value),
                     CUDA_ERROR_INVALID_PTX);
    ck_assert_uint_eq(strlen(log), 9);
    value[1] = (void *)(uintptr_t)sizeof log;
    ck_assert_int_eq(cuModuleLoadDataEx(&m, elf, 2, option, value),
                     CUDA_ERROR_NO_BINARY_FOR_GPU);
    ck_assert(strstr(log, "compute_86") != NULL);
}
END_TEST

/* A fat binary with one entry of each packing; LZ4 and zstd by hand of their simplest kind. */
static size_t fatbin_make(uint8_t *to, const void *payload, size_t size, uint64_t flags,
                          size_t plain)
{
    uint32_t start = 64, packed = (uint32_t)size, arch = 86;
    uint64_t total = start + size;
    uint16_t kind = 1, one = 1, sixteen = 16;
    memset(to, 0, 80);
    memcpy(to, "\x50\xed\x55\xba", 4);
    memcpy(to + 4, &one, 2), memcpy(to + 6, &sixteen, 2), memcpy(to + 8, &total, 8);
    uint8_t *e = to + 16;
    uint64_t whole = size, full = plain;
    memcpy(e, &kind, 2), memcpy(e + 4, &start, 4), memcpy(e + 8, &whole, 8),
        memcpy(e + 16, &packed, 4);
    memcpy(e + 28, &arch, 4), memcpy(e + 40, &flags, 8), memcpy(e + 56, &full, 8);
    memcpy(e + 64, payload, size);
    return 16 + total;
}

START_TEST(fat_binaries)
{
    static uint8_t fat[4096], packed[2048];
    size_t n = strlen(store_text), at = 0;
    CUmodule m;
    gpu_start();
    fatbin_make(fat, store_text, n, 0x11, 0);
    ck_assert_int_eq(cuModuleLoadData(&m, fat), CUDA_SUCCESS);
    /* LZ4: one run of literals */
    packed[at++] = 0xf0;
    size_t left = n - 15;
    for (; left >= 255; left -= 255)
        packed[at++] = 255;
    packed[at++] = (uint8_t)left;
    memcpy(packed + at, store_text, n);
    fatbin_make(fat, packed, at + n, 0x2011, n);
    ck_assert_int_eq(cuModuleLoadData(&m, fat), CUDA_SUCCESS);
    fatbin_make(fat, packed, at + n, 0x2011, n + 1);
    ck_assert_int_eq(cuModuleLoadData(&m, fat), CUDA_ERROR_INVALID_IMAGE);
    fatbin_make(fat, packed, 40, 0x8011, n);
    ck_assert_int_eq(cuModuleLoadData(&m, fat), CUDA_ERROR_INVALID_IMAGE);
    fatbin_make(fat, store_text, n, 0x11, 0);
    fat[16 + 4] = 200; /* the entry's head reaches further than the file allows */
    fat[16 + 5] = 255;
    ck_assert_int_eq(cuModuleLoadData(&m, fat), CUDA_ERROR_INVALID_IMAGE);
    fatbin_make(fat, store_text, n, 0x11, 0);
    fat[16] = 2; /* machine code */
    ck_assert_int_eq(cuModuleLoadData(&m, fat), CUDA_ERROR_NO_BINARY_FOR_GPU);
}
END_TEST

START_TEST(everything_by_name)
{
    static const char *const names[] = {
#define FUNCTION(name, symbol, arguments) #name,
#include "function.def"
#undef FUNCTION
    };
    void *f = NULL;
    int status;
    gpu_start();
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        ck_assert_msg(!cuGetProcAddress(names[k], &f, 12000, 0) && f, "%s", names[k]);
        for (size_t j = 0; j < k; j++)
            ck_assert_str_ne(names[k], names[j]);
    }
    ck_assert_int_eq(cuGetProcAddress_v2("cuNothing", &f, 12000, 0, &status),
                     CUDA_ERROR_NOT_FOUND);
    ck_assert_int_eq(status, 1);
}
END_TEST

START_TEST(libraries_and_streams)
{
    CUmodule library;
    CUfunction kernel, function;
    CUdeviceptr p;
    CUstream stream;
    CUevent start, end;
    float ms = -1;
    int blocks, grid, block;
    unsigned count;
    uint32_t v, n = 9;
    gpu_start();
    ck_assert_int_eq(cuLibraryLoadData(&library, store_text, NULL, NULL, 0, NULL, NULL, 0),
                     CUDA_SUCCESS);
    ck_assert_int_eq(cuLibraryGetKernelCount(&count, library), CUDA_SUCCESS);
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(cuLibraryGetKernel(&kernel, library, "k"), CUDA_SUCCESS);
    ck_assert_int_eq(cuKernelGetFunction(&function, kernel), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemAlloc_v2(&p, 4), CUDA_SUCCESS);
    ck_assert_int_eq(cuStreamCreate(&stream, 1), CUDA_SUCCESS);
    ck_assert_int_eq(cuEventCreate(&start, 0), CUDA_SUCCESS);
    ck_assert_int_eq(cuEventCreate(&end, 0), CUDA_SUCCESS);
    ck_assert_int_eq(cuEventRecord(start, stream), CUDA_SUCCESS);
    void *arg[] = {&p, &n};
    struct launch_config c = {{1, 1, 1}, {32, 1, 1}, 0, stream, NULL, 0};
    ck_assert_int_eq(cuLaunchKernelEx(&c, kernel, arg, NULL), CUDA_SUCCESS);
    ck_assert_int_eq(cuEventElapsedTime(&ms, start, end), CUDA_ERROR_INVALID_HANDLE);
    ck_assert_int_eq(cuEventRecord(end, stream), CUDA_SUCCESS);
    ck_assert_int_eq(cuEventSynchronize(end), CUDA_SUCCESS);
    ck_assert_int_eq(cuEventElapsedTime(&ms, start, end), CUDA_SUCCESS);
    ck_assert(ms >= 0);
    ck_assert_int_eq(cuMemcpyDtoHAsync_v2(&v, p, 4, stream), CUDA_SUCCESS);
    ck_assert_int_eq(cuStreamSynchronize(stream), CUDA_SUCCESS);
    ck_assert_uint_eq(v, 9);
    struct launch_attribute cooperative = {2, {0}, {1}};
    c.attribute = &cooperative;
    c.n_attribute = 1;
    ck_assert_int_eq(cuLaunchKernelEx(&c, kernel, arg, NULL), CUDA_ERROR_NOT_SUPPORTED);
    ck_assert_int_eq(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 0),
                     CUDA_SUCCESS);
    ck_assert_int_eq(blocks, 6); /* 1536 threads */
    ck_assert_int_eq(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 64, 20000),
                     CUDA_SUCCESS);
    ck_assert_int_eq(blocks, 4); /* 100 KiB of shared memory */
    ck_assert_int_eq(cuOccupancyMaxPotentialBlockSize(&grid, &block, function, NULL, 0, 0),
                     CUDA_SUCCESS);
    ck_assert(block >= 128 && block <= 1024 && grid >= 82);
    ck_assert_int_eq(cuEventDestroy_v2(start), CUDA_SUCCESS);
    ck_assert_int_eq(cuEventDestroy_v2(end), CUDA_SUCCESS);
    ck_assert_int_eq(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
    ck_assert_int_eq(cuLibraryUnload(library), CUDA_SUCCESS);
}
END_TEST

START_TEST(contexts)
{
    CUcontext primary, own, now;
    gpu_start();
    ck_assert_int_eq(cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
    ck_assert_int_eq(cuCtxCreate_v2(&own, 0, 0), CUDA_SUCCESS);
    ck_assert_int_eq(cuCtxGetCurrent(&now), CUDA_SUCCESS);
    ck_assert(now == own && own != primary);
    ck_assert_int_eq(cuCtxPopCurrent_v2(&now), CUDA_SUCCESS);
    ck_assert(now == own);
    ck_assert_int_eq(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
    ck_assert_int_eq(cuCtxPushCurrent_v2(primary), CUDA_SUCCESS);
    ck_assert_int_eq(cuCtxSynchronize(), CUDA_SUCCESS);
    ck_assert_int_eq(cuCtxDestroy_v2(own), CUDA_SUCCESS);
    ck_assert_int_eq(cuCtxDestroy_v2(own), CUDA_ERROR_INVALID_CONTEXT);
    ck_assert_int_eq(cuCtxSetCurrent(own), CUDA_ERROR_INVALID_CONTEXT);
}
END_TEST

/* Instructions are counted, and modelled ones leave a mark with their bound. */
START_TEST(statistics)
{
    struct device_stats s;
    CUmodule m;
    CUfunction f;
    CUdeviceptr p;
    gpu_start();
    ck_assert_int_eq(cuMemAlloc_v2(&p, 4), CUDA_SUCCESS);
    ck_assert_int_eq(cuModuleLoadData(&m, store_text), CUDA_SUCCESS);
    ck_assert_int_eq(cuModuleGetFunction(&f, m, "k"), CUDA_SUCCESS);
    ck_assert_int_eq(run(f, p, 1, 10, 64), CUDA_SUCCESS);
    gpuparity_sim_stats(&s);
    ck_assert_uint_eq(s.instructions, 10 * 2 * 6);
    ck_assert_str_eq(s.marks, "");
    ck_assert_int_eq(
        cuModuleLoadData(&m, KERNEL("mov.f32 %f0, 0f3F800000; ex2.approx.ftz.f32 %f0, %f0;")),
        CUDA_SUCCESS);
    ck_assert_int_eq(cuModuleGetFunction(&f, m, "k"), CUDA_SUCCESS);
    ck_assert_int_eq(run(f, p, 1, 1, 1), CUDA_SUCCESS);
    gpuparity_sim_stats(&s);
    ck_assert_str_eq(s.marks, "ex2.approx.f32: 2 ulp");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cuda_sim_api");
    TCase *t = tcase_create("api");
    tcase_add_test(t, before_init);
    tcase_add_test(t, device);
    tcase_add_test(t, memory);
    tcase_add_test(t, modules);
    tcase_add_test(t, bad_modules);
    tcase_add_test(t, fat_binaries);
    tcase_add_test(t, everything_by_name);
    tcase_add_test(t, libraries_and_streams);
    tcase_add_test(t, contexts);
    tcase_add_test(t, statistics);
    suite_add_tcase(s, t);
    return suite_run(s); /* each in a process of its own: the card is one a process */
}
