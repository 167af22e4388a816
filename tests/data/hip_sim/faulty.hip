/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of test_hip_sim_check.c, each with one fault, and their mended twins:
 *     hipcc --genco --offload-arch=gfx1100 -O3 -gline-tables-only faulty.hip -o faulty.co */
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

/* block 1 waits for block 0's word a[1]; nothing orders the two if n is 1 */
KERNEL handed_on(int *a, const int *b, int n)
{
    if (threadIdx.x)
        return;
    if (blockIdx.x == 0) {
        a[1] = 7;
        if (n)
            a[0] = 1;
        else
            __hip_atomic_store(a, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    } else {
        while (!__hip_atomic_load(a, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT))
            ;
        a[2] = a[1];
    }
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

/* --- values nobody has set */

/* a register that no instruction sets is added to element n */
KERNEL unset_register(int *a, const int *b, int n)
{
    int x = b[threadIdx.x], y = 0;
    if (threadIdx.x == (unsigned)n)
        asm volatile("v_add_nc_u32 %0, v99, %1" : "=v"(y) : "v"(x) : "v100");
    a[threadIdx.x] = x + y;
}

/* an element nobody has written decides where to go, if n is 1 */
KERNEL unset_branch(int *a, const int *b, int n)
{
    if (b[127 + n] == 5)
        a[threadIdx.x] = b[threadIdx.x] * 2;
    else
        a[threadIdx.x] = b[threadIdx.x] * 3;
}

/* the same chooses an address */
KERNEL unset_address(int *a, const int *b, int n) { a[threadIdx.x] = b[b[127 + n] & 3]; }

/* a local array of which not all elements are set; not optimised */
__attribute__((optnone)) KERNEL unset_private(int *a, const int *b, int n)
{
    int local[4];
    for (int k = 0; k < n; k++)
        local[k] = b[k];
    a[threadIdx.x] = local[3];
}

/* an atomic operation on memory nobody has written, if n is 1 */
KERNEL unset_atomic(int *a, int *b, int n) { atomicAdd(&b[(127 + n)], 1); }

/* correct: what was not written is loaded, moved and never used */
KERNEL unset_unused(int *a, const int *b, int n)
{
    __shared__ int s[128];
    const unsigned t = threadIdx.x;
    int x = b[t + n]; /* from 128 - n on not written */
    s[t] = x;
    __syncthreads();
    int y = s[t ^ 1];
    int z = __shfl_xor(y, 1);
    bool mine = t + n < 128;
    a[t] = (mine ? z : 7) + ((mine ? x : 0xff00) & 0xffff0000 ? 1 : 0);
}
