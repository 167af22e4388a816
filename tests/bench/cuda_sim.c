/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api.h"
#include "config.h"

/* Speed of the simulated GPU, in processor time of one thread: warp instructions on FMA code,
 * then multiply-adds of f32 and tensor-core products. Goals: 50, 100 and 300 million a second.
 * Last, how much faster two threads are than one, in wall time of one run: near 2 where two cores
 * are idle; what the second thread costs in processor time shows on a busy machine too. */

static double clock_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double now(void)
{
    return clock_of(CLOCK_PROCESS_CPUTIME_ID);
}

static void must(CUresult r, const char *what)
{
    const char *name = "?";
    if (!r)
        return;
    cuGetErrorName(r, &name);
    fprintf(stderr, "bench_cuda_sim: %s: %s\n", what, name);
    exit(1);
}

static CUfunction kernel_load(const char *file, const char *name)
{
    char path[4096];
    static char text[1 << 20];
    snprintf(path, sizeof path, "%s/tests/data/cuda_sim/%s", GPUPARITY_SOURCE_DIR, file);
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        exit(1);
    }
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    CUmodule m;
    CUfunction k;
    must(cuModuleLoadData(&m, text), file);
    must(cuModuleGetFunction(&k, m, name), name);
    return k;
}

static CUdeviceptr numbers_alloc(size_t bytes)
{
    CUdeviceptr p;
    must(cuMemAlloc_v2(&p, bytes), "alloc");
    must(cuMemsetD16_v2(p, 0x3800, bytes / 2), "fill"); /* halves of 0.5; floats near it */
    return p;
}

static void product_time(const char *file, const char *name, int side, unsigned tile,
                         unsigned threads_x, unsigned threads_y)
{
    size_t bytes = (size_t)side * (size_t)side * 4;
    CUdeviceptr a = numbers_alloc(bytes), b = numbers_alloc(bytes), c = numbers_alloc(bytes);
    void *arg[] = {&side, &side, &side, &a, &b, &c},
         *pointers_first[] = {&a, &b, &c, &side, &side, &side};
    CUfunction f = kernel_load(file, name);
    unsigned blocks = ((unsigned)side + tile - 1) / tile;
    double t = now();
    must(cuLaunchKernel(f, blocks, blocks, 1, threads_x, threads_y, 1, 0, NULL,
                        threads_y > 1 ? arg : pointers_first, NULL),
         name);
    t = now() - t;
    printf("%-10s %6.0f M multiply-adds/s\n", name, pow(side, 3) / t * 1e-6);
}

/* The best of some runs of the naive product: wall and processor seconds. */
static void threads_run(CUfunction f, void **arg, const char *threads, double *ret_wall,
                        double *ret_processor)
{
    setenv("GPUPARITY_SIM_THREADS", threads, 1);
    *ret_wall = *ret_processor = 1e9;
    for (int k = 0; k < 5; k++) {
        double wall = clock_of(CLOCK_MONOTONIC), processor = now();
        must(cuLaunchKernel(f, 24, 24, 1, 16, 16, 1, 0, NULL, arg, NULL), "naive");
        *ret_wall = fmin(*ret_wall, clock_of(CLOCK_MONOTONIC) - wall);
        *ret_processor = fmin(*ret_processor, now() - processor);
    }
}

static void threads_time(void)
{
    int side = 384;
    size_t bytes = (size_t)side * (size_t)side * 4;
    CUdeviceptr a = numbers_alloc(bytes), b = numbers_alloc(bytes), c = numbers_alloc(bytes);
    void *arg[] = {&side, &side, &side, &a, &b, &c};
    CUfunction f = kernel_load("gemm.ptx", "naive");
    double wall[2], processor[2];
    threads_run(f, arg, "1", &wall[0], &processor[0]);
    threads_run(f, arg, "2", &wall[1], &processor[1]);
    printf("2 threads  %6.2f times as fast as 1, for %.2f times the processor time\n",
           wall[0] / wall[1], processor[1] / processor[0]);
}

static void fma_time(void)
{
    static char text[65536];
    char *at = text;
    at += sprintf(at, ".version 8.0\n.target sm_86\n.address_size 64\n.entry k(.param .u64 "
                      "p)\n{\n.reg .f32 %%f<16>; .reg .b32 %%r; "
                      ".reg .pred %%p;\nmov.u32 %%r, 0;\n");
    for (int k = 0; k < 16; k++)
        at += sprintf(at, "mov.f32 %%f%d, 0f3F800000;\n", k);
    at += sprintf(at, "L:\n");
    for (int k = 0; k < 128; k++)
        at += sprintf(at, "fma.rn.f32 %%f%d, %%f%d, %%f%d, %%f%d;\n", k % 16, (k + 5) % 16,
                      (k + 9) % 16, k % 16);
    sprintf(at, "add.u32 %%r, %%r, 1; setp.lt.u32 %%p, %%r, 20000; @%%p bra L; ret;\n}\n");
    CUmodule m;
    CUfunction f;
    CUdeviceptr p = 0;
    void *arg[] = {&p};
    must(cuModuleLoadData(&m, text), "fma");
    must(cuModuleGetFunction(&f, m, "k"), "fma");
    double t = now();
    must(cuLaunchKernel(f, 1, 1, 1, 256, 1, 1, 0, NULL, arg, NULL), "fma");
    t = now() - t;
    printf("%-10s %6.0f M warp instructions/s\n", "fma", 8 * 20000 * 131 / t * 1e-6);
}

int main(void)
{
    CUcontext c;
    setenv("GPUPARITY_SIM_THREADS", "1", 1);
    must(cuInit(0), "init");
    must(cuDevicePrimaryCtxRetain(&c, 0), "context");
    must(cuCtxSetCurrent(c), "context");
    fma_time();
    product_time("gemm.ptx", "naive", 384, 16, 16, 16);
    product_time("gemm.ptx", "tiled", 384, 16, 16, 16);
    product_time("mma.ptx", "ldmm", 512, 64, 128, 1);
    threads_time();
    return 0;
}
