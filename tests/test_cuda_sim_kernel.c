/* SPDX-License-Identifier: Apache-2.0 */
#include "cudasim.h"

#include <math.h>

/* Whole kernels from tests/data/cuda_sim, and the faults planted in small ones. */

#include "config.h"
#include "suite.h"

static char *file_text(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/data/cuda_sim/%s", GPUPARITY_SOURCE_DIR, name);
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "cannot read %s", path);
    ck_assert_int_eq(fseek(f, 0, SEEK_END), 0);
    long size = ftell(f);
    rewind(f);
    char *text = calloc(1, (size_t)size + 1);
    ck_assert(text && fread(text, 1, (size_t)size, f) == (size_t)size);
    fclose(f);
    return text;
}

static CUmodule file_load(const char *name)
{
    char *text = file_text(name);
    CUmodule m = ptx_load(text);
    free(text);
    return m;
}

static CUfunction function_of(CUmodule m, const char *name)
{
    CUfunction f;
    ck_assert_int_eq(cuModuleGetFunction(&f, m, name), CUDA_SUCCESS);
    return f;
}

static CUdeviceptr device_copy(const void *bytes, size_t size)
{
    CUdeviceptr p;
    ck_assert_int_eq(cuMemAlloc_v2(&p, size), CUDA_SUCCESS);
    if (bytes)
        ck_assert_int_eq(cuMemcpyHtoD_v2(p, bytes, size), CUDA_SUCCESS);
    return p;
}

static float value_of(uint64_t k)
{
    return (float)((double)(mix(k * 0x9e3779b97f4a7c15) >> 11) * 0x1p-53 - 0.5);
}

enum { M = 37, N = 29, K = 45 };

static void gemm_run(const char *file, int fused)
{
    static float a[M * K], b[K * N], c[M * N];
    int m = M, n = N, k = K;
    for (uint64_t i = 0; i < M * K; i++)
        a[i] = value_of(i);
    for (uint64_t i = 0; i < K * N; i++)
        b[i] = value_of(i + 100000);
    CUmodule module = file_load(file);
    CUdeviceptr pa = device_copy(a, sizeof a), pb = device_copy(b, sizeof b),
                pc = device_copy(NULL, sizeof c);
    const char *const names[] = {"naive", "tiled"};
    for (int v = 0; v < 2; v++) {
        void *arg[] = {&m, &n, &k, &pa, &pb, &pc};
        ck_assert_int_eq(cuMemsetD8_v2(pc, 0xff, sizeof c), CUDA_SUCCESS);
        CUresult r = cuLaunchKernel(function_of(module, names[v]), (N + 15) / 16, (M + 15) / 16,
                                    1, 16, 16, 1, 0, NULL, arg, NULL);
        ck_assert_msg(!r, "%s: %s", names[v], gpuparity_sim_last_fault());
        ck_assert_int_eq(cuMemcpyDtoH_v2(c, pc, sizeof c), CUDA_SUCCESS);
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                float s = 0;
                for (int l = 0; l < K; l++) {
                    float p = a[i * K + l] * b[l * N + j];
                    s = fused ? fmaf(a[i * K + l], b[l * N + j], s) : s + p;
                }
                ck_assert_msg(!memcmp(&s, &c[i * N + j], 4),
                              "%s %s: (%d,%d) is %a, expected %a", file, names[v], i, j,
                              (double)c[i * N + j], (double)s);
            }
    }
    ck_assert_int_eq(cuModuleUnload(module), CUDA_SUCCESS);
}

START_TEST(gemm_optimised)
{
    gpu_start();
    gemm_run("gemm.ptx", 1);
}
END_TEST

/* Compiled with -G: everything through local memory and calls, nothing fused. */
START_TEST(gemm_debug)
{
    gpu_start();
    gemm_run("gemm_debug.ptx", 0);
}
END_TEST

/* Calls of a function in a loop, library code for exp, log and sin with its table in memory. */
static void library_run(const char *file)
{
    enum { COUNT = 1000 };
    static float x[COUNT], y[COUNT];
    int n = COUNT;
    for (uint64_t i = 0; i < COUNT; i++)
        x[i] = value_of(i);
    CUmodule module = file_load(file);
    CUdeviceptr px = device_copy(x, sizeof x), py = device_copy(NULL, sizeof y);
    void *arg[] = {&n, &px, &py};
    CUresult r =
        cuLaunchKernel(function_of(module, "calls"), 8, 1, 1, 128, 1, 1, 0, NULL, arg, NULL);
    ck_assert_msg(!r, "%s", gpuparity_sim_last_fault());
    ck_assert_int_eq(cuMemcpyDtoH_v2(y, py, sizeof y), CUDA_SUCCESS);
    for (int i = 0; i < COUNT; i++) {
        double want = 1, v = (double)x[i];
        for (int k = 0; k < i % 7; k++)
            want = want * v + 1.0 / (k + 1);
        if (x[i] <= 0)
            want = exp(v) + log(1 - v) + sin((double)(x[i] * 1e6f)) + sqrt(-v);
        ck_assert_msg(fabs((double)y[i] - want) < 1e-6 * (1 + fabs(want)),
                      "f(%a) = %a, expected %a", v, (double)y[i], want);
    }
}

START_TEST(library)
{
    gpu_start();
    library_run("gemm.ptx");
    library_run("gemm_debug.ptx");
}
END_TEST

START_TEST(reduction)
{
    enum { COUNT = 5000 };
    static float x[COUNT];
    int n = COUNT;
    double want = 0;
    float sum;
    gpu_start();
    for (uint64_t i = 0; i < COUNT; i++) {
        x[i] = value_of(i);
        want += (double)x[i];
    }
    CUmodule module = file_load("gemm.ptx");
    CUdeviceptr px = device_copy(x, sizeof x), ps = device_copy(NULL, 4);
    void *arg[] = {&n, &px, &ps};
    ck_assert_int_eq(
        cuLaunchKernel(function_of(module, "reduce"), 1, 1, 1, 256, 1, 1, 0, NULL, arg, NULL),
        CUDA_SUCCESS);
    ck_assert_int_eq(cuMemcpyDtoH_v2(&sum, ps, 4), CUDA_SUCCESS);
    ck_assert(fabs((double)sum - want) < 1e-3);
}
END_TEST

/* The same bits from one thread and from several, and in every run. */
START_TEST(threads_do_not_show)
{
    enum { SIDE = 64 };
    static float a[SIDE * SIDE], c[3][SIDE * SIDE];
    static const char *const threads[] = {"1", "2", "5"};
    int n = SIDE;
    gpu_start();
    for (uint64_t i = 0; i < SIDE * SIDE; i++)
        a[i] = value_of(i);
    CUmodule module = file_load("gemm.ptx");
    for (int t = 0; t < 3; t++) {
        setenv("GPUPARITY_SIM_THREADS", threads[t], 1);
        CUdeviceptr pa = device_copy(a, sizeof a), pc = device_copy(NULL, sizeof a);
        void *arg[] = {&n, &n, &n, &pa, &pa, &pc};
        ck_assert_int_eq(cuLaunchKernel(function_of(module, "tiled"), 4, 4, 1, 16, 16, 1, 0,
                                        NULL, arg, NULL),
                         CUDA_SUCCESS);
        ck_assert_int_eq(cuMemcpyDtoH_v2(c[t], pc, sizeof a), CUDA_SUCCESS);
        ck_assert(!memcmp(c[0], c[t], sizeof a));
    }
    unsetenv("GPUPARITY_SIM_THREADS");
}
END_TEST

/* --- planted faults, with checking on --------------------------------------------------------
 */

static const struct {
    const char *body, *says; /* NULL: a correct kernel */
} planted[] = {
    {"st.shared.u32 [%s], %i; bar.sync 0; ld.shared.u32 %r0, [%s+4]; st.global.u32 [%q], %r0;",
     NULL},
    {"st.shared.u32 [%s], 0; bar.sync 0; st.shared.u32 [%s], %i; xor.b32 %r1, %i, 32; shl.b32 "
     "%r1, %r1, 2; "
     "add.u32 %r1, %r1, %r3; ld.shared.u32 %r0, [%r1]; st.global.u32 [%q], %r0;",
     "race: shared"},
    {"st.shared.v2.u32 [%s], {0, 0};", "access of 8 bytes"},
    {"ld.shared.u32 %r0, [%s+4]; st.global.u32 [%q], %r0;", "nothing has written"},
    {"st.shared.u32 [sm], 5; st.global.u32 [%q], %i;", NULL},
    {"st.shared.u32 [sm], %i; st.global.u32 [%q], %i;", "race: shared"},
    {"ld.global.u32 %r0, [%q+1024]; st.global.u32 [%q], %r0;", "nothing has written"},
    {"st.global.u32 [%b], %i;", "race: global"},
    {"st.global.u32 [%b], 7;", NULL},
    {"st.shared.v2.u32 [sm], {5, 6}; st.global.u32 [%q], %i;", NULL},
    {"st.shared.v2.u32 [sm], {5, %i}; st.global.u32 [%q], %i;", "race: shared"},
    /* a flag that is volatile or ordered, and the same flag that is neither */
    {"st.volatile.global.u32 [%b], %i; ld.volatile.global.u32 %r0, [%b+4];", NULL},
    {"ld.acquire.gpu.global.u32 %r0, [%b]; st.release.gpu.global.u32 [%b], %i;", NULL},
    {"ld.global.u32 %r0, [%b]; st.release.gpu.global.u32 [%b], %i;", "race: global"},
    /* an addition by compare-and-swap starts with a plain load */
    {"ld.global.u32 %r0, [%b]; L: add.u32 %r1, %r0, %i; mov.u32 %r2, %r0; "
     "atom.global.cas.b32 %r0, [%b], %r2, %r1; setp.ne.u32 %p, %r0, %r2; @%p bra L;",
     NULL},
    /* warp 0 writes, long after all of them, itself first, have read */
    {"bar.sync 0; ld.shared.u32 %r0, [sm+512]; setp.gt.u32 %p, %i, 31; @%p bra E; L: add.u32 "
     "%r0, %r0, 1; setp.lt.u32 %p, %r0, 100000; @%p bra L; st.shared.u32 [sm+512], %i; E:",
     "was read by another warp"},
    {"red.global.add.u32 [%b], %i;", NULL},
    {"st.shared.u32 [%s], %i; bar.warp.sync -1; xor.b32 %r1, %s, 4; ld.shared.u32 %r0, [%r1]; "
     "st.global.u32 [%q], %r0;",
     NULL},
};

START_TEST(planted_faults)
{
    static char text[4096];
    /* The card decides at cuInit whether it checks: a process of its own. */
    setenv("GPUPARITY_SIM_CHECK", "1", 1);
    gpu_start();
    CUdeviceptr p;
    ck_assert_int_eq(cuMemAlloc_v2(&p, 4096), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemsetD8_v2(p, 0, 512), CUDA_SUCCESS);
    snprintf(text, sizeof text,
             "%s.visible .entry k(.param .u64 p)\n{\n.reg .b64 %%q, %%b, %%z; .reg .b32 %%i, "
             "%%s, %%r<4>; .reg .pred %%p;\n"
             ".shared .align 4 .b8 sm[520];\nld.param.u64 %%b, [p]; mov.u32 %%i, %%tid.x; "
             "mul.wide.u32 %%z, %%i, 4;\n"
             "add.u64 %%q, %%b, %%z; shl.b32 %%s, %%i, 2; mov.u32 %%r3, sm; add.u32 %%s, %%s, "
             "%%r3;\n"
             "st.shared.u32 [sm+512], 0;\n%s\nret;\n}\n",
             head, planted[_i].body);
    CUmodule m = ptx_load(text);
    void *arg[] = {&p};
    CUresult r = cuLaunchKernel(function_of(m, "k"), 1, 1, 1, 128, 1, 1, 0, NULL, arg, NULL);
    const char *fault = gpuparity_sim_last_fault();
    if (planted[_i].says)
        ck_assert_msg(r && strstr(fault, planted[_i].says), "%s: %d %s", planted[_i].body, r,
                      fault);
    else
        ck_assert_msg(!r, "%s: %s", planted[_i].body, fault);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cuda_sim_kernel");
    TCase *t = tcase_create("kernels");
    tcase_add_test(t, gemm_optimised);
    tcase_add_test(t, gemm_debug);
    tcase_add_test(t, library);
    tcase_add_test(t, reduction);
    tcase_add_test(t, threads_do_not_show);
    tcase_add_loop_test(t, planted_faults, 0, (int)(sizeof planted / sizeof *planted));
    suite_add_tcase(s, t);
    return suite_run(s);
}
