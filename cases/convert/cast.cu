/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

/* y[i] = x[i] in another format, one element a thread. f32 to i32 is C's cast, toward zero;
 * what it does outside i32 is the instruction's. f32 to i8 is the nearest integer, clamped
 * here. */

DEVICE f32 f16_f32(u16 x)
{
    return f16_widen(x);
}

DEVICE f32 bf16_f32(u16 x)
{
    return bf16_widen(x);
}

DEVICE u16 f32_f16(f32 x)
{
    return f16_round(x);
}

DEVICE u16 f32_bf16(f32 x)
{
    return bf16_round(x);
}

DEVICE i32 f32_i32(f32 x)
{
    return (i32)x;
}

DEVICE i8 f32_i8(f32 x)
{
    f32 r = rintf(x);
    if (!(x == x))
        return 0;
    return (i8)(i32)(r < -128.0f ? -128.0f : r > 127.0f ? 127.0f : r);
}

DEVICE f32 f64_f32(f64 x)
{
    return (f32)x;
}

#define ENTRY(from, to, source, result)                                                        \
    KERNEL(256) cast_##from##_##to(const source *x, result *y, i32 n)                          \
    {                                                                                          \
        i32 i = BLOCK_X * 256 + THREAD_X;                                                      \
        if (i < n)                                                                             \
            y[i] = from##_##to(x[i]);                                                          \
    }

ENTRY(f32, f16, f32, u16)
ENTRY(f32, bf16, f32, u16)
ENTRY(f16, f32, u16, f32)
ENTRY(bf16, f32, u16, f32)
ENTRY(f32, i32, f32, i32)
ENTRY(f32, i8, f32, i8)
ENTRY(f64, f32, f64, f32)
