/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

#include "api.h"
#include "runtime.h"
#include "suite.h"

/* GPUPARITY_SIM_CHECK: planted faults are found and named, correct kernels are left alone.
 * Sources: data/hip_sim/faulty.hip. */

enum { THREADS = 128 };

static hip_module module;
static void *a, *b;

static void ok(hip_error e)
{
    ck_assert_msg(e == hipSuccess, "%s: %s", hipGetErrorName(e), gpuparity_sim_last_fault());
}

static void module_open(void)
{
    int ones[THREADS];
    setenv("GPUPARITY_SIM_CHECK", "1", 1);
    ok(hipModuleLoad(&module, GPUPARITY_SOURCE_DIR "/tests/data/hip_sim/faulty.co"));
    ok(hipMalloc(&a, sizeof ones));
    ok(hipMalloc(&b, 2 * sizeof ones));
    for (int n = 0; n < THREADS; n++)
        ones[n] = n + 1;
    ok(hipMemcpyHtoD(b, ones, sizeof ones));
}

static void module_close(void)
{
    ok(hipModuleUnload(module));
    ok(hipFree(a));
    ok(hipFree(b));
}

static hip_error launch(const char *kernel, unsigned blocks, int n)
{
    hip_function f;
    void *params[] = {&a, &b, &n};
    ok(hipModuleGetFunction(&f, module, kernel));
    return hipModuleLaunchKernel(f, blocks, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL);
}

static void found(const char *kernel, unsigned blocks, int n, const char *word)
{
    ck_assert_int_eq(launch(kernel, blocks, n), hipErrorLaunchFailure);
    ck_assert_msg(strstr(gpuparity_sim_last_fault(), kernel) &&
                      strstr(gpuparity_sim_last_fault(), word),
                  "%s", gpuparity_sim_last_fault());
}

START_TEST(unwritten_bytes)
{
    ok(launch("unwritten", 1, 0));
    found("unwritten", 1, 1, "thread 127");
    ok(launch("unwritten_shared", 1, THREADS));
    found("unwritten_shared", 1, THREADS - 1, "shared memory");
}
END_TEST

/* Each is fine with one argument, and with another uses what nobody has set. */
START_TEST(unset_values)
{
    found("unset_register", 1, 77, "thread 77");
    ok(launch("unset_register", 1, THREADS));
    found("unset_branch", 1, 1, "branches on something");
    ok(launch("unset_branch", 1, 0));
    found("unset_address", 1, 1, "uses an address");
    ok(launch("unset_address", 1, 0));
    found("unset_private", 1, 3, "private memory");
    ok(launch("unset_private", 1, 4));
    found("unset_atomic", 1, 1, "updates global memory");
    ok(launch("unset_atomic", 1, 0));
    ok(launch("unset_unused", 1, 0));
    ok(launch("unset_unused", 1, 100));
}
END_TEST

/* The line of the source of the statement with the text, in the words of the last fault. */
static void line_is_named(const char *before, const char *text)
{
    char line[256], name[64];
    int number = 1;
    FILE *f = fopen(GPUPARITY_SOURCE_DIR "/tests/data/hip_sim/faulty.hip", "r");
    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f) && !strstr(line, text))
        number++;
    fclose(f);
    snprintf(name, sizeof name, "%sfaulty.hip:%d)", before, number);
    ck_assert_msg(strstr(gpuparity_sim_last_fault(), name), "%s: %s", name,
                  gpuparity_sim_last_fault());
}

START_TEST(source_lines)
{
    found("unset_private", 1, 3, "private memory");
    line_is_named("(", "a[threadIdx.x] = local[3]");
    found("unset_atomic", 1, 1, "updates global memory"); /* inlined from a header */
    line_is_named(" from ", "atomicAdd(&b[(127 + n)], 1)");
    found("blocks_race", 4, 5, "nothing orders");
    line_is_named("(", "a[threadIdx.x] = blockIdx.x * n");
}
END_TEST

START_TEST(races)
{
    ok(launch("blocks_race", 1, 5));
    ok(launch("blocks_race", 4, 0)); /* all write the same */
    found("blocks_race", 4, 5, "nothing orders the two blocks");
    ok(hipMemsetD32(a, 0, THREADS));
    ok(launch("handed_on", 2, 0)); /* a release store and an acquire load */
    ok(hipMemsetD32(a, 0, THREADS));
    found("handed_on", 2, 1, "nothing orders the two blocks");
    ok(launch("waves_race", 1, 1));
    found("waves_race", 1, 0, "shared memory");
}
END_TEST

START_TEST(barriers_apart)
{
    ok(launch("apart", 1, 4));
    ok(launch("apart", 1, 0));
    found("apart", 1, 2, "barrier");
}
END_TEST

START_TEST(correct_kernels_stay_silent)
{
    int sum = -1;
    ok(hipMemsetD32(a, 0, THREADS));
    ok(launch("correct", 8, 0));
    ok(hipMemcpyDtoH(&sum, a, sizeof sum));
    ck_assert_int_eq(sum, 8 * THREADS * (THREADS + 1) / 2);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hip_sim_check");
    TCase *c = tcase_create("check");
    tcase_add_checked_fixture(c, module_open, module_close);
    tcase_add_test(c, unwritten_bytes);
    tcase_add_test(c, unset_values);
    tcase_add_test(c, source_lines);
    tcase_add_test(c, races);
    tcase_add_test(c, barriers_apart);
    tcase_add_test(c, correct_kernels_stay_silent);
    suite_add_tcase(s, c);
    return suite_run(s);
}
