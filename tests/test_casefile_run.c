/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "casefilesample.h"
#include "suite.h"

/* Case files in the whole pipeline, on the binaries of docs/kernels, which need no compiler. */

static int shell(const char *command)
{
    char line[4096];
    snprintf(line, sizeof line, "cd %s && PATH=%s:$PATH && %s", folder,
             getenv("GPUPARITY_SIM_DIR"), command);
    int status = system(line);
    ck_assert_msg(WIFEXITED(status), "%s died by a signal", command);
    return WEXITSTATUS(status);
}

/* Runs the command; its whole output must hold the words, which "|" separates. */
static void expect(const char *command, int status, const char *words)
{
    char line[2048], text[65536], word[200];
    snprintf(line, sizeof line, "(%s) >out 2>&1", command);
    int got = shell(line);
    snprintf(line, sizeof line, "%s/out", folder);
    FILE *f = fopen(line, "r");
    ck_assert_ptr_nonnull(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    ck_assert_msg(got == status, "%s: exit status %d\n%s", command, got, text);
    for (const char *at = words; *at; at += strcspn(at, "|") + (at[strcspn(at, "|")] == '|')) {
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, "|"), at);
        ck_assert_msg(strstr(text, word), "%s: no '%s' in\n%s", command, word, text);
    }
}

START_TEST(two_kernels_on_both_sides)
{
    expect("gpuparity list bin.case.yaml", 0, "bin.case.yaml:n=1,alpha=0.7,dist=normal,seed=1|n=1000");
    expect("gpuparity check ./bin.case.yaml -o both.h5 -q", 0, "3 SAME");
    expect("gpuparity report both.h5 --format csv", 0, "bin.case.yaml:n=255");
    expect("gpuparity verify bin.case.yaml:n=77,alpha=3 --on hip-sim", 0, "1 case");
    expect("gpuparity check 'bin.case.yaml:n={3|4}' -q", 0, "2 SAME");
    expect("gpuparity check 'bin.case.yaml:-*n=1,*' -q", 0, "2 SAME");
    expect("gpuparity explain bin.case.yaml:n=5", 0, "nothing to explain");
    expect("gpuparity check bin.case.yaml,n=3", 2, "comes ':'");
    expect("gpuparity check bin.yaml", 2, "ends in .case.yaml");
    expect("gpuparity check 'b*.case.yaml'", 2, "cannot hold '*'");
}
END_TEST

/* Two halves of the work, put together; and two machines. */
START_TEST(shards_records_and_versions)
{
    expect("gpuparity run bin.case.yaml --on cuda-sim -o a1.h5 --shard 1/2 && "
           "gpuparity run bin.case.yaml --on cuda-sim -o a2.h5 --shard 2/2 && "
           "gpuparity merge a1.h5 a2.h5 -o a.h5 && gpuparity run bin.case.yaml --on hip-sim -o b.h5",
           0, "3 ok");
    expect("gpuparity compare a.h5 b.h5", 0, "3 SAME");
    expect("cd / && gpuparity compare $OLDPWD/a.h5 $OLDPWD/b.h5", 2, "must be where this command runs");
    /* Another version of the file: refused, and run again on resume. */
    expect("cp bin.case.yaml kept && echo '# changed' >>bin.case.yaml; gpuparity compare a.h5 b.h5",
           2, "has changed since");
    expect("gpuparity run bin.case.yaml --on hip-sim -o b.h5 --resume", 0, "3 ok");
    expect("gpuparity compare a.h5 b.h5", 2, "different versions of bin.case.yaml");
    expect("mv kept bin.case.yaml; gpuparity run bin.case.yaml --on hip-sim -o b.h5 --resume && "
           "gpuparity compare a.h5 b.h5", 0, "3 SAME");
}
END_TEST

/* The code says what it is; a case file that says otherwise is refused before anything runs. */
START_TEST(code_is_checked_against_the_case)
{
    static const struct {
        const char *change, *says;
    } rows[] = {
        {"s/saxpy.ptx/saxpy.hsaco/", "no cubin"},
        {"s/saxpy.hsaco/saxpy.ptx/", "neither"},
        {"s/saxpy.ptx/none.ptx/", "cannot read none.ptx"},
        {"s/saxpy.hsaco/empty/", "is empty"},
        {"s/, hip: saxpy.hsaco//", "nothing for hip"},
        {"s/^binary.*/source: none.cu/", "cannot read none.cu"},
        {"s/^binary.*/source: \\/etc/", "no regular file"},
        {"s/i32 n, f32 alpha/i32 n/", "takes 4 arguments, the case file gives 3"},
        {"s/i32 n, f32/i64 n, f32/", "argument 1 of saxpy has 4 bytes, 'i64 n' of the case file has 8"},
        {"s/f32 alpha, x, y/x, f32 alpha, y/", "argument 2 of saxpy has 4 bytes, 'x'"},
        {"s/name: square/name: sqare/", "it has: saxpy, square"},
        {"s/block: 256/block: 2048/", "must be 1 to 1024"},
        {"s/saxpy.ptx/sm_90.ptx/", "the code is for sm_90, this device is sm_86"},
        {"s/saxpy.hsaco/gfx90a.hsaco/", "the code is for gfx90a, this device is gfx1100"},
    };
    char command[512];
    ck_assert_int_eq(shell(": >empty; sed 's/target sm_86/target sm_90/' saxpy.ptx >sm_90.ptx; "
                           "cp saxpy.hsaco gfx90a.hsaco; printf '\\077' | "
                           "dd of=gfx90a.hsaco bs=1 seek=48 conv=notrunc 2>dd"), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(command, sizeof command,
                 "sed '%s' bin.case.yaml >c.case.yaml; gpuparity check c.case.yaml", rows[i].change);
        expect(command, 2, rows[i].says);
    }
}
END_TEST

/* A sign that the compiler of one side got wrong, planted into the PTX. */
START_TEST(planted_fault_is_named)
{
    expect("sed 's/mul.f32/add.f32/' saxpy.ptx >bad.ptx && ! cmp -s bad.ptx saxpy.ptx && "
           "sed 's/saxpy.ptx/bad.ptx/' bin.case.yaml >c.case.yaml && "
           "gpuparity check c.case.yaml:n=1000", 1, "1 A_WRONG|of z are outside the bound");
    /* Nobody judges: the sides differ, and no one is accused. Then within limits, too. */
    expect("sed '/^reference/,/^suites/{/^suites/!d}' c.case.yaml >d.case.yaml; "
           "gpuparity check d.case.yaml:n=1000", 1, "1 DIFFERENT|elements of z differ");
    expect("echo 'limits: {z: {abs: 100, reason: test}}' >>d.case.yaml; "
           "gpuparity check d.case.yaml:n=1000", 0, "1 WITHIN_LIMITS");
    expect("sed -i 's/abs: 100/abs: 1e-6/' d.case.yaml; gpuparity check d.case.yaml:n=1000", 1,
           "1 DIFFERENT|beyond the limits");
    expect("gpuparity verify d.case.yaml:n=1000 --on hip-sim", 1, "has no reference");
}
END_TEST

/* Another kernel as the judge: here y of the same module, which z must be the square of. */
START_TEST(kernel_and_file_as_judges)
{
    static const char head[] =
        "binary: {cuda: saxpy.ptx, hip: saxpy.hsaco}\n"
        "parameters: {n: 100}\n"
        "tensors:\n"
        "  y: {role: in, dtype: f32, shape: [n]%s}\n"
        "  z: {role: out, dtype: f32, shape: [n]}\n";
    static const char kernel[] =
        "kernels:\n"
        "  - {name: square, arguments: [i32 n, y, z], grid: 1, block: 128}\n"
        "limits: {z: {ulp: 0.5, reason: one product rounded once}}\n";
    char text[2048];
    snprintf(text, sizeof text, head, "");
    strcat(text, "  w: {role: reference, dtype: f32, shape: [n], of: z}\n"
                 "reference: {kernels: [{name: square, arguments: [i32 n, y, w], grid: 1, block: 128}]}\n");
    strcat(text, kernel);
    text_set("j.case.yaml", text);
    expect("gpuparity check j.case.yaml", 0, "1 SAME");
    /* A judge that leaves something out is none. */
    expect("sed -i 's/\\[i32 n, y, w\\]/[i32 n - 1, y, w]/' j.case.yaml; gpuparity check j.case.yaml", 2,
           "never wrote 1 of 100 elements of w");
    float y[100], z[100];
    for (int i = 0; i < 100; i++) {
        y[i] = (float)i / 7;
        z[i] = y[i] * y[i];
    }
    file_set("y.raw", y, sizeof y);
    file_set("z.raw", z, sizeof z);
    snprintf(text, sizeof text, head, ", file: y.raw");
    strcat(text, "reference: {files: {z: z.raw}}\n");
    strcat(text, kernel);
    text_set("f.case.yaml", text);
    expect("gpuparity check f.case.yaml", 0, "1 SAME");
    z[50] *= 1.001f;
    file_set("z.raw", z, sizeof z);
    expect("gpuparity check f.case.yaml", 1, "1 BOTH_WRONG|z[50]");
    expect("gpuparity check f.case.yaml:n=99", 2, "has 400 bytes, y needs 396");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("casefile_run");
    TCase *c = tcase_create("casefile_run");
    tcase_add_unchecked_fixture(c, setup, teardown);
    tcase_add_test(c, two_kernels_on_both_sides);
    tcase_add_test(c, shards_records_and_versions);
    tcase_add_test(c, code_is_checked_against_the_case);
    tcase_add_test(c, planted_fault_is_named);
    tcase_add_test(c, kernel_and_file_as_judges);
    suite_add_tcase(s, c);
    return suite_run(s);
}
