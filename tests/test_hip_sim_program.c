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

/* What a program made by hipcc calls: registration before main, launches by host stub,
 * variables; and the parts of the runtime around them. */

static void *bundle;

static void ok(hip_error e)
{
    ck_assert_msg(e == hipSuccess, "%s: %s", hipGetErrorName(e), gpuparity_sim_last_fault());
}

static void bundle_read(void)
{
    FILE *f = fopen(GPUPARITY_SOURCE_DIR "/tests/data/hip_sim/kernels.co", "rb");
    ck_assert_ptr_nonnull(f);
    bundle = malloc(1 << 17);
    ck_assert_uint_gt(fread(bundle, 1, 1 << 17, f), 1000);
    fclose(f);
}

START_TEST(registered_kernels_and_variables)
{
    const struct {
        uint32_t magic, version;
        const void *binary;
        void *unused;
    } wrapper = {0x48495046, 1, bundle, NULL}, stranger = {0x12345678, 1, bundle, NULL};
    static char stub, table_host, nothing; /* only their addresses matter */
    char kernel_name[] = "looked_up", table_name[] = "table";
    int table[32], in[64], out[64], n = 64;
    void *a, *c;
    ck_assert_ptr_null(__hipRegisterFatBinary(&stranger));
    void **binary = __hipRegisterFatBinary(&wrapper);
    ck_assert_ptr_nonnull(binary);
    __hipRegisterFunction(binary, &stub, kernel_name, kernel_name, 0, NULL, NULL, NULL, NULL,
                          NULL);
    __hipRegisterVar(binary, &table_host, table_name, table_name, 0, sizeof table, 1, 0);

    for (int k = 0; k < 32; k++)
        table[k] = 1000 - k;
    for (int k = 0; k < 64; k++)
        in[k] = 3 * k;
    ok(hipMemcpyToSymbol(&table_host, table, sizeof table, 0, 1));
    ok(hipMalloc(&a, sizeof in));
    ok(hipMalloc(&c, sizeof out));
    ok(hipMemcpy(a, in, sizeof in, 1));

    const struct hip_dim3 grid = {2, 1, 1}, block = {32, 1, 1};
    struct hip_dim3 g, b;
    size_t shared;
    hip_stream stream;
    ok(__hipPushCallConfiguration(grid, block, 0, NULL));
    ok(__hipPopCallConfiguration(&g, &b, &shared, &stream));
    ck_assert_int_eq(__hipPopCallConfiguration(&g, &b, &shared, &stream),
                     hipErrorMissingConfiguration);
    void *values[] = {&a, &a, &c, &n};
    ok(hipLaunchKernel(&stub, g, b, values, shared, stream));
    ck_assert_int_eq(hipLaunchKernel(&nothing, g, b, values, 0, NULL),
                     hipErrorInvalidDeviceFunction);
    ck_assert_int_eq(hipGetLastError(), hipErrorInvalidDeviceFunction);
    ck_assert_int_eq(hipGetLastError(), hipSuccess);
    ok(hipMemcpy(out, c, sizeof out, 2));
    for (int k = 0; k < 64; k++)
        ck_assert_int_eq(out[k], 1000 - (3 * k & 31));

    int back[2] = {0}, blocks = 0;
    ok(hipMemcpyFromSymbol(back, &table_host, sizeof back, 8, 2));
    ck_assert_int_eq(back[1], 997);
    ck_assert_int_eq(hipMemcpyFromSymbol(back, &table_host, sizeof back, sizeof table, 2),
                     hipErrorInvalidValue);
    ok(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &stub, 256, 0));
    ck_assert_int_gt(blocks, 0);
    __hipUnregisterFatBinary(binary);
    ck_assert_int_eq(hipLaunchKernel(&stub, g, b, values, 0, NULL),
                     hipErrorInvalidDeviceFunction);
}
END_TEST

START_TEST(the_card_describes_itself)
{
    int count = 0, value = 0;
    size_t bytes = 0, available = 0;
    char name[64];
    static char properties[2048];
    ok(hipGetDeviceCount(&count));
    ck_assert_int_eq(count, 1);
    ok(hipDeviceGetName(name, sizeof name, 0));
    ck_assert_str_eq(name, "AMD Radeon RX 7900 XTX");
    ck_assert_int_eq(hipDeviceGetName(name, sizeof name, 1), hipErrorInvalidDevice);
    ok(hipDeviceGetAttribute(&value, 87, 0));
    ck_assert_int_eq(value, 32);
    ok(hipDeviceTotalMem(&bytes, 0));
    ok(hipMemGetInfo(&available, &bytes));
    ck_assert_uint_eq(bytes, 24560ull << 20);
    ck_assert_uint_le(available, bytes);
    /* gcnArchName lies at 396 before ROCm 6 and at 1160 from then on */
    ok(hipGetDeviceProperties(properties, 0));
    ck_assert_str_eq(properties + 396, "gfx1100");
    ok(hipGetDevicePropertiesR0600(properties, 0));
    ck_assert_str_eq(properties + 1160, "gfx1100");
    ck_assert_str_eq(hipGetErrorName(700), "hipErrorIllegalAddress");
    ck_assert_str_eq(hipGetErrorName(123456), "hipErrorUnknown");
}
END_TEST

START_TEST(memory_is_checked)
{
    void *a, *b;
    char text[16] = "fifteen letters";
    size_t size;
    ok(hipMalloc(&a, 16));
    ok(hipMalloc(&b, 16));
    ok(hipMemcpy(a, text, 16, 1));
    ok(hipMemcpy(b, a, 16, 3));
    memset(text, 0, sizeof text);
    ok(hipMemcpy(text, b, 16, 4));
    ck_assert_str_eq(text, "fifteen letters");
    ck_assert_int_eq(hipMemcpy(a, text, 17, 1), hipErrorInvalidValue);
    ck_assert_int_eq(hipMemcpy(a, text, 16, 7), hipErrorInvalidMemcpyDirection);
    ck_assert_int_eq(hipMemset((char *)a + 8, 1, 9), hipErrorInvalidValue);
    ok(hipMemsetD32(a, 0x01020304, 4));
    ok(hipMemPtrGetInfo((char *)a + 3, &size));
    ck_assert_uint_eq(size, 16);
    ok(hipFree(a));
    ck_assert_int_eq(hipFree(a), hipErrorInvalidValue);
    ck_assert_int_eq(hipMemcpy(text, a, 16, 2), hipErrorInvalidValue);
    ok(hipFree(NULL));
    ck_assert_int_eq(hipMalloc(&a, (size_t)1 << 45), hipErrorOutOfMemory);
    ok(hipFree(b));
}
END_TEST

START_TEST(streams_and_events)
{
    hip_stream s;
    hip_event from, to;
    float ms = -1;
    ok(hipStreamCreate(&s));
    ok(hipEventCreate(&from));
    ok(hipEventCreate(&to));
    ck_assert_int_eq(hipEventElapsedTime(&ms, from, to), hipErrorInvalidHandle);
    ok(hipEventRecord(from, s));
    ok(hipEventRecord(to, s));
    ok(hipEventElapsedTime(&ms, from, to));
    ck_assert(ms >= 0 && ms < 1e4f);
    ok(hipStreamSynchronize(s));
    ok(hipStreamWaitEvent(s, from, 0));
    ok(hipEventDestroy(from));
    ok(hipEventDestroy(to));
    ok(hipStreamDestroy(s));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hip_sim_program");
    TCase *c = tcase_create("program");
    tcase_add_checked_fixture(c, bundle_read, NULL);
    tcase_add_test(c, registered_kernels_and_variables);
    tcase_add_test(c, the_card_describes_itself);
    tcase_add_test(c, memory_is_checked);
    tcase_add_test(c, streams_and_events);
    suite_add_tcase(s, c);
    return suite_run(s);
}
