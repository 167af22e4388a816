/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_DEVICE_H
#define GPUPARITY_CASES_DEVICE_H

/* The one subset of CUDA and HIP that kernels use. Compiles with NVRTC, nvcc, hipRTC (5.7 and
 * later) and hipcc, needs no vendor header, and erases no difference between the vendors: every
 * macro stands for the plain construct of each language.
 *
 * Kernels have their block size fixed at compile time, so they need no blockDim; the grid's shape
 * travels as arguments where it matters.
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

/* --- bits ------------------------------------------------------------------------------------ */

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

/* --- 16-bit formats ---------------------------------------------------------------------------
 *
 * They travel as u16. Widening is exact. Narrowing rounds to nearest even, keeps subnormals,
 * overflows to Inf, and makes a quiet NaN from any NaN; its payload is the vendor's.
 *
 * f16: the vendors' own instructions (cvt / v_cvt), which is what their half types use.
 * bf16: cvt.rn.bf16.f32 on sm_80 and later, since that is what its compilers emit; gfx1100 has no
 * such instruction, so there the rounding is done in integers, as ROCm's own headers do. */

#if DEVICE_IS_HIP

DEVICE f32 f16_widen(u16 x)
{
    return (f32)__builtin_bit_cast(_Float16, x);
}

DEVICE u16 f16_round(f32 x)
{
    return __builtin_bit_cast(u16, (_Float16)x);
}

DEVICE u16 bf16_round(f32 x)
{
    u32 u = f32_bits(x);
    if ((u & 0x7fffffffu) > 0x7f800000u)
        return (u16)((u >> 16) | 0x40u);
    return (u16)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

#else

DEVICE f32 f16_widen(u16 x)
{
    f32 y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
    return y;
}

DEVICE u16 f16_round(f32 x)
{
    u16 y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
}

DEVICE u16 bf16_round(f32 x)
{
    u16 y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
}

#endif

DEVICE f32 bf16_widen(u16 x)
{
    return f32_from_bits((u32)x << 16);
}

/* --- formats as template arguments -----------------------------------------------------------
 *
 *   stored   what lies in memory        wide     what arithmetic uses
 *   result   what an output holds       widen / unwiden (result to wide) / narrow */

struct format_f32 {
    typedef f32 stored;
    typedef f32 wide;
    typedef f32 result;
    static DEVICE wide widen(stored x)
    {
        return x;
    }
    static DEVICE wide unwiden(result x)
    {
        return x;
    }
    static DEVICE result narrow(wide x)
    {
        return x;
    }
};

struct format_f16 {
    typedef u16 stored;
    typedef f32 wide;
    typedef u16 result;
    static DEVICE wide widen(stored x)
    {
        return f16_widen(x);
    }
    static DEVICE wide unwiden(result x)
    {
        return f16_widen(x);
    }
    static DEVICE result narrow(wide x)
    {
        return f16_round(x);
    }
};

struct format_bf16 {
    typedef u16 stored;
    typedef f32 wide;
    typedef u16 result;
    static DEVICE wide widen(stored x)
    {
        return bf16_widen(x);
    }
    static DEVICE wide unwiden(result x)
    {
        return bf16_widen(x);
    }
    static DEVICE result narrow(wide x)
    {
        return bf16_round(x);
    }
};

struct format_i8 {
    typedef i8 stored;
    typedef i32 wide;
    typedef i32 result;
    static DEVICE wide widen(stored x)
    {
        return x;
    }
    static DEVICE wide unwiden(result x)
    {
        return x;
    }
    static DEVICE result narrow(wide x)
    {
        return x;
    }
};

#endif
