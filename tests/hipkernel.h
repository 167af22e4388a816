/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIPKERNEL_H
#define GPUPARITY_HIPKERNEL_H

#include <check.h>

#include "config.h"

#include "api.h"
#include "runtime.h"

/* The kernels of data/hip_sim/kernels.hip through the exported functions. */

enum { BLOCK = 256 };

static hip_module module;

static void ok(hip_error e)
{
    ck_assert_msg(e == hipSuccess, "%s: %s", hipGetErrorName(e), gpuparity_sim_last_fault());
}

static void module_open(void)
{
    ok(hipInit(0));
    ok(hipModuleLoad(&module, GPUPARITY_SOURCE_DIR "/tests/data/hip_sim/kernels.co"));
}

static void module_close(void)
{
    ok(hipModuleUnload(module));
}

static hip_error launch(const char *name, unsigned grid, unsigned block, unsigned shared,
                        void **params)
{
    hip_function f;
    ok(hipModuleGetFunction(&f, module, name));
    return hipModuleLaunchKernel(f, grid, 1, 1, block, 1, 1, shared, NULL, params, NULL);
}

/* c = kernel(a, b) over n elements of `size` bytes; c's first contents are used. */
static void run(const char *name, const void *a, const void *b, void *c, size_t size, int n,
                unsigned shared)
{
    void *da, *db, *dc;
    const size_t bytes = size * (size_t)n;
    ok(hipMalloc(&da, bytes));
    ok(hipMalloc(&db, bytes));
    ok(hipMalloc(&dc, bytes));
    ok(hipMemcpy(da, a, bytes, 1));
    ok(hipMemcpy(db, b, bytes, 1));
    ok(hipMemcpy(dc, c, bytes, 1));
    void *params[] = {&da, &db, &dc, &n};
    ok(launch(name, ((unsigned)n + BLOCK - 1) / BLOCK, BLOCK, shared, params));
    ok(hipMemcpy(c, dc, bytes, 2));
    ok(hipFree(da));
    ok(hipFree(db));
    ok(hipFree(dc));
}

static uint64_t random_next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state ^ *state >> 29;
}

#endif
