/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_OPTIM8BIT_OPTIM8BIT_CUH
#define GPUPARITY_CASES_OPTIM8BIT_OPTIM8BIT_CUH

#include "device.h"

#if DEVICE_IS_HIP
extern "C" __attribute__((device)) f32 __ocml_sqrt_f32(f32);
DEVICE f32 root(f32 x)
{
    return __ocml_sqrt_f32(x);
}
DEVICE f32 fused(f32 a, f32 b, f32 c)
{
    return __builtin_fmaf(a, b, c);
}
#else
DEVICE f32 root(f32 x)
{
    return sqrtf(x);
}
DEVICE f32 fused(f32 a, f32 b, f32 c)
{
    return fmaf(a, b, c);
}
#endif

/* The largest of the block's values, each of which its thread has put into `part`. */
DEVICE f32 block_largest(f32 *part, i32 threads)
{
    for (i32 half = threads / 2; half; half /= 2) {
        SYNC();
        if (THREAD_X < half && part[THREAD_X + half] > part[THREAD_X])
            part[THREAD_X] = part[THREAD_X + half];
    }
    SYNC();
    return part[0];
}

#endif
