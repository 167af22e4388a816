/* SPDX-License-Identifier: Apache-2.0 */
#include "cudasim.h"

#include <math.h>
#include <unistd.h>

#include "config.h"
#include "data/cuda_sim/clang_one.h"

/* What clang makes of CUDA, unoptimised (local memory and calls everywhere) and optimised, against
 * the same C by this test's compiler. */

enum { N = 128 };
static const char *const levels[] = {"0", "2"};

static char *clang_compile(const char *level)
{
    static char text[1 << 18];
    char command[4096];
    snprintf(command, sizeof command,
             "clang -x cuda --cuda-device-only -nocudalib -nocudainc --cuda-gpu-arch=sm_86 "
             "-Wno-unknown-cuda-version -Xclang -target-feature -Xclang +ptx72 -O%s -S "
             "%s/tests/data/cuda_sim/clang.cu -o -",
             level, GPUPARITY_SOURCE_DIR);
    FILE *f = popen(command, "r");
    ck_assert(f != NULL);
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = 0;
    ck_assert_msg(!pclose(f) && n, "%s", command);
    return text;
}

/* y = kernel(y, x, third, fourth); both arrays of N elements of `size` bytes. */
static void kernel_call(CUmodule m, const char *name, void *y, const void *x, size_t size,
                        void *third, void *fourth)
{
    CUfunction f;
    CUdeviceptr p, q;
    ck_assert_int_eq(cuModuleGetFunction(&f, m, name), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemAlloc_v2(&p, N * size), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemAlloc_v2(&q, N * size), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemcpyHtoD_v2(p, y, N * size), CUDA_SUCCESS);
    if (x)
        ck_assert_int_eq(cuMemcpyHtoD_v2(q, x, N * size), CUDA_SUCCESS);
    void *arg[] = {&p, x ? (void *)&q : third, third, fourth};
    CUresult r = cuLaunchKernel(f, 1, 1, 1, N, 1, 1, 0, NULL, arg, NULL);
    ck_assert_msg(!r, "%s: %s", name, gpuparity_sim_last_fault());
    ck_assert_int_eq(cuMemcpyDtoH_v2(y, p, N * size), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemFree_v2(p), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemFree_v2(q), CUDA_SUCCESS);
}

#define EACH(m, name, type, result_type, draw, want)                                           \
    do {                                                                                       \
        type x[N];                                                                             \
        result_type y[N] = {0};                                                                \
        for (int t = 0; t < N; t++)                                                            \
            x[t] = (type)(draw);                                                               \
        kernel_call(m, name, y, x, sizeof *y, NULL, NULL);                                     \
        for (int t = 0; t < N; t++)                                                            \
            ck_assert_msg(y[t] == (result_type)(want), "%s, thread %d", name, t);              \
    } while (0)

static int sum_of(const int *x, int first, int n)
{
    int s = 0;
    for (int t = first; t < first + n; t++)
        s += x[t];
    return s;
}

static void functions_check(CUmodule m)
{
    EACH(m, "recurse", int, int, t, one_recurse(t & 15));
    EACH(m, "switched", int, int, mix((uint64_t)t) >> 40, one_switch(x[t]));
    EACH(m, "sorted", int, int, mix((uint64_t)t) >> 40, one_sort(x, t));
    EACH(m, "bytes", signed char, unsigned char, 2 * t - 128, one_bytes(x[t]));
    EACH(m, "wide", unsigned long long, unsigned long long, mix((uint64_t)t), one_wide(x[t]));
    EACH(m, "doubles", double, double, mix((uint64_t)t) >> 20, one_double(x[t]));
    EACH(m, "by_pointer", int, int, t, t & 1 ? one_five(t) : one_inc(t));
    EACH(m, "polynomial", float, float, t - 64,
         3 * x[t] * x[t] * x[t] + 4 * x[t] * x[t] - 2 * x[t] + 1);
    EACH(m, "warp_sum", int, int, t * t, sum_of(x, t & ~31, 32));
    EACH(m, "block_sum", float, float, t - 3, N * (N - 1) / 2 - 3 * N);
}

static void arguments_check(CUmodule m)
{
    float x[N], y[N], a = 3;
    double out[N] = {0};
    int n = 100;
    struct argument b = {{1, -2, 3, -4, 5, -6, 7, -8}, 0.5, -9};
    for (int t = 0; t < N; t++) {
        x[t] = (float)t;
        y[t] = (float)(7 - t);
    }
    kernel_call(m, "axpy", y, x, sizeof *y, &a, &n);
    for (int t = 0; t < N; t++)
        ck_assert(y[t] == (float)(7 - t + (t < n ? 3 * t : 0)));
    kernel_call(m, "params", out, NULL, sizeof *out, &b, NULL);
    for (int t = 0; t < N; t++)
        ck_assert(out[t] == one_params(b, t));
}

static void atomics_check(CUmodule m)
{
    int x[N], h[N] = {0}, want[19] = {0};
    float sum = 0, have;
    for (int t = 0; t < N; t++) {
        x[t] = (int)(mix((uint64_t)t) >> 40);
        want[x[t] & 15]++;
        want[16] = x[t] > want[16] ? x[t] : want[16];
        want[18] ^= x[t];
        sum += (float)(x[t] & 255);
    }
    kernel_call(m, "atomics", h, x, sizeof *h, NULL, NULL);
    memcpy(&have, &h[17], sizeof have);
    ck_assert(have == sum);
    want[17] = h[17];
    ck_assert(!memcmp(h, want, sizeof want));
}

START_TEST(as_the_host)
{
    if (system("clang --print-targets 2>/dev/null | grep -q nvptx64")) {
        printf("skipped: clang's PTX (apt install clang)\n");
        return;
    }
    gpu_start();
    CUmodule m = ptx_load(clang_compile(levels[_i]));
    functions_check(m);
    arguments_check(m);
    atomics_check(m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cuda_sim_clang");
    TCase *t = tcase_create("clang");
    tcase_add_loop_test(t, as_the_host, 0, 2);
    suite_add_tcase(s, t);
    return suite_run_in_one(s);
}
