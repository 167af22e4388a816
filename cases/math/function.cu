/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

/* y[i] = f(x[i]) by each vendor's own library, one element a thread. */

#define ENTRY(f)                                                                               \
    KERNEL(256) math_##f(const f32 *x, f32 *y, i32 n)                                          \
    {                                                                                          \
        i32 i = BLOCK_X * 256 + THREAD_X;                                                      \
        if (i < n)                                                                             \
            y[i] = f(x[i]);                                                                    \
    }

ENTRY(expf)
ENTRY(exp2f)
ENTRY(logf)
ENTRY(log2f)
ENTRY(sinf)
ENTRY(cosf)
ENTRY(tanhf)
ENTRY(rsqrtf)
ENTRY(sqrtf)
ENTRY(erff)

KERNEL(256) math_divf(const f32 *x, const f32 *d, f32 *y, i32 n)
{
    i32 i = BLOCK_X * 256 + THREAD_X;
    if (i < n)
        y[i] = x[i] / d[i];
}

KERNEL(256) math_powf(const f32 *x, const f32 *d, f32 *y, i32 n)
{
    i32 i = BLOCK_X * 256 + THREAD_X;
    if (i < n)
        y[i] = powf(x[i], d[i]);
}
