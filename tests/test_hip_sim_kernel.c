/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

#include "api.h"
#include "backend.h"
#include "runtime.h"
#include "hipkernel.h"
#include "suite.h"

/* Whole kernels, compiled by hipcc, through the exported functions; the answers come from plain
 * C. Sources: data/hip_sim/kernels.hip. */

enum { N = 1000 };

/* --- integers and control flow
 * ---------------------------------------------------------------- */

static int numbers_a[N], numbers_b[N], numbers_c[N];

static void numbers_fill(int span)
{
    uint64_t seed = 13;
    for (int n = 0; n < N; n++) {
        numbers_a[n] = (int)(random_next(&seed) % (uint64_t)(2 * span + 1)) - span;
        numbers_b[n] = (int)(random_next(&seed) % 1000) + 1;
        numbers_c[n] = 0;
    }
}

START_TEST(integer_division)
{
    long long a[N], b[N], c[N];
    uint64_t seed = 14;
    numbers_fill(1 << 28);
    run("quotients", numbers_a, numbers_b, numbers_c, 4, N, 0);
    for (int n = 0; n < N; n++)
        ck_assert_int_eq(numbers_c[n],
                         numbers_a[n] / numbers_b[n] * 3 + numbers_a[n] % numbers_b[n]);
    for (int n = 0; n < N; n++) {
        a[n] = (long long)random_next(&seed) >> 3;
        b[n] = (long long)random_next(&seed) >> (n % 50 + 3);
        b[n] = b[n] ? b[n] : 1;
    }
    run("quotients64", a, b, c, 8, N, 0);
    for (int n = 0; n < N; n++)
        ck_assert_int_eq(c[n], a[n] / b[n] * 3 + a[n] % b[n]);
}
END_TEST

START_TEST(scan_through_shared_memory)
{
    numbers_fill(1000);
    run("scan", numbers_a, numbers_b, numbers_c, 4, N, 0);
    for (int n = 0, sum = 0; n < N; n++) {
        sum = n % BLOCK ? sum + numbers_a[n] : numbers_a[n];
        ck_assert_int_eq(numbers_c[n], sum);
    }
}
END_TEST

START_TEST(lanes_exchange)
{
    enum { FULL = 992 }; /* whole waves */
    numbers_fill(1000);
    run("lanes", numbers_a, numbers_b, numbers_c, 4, FULL, 0);
    for (int n = 0; n < FULL; n++) {
        const int *wave = numbers_a + n / 32 * 32, lane = n % 32;
        int odd = 0;
        for (int k = 0; k < 32; k++)
            odd += wave[k] & 1;
        int down = wave[lane + 3 < 32 ? lane + 3 : lane];
        ck_assert_int_eq(numbers_c[n],
                         down + wave[lane ^ 9] * 2 + wave[numbers_b[n] & 31] * 3 + odd * 5);
    }
}
END_TEST

START_TEST(atomics_of_many_blocks)
{
    numbers_fill(1000);
    int want[5] = {0, -5000, 5000, 0, 2 * N};
    numbers_c[1] = -5000;
    numbers_c[2] = 5000;
    for (int n = 0; n < N; n++) {
        want[0] += numbers_a[n];
        want[1] = numbers_a[n] > want[1] ? numbers_a[n] : want[1];
        want[2] = numbers_a[n] < want[2] ? numbers_a[n] : want[2];
        want[3] |= (int)(1u << (numbers_a[n] & 31));
    }
    run("counts", numbers_a, numbers_b, numbers_c, 4, N, 0);
    ck_assert_mem_eq(numbers_c, want, sizeof want);
}
END_TEST

START_TEST(calls_and_private_memory)
{
    static const int fibonacci[8] = {0, 1, 1, 2, 3, 5, 8, 13};
    numbers_fill(1000);
    run("recursion", numbers_a, numbers_b, numbers_c, 4, N, 0);
    for (int n = 0; n < N; n++)
        ck_assert_int_eq(numbers_c[n], fibonacci[numbers_a[n] & 7]);
    run("sorted", numbers_a, numbers_b, numbers_c, 4, N, 0);
    for (int n = 0; n < N; n++) { /* the chosen one has as many below it as its rank says */
        int below = 0, equal = 0, rank = numbers_b[n] & 15;
        for (int k = 0; k < 16; k++) {
            below += numbers_a[(n + k) % N] < numbers_c[n];
            equal += numbers_a[(n + k) % N] == numbers_c[n];
        }
        ck_assert(equal > 0 && below <= rank && rank < below + equal);
    }
}
END_TEST

START_TEST(generic_addresses)
{
    numbers_fill(1000);
    run("generic", numbers_a, numbers_b, numbers_c, 4, N, 0);
    for (int n = 0; n < N; n++) {
        int neighbour = (n ^ 1) < N ? numbers_b[n ^ 1] : 0;
        int want = (numbers_a[n] & 1)   ? neighbour
                   : (numbers_a[n] & 2) ? numbers_a[n]
                                        : (n & 3) + 1;
        ck_assert_int_eq(numbers_c[n], want);
    }
}
END_TEST

START_TEST(dynamic_shared_memory)
{
    numbers_fill(1000);
    run("reversed", numbers_a, numbers_b, numbers_c, 4, N, BLOCK * 4);
    for (int n = 0; n < N; n++) {
        int other = n / BLOCK * BLOCK + BLOCK - 1 - n % BLOCK;
        ck_assert_int_eq(numbers_c[n], other < N ? numbers_a[other] : 0);
    }
}
END_TEST

START_TEST(variables_of_the_module)
{
    int table[32], calls = -1;
    void *address;
    size_t size;
    numbers_fill(1000);
    for (int n = 0; n < 32; n++)
        table[n] = n * n - 7;
    ok(hipModuleGetGlobal(&address, &size, module, "table"));
    ck_assert_uint_eq(size, sizeof table);
    ok(hipMemcpyHtoD(address, table, size));
    run("looked_up", numbers_a, numbers_b, numbers_c, 4, N, 0);
    for (int n = 0; n < N; n++)
        ck_assert_int_eq(numbers_c[n], table[numbers_a[n] & 31]);
    ok(hipModuleGetGlobal(&address, &size, module, "calls"));
    ok(hipMemcpyDtoH(&calls, address, sizeof calls));
    ck_assert_int_eq(calls, N);
    ck_assert_int_eq(hipModuleGetGlobal(&address, &size, module, "nothing"), hipErrorNotFound);
}
END_TEST

START_TEST(numbers_of_blocks_and_threads)
{
    enum { COUNT = 2 * 3 * 4 * 5 * 3 * 2 };
    int got[COUNT];
    void *c;
    hip_function f;
    ok(hipMalloc(&c, sizeof got));
    ok(hipModuleGetFunction(&f, module, "ids"));
    size_t size = sizeof c;
    void *extra[] = {(void *)1, &c, (void *)2, &size, (void *)3};
    ok(hipModuleLaunchKernel(f, 2, 3, 4, 5, 3, 2, 0, NULL, NULL, extra));
    ok(hipMemcpyDtoH(got, c, sizeof got));
    for (int n = 0; n < COUNT; n++)
        ck_assert_int_eq(got[n], n / 30 * 1000 + n % 30);
    ok(hipFree(c));
}
END_TEST

/* --- faults: found, named, and the card goes on
 * ----------------------------------------------- */

static hip_error fault(const char *kernel, void *c, int n, unsigned threads)
{
    void *params[] = {&c, &n};
    return launch(kernel, 1, threads, 0, params);
}

START_TEST(faults_are_named)
{
    void *c;
    struct device_stats stats;
    ok(hipMalloc(&c, 256));
    ck_assert_int_eq(fault("beyond", c, 32, 64), hipErrorIllegalAddress);
    ck_assert_ptr_nonnull(strstr(gpuparity_sim_last_fault(), "kernel beyond, block (0,0,0)"));
    ck_assert_ptr_nonnull(strstr(gpuparity_sim_last_fault(), "thread 32"));
    ck_assert_int_eq(hipDeviceSynchronize(), hipErrorIllegalAddress);
    ck_assert_int_eq(hipDeviceSynchronize(), hipSuccess);
    ck_assert_int_eq(fault("beyond_shared", c, 1, 64), hipErrorIllegalAddress);
    ck_assert_ptr_nonnull(strstr(gpuparity_sim_last_fault(), "shared memory"));
    ck_assert_int_eq(fault("beyond", NULL, 0, 1), hipErrorIllegalAddress);
    ck_assert_ptr_nonnull(strstr(gpuparity_sim_last_fault(), "null pointer"));
    ck_assert_int_eq(fault("trapped", c, 3, 1), hipErrorLaunchFailure);
    ck_assert_int_eq(fault("trapped", c, 4, 1), hipSuccess);
    ok(hipFree(c));
    ck_assert_int_eq(fault("trapped", c, 4, 1), hipErrorIllegalAddress);
    ck_assert_ptr_nonnull(strstr(gpuparity_sim_last_fault(), "freed"));
    gpuparity_sim_stats(&stats);
    ck_assert_uint_gt(stats.instructions, 20);
}
END_TEST

START_TEST(endless_loops_end)
{
    void *c;
    setenv("GPUPARITY_SIM_BUDGET", "100000", 1);
    ok(hipMalloc(&c, 256));
    ck_assert_int_eq(fault("forever", c, 0, 64), hipErrorLaunchTimeOut);
    ck_assert_ptr_nonnull(strstr(gpuparity_sim_last_fault(), "GPUPARITY_SIM_BUDGET"));
}
END_TEST

START_TEST(shapes_are_checked)
{
    void *c = NULL;
    int n = 0;
    void *params[] = {&c, &n};
    ck_assert_int_eq(launch("trapped", 0, 1, 0, params), hipErrorInvalidConfiguration);
    ck_assert_int_eq(launch("trapped", 1, 1025, 0, params), hipErrorInvalidConfiguration);
    ck_assert_int_eq(launch("trapped", 1, 1, 65537, params), hipErrorInvalidConfiguration);
    hip_function f;
    ck_assert_int_eq(hipModuleGetFunction(&f, module, "no such kernel"), hipErrorNotFound);
}
END_TEST

/* Code for waves of 64 or with clamped 16-bit results: one line says which kernel, and what to
 * do. */
START_TEST(what_is_not_simulated_is_refused)
{
    void *c = NULL;
    int n = 0;
    void *params[] = {&c, &n};
    struct kernel *k = codeobject_kernel(&module->object, "trapped");
    struct kernel_descriptor *d = &k->descriptor;
    d->properties ^= 1 << 10;
    ck_assert_int_eq(launch("trapped", 1, 1, 0, params), hipErrorInvalidConfiguration);
    ck_assert_ptr_nonnull(
        strstr(gpuparity_sim_last_fault(), "kernel trapped: compiled for waves of 64"));
    ck_assert_ptr_nonnull(strstr(gpuparity_sim_last_fault(), "without -mwavefrontsize64"));
    d->properties ^= 1 << 10;
    d->rsrc1 |= 1 << 26;
    ck_assert_int_eq(launch("trapped", 1, 1, 0, params), hipErrorInvalidConfiguration);
    ck_assert_ptr_nonnull(
        strstr(gpuparity_sim_last_fault(), "kernel trapped: clamps 16-bit results"));
}
END_TEST

/* The number of threads changes nothing. */
START_TEST(threads_do_not_matter)
{
    static int one[N];
    numbers_fill(1000);
    setenv("GPUPARITY_SIM_THREADS", "1", 1);
    run("scan", numbers_a, numbers_b, one, 4, N, 0);
    setenv("GPUPARITY_SIM_THREADS", "3", 1);
    run("scan", numbers_a, numbers_b, numbers_c, 4, N, 0);
    ck_assert_mem_eq(one, numbers_c, sizeof one);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hip_sim_kernel");
    TCase *c = tcase_create("kernels");
    tcase_add_checked_fixture(c, module_open, module_close);
    tcase_add_test(c, integer_division);
    tcase_add_test(c, scan_through_shared_memory);
    tcase_add_test(c, lanes_exchange);
    tcase_add_test(c, atomics_of_many_blocks);
    tcase_add_test(c, calls_and_private_memory);
    tcase_add_test(c, generic_addresses);
    tcase_add_test(c, dynamic_shared_memory);
    tcase_add_test(c, variables_of_the_module);
    tcase_add_test(c, numbers_of_blocks_and_threads);
    tcase_add_test(c, faults_are_named);
    tcase_add_test(c, endless_loops_end);
    tcase_add_test(c, shapes_are_checked);
    tcase_add_test(c, what_is_not_simulated_is_refused);
    tcase_add_test(c, threads_do_not_matter);
    suite_add_tcase(s, c);
    return suite_run(s);
}
