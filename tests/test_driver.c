/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"
#include "backends/library.h"
#include "fake.h"
#include "harness/caseid.h"
#include "harness/codestore.h"
#include "harness/device.h"
#include "suite.h"

static struct backend_error e;

static struct device *fake_open(const char *how, int index)
{
    struct device *d = NULL;
    fake_use(how);
    ck_assert_msg(!backends[0]->open(DEVICE_SIMULATED, getenv("FAKE_DIR"), index, &d, &e), "%s",
                  e.text);
    return d;
}

/* --- finding a device ------------------------------------------------------------------------
 */

START_TEST(library_absent_or_foreign)
{
    int count = -1;
    for (int i = 0; backends[i]; i++) {
        enum backend_status s = backends[i]->count(DEVICE_SIMULATED, "/nowhere", &count, &e);
        ck_assert_int_eq(s, BACKEND_MISSING);
        ck_assert_ptr_nonnull(strstr(e.text, "/nowhere/"));
        ck_assert_int_eq(count, -1);
    }

    /* A file that is no library, and the other vendor's library under this one's name. */
    char folder[] = "/tmp/gpuparity-driver-XXXXXX", text[600];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(text, sizeof text, "echo no library > %s/%s; ln -s %s/%s %s/%s", folder,
             backends[0]->simulator, getenv("FAKE_DIR"), backends[0]->simulator, folder,
             backends[1]->simulator);
    ck_assert_int_eq(system(text), 0);
    ck_assert_int_eq(backends[0]->count(DEVICE_SIMULATED, folder, &count, &e), BACKEND_MISSING);
    ck_assert_ptr_nonnull(strstr(e.text, "cannot load"));
    ck_assert_int_eq(backends[1]->count(DEVICE_SIMULATED, folder, &count, &e), BACKEND_MISSING);
    ck_assert_ptr_nonnull(strstr(e.text, "has no function hipInit"));
    snprintf(text, sizeof text, "rm -r %s", folder);
    ck_assert_int_eq(system(text), 0);
}
END_TEST

/* NVRTC of pip asks the loader for its other half by name, and has no path to it. */
START_TEST(library_beside)
{
    char path[4096];
    struct library l;
    snprintf(path, sizeof path, "%s/libgpuparity-hip-sim.so", getenv("GPUPARITY_SIM_DIR"));
    struct library_search s = {.what = "it", .name = (const char *const[]){path, NULL}};
    ck_assert_int_eq(library_open(&s, &l, &e), BACKEND_OK);
    ck_assert_ptr_null(dlopen("libgpuparity-cuda-sim.so", RTLD_LAZY | RTLD_NOLOAD));
    s.beside = "libgpuparity-cuda-sim.s*";
    ck_assert_int_eq(library_open(&s, &l, &e), BACKEND_OK);
    ck_assert_ptr_nonnull(dlopen("libgpuparity-cuda-sim.so", RTLD_LAZY | RTLD_NOLOAD));
}
END_TEST

START_TEST(fake_counts)
{
    int count = -1;
    fake_use(NULL);
    ck_assert_int_eq(backends[0]->count(DEVICE_SIMULATED, getenv("FAKE_DIR"), &count, &e), 0);
    ck_assert_int_eq(count, 2);
    fake_use("no-card");
    ck_assert_int_eq(backends[0]->count(DEVICE_SIMULATED, getenv("FAKE_DIR"), &count, &e),
                     BACKEND_MISSING);
    ck_assert_ptr_nonnull(strstr(e.text, "nvidia-smi"));
    fake_use("init-fails");
    ck_assert_int_eq(backends[0]->count(DEVICE_SIMULATED, getenv("FAKE_DIR"), &count, &e),
                     BACKEND_MISSING);
    ck_assert_ptr_nonnull(strstr(e.text, "cuInit: FAKE_ERROR (999): words of the fake; "));
}
END_TEST

START_TEST(fake_describes_itself)
{
    struct device_info i;
    struct device *d = fake_open(NULL, 1);
    backends[0]->describe(d, &i);
    ck_assert_str_eq(i.name, "Fake card 71");
    ck_assert_str_eq(i.arch, "sm_89");
    ck_assert_str_eq(i.runtime, "CUDA 12.34");
    ck_assert_ptr_nonnull(strstr(i.library, backends[0]->simulator));
    ck_assert_int_eq(i.warp, 32);
    ck_assert_int_eq(i.index, 1);
    ck_assert(i.simulated);
    ck_assert_int_eq(i.memory, (int64_t)3 << 30);
    backends[0]->close(d);
    ck_assert_int_eq(backends[0]->open(DEVICE_SIMULATED, getenv("FAKE_DIR"), 2, &d, &e),
                     BACKEND_MISSING);
    ck_assert_ptr_nonnull(strstr(e.text, "no NVIDIA card 2: 2 found (0 to 1)"));
    backends[0]->close(NULL);
}
END_TEST

/* --- using it --------------------------------------------------------------------------------
 */

START_TEST(fake_memory)
{
    const struct backend *b = backends[0];
    struct device *d = fake_open(NULL, 0);
    unsigned char out[1000], in[1000];
    uint64_t at[40];
    for (int i = 0; i < 1000; i++)
        in[i] = (unsigned char)(i * 13);
    for (int i = 0; i < 40; i++)
        ck_assert_int_eq(b->alloc(d, 2000, &at[i], &e), 0);
    ck_assert_int_eq(b->write(d, at[39] + 500, in, 1000, &e), 0);
    ck_assert_int_eq(b->read(d, at[39] + 500, out, 1000, &e), 0);
    ck_assert_mem_eq(in, out, 1000);
    ck_assert_int_eq(b->write(d, at[39] + 1500, in, 1000, &e), BACKEND_REFUSED);
    ck_assert_ptr_nonnull(strstr(e.text, "cuMemcpyHtoD_v2: FAKE_ERROR (1)"));
    b->release(d);
    ck_assert_int_eq(b->read(d, at[0], out, 1, &e), BACKEND_REFUSED);
    setenv("FAKE", "alloc-fails", 1);
    ck_assert_int_eq(b->alloc(d, 12345, &at[0], &e), BACKEND_NOMEM);
    ck_assert_ptr_nonnull(strstr(e.text, "12345"));
    b->close(d);
}
END_TEST

START_TEST(fake_launches)
{
    const struct backend *b = backends[0];
    struct device *d = fake_open(NULL, 0);
    uint64_t at[3];
    unsigned char in[256], out[256];
    struct launch_arg arg[3];
    struct launch l = {"kernel", {1, 1, 1}, {32, 1, 1}, 0, 3, arg};
    for (int i = 0; i < 256; i++)
        in[i] = (unsigned char)(i ^ 0x5c);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(b->alloc(d, 4096 + 256, &at[i], &e), 0);
        ck_assert_int_eq(b->write(d, at[i], in, 256, &e), 0);
        arg[i] = (struct launch_arg){&at[i], sizeof at[i]};
    }
    ck_assert_int_eq(b->launch(d, &l, &e), BACKEND_REFUSED);
    ck_assert_ptr_nonnull(strstr(e.text, "no code is loaded"));
    ck_assert_int_eq(b->load(d, "other", 5, &e), 0);
    ck_assert_int_eq(b->launch(d, &l, &e), BACKEND_REFUSED);
    ck_assert_ptr_nonnull(strstr(e.text, "no kernel kernel"));
    /* Not 0-terminated: the client must see to that. */
    ck_assert_int_eq(b->load(d, "kernelXXXX", 6, &e), 0);
    ck_assert_msg(!b->launch(d, &l, &e), "%s", e.text);
    ck_assert_int_eq(b->read(d, at[2], out, 256, &e), 0);
    for (int i = 0; i < 256; i++)
        ck_assert_int_eq(out[i], in[i] ^ in[i] ^ i);
    l.block[0] = 2048;
    ck_assert_int_eq(b->launch(d, &l, &e), BACKEND_REFUSED);
    l.n_arg = 1000;
    ck_assert_int_eq(b->launch(d, &l, &e), BACKEND_REFUSED);
    l.n_arg = 3;
    l.block[0] = 32;
    setenv("FAKE", "launch-faults:kernel", 1);
    ck_assert_int_eq(b->launch(d, &l, &e), BACKEND_FAULT);
    ck_assert_ptr_nonnull(strstr(e.text, "cuLaunchKernel: FAKE_ILLEGAL_ADDRESS (700)"));
    struct device_stats s = {.instructions = 7};
    b->stats(d, &s);
    ck_assert_uint_eq(s.instructions, 0);
    b->close(d);
}
END_TEST

START_TEST(too_new_code_says_what_to_do)
{
    struct device *d = fake_open("load-fails", 0);
    ck_assert_int_eq(backends[0]->load(d, "kernel", 6, &e), BACKEND_REFUSED);
    ck_assert_ptr_nonnull(strstr(e.text, "cuModuleLoadDataEx: FAKE_PTX (222)"));
    ck_assert_ptr_nonnull(strstr(e.text, "--code golden"));
    ck_assert_ptr_nonnull(strstr(e.text, "GPUPARITY_NVRTC"));
    ck_assert_ptr_nonnull(strstr(e.text, "[fake: line 1: too new]"));
    backends[0]->close(d);
}
END_TEST

/* --- both simulated devices, one body --------------------------------------------------------
 */

union value {
    int32_t i32;
    int64_t i64;
    float f32;
};

/* The arguments as the family's plan has them. */
static void arguments_fill(const struct case_launch *p, uint64_t *at, union value *value,
                           struct launch_arg *arg)
{
    for (int i = 0; i < p->n_arg; i++) {
        const struct case_arg *a = &p->arg[i];
        arg[i] = (struct launch_arg){&value[i], a->kind == CASE_ARG_I64 ? 8 : 4};
        if (a->kind == CASE_ARG_TENSOR)
            arg[i] = (struct launch_arg){&at[a->tensor], 8};
        else if (a->kind == CASE_ARG_I32)
            value[i].i32 = (int32_t)a->i;
        else if (a->kind == CASE_ARG_I64)
            value[i].i64 = a->i;
        else
            value[i].f32 = a->f;
    }
}

/* naive_f32 for 2 x 2 x 2 by hand: exact numbers, so no rounding is involved. */
START_TEST(simulated_multiplies)
{
    const struct backend *b = backends[_i];
    char folder[4096];
    struct device *d = NULL;
    struct case_id id;
    struct code code = {0};
    struct errinfo why = {0};
    device_simulator_folder(folder, sizeof folder);
    if (b->open(DEVICE_SIMULATED, folder, 0, &d, &e)) {
        printf("skipped: %s\n", e.text);
        return;
    }
    ck_assert_int_eq(caseid_parse("gemm/naive:dtype=f32,m=2,n=2,k=2", &id, &why), 0);
    ck_assert_msg(!codestore_load(b, b->arch, &id, &code, &why), "%s", why.text);
    ck_assert_msg(!b->load(d, code.bytes, code.size, &e), "%s", e.text);

    float m[3][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {-1, -1, -1, -1}};
    uint64_t at[3];
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(b->alloc(d, sizeof m[i], &at[i], &e), 0);
        ck_assert_int_eq(b->write(d, at[i], m[i], sizeof m[i], &e), 0);
    }
    struct case_plan plan;
    union value value[CASE_ARG_MAX];
    struct launch_arg arg[CASE_ARG_MAX];
    ck_assert_int_eq(id.family->plan(&id, &plan, &why), 0);
    ck_assert_int_eq(plan.n_launch, 1);
    const struct case_launch *p = &plan.launch[0];
    arguments_fill(p, at, value, arg);
    struct launch l = {"naive_f32", {1, 1, 1}, {16, 16, 1}, p->shared, p->n_arg, arg};
    ck_assert_str_eq(p->entry, l.entry);
    ck_assert_msg(!b->launch(d, &l, &e), "%s", e.text);
    ck_assert_int_eq(b->read(d, at[2], m[2], sizeof m[2], &e), 0);
    static const float want[4] = {19, 22, 43, 50};
    ck_assert_mem_eq(m[2], want, sizeof want);

    struct device_stats s;
    b->stats(d, &s);
    ck_assert_uint_gt(s.instructions, 8);
    b->stats(d, &s);
    ck_assert_uint_eq(s.instructions, 0);
    l.entry = "naive_f33";
    ck_assert_int_eq(b->launch(d, &l, &e), BACKEND_REFUSED);

    /* A wild address is a fault with the simulator's own words. */
    l.entry = "naive_f32";
    at[2] = 64;
    ck_assert_int_eq(b->launch(d, &l, &e), BACKEND_FAULT);
    ck_assert_ptr_nonnull(strstr(e.text, "naive_f32"));
    b->close(d);
    code_release(&code);
}
END_TEST

START_TEST(simulated_refuses_rubbish)
{
    const struct backend *b = backends[_i];
    char folder[4096], rubbish[5000];
    struct device *d = NULL;
    device_simulator_folder(folder, sizeof folder);
    if (b->open(DEVICE_SIMULATED, folder, 0, &d, &e)) {
        printf("skipped: %s\n", e.text);
        return;
    }
    for (size_t i = 0; i < sizeof rubbish; i++)
        rubbish[i] = (char)(i * i * 31 + 7);
    ck_assert_int_eq(b->load(d, rubbish, sizeof rubbish, &e), BACKEND_REFUSED);
    ck_assert_int_eq(b->load(d, "", 0, &e), BACKEND_REFUSED);
    b->close(d);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("driver");
    TCase *t = tcase_create("driver");
    tcase_add_test(t, library_absent_or_foreign);
    tcase_add_test(t, library_beside);
    tcase_add_test(t, fake_counts);
    tcase_add_test(t, fake_describes_itself);
    tcase_add_test(t, fake_memory);
    tcase_add_test(t, fake_launches);
    tcase_add_test(t, too_new_code_says_what_to_do);
    tcase_add_loop_test(t, simulated_multiplies, 0, 2);
    tcase_add_loop_test(t, simulated_refuses_rubbish, 0, 2);
    suite_add_tcase(s, t);
    return suite_run(s);
}
