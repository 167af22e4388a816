/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "suite.h"

/* The program that captures a card's special function unit, on the simulated card and a part of the
 * operands: answers by the host's own arithmetic, and a unit that is elsewhere is seen. */

static char folder[] = "/tmp/gpuparity-capture-XXXXXX", output[1 << 14];

static int capture(const char *environment, const char *arguments)
{
    char command[4096];
    snprintf(command, sizeof command,
             "%s %s/backends/cuda/capture/gpuparity-capture-cuda %s 2>&1", environment,
             getenv("GPUPARITY_SIM_DIR"), arguments);
    FILE *f = popen(command, "r");
    ck_assert_ptr_nonnull(f);
    output[fread(output, 1, sizeof output - 1, f)] = 0;
    int status = pclose(f);
    ck_assert_msg(WIFEXITED(status), "%s", command);
    return WEXITSTATUS(status);
}

static bool says(const char *text)
{
    return strstr(output, text) != NULL;
}

static void setup(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void teardown(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(refusals)
{
    ck_assert_int_eq(capture("", "--on sim tan.approx.f32"), 2);
    ck_assert_msg(says("tanh.approx.f32"), "%s", output);
    ck_assert_int_eq(capture("", "--on moon"), 2);
    ck_assert_int_eq(capture("", "--count -1"), 2);
    ck_assert_int_eq(capture("", "--first 100000001"), 2);
    ck_assert_int_eq(capture("", "--on sim --output /proc/none ex2.approx.f32"), 2);
    if (access("/proc/driver/nvidia/version", R_OK)) {
        ck_assert_int_eq(capture("", "ex2.approx.f32"), 77);
        ck_assert_msg(says("UNTESTED"), "%s", output);
    }
}
END_TEST

/* Square roots from the subnormals over zero... to NaN, at the edges of chunks as well. */
static const struct {
    uint32_t first, count;
} ranges[] = {{0, 1000}, {0x007ffff0, 32}, {0x7f7fff00, 1000}, {0xfffffff0, 16}, {0x3f7ff000, 5000}};

START_TEST(digest)
{
    static uint32_t want[5000];
    char arguments[200], line[200];
    for (uint32_t k = 0; k < ranges[_i].count; k++) {
        uint32_t x = ranges[_i].first + k;
        float f;
        memcpy(&f, &x, sizeof f);
        f = sqrtf(f);
        memcpy(&want[k], &f, sizeof f);
        want[k] = isnan(f) ? 0x7fffffff : want[k];
    }
    XXH128_hash_t h = XXH3_128bits(want, ranges[_i].count * sizeof *want);
    snprintf(arguments, sizeof arguments, "--on sim --first %x --count %u sqrt.approx.f32",
             ranges[_i].first, ranges[_i].count);
    snprintf(line, sizeof line, "%08x+%x %016llx%016llx +0:%u\n", ranges[_i].first,
             ranges[_i].count, (unsigned long long)h.high64, (unsigned long long)h.low64,
             ranges[_i].count);
    ck_assert_int_eq(capture("", arguments), 0);
    ck_assert_msg(says(line) && says("SIMULATED: no card was asked"), "%s in\n%s", line, output);
}
END_TEST

/* The deltas of a unit at the lower edge of its bound: what the table says, a byte each. */
START_TEST(other_unit)
{
    enum { COUNT = 4096 };
    char arguments[300], path[200], *at;
    static char packed[COUNT + 1000];
    static int8_t delta[COUNT];
    snprintf(arguments, sizeof arguments,
             "--on sim --first 3f810000 --count %d -o %s ex2.approx.ftz.f32", COUNT, folder);
    ck_assert_int_eq(capture("GPUPARITY_SIM_APPROX=low", arguments), 0);
    snprintf(path, sizeof path, "%s/ex2.approx.ftz.f32.delta.zst", folder);
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    size_t n = fread(packed, 1, sizeof packed, f);
    fclose(f);
    ck_assert_uint_eq(ZSTD_decompress(delta, COUNT, packed, n), COUNT);
    int two = 0;
    for (int k = 0; k < COUNT; k++) {
        ck_assert_int_ge(delta[k], -3); /* 2 ulp, and rounding */
        ck_assert_int_le(delta[k], -1);
        two += delta[k] == -2;
    }
    at = strstr(output, " -2:");
    ck_assert_msg(at && atoi(at + 4) == two, "%d in\n%s", two, output);
}
END_TEST

/* Every instruction of the list compiles, runs and agrees with its model. */
START_TEST(all)
{
    ck_assert_int_eq(capture("", "--on sim --first c0000000 --count 3000"), 0);
    int lines = 0;
    for (char *at = output; (at = strstr(at, ".approx")); at++) {
        char *end = strchr(at, '\n'), *equal = strstr(at, " +0:");
        ck_assert_msg(equal && equal < end && !memchr(equal + 1, ' ', (size_t)(end - equal - 1)),
                      "%.*s", (int)(end - at), at);
        lines++;
    }
    ck_assert_int_eq(lines, 19);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("capture");
    TCase *t = tcase_create("capture");
    tcase_add_unchecked_fixture(t, setup, teardown);
    tcase_add_test(t, refusals);
    tcase_add_loop_test(t, digest, 0, (int)(sizeof ranges / sizeof *ranges));
    tcase_add_test(t, other_unit);
    tcase_add_test(t, all);
    suite_add_tcase(s, t);
    return suite_run(s);
}
