/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_DEVICE_WARP_H
#define GPUPARITY_CASES_DEVICE_WARP_H

#include "device_language.h"

/* The 32 lanes of a warp, all of which must be there. Blocks are one-dimensional. */

#define LANE (THREAD_X & 31)

/* The x of lane LANE ^ mask. */
DEVICE f32 lane_xor(f32 x, i32 mask)
{
#if DEVICE_IS_HIP
    i32 from = (LANE ^ mask) * 4;
    return f32_from_bits((u32)__builtin_amdgcn_ds_bpermute(from, (i32)f32_bits(x)));
#else
    return __shfl_xor_sync(0xffffffffu, x, mask);
#endif
}

/* The sum over the lanes, in every lane. */
DEVICE f32 warp_sum(f32 x)
{
    for (i32 mask = 16; mask > 0; mask /= 2)
        x += lane_xor(x, mask);
    return x;
}

#endif
