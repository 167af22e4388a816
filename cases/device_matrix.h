/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_DEVICE_MATRIX_H
#define GPUPARITY_CASES_DEVICE_MATRIX_H

#include "device_warp.h"

/* Matrix units: one warp (32 lanes) multiplies tiles: C (16 x 16) += A (16 x K) B (K x 16). How the elements
 * lie over the lanes is the vendor's; a kernel asks where element e of this lane belongs:
 *
 *   matrix_<kind>::A, B, K      elements of A and B a lane holds, depth of a step
 *   a_row(e), a_k(e)            b_k(e), b_column(e)
 *   matrix_c_row(e), matrix_c_column(e)    the 8 elements of C a lane holds
 *   step(c, a, b)               the instruction
 *   PRESENT                     0: this device has no such unit
 *
 * NVIDIA, sm_80 and later: two mma.sync.m16n8k16 (tf32: m16n8k8) side by side.
 * AMD, gfx11: one v_wmma_*_16x16x16; no tf32. */

#if DEVICE_IS_HIP && (defined(__gfx1100__) || defined(__gfx1101__) || defined(__gfx1102__) ||  \
                      defined(__gfx1103__) || defined(__gfx1150__) || defined(__gfx1151__))
#define MATRIX_IS_WMMA 1
#else
#define MATRIX_IS_WMMA 0
#endif
#if DEVICE_IS_CUDA && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define MATRIX_IS_MMA 1
#else
#define MATRIX_IS_MMA 0
#endif

DEVICE i32 matrix_c_row(i32 e)
{
    return DEVICE_IS_HIP ? 2 * e + LANE / 16 : LANE / 4 + (e & 2) * 4;
}

DEVICE i32 matrix_c_column(i32 e)
{
    return DEVICE_IS_HIP ? LANE % 16 : LANE % 4 * 2 + (e & 1) + (e & 4) * 2;
}

/* Where operands of 16 bits lie. */
struct matrix_16 {
    enum {
        K = 16,
        A = DEVICE_IS_HIP ? 16 : 8,
        B = A,
        PRESENT = MATRIX_IS_WMMA || MATRIX_IS_MMA
    };
    static DEVICE i32 a_row(i32 e)
    {
        return DEVICE_IS_HIP ? LANE % 16 : LANE / 4 + (e & 2) * 4;
    }
    static DEVICE i32 a_k(i32 e)
    {
        return DEVICE_IS_HIP ? e : LANE % 4 * 2 + (e & 1) + (e & 4) * 2;
    }
    static DEVICE i32 b_column(i32 e)
    {
        return DEVICE_IS_HIP ? LANE % 16 : LANE / 4 + (e & 4) * 2;
    }
    static DEVICE i32 b_k(i32 e)
    {
        return DEVICE_IS_HIP ? e : LANE % 4 * 2 + (e & 1) + (e & 2) * 4;
    }
};

DEVICE u32 pack_16(u16 low, u16 high)
{
    return (u32)low | (u32)high << 16;
}

DEVICE u32 pack_8(const i8 *x)
{
    return (u32)(u8)x[0] | (u32)(u8)x[1] << 8 | (u32)(u8)x[2] << 16 | (u32)(u8)x[3] << 24;
}

#if MATRIX_IS_WMMA
typedef _Float16 half_16 __attribute__((ext_vector_type(16)));
typedef short short_16 __attribute__((ext_vector_type(16)));
typedef float float_8 __attribute__((ext_vector_type(8)));
typedef int int_8 __attribute__((ext_vector_type(8)));
typedef int int_4 __attribute__((ext_vector_type(4)));

template <class V, class T> DEVICE V vector_of(const T *x, i32 count)
{
    V v;
    for (i32 e = 0; e < count; e++)
        v[e] = x[e];
    return v;
}

template <class T, class V> DEVICE void vector_store(T *x, V v)
{
    for (i32 e = 0; e < 8; e++)
        x[e] = v[e];
}

DEVICE half_16 half_of(const u16 *x)
{
    return __builtin_bit_cast(half_16, vector_of<short_16>(x, 16));
}
#endif

/* Both halves of C, f32 sums: operands a (8) and b (4 a half). */
#define MMA_F32(types)                                                                         \
    for (i32 h = 0; h < 8; h += 4)                                                             \
    asm volatile("mma.sync.aligned.m16n8k16.row.col." types                                    \
                 " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "                                    \
                 "{%0,%1,%2,%3};"                                                              \
                 : "+f"(c[h]), "+f"(c[h + 1]), "+f"(c[h + 2]), "+f"(c[h + 3])                  \
                 : "r"(pack_16(a[0], a[1])), "r"(pack_16(a[2], a[3])),                         \
                   "r"(pack_16(a[4], a[5])), "r"(pack_16(a[6], a[7])),                         \
                   "r"(pack_16(b[h], b[h + 1])), "r"(pack_16(b[h + 2], b[h + 3])))

struct matrix_f16 : matrix_16 {
    typedef f32 sum;
    static DEVICE void step(f32 *c, const u16 *a, const u16 *b)
    {
#if MATRIX_IS_WMMA
        vector_store(c, __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(half_of(a), half_of(b),
                                                                   vector_of<float_8>(c, 8)));
#elif MATRIX_IS_MMA
        MMA_F32("f32.f16.f16.f32");
#endif
    }
};

struct matrix_bf16 : matrix_16 {
    typedef f32 sum;
    static DEVICE void step(f32 *c, const u16 *a, const u16 *b)
    {
#if MATRIX_IS_WMMA
        vector_store(c, __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(vector_of<short_16>(a, 16),
                                                                    vector_of<short_16>(b, 16),
                                                                    vector_of<float_8>(c, 8)));
#elif MATRIX_IS_MMA
        MMA_F32("f32.bf16.bf16.f32");
#endif
    }
};

/* f16 sums as well: the accumulator is rounded to f16 inside the unit. */
struct matrix_f16_f16 : matrix_16 {
    typedef u16 sum;
    static DEVICE void step(u16 *c, const u16 *a, const u16 *b)
    {
#if MATRIX_IS_WMMA
        u16 z[16];
        for (i32 e = 0; e < 16; e++)
            z[e] = e % 2 ? 0 : c[e / 2];
        /* clang 17 takes element 0 for a bit cast of any d[i]: cast the whole vector. */
        short_16 d =
            __builtin_bit_cast(short_16, __builtin_amdgcn_wmma_f16_16x16x16_f16_w32(
                                             half_of(a), half_of(b), half_of(z), false));
        for (i32 e = 0; e < 8; e++)
            c[e] = (u16)d[2 * e];
#elif MATRIX_IS_MMA
        for (i32 h = 0; h < 8; h += 4) {
            u32 low = pack_16(c[h], c[h + 1]), high = pack_16(c[h + 2], c[h + 3]);
            asm volatile(
                "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, "
                "{%6,%7}, {%0,%1};"
                : "+r"(low), "+r"(high)
                : "r"(pack_16(a[0], a[1])), "r"(pack_16(a[2], a[3])), "r"(pack_16(a[4], a[5])),
                  "r"(pack_16(a[6], a[7])), "r"(pack_16(b[h], b[h + 1])),
                  "r"(pack_16(b[h + 2], b[h + 3])));
            c[h] = (u16)low;
            c[h + 1] = (u16)(low >> 16);
            c[h + 2] = (u16)high;
            c[h + 3] = (u16)(high >> 16);
        }
#endif
    }
};

struct matrix_i8 : matrix_16 {
    typedef i32 sum;
    static DEVICE i32 a_row(i32 e)
    {
        return DEVICE_IS_HIP ? LANE % 16 : LANE / 4 + (e & 4) * 2;
    }
    static DEVICE i32 a_k(i32 e)
    {
        return DEVICE_IS_HIP ? e : LANE % 4 * 4 + (e & 3);
    }
    static DEVICE i32 b_k(i32 e)
    {
        return a_k(e);
    }
    static DEVICE void step(i32 *c, const i8 *a, const i8 *b)
    {
#if MATRIX_IS_WMMA
        int_4 x, y;
        for (i32 e = 0; e < 4; e++) {
            x[e] = (int)pack_8(a + 4 * e);
            y[e] = (int)pack_8(b + 4 * e);
        }
        vector_store(c, __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(
                            true, x, true, y, vector_of<int_8>(c, 8), false));
#elif MATRIX_IS_MMA
        for (i32 h = 0; h < 8; h += 4)
            asm volatile(
                "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
                "{%0,%1,%2,%3};"
                : "+r"(c[h]), "+r"(c[h + 1]), "+r"(c[h + 2]), "+r"(c[h + 3])
                : "r"(pack_8(a)), "r"(pack_8(a + 4)), "r"(pack_8(b + h)));
#endif
    }
};

struct matrix_tf32 {
    typedef f32 sum;
    enum { K = 8, A = 4, B = 4, PRESENT = MATRIX_IS_MMA };
    static DEVICE i32 a_row(i32 e)
    {
        return LANE / 4 + (e & 1) * 8;
    }
    static DEVICE i32 a_k(i32 e)
    {
        return LANE % 4 + (e & 2) * 2;
    }
    static DEVICE i32 b_column(i32 e)
    {
        return LANE / 4 + (e & 2) * 4;
    }
    static DEVICE i32 b_k(i32 e)
    {
        return LANE % 4 + (e & 1) * 4;
    }
    static DEVICE void step(f32 *c, const f32 *a, const f32 *b)
    {
#if MATRIX_IS_MMA
        for (i32 h = 0; h < 8; h += 4)
            asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, "
                         "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(c[h]), "+f"(c[h + 1]), "+f"(c[h + 2]), "+f"(c[h + 3])
                         : "r"(f32_bits(a[0])), "r"(f32_bits(a[1])), "r"(f32_bits(a[2])),
                           "r"(f32_bits(a[3])), "r"(f32_bits(b[h / 2])),
                           "r"(f32_bits(b[h / 2 + 1])));
#endif
    }
};

#endif
