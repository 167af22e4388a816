/* SPDX-License-Identifier: Apache-2.0 */
/* How fast hip-sim is on one core, in processor time: wave instructions and multiply-adds a
 * second; and what a second core gives. Kernels: data/hip_sim/bench.hip. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config.h"

#include "api.h"
#include "backend.h"
#include "runtime.h"

enum { SIDE = 256, COUNT = SIDE * SIDE };

static void ok(hip_error e)
{
    if (!e)
        return;
    fprintf(stderr, "%s: %s\n", hipGetErrorName(e), gpuparity_sim_last_fault());
    exit(1);
}

static double clock_of(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds(void)
{
    return clock_of(CLOCK_PROCESS_CPUTIME_ID);
}

static uint64_t instructions(void)
{
    struct device_stats s;
    gpuparity_sim_stats(&s);
    return s.instructions;
}

static void *numbers(unsigned bits)
{
    void *address;
    ok(hipMalloc(&address, COUNT * 4));
    ok(hipMemsetD32(address, (int)bits, COUNT));
    return address;
}

static void time_kernel(hip_module m, const char *name, const unsigned grid[2],
                        const unsigned block[2], void **params, double work)
{
    hip_function f;
    ok(hipModuleGetFunction(&f, m, name));
    const uint64_t before = instructions();
    const double start = seconds();
    ok(hipModuleLaunchKernel(f, grid[0], grid[1], 1, block[0], block[1], 1, 0, NULL, params,
                             NULL));
    const double spent = seconds() - start;
    printf("%-10s %6.3f s %8.1f M wave instructions/s", name, spent,
           (double)(instructions() - before) / spent * 1e-6);
    if (work > 0)
        printf(" %8.1f M multiply-adds/s", work / spent * 1e-6);
    printf("\n");
}

/* The quickest of some launches on so many threads: wall seconds, and processor seconds. */
static void threads_time(hip_function f, const char *threads, void **params, double *ret_wall,
                         double *ret_spent)
{
    setenv("GPUPARITY_SIM_THREADS", threads, 1);
    const double wall = clock_of(CLOCK_MONOTONIC), spent = seconds();
    ok(hipModuleLaunchKernel(f, SIDE / 16, SIDE / 16, 1, 16, 16, 1, 0, NULL, params, NULL));
    const double w = clock_of(CLOCK_MONOTONIC) - wall, s = seconds() - spent;
    *ret_wall = *ret_wall == 0 || w < *ret_wall ? w : *ret_wall;
    *ret_spent = *ret_spent == 0 || s < *ret_spent ? s : *ret_spent;
}

/* One thread and two, in turn, so that what else the machine does meets both. */
static void scaling(hip_module m, void **params)
{
    hip_function f;
    double wall[2] = {0}, spent[2] = {0};
    ok(hipModuleGetFunction(&f, m, "naive"));
    for (int round = 0; round < 20; round++) {
        threads_time(f, "1", params, &wall[0], &spent[0]);
        threads_time(f, "2", params, &wall[1], &spent[1]);
    }
    printf("two threads: %.2f times as fast as one, %.2f of its processor time\n",
           wall[0] / wall[1], spent[1] / spent[0]);
}

int main(void)
{
    hip_module m;
    int loops = 100000, side = SIDE;
    setenv("GPUPARITY_SIM_THREADS", "1", 0);
    ok(hipModuleLoad(&m, GPUPARITY_SOURCE_DIR "/tests/data/hip_sim/bench.co"));
    void *a = numbers(0x3f000000), *b = numbers(0x3e800000), *c = numbers(0);
    void *h = numbers(0x38003400), *one[] = {&a, &loops};
    void *three[] = {&a, &b, &c, &side, &side, &side},
         *halves[] = {&h, &h, &c, &side, &side, &side};
    const double work = (double)SIDE * SIDE * SIDE;
    time_kernel(m, "valu", (unsigned[]){4, 1}, (unsigned[]){256, 1}, one, 0);
    time_kernel(m, "integers", (unsigned[]){4, 1}, (unsigned[]){256, 1}, one, 0);
    ok(hipMemsetD32(a, 0x3f000000, COUNT));
    time_kernel(m, "naive", (unsigned[]){SIDE / 16, SIDE / 16}, (unsigned[]){16, 16}, three,
                work);
    time_kernel(m, "tiled", (unsigned[]){SIDE / 16, SIDE / 16}, (unsigned[]){16, 16}, three,
                work);
    time_kernel(m, "matrix", (unsigned[]){SIDE / 64, SIDE / 16}, (unsigned[]){128, 1}, halves,
                work);
    scaling(m, three);
    return 0;
}
