/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of test_hip_sim_check.c, each with one fault, and their mended twins:
 *     hipcc --genco --offload-arch=gfx1100 -O3 faulty.hip -o faulty.co */
#include <hip/hip_runtime.h>

#define KERNEL extern "C" __global__ void

/* reads b, which nobody has written from element n on */
KERNEL unwritten(int *a, const int *b, int n) { a[threadIdx.x] = b[threadIdx.x + n]; }

/* reads shared memory beyond what was filled */
KERNEL unwritten_shared(int *a, const int *b, int n)
{
    __shared__ int s[128];
    if (threadIdx.x < n)
        s[threadIdx.x] = b[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = s[127 - threadIdx.x];
}

/* all blocks write the same words, each something else */
KERNEL blocks_race(int *a, const int *b, int n) { a[threadIdx.x] = blockIdx.x * n; }

/* a barrier is missing if n is 0 */
KERNEL waves_race(int *a, const int *b, int n)
{
    __shared__ int s[128];
    s[threadIdx.x] = b[threadIdx.x];
    if (n)
        __syncthreads();
    a[threadIdx.x] = s[127 - threadIdx.x];
}

/* waves meet at different barriers if n is 0 */
KERNEL apart(int *a, const int *b, int n)
{
    if (threadIdx.x / 32 < (unsigned)n) {
        a[threadIdx.x] = 1;
        __builtin_amdgcn_s_barrier();
        a[threadIdx.x] += 3;
    } else {
        a[threadIdx.x] = 2;
        __builtin_amdgcn_s_barrier();
        a[threadIdx.x] *= 5;
    }
}

/* correct: an atomic counter, and a tree in shared memory */
KERNEL correct(int *a, const int *b, int n)
{
    __shared__ int s[128];
    s[threadIdx.x] = b[threadIdx.x];
    __syncthreads();
    for (int o = 64; o; o >>= 1) {
        if (threadIdx.x < o)
            s[threadIdx.x] += s[threadIdx.x + o];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(a, s[0]);
}
