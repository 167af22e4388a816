/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/backend.h"
#include "suite.h"

/* selfcheck end to end: no card; a stand-in for one that agrees; one whose approximate functions
 * lie elsewhere, which must be found and put down to them. And the kinds of instruction. */

static char output[1 << 16];

/* Runs `gpuparity selfcheck ARGUMENTS`; its standard output and error are in `output`. */
static int selfcheck(const char *environment, const char *arguments)
{
    char command[4096];
    snprintf(command, sizeof command, "%s %s/gpuparity selfcheck %s -q 2>&1", environment,
             getenv("GPUPARITY_SIM_DIR"), arguments);
    FILE *f = popen(command, "r");
    ck_assert_ptr_nonnull(f);
    output[fread(output, 1, sizeof output - 1, f)] = 0;
    int status = pclose(f);
    ck_assert_msg(WIFEXITED(status), "%s", command);
    return WEXITSTATUS(status);
}

static char folder[] = "/tmp/gpuparity-selfcheck-XXXXXX";

static void shell(const char *command)
{
    ck_assert_msg(!system(command), "%s", command);
}

/* A folder where the stand-in has the name of the vendor's library. */
static void setup(void)
{
    char command[4096];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(command, sizeof command, "ln -s %s/libgpuparity-standin.so %s/libcuda.so.1",
             getenv("STANDIN_DIR"), folder);
    shell(command);
}

static void teardown(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    shell(command);
}

static const char *standin(const char *where)
{
    static char text[100];
    snprintf(text, sizeof text, "STANDIN=%s LD_LIBRARY_PATH=%s", where, folder);
    return text;
}

static bool says(const char *text)
{
    return strstr(output, text) != NULL;
}

/* The line of a kind of instruction. */
static bool is_suspect(const char *kind)
{
    char start[100];
    snprintf(start, sizeof start, "\n%s ", kind);
    char *line = strstr(output, start);
    ck_assert_msg(line != NULL, "no line of %s in\n%s", kind, output);
    char *end = strchr(line + 1, '\n');
    char *found = strstr(line, "suspect");
    return found && found < end;
}

START_TEST(no_card)
{
    if (!access("/proc/driver/nvidia/version", R_OK)) {
        printf("skipped: selfcheck without a card (there is one)\n");
        return;
    }
    ck_assert_int_eq(selfcheck("", "convert"), 77);
    ck_assert_msg(says("UNTESTED"), "%s", output);
    ck_assert_int_eq(selfcheck("", "convert --on cuda:0"), 77);
    ck_assert_msg(says("UNTESTED"), "%s", output);
    ck_assert_int_eq(selfcheck("", "--on cuda-sim"), 2);
    ck_assert_int_eq(selfcheck("", "--code toolchain"), 2);
}
END_TEST

START_TEST(equal)
{
    ck_assert_msg(selfcheck(standin("nearest"), "math gemm/naive:m=4,n=4,k=9") == 0, "%s",
                  output);
    ck_assert_msg(says("SIMULATED: cuda:0 is no card") && says(" 0 differ, 0 untested"), "%s",
                  output);
    ck_assert(!is_suspect("ex2.approx.ftz.f32") && !is_suspect("fma.rn.f32"));
}
END_TEST

START_TEST(other_units)
{
    ck_assert_msg(selfcheck(standin("low"), "math gemm/naive:m=4,n=4,k=9") == 1, "%s", output);
    ck_assert_msg(says("SIMULATED: cuda:0 is no card") && says("DIFFERS  math/expf"), "%s",
                  output);
    ck_assert(is_suspect("ex2.approx.ftz.f32") && is_suspect("rsqrt.approx.f32"));
    ck_assert(!is_suspect("fma.rn.f32") && !is_suspect("integer") && !is_suspect("moves"));
    ck_assert(!is_suspect("div.rn.f32"));
}
END_TEST

/* --- kinds of instruction --------------------------------------------------------------------
 */

static const char ptx[] =
    "// fma.rz.f32 in a comment\n.version 8.0\n.target sm_86\n.address_size 64\n"
    ".func (.param .b32 r) helper(.param .b32 a)\n{\n.reg .f32 %f<2>;\nsqrt.rn.f32 %f0, %f1;\n"
    "ret;\n}\n.extern .func vprintf(.param .b64 a);\n"
    ".visible .entry other(.param .u64 p)\n.maxntid 32\n{\n.reg .f64 %d<9>;\nadd.rn.f64 %d0, "
    "%d1, %d2;\nret;\n}\n"
    ".visible .entry wanted(\n.param .u64 p\n)\n{\n.reg .f32 %f<9>; .loc 1 2 3\n/* ex2.approx.f32 "
    "\n*/ L: @!%p1 fma.rn.ftz.f32 %f0, %f1, %f2, %f3;L2:mul.f32 %f1,%f2,%f3;\n"
    "{ .reg .b32 t; cvt.rn.f16.f32 h, %f1; ld.global.v2.f32 {%f1, %f2}, [%q]; }\n"
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0}, {%r0}, {%r1}, {%f0};\n"
    "atom.global.add.f32 %f1, [%q], %f2; add.s32 %r1, %r2, 3;\nfma.rn.ftz.f32 %f0, %f1, %f2, "
    "%f3; bra L;\n}\n.section .debug_str { .b8 1 }\n";

static const struct backend *cuda(void)
{
    const struct backend *b = backend_find("cuda");
    ck_assert_ptr_nonnull(b);
    return b;
}

START_TEST(kinds)
{
    char text[1000];
    cuda()->classes(ptx, strlen(ptx), "wanted", text, sizeof text);
    ck_assert_str_eq(text, "sqrt.rn.f32 flow fma.rn.ftz.f32 mul.f32 cvt.rn.f16.f32 moves "
                           "mma.m16n8k8.f32.tf32.tf32.f32 atom.global.add.f32 integer");
    cuda()->classes(ptx, strlen(ptx), "other", text, sizeof text);
    ck_assert_str_eq(text, "sqrt.rn.f32 flow add.rn.f64");
    cuda()->classes(ptx, strlen(ptx), "nobody", text, sizeof text);
    ck_assert_str_eq(text, "sqrt.rn.f32 flow");
}
END_TEST

/* Text that ends anywhere, and lists that do not fit. */
START_TEST(kinds_of_anything)
{
    for (size_t n = 0; n <= strlen(ptx); n++) {
        char *copy = malloc(n + 1), text[40]; /* of this size, for the sanitizers */
        memcpy(copy, ptx, n);
        cuda()->classes(copy, n, "wanted", text, sizeof text);
        ck_assert_uint_lt(strlen(text), sizeof text);
        for (size_t k = 0; k < n; k += 7)
            copy[k] = "{}@:/*.;\0"[(n + k) % 9];
        cuda()->classes(copy, n, "wanted", text, sizeof text);
        ck_assert_uint_lt(strlen(text), sizeof text);
        free(copy);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("selfcheck");
    TCase *t = tcase_create("selfcheck");
    tcase_add_unchecked_fixture(t, setup, teardown);
    tcase_add_test(t, no_card);
    tcase_add_test(t, equal);
    tcase_add_test(t, other_units);
    tcase_add_test(t, kinds);
    tcase_add_test(t, kinds_of_anything);
    suite_add_tcase(s, t);
    return suite_run(s);
}
