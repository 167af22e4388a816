/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_DEVICE_FORMAT_H
#define GPUPARITY_CASES_DEVICE_FORMAT_H

#include "device_language.h"

/* The 16-bit formats travel as u16. Widening is exact. Narrowing rounds to nearest even, keeps subnormals,
 * overflows to Inf, and makes a quiet NaN from any NaN; its payload is the vendor's.
 *
 * f16: the vendors' own instructions (cvt / v_cvt), which is what their half types use.
 * bf16: cvt.rn.bf16.f32 on sm_80 and later, since that is what its compilers emit; gfx1100 has
 * no such instruction, so there the rounding is done in integers, as ROCm's own headers do. */

#if DEVICE_IS_HIP

DEVICE f32 f16_widen(u16 x)
{
    return (f32) __builtin_bit_cast(_Float16, x);
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

template <class S, class W> struct format_plain {
    typedef S stored;
    typedef W wide;
    typedef W result;
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

struct format_f32 : format_plain<f32, f32> {
};
struct format_tf32 : format_plain<f32, f32> {
};
struct format_i8 : format_plain<i8, i32> {
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

#endif
