/* SPDX-License-Identifier: Apache-2.0 */
#include "cudasim.h"

/* Kernels that do not end well: barriers some threads never reach, endless recursion, assert.
 */

static void barrier_fault(const char *body, const char *says)
{
    char text[2048];
    uint32_t word[64] = {0};
    snprintf(text, sizeof text,
             "%s.visible .entry k(.param .u64 p)\n{\n.reg .b32 %%i, %%r<4>; .reg .pred "
             "%%p<4>;\nmov.u32 %%i, %%tid.x;\n"
             "setp.lt.u32 %%p0, %%i, 16;\n%s\nret;\n}\n",
             head, body);
    CUresult r = ptx_try(text, word, sizeof word, 1, 64);
    ck_assert_msg(r == CUDA_ERROR_LAUNCH_FAILED, "%s: %d", body, r);
    ck_assert_msg(strstr(gpuparity_sim_last_fault(), says) != NULL, "%s: %s", body,
                  gpuparity_sim_last_fault());
    ck_assert_int_eq(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
}

START_TEST(divergent_barriers)
{
    gpu_start();
    barrier_fault("@%p0 bra L; bar.sync 0; bra E; L: bar.sync 0; E:", "divergent barrier");
    barrier_fault("@%p0 bra L; bar.sync 1; bra E; L: bar.sync 2; E:", "divergent barrier");
    barrier_fault("bar.sync 0, 128;", "divergent barrier");
    barrier_fault("@!%p0 bra E; bar.sync 0; vote.sync.ballot.b32 %r0, %p0, -1; E: bar.sync 0;",
                  "wait");
    barrier_fault("bar.sync 16;", "only 16");
}
END_TEST

/* Endless recursion ends with the stack; assert names its place. */
START_TEST(system_faults)
{
    static const char endless[] = ".func e()\n{ call.uni e; ret; }\n";
    static const char assertion[] = ".extern .func __assertfail(.param .b64 a, .param .b64 b, "
                                    ".param .b32 c, .param .b64 d, .param .b64 e);\n"
                                    ".global .b8 what[6] = {120, 32, 62, 32, 48, 0};\n.global "
                                    ".b8 file[5] = {97, 46, 99, 117, 0};\n";
    static const struct {
        const char *declare, *body, *says;
        CUresult result;
    } cases[] = {{endless, "call.uni e;", "call stack", CUDA_ERROR_ILLEGAL_ADDRESS},
                 {assertion,
                  "{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 "
                  "e; st.param.b64 [a], what; "
                  "st.param.b64 [b], file; st.param.b32 [c], 77; st.param.b64 [d], 0; "
                  "st.param.b64 [e], 1; "
                  "call.uni __assertfail, (a, b, c, d, e); }",
                  "assertion 'x > 0' failed at a.cu:77", CUDA_ERROR_LAUNCH_FAILED}};
    gpu_start();
    for (int k = 0; k < 2; k++) {
        char text[2048];
        uint32_t word[1] = {0};
        snprintf(text, sizeof text, "%s%s.visible .entry k(.param .u64 p)\n{\n%s\nret;\n}\n",
                 head, cases[k].declare, cases[k].body);
        CUresult r = ptx_try(text, word, sizeof word, 1, 32);
        ck_assert_msg(r == cases[k].result && strstr(gpuparity_sim_last_fault(), cases[k].says),
                      "%d %s", r, gpuparity_sim_last_fault());
        ck_assert_int_eq(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
    }
}
END_TEST

/* As on a card: every later call has the error until the context is gone, then all is new. */
START_TEST(error_stays)
{
    static const char text[] = ".version 8.0\n.target sm_86\n.address_size 64\n.entry k(.param "
                               ".u64 p)\n{\n.reg .b64 %q;\nld.param.u64 %q, "
                               "[p];\nst.global.u64 [%q], %q;\nret;\n}\n";
    uint64_t bad = 8, word = 0;
    CUdeviceptr p, q = 0;
    CUfunction f;
    CUmodule m, other;
    CUstream stream;
    gpu_start();
    m = ptx_load(text);
    ck_assert_int_eq(cuModuleGetFunction(&f, m, "k"), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemAlloc_v2(&p, 64), CUDA_SUCCESS);
    void *wrong[] = {&bad}, *right[] = {&p};
    ck_assert_int_eq(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, wrong, NULL),
                     CUDA_ERROR_ILLEGAL_ADDRESS);
    CUresult later[] = {cuMemAlloc_v2(&q, 64),
                        cuMemcpyHtoD_v2(p, &word, 8),
                        cuMemcpyDtoH_v2(&word, p, 8),
                        cuMemsetD8_v2(p, 0, 8),
                        cuMemFree_v2(p),
                        cuModuleLoadData(&other, text),
                        cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, right, NULL),
                        cuStreamCreate(&stream, 0),
                        cuCtxSynchronize()};
    for (size_t k = 0; k < sizeof later / sizeof *later; k++)
        ck_assert_msg(later[k] == CUDA_ERROR_ILLEGAL_ADDRESS, "call %zu: %d", k, later[k]);
    ck_assert_int_eq(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
    gpu_start();
    m = ptx_load(text);
    ck_assert_int_eq(cuModuleGetFunction(&f, m, "k"), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemAlloc_v2(&p, 64), CUDA_SUCCESS);
    ck_assert_int_eq(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, right, NULL), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemcpyDtoH_v2(&word, p, 8), CUDA_SUCCESS);
    ck_assert(word == p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cuda_sim_fault");
    TCase *t = tcase_create("faults");
    tcase_add_test(t, divergent_barriers);
    tcase_add_test(t, system_faults);
    tcase_add_test(t, error_stays);
    suite_add_tcase(s, t);
    return suite_run_in_one(s);
}
