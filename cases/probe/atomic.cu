/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

/* sum[i] starts as 0; f32 in[4 i + 1], then in[4 i + 2], are added to it by atomics: in[4 i] =
 * 0 in global memory, 1 in shared memory. Then out[i] gets its bits. One thread a block. */

KERNEL(32) atomics(const u32 *in, u32 *out, f32 *sum, i32 n)
{
    SHARED f32 near;
    i32 i = BLOCK_X;
    if (THREAD_X > 0 || i >= n)
        return;
    near = 0;
    f32 a = f32_from_bits(in[4 * i + 1]), b = f32_from_bits(in[4 * i + 2]);
    if (in[4 * i] == 0) {
        ATOMIC_ADD(&sum[i], a);
        ATOMIC_ADD(&sum[i], b);
        out[i] = f32_bits(*(volatile f32 *)&sum[i]);
    } else {
        ATOMIC_ADD(&near, a);
        ATOMIC_ADD(&near, b);
        out[i] = f32_bits(*(volatile f32 *)&near);
    }
}
