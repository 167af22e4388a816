/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"
#include "suite.h"

static struct backend_error e;

static void has_options(const struct backend *b, struct fp_mode m, const char *yes,
                        const char *no)
{
    char text[512];
    b->toolchain->options(b->arch, &m, text, sizeof text);
    ck_assert_msg(strstr(text, yes) != NULL, "%s lacks %s", text, yes);
    ck_assert_msg(!no || !strstr(text, no), "%s has %s", text, no);
}

START_TEST(options_say_the_mode)
{
    const struct backend *n = backend_find("cuda"), *a = backend_find("hip");
    struct fp_mode plain = {.contract = true, .exact_div = true, .exact_sqrt = true};
    struct fp_mode strict = {.exact_div = true, .exact_sqrt = true};
    struct fp_mode fast = {.contract = true, .flush = true, .approximate = true};
    struct fp_mode root = {.contract = true, .exact_div = true};
    has_options(n, plain, "--gpu-architecture=compute_86", "fast");
    has_options(n, plain, "--fmad=true --ftz=false --prec-div=true --prec-sqrt=true", NULL);
    has_options(n, strict, "--fmad=false", "=true --ftz=true");
    has_options(n, fast, "--ftz=true --prec-div=false --prec-sqrt=false --use_fast_math", NULL);
    has_options(n, root, "--prec-div=true --prec-sqrt=false", NULL);
    has_options(a, plain, "--offload-arch=gfx1100", "contract");
    has_options(a, plain, "-O3", "-fno-hip");
    has_options(a, strict, "-ffp-contract=off", "flush");
    has_options(a, fast, "-fgpu-flush-denormals-to-zero", "contract");
    has_options(a, fast, "-fapprox-func", "-ffast-math");
    has_options(a, root, "-fno-hip-fp32-correctly-rounded-divide-sqrt", "approx");
}
END_TEST

START_TEST(code_runs_where_it_can)
{
    const struct backend *n = backend_find("cuda"), *a = backend_find("hip");
    ck_assert(n->runs("sm_86", "sm_86") && n->runs("sm_120", "sm_86"));
    ck_assert(!n->runs("sm_80", "sm_86") && !n->runs("gfx1100", "sm_86"));
    ck_assert(a->runs("gfx1100", "gfx1100") && !a->runs("gfx1101", "gfx1100"));
    ck_assert_ptr_null(backend_find("cud"));
}
END_TEST

START_TEST(compiler_absent)
{
    char version[64], library[256];
    struct code code = {0};
    struct build_request r = {.source = {"t.cu", ""}};
    for (int i = 0; backends[i]; i++) {
        const struct toolchain *t = backends[i]->toolchain;
        char name[32];
        snprintf(name, sizeof name, "GPUPARITY_%s", i ? "HIPRTC" : "NVRTC");
        r.arch = backends[i]->arch;
        setenv(name, "none", 1);
        ck_assert_int_eq(t->probe(r.arch, version, 64, library, 256, &e), BACKEND_MISSING);
        ck_assert_ptr_nonnull(strstr(e.text, "=none"));
        ck_assert_int_eq(t->build(&r, &code, &e), BACKEND_MISSING);
        setenv(name, "/nowhere/lib.so", 1);
        ck_assert_int_eq(t->probe(r.arch, version, 64, library, 256, &e), BACKEND_MISSING);
        ck_assert_ptr_nonnull(strstr(e.text, "/nowhere/lib.so"));
        setenv(name, "libm.so.6", 1);
        ck_assert_int_eq(t->probe(r.arch, version, 64, library, 256, &e), BACKEND_MISSING);
        ck_assert_ptr_nonnull(strstr(e.text, "has no function"));
    }
}
END_TEST

/* A compiler of pip's in a virtual environment is found by its place: here one that is none. */
START_TEST(compiler_found_by_pattern)
{
    char folder[] = "/tmp/gpuparity-driver-XXXXXX", text[900], version[64], library[256];
    const struct backend *b = backends[0];
    unsetenv("GPUPARITY_NVRTC");
    if (b->toolchain->probe(b->arch, version, 64, library, 256, &e) == BACKEND_OK)
        return; /* one that is found earlier */
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(text, sizeof text,
             "d=%s/lib/python3.99/site-packages/nvidia/cu13/lib; mkdir -p $d; "
             "ln -s %s/%s $d/libnvrtc.so.13; echo > $d/libnvrtc.so.12",
             folder, getenv("FAKE_DIR"), b->simulator);
    ck_assert_int_eq(system(text), 0);
    setenv("VIRTUAL_ENV", folder, 1);
    ck_assert_int_eq(b->toolchain->probe(b->arch, version, 64, library, 256, &e),
                     BACKEND_MISSING);
    ck_assert_msg(strstr(e.text, "has no function nvrtcVersion") != NULL, "%s", e.text);

    /* Only the one that cannot be loaded: then that is said. */
    snprintf(text, sizeof text, "rm %s/lib/python3.99/site-packages/nvidia/cu13/lib/*.13",
             folder);
    ck_assert_int_eq(system(text), 0);
    ck_assert_int_eq(b->toolchain->probe(b->arch, version, 64, library, 256, &e),
                     BACKEND_MISSING);
    ck_assert_msg(strstr(e.text, "cannot be loaded") != NULL, "%s", e.text);
    ck_assert_msg(strstr(e.text, "libnvrtc.so.12") != NULL, "%s", e.text);
    snprintf(text, sizeof text, "rm -r %s", folder);
    ck_assert_int_eq(system(text), 0);
}
END_TEST

/* Where there is a compiler: a good source, a bad one, and a warning-free default. */
START_TEST(compiler_present)
{
    const struct backend *b = backends[_i];
    char version[64], library[256];
    if (b->toolchain->probe(b->arch, version, 64, library, 256, &e)) {
        printf("skipped: %s\n", e.text);
        return;
    }
    struct source_file h = {"answer.h", "#define ANSWER 42\n"};
    struct build_request r = {
        .source = {"t.cu", "#include \"answer.h\"\nextern \"C\" __global__ void unlikely_name("
                           "int *p) { *p = ANSWER; }\n"},
        .n_header = 1,
        .header = &h,
        .arch = b->arch,
        .mode = {true, false, true, true, false}};
    struct code c = {0};
    ck_assert_msg(!b->toolchain->build(&r, &c, &e), "%s", e.text);
    ck_assert_ptr_nonnull(memmem(c.bytes, c.size, "unlikely_name", 13));
    ck_assert_str_eq(c.version, version);
    ck_assert_ptr_nonnull(strstr(c.options, b->arch + (_i ? 0 : 3)));
    code_release(&c);
    h.text = "#define ANSWER wrong\n";
    ck_assert_int_eq(b->toolchain->build(&r, &c, &e), BACKEND_BUILD);
    ck_assert_ptr_nonnull(strstr(c.log, "wrong"));
    ck_assert_ptr_nonnull(strstr(e.text, "error"));
    code_release(&c);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("compiler");
    TCase *c = tcase_create("compiler");
    tcase_add_test(c, options_say_the_mode);
    tcase_add_test(c, code_runs_where_it_can);
    tcase_add_test(c, compiler_absent);
    tcase_add_test(c, compiler_found_by_pattern);
    tcase_add_loop_test(c, compiler_present, 0, 2);
    suite_add_tcase(s, c);
    return suite_run(s);
}
