/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

/* y[i] = x[i] in another format, one element a thread. f32 to i32 is C's cast, toward zero;
 * what it does outside i32 is the instruction's, and so for u32 and i64. f32 to i8 and u8 is the
 * nearest integer, clamped here. f64 goes to 16 bits through f32. */

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

DEVICE u16 f64_f16(f64 x)
{
    return f16_round((f32)x);
}

DEVICE u16 f64_bf16(f64 x)
{
    return bf16_round((f32)x);
}

DEVICE i32 f64_i32(f64 x)
{
    return (i32)x;
}

DEVICE f64 f32_f64(f32 x)
{
    return (f64)x;
}

DEVICE u8 f32_u8(f32 x)
{
    f32 r = rintf(x);
    if (!(x == x))
        return 0;
    return (u8)(i32)(r < 0.0f ? 0.0f : r > 255.0f ? 255.0f : r);
}

DEVICE u32 f32_u32(f32 x)
{
    return (u32)x;
}

DEVICE i64 f32_i64(f32 x)
{
    return (i64)x;
}

/* The 16-bit formats go through f32, which holds them exactly. */
#define THROUGH_F32(from)                                                                      \
    DEVICE f64 from##_f64(u16 x)                                                               \
    {                                                                                          \
        return (f64)from##_widen(x);                                                           \
    }                                                                                          \
    DEVICE i32 from##_i32(u16 x)                                                               \
    {                                                                                          \
        return f32_i32(from##_widen(x));                                                       \
    }                                                                                          \
    DEVICE i8 from##_i8(u16 x)                                                                 \
    {                                                                                          \
        return f32_i8(from##_widen(x));                                                        \
    }

THROUGH_F32(f16)
THROUGH_F32(bf16)

DEVICE u16 f16_bf16(u16 x)
{
    return bf16_round(f16_widen(x));
}

DEVICE u16 bf16_f16(u16 x)
{
    return f16_round(bf16_widen(x));
}

#define FROM_INTEGER(from)                                                                     \
    DEVICE f32 from##_f32(from x)                                                              \
    {                                                                                          \
        return (f32)x;                                                                         \
    }

FROM_INTEGER(i32)
FROM_INTEGER(u32)
FROM_INTEGER(i8)
FROM_INTEGER(u8)

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
ENTRY(f64, f16, f64, u16)
ENTRY(f64, bf16, f64, u16)
ENTRY(f64, i32, f64, i32)
ENTRY(f32, f64, f32, f64)
ENTRY(f32, u8, f32, u8)
ENTRY(f32, u32, f32, u32)
ENTRY(f32, i64, f32, i64)
ENTRY(f16, f64, u16, f64)
ENTRY(f16, bf16, u16, u16)
ENTRY(f16, i32, u16, i32)
ENTRY(f16, i8, u16, i8)
ENTRY(bf16, f64, u16, f64)
ENTRY(bf16, f16, u16, u16)
ENTRY(bf16, i32, u16, i32)
ENTRY(bf16, i8, u16, i8)
ENTRY(i32, f32, i32, f32)
ENTRY(u32, f32, u32, f32)
ENTRY(i8, f32, i8, f32)
ENTRY(u8, f32, u8, f32)
