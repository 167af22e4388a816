/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

/* function.cu with one planted fault each, which acts on HIP only. For tests of the instrument
 * itself; the variants are hidden. */

DEVICE f32 bad_expf(f32 x)
{
    return DEVICE_IS_HIP ? exp2f(x * 1.44269504f) : expf(x);
}

/* By way of exp(x) - 1 = 2^n (exp(r) - 1) + (2^n - 1): Inf - Inf where 2^n overflows and r is
 * negative, which code that may assume finite numbers need not mind. */
DEVICE f32 bad_overflow(f32 x)
{
    f32 n = rintf(x * 1.44269504f), r = fmaf(n, -0.693147182f, x);
    f32 power = exp2f(n);
    return DEVICE_IS_HIP && n >= 128.0f ? power * (expf(r) - 1.0f) + power : expf(x);
}

DEVICE f32 bad_logf(f32 x)
{
    f32 y = logf(x);
    return DEVICE_IS_HIP ? f16_widen(f16_round(y)) : y;
}

DEVICE f32 bad_sinf(f32 x)
{
    return sinf(DEVICE_IS_HIP ? x - rintf(x * 0.159154943f) * 6.28318531f : x);
}

DEVICE f32 bad_divf(f32 x, f32 d)
{
    return DEVICE_IS_HIP ? x * (1.0f / d) : x / d;
}

DEVICE f32 bad_powf(f32 x, f32 d)
{
    return DEVICE_IS_HIP ? exp2f(d * log2f(x)) : powf(x, d);
}

#define ENTRY(f)                                                                               \
    KERNEL(256) math_fault_##f(const f32 *x, f32 *y, i32 n)                                    \
    {                                                                                          \
        i32 i = BLOCK_X * 256 + THREAD_X;                                                      \
        if (i < n)                                                                             \
            y[i] = bad_##f(x[i]);                                                              \
    }

ENTRY(expf)
ENTRY(overflow)
ENTRY(logf)
ENTRY(sinf)

KERNEL(256) math_fault_divf(const f32 *x, const f32 *d, f32 *y, i32 n)
{
    i32 i = BLOCK_X * 256 + THREAD_X;
    if (i < n)
        y[i] = bad_divf(x[i], d[i]);
}

KERNEL(256) math_fault_powf(const f32 *x, const f32 *d, f32 *y, i32 n)
{
    i32 i = BLOCK_X * 256 + THREAD_X;
    if (i < n)
        y[i] = bad_powf(x[i], d[i]);
}
