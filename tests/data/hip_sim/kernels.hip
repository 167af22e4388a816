/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of test_hip_sim_kernel.c. kernels.co was made from this file with ROCm 5.7.1 (LLVM 17):
 *     hipcc --genco --offload-arch=gfx1100 -O3 kernels.hip -o kernels.co */

#include <hip/hip_runtime.h>

#define KERNEL extern "C" __global__ void
#define INDEX                                                                                  \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
    if (i >= n)                                                                                \
        return;

KERNEL divide(const float *a, const float *b, float *c, int n) { INDEX c[i] = a[i] / b[i]; }
KERNEL divide64(const double *a, const double *b, double *c, int n) { INDEX c[i] = a[i] / b[i]; }
KERNEL root(const float *a, const float *b, float *c, int n) { INDEX c[i] = sqrtf(a[i]); }
KERNEL root64(const double *a, const double *b, double *c, int n) { INDEX c[i] = sqrt(a[i]); }
KERNEL fused(const float *a, const float *b, float *c, int n) { INDEX c[i] = fmaf(a[i], b[i], a[i]); }
KERNEL quotients(const int *a, const int *b, int *c, int n) { INDEX c[i] = a[i] / b[i] * 3 + a[i] % b[i]; }
KERNEL quotients64(const long long *a, const long long *b, long long *c, int n) { INDEX c[i] = a[i] / b[i] * 3 + a[i] % b[i]; }

KERNEL scan(const int *a, const int *b, int *c, int n)
{
    __shared__ int s[2][256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t, p = 0;
    s[0][t] = i < n ? a[i] : 0;
    __syncthreads();
    for (int o = 1; o < 256; o <<= 1) {
        s[1 - p][t] = s[p][t] + (t >= o ? s[p][t - o] : 0);
        p = 1 - p;
        __syncthreads();
    }
    if (i < n)
        c[i] = s[p][t];
}

KERNEL lanes(const int *a, const int *b, int *c, int n)
{
    INDEX int x = a[i];
    c[i] = __shfl_down(x, 3) + __shfl_xor(x, 9) * 2 + __shfl(x, b[i] & 31) * 3 +
           __popcll(__ballot(x & 1)) * 5;
}

KERNEL counts(const int *a, const int *b, int *c, int n)
{
    INDEX atomicAdd(&c[0], a[i]);
    atomicMax(&c[1], a[i]);
    atomicMin(&c[2], a[i]);
    atomicOr(&c[3], 1 << (a[i] & 31));
    int o = c[4], v;
    do {
        v = o;
        o = atomicCAS(&c[4], v, v + 2);
    } while (o != v);
}

__device__ __attribute__((noinline)) int fibonacci(int x)
{
    return x < 2 ? x : fibonacci(x - 1) + fibonacci(x - 2);
}
KERNEL recursion(const int *a, const int *b, int *c, int n) { INDEX c[i] = fibonacci(a[i] & 7); }

KERNEL sorted(const int *a, const int *b, int *c, int n)
{
    INDEX int t[16];
    for (int k = 0; k < 16; k++)
        t[k] = a[(i + k) % n];
    for (int k = 0; k < 16; k++)
        for (int j = 0; j < 15 - k; j++)
            if (t[j] > t[j + 1]) {
                int q = t[j];
                t[j] = t[j + 1];
                t[j + 1] = q;
            }
    c[i] = t[b[i] & 15];
}

KERNEL generic(const int *a, const int *b, int *c, int n)
{
    __shared__ int s[256];
    int local[4] = {1, 2, 3, 4}, t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = i < n ? b[i] : 0;
    __syncthreads();
    if (i >= n)
        return;
    const int *p = (a[i] & 1) ? (const int *)&s[t ^ 1] : (a[i] & 2) ? &a[i] : (const int *)&local[t & 3];
    c[i] = *p;
}

KERNEL reversed(const int *a, const int *b, int *c, int n)
{
    extern __shared__ int d[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    d[t] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n)
        c[i] = d[blockDim.x - 1 - t];
}

__constant__ int table[32];
__device__ int calls;
KERNEL looked_up(const int *a, const int *b, int *c, int n)
{
    INDEX c[i] = table[a[i] & 31];
    atomicAdd(&calls, 1);
}

KERNEL ids(int *c)
{
    int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    c[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 1000 + thread;
}

/* --- what goes wrong */
KERNEL beyond(int *c, int n) { c[n + threadIdx.x] = 1; }
KERNEL beyond_shared(int *c, int n)
{
    __shared__ int s[64];
    s[threadIdx.x] = 1;
    __syncthreads();
    c[0] = s[threadIdx.x + n];
}
KERNEL forever(int *c, int n)
{
    while (__hip_atomic_load(c, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) != 12345)
        ;
    c[1] = 1;
}
KERNEL trapped(int *c, int n)
{
    if (n == 3)
        __builtin_trap();
    c[0] = n;
}
