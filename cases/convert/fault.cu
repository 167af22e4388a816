/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

/* cast.cu with one planted fault each, which acts on HIP only. For tests of the instrument
 * itself; the variants are hidden. */

DEVICE u16 truncate_f16(f32 x)
{
    return f16_round(DEVICE_IS_HIP ? f32_from_bits(f32_bits(x) & 0xffffe000u) : x);
}

DEVICE u16 away_bf16(f32 x)
{
    return DEVICE_IS_HIP && x == x ? (u16)((f32_bits(x) + 0x8000u) >> 16) : bf16_round(x);
}

DEVICE u16 flush_f16(f32 x)
{
    u16 y = f16_round(x);
    return DEVICE_IS_HIP && (y & 0x7c00u) == 0 ? (u16)(y & 0x8000u) : y;
}

DEVICE i8 right_i8(f32 x)
{
    f32 r = rintf(x);
    if (!(x == x))
        return 0;
    return (i8)(i32)(r < -128.0f ? -128.0f : r > 127.0f ? 127.0f : r);
}

DEVICE i8 wrap_i8(f32 x)
{
    return DEVICE_IS_HIP && x == x ? (i8)(i32)rintf(x) : right_i8(x);
}

/* Toward zero and not clamped, as a cast to int8_t in the place of a rounding helper does. */
DEVICE i8 cut_i8(f32 x)
{
    return DEVICE_IS_HIP && x == x ? (i8)(i32)x : right_i8(x);
}

DEVICE i32 nearest_i32(f32 x)
{
    return (i32)(DEVICE_IS_HIP ? rintf(x) : x);
}

#define ENTRY(fault, to, result)                                                               \
    KERNEL(256) fault_##fault##_f32_##to(const f32 *x, result *y, i32 n)                       \
    {                                                                                          \
        i32 i = BLOCK_X * 256 + THREAD_X;                                                      \
        if (i < n)                                                                             \
            y[i] = fault##_##to(x[i]);                                                         \
    }

ENTRY(truncate, f16, u16)
ENTRY(away, bf16, u16)
ENTRY(flush, f16, u16)
ENTRY(wrap, i8, i8)
ENTRY(cut, i8, i8)
ENTRY(nearest, i32, i32)
