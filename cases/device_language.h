/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_DEVICE_LANGUAGE_H
#define GPUPARITY_CASES_DEVICE_LANGUAGE_H

/* The language's words: every macro stands for the plain construct of each vendor's.
 *
 * Kernels have their block size fixed at compile time, so they need no blockDim; the grid's
 * shape travels as arguments where it matters.
 *
 *   KERNEL(threads)  an entry: extern "C", at most `threads` threads a block
 *   DEVICE           a function of the device, always inlined
 *   SHARED           storage of the block
 *   SYNC()           barrier of the block, shared memory made visible
 *   THREAD_X/Y/Z, BLOCK_X/Y/Z
 *   ATOMIC_ADD(p, v) device-wide relaxed add, result unused; i32, u32, f32 */

#if defined(__HIP__) || defined(__HIPCC__) || defined(__HIPCC_RTC__)
#define DEVICE_IS_HIP 1
#define DEVICE_IS_CUDA 0
#else
#define DEVICE_IS_HIP 0
#define DEVICE_IS_CUDA 1
#endif

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

#if DEVICE_IS_HIP

#define KERNEL(threads)                                                                        \
    extern "C" __attribute__((global))                                                         \
    __attribute__((amdgpu_flat_work_group_size(1, threads))) void
#define DEVICE __attribute__((device)) inline __attribute__((always_inline))
#define SHARED __attribute__((shared))
#define SYNC()                                                                                 \
    do {                                                                                       \
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");                                 \
        __builtin_amdgcn_s_barrier();                                                          \
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");                                 \
    } while (0)
#define THREAD_X ((i32)__builtin_amdgcn_workitem_id_x())
#define THREAD_Y ((i32)__builtin_amdgcn_workitem_id_y())
#define THREAD_Z ((i32)__builtin_amdgcn_workitem_id_z())
#define BLOCK_X ((i32)__builtin_amdgcn_workgroup_id_x())
#define BLOCK_Y ((i32)__builtin_amdgcn_workgroup_id_y())
#define BLOCK_Z ((i32)__builtin_amdgcn_workgroup_id_z())
#define ATOMIC_ADD(p, v)                                                                       \
    ((void)__hip_atomic_fetch_add((p), (v), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT))

#else

#define KERNEL(threads) extern "C" __global__ __launch_bounds__(threads) void
#define DEVICE __device__ __forceinline__
#define SHARED __shared__
#define SYNC() __syncthreads()
#define THREAD_X ((i32)threadIdx.x)
#define THREAD_Y ((i32)threadIdx.y)
#define THREAD_Z ((i32)threadIdx.z)
#define BLOCK_X ((i32)blockIdx.x)
#define BLOCK_Y ((i32)blockIdx.y)
#define BLOCK_Z ((i32)blockIdx.z)
#define ATOMIC_ADD(p, v) ((void)atomicAdd((p), (v)))

#endif

DEVICE u32 f32_bits(f32 x)
{
    union {
        f32 f;
        u32 u;
    } v;
    v.f = x;
    return v.u;
}

DEVICE f32 f32_from_bits(u32 x)
{
    union {
        u32 u;
        f32 f;
    } v;
    v.u = x;
    return v.f;
}

#endif
