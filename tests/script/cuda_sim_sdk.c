/* SPDX-License-Identifier: Apache-2.0 */
#include <cuda.h>
#include <stdio.h>
#include <string.h>

/* A program against the toolkit's own header: compiled and linked with the simulator by
 * cuda_sim_sdk.sh, unmodified. Vector addition, a mistake in PTX, a fault. */

static int failures;

#define CHECK(condition)                                                                       \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                    \
            failures++;                                                                        \
        }                                                                                      \
    } while (0)

static const char text[] =
    ".version 8.0\n.target sm_86\n.address_size 64\n.visible .entry add(.param .u64 a, .param "
    ".u64 b, .param .f32 s, .param .u32 n)\n{\n"
    ".reg .b64 %q<4>; .reg .b32 %r<5>; .reg .f32 %f<4>; .reg .pred %p;\nld.param.u64 %q0, [a]; "
    "ld.param.u64 %q1, [b]; ld.param.f32 %f2, [s];\n"
    "ld.param.u32 %r3, [n]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; "
    "mad.lo.u32 %r0, %r0, %r1, %r2;\n"
    "setp.ge.u32 %p, %r0, %r3; @%p bra E; mul.wide.u32 %q2, %r0, 4; add.u64 %q0, %q0, %q2; "
    "add.u64 %q1, %q1, %q2; ld.global.f32 %f0, [%q0];\n"
    "ld.global.f32 %f1, [%q1]; fma.rn.f32 %f0, %f0, %f2, %f1; st.global.f32 [%q1], %f0;\nE: "
    "ret;\n}\n";

static void addition_run(CUmodule m)
{
    enum { COUNT = 1000 };
    static float x[COUNT], y[COUNT];
    float scale = 2;
    unsigned n = COUNT;
    CUfunction f;
    CUdeviceptr a, b;
    for (int k = 0; k < COUNT; k++)
        x[k] = (float)k, y[k] = 1;
    CHECK(cuModuleGetFunction(&f, m, "add") == CUDA_SUCCESS);
    CHECK(cuMemAlloc(&a, sizeof x) == CUDA_SUCCESS && cuMemAlloc(&b, sizeof y) == CUDA_SUCCESS);
    CHECK(cuMemcpyHtoD(a, x, sizeof x) == CUDA_SUCCESS &&
          cuMemcpyHtoD(b, y, sizeof y) == CUDA_SUCCESS);
    void *arg[] = {&a, &b, &scale, &n};
    CUlaunchConfig c = {.gridDimX = 4,
                        .gridDimY = 1,
                        .gridDimZ = 1,
                        .blockDimX = 256,
                        .blockDimY = 1,
                        .blockDimZ = 1};
    CHECK(cuLaunchKernelEx(&c, f, arg, NULL) == CUDA_SUCCESS);
    CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
    CHECK(cuMemcpyDtoH(y, b, sizeof y) == CUDA_SUCCESS);
    for (int k = 0; k < COUNT; k++)
        CHECK(y[k] == (float)(2 * k + 1));
    n = 100000;
    (void)cuLaunchKernel(f, 400, 1, 1, 256, 1, 1, 0, NULL, arg, NULL);
    CHECK(cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
}

int main(void)
{
    CUdevice d;
    CUcontext c;
    CUmodule m;
    int major = 0, minor = 0, version = 0;
    char log[256] = "";
    CUjit_option option[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *value[] = {log, (void *)sizeof log};
    CHECK(cuInit(0) == CUDA_SUCCESS);
    CHECK(cuDriverGetVersion(&version) == CUDA_SUCCESS && version >= 12000);
    CHECK(cuDeviceGet(&d, 0) == CUDA_SUCCESS);
    CHECK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, d) ==
              CUDA_SUCCESS &&
          major == 8);
    CHECK(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, d) ==
              CUDA_SUCCESS &&
          minor == 6);
    CHECK(cuDevicePrimaryCtxRetain(&c, d) == CUDA_SUCCESS &&
          cuCtxSetCurrent(c) == CUDA_SUCCESS);
    CHECK(cuModuleLoadDataEx(&m, "hello", 2, option, value) == CUDA_ERROR_INVALID_PTX &&
          strstr(log, "line 1"));
    CHECK(cuModuleLoadData(&m, text) == CUDA_SUCCESS);
    addition_run(m);
    return failures != 0;
}
