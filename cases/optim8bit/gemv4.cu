/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

/* y = B a for each row of a (grid y; gemv4: one), with B of n x k in 4-bit codes, as bitsandbytes' plain kernel: scales and book rounded
 * to the format first; b = T(book * scale); a b rounded to T; sums in f32, one warp a row, 32
 * neighbouring elements a lane and turn, then a tree over the lanes.
 *
 * The faults act on HIP only: fault_lanes: the tree loses its last step; fault_rows: rows 3, 7, ... of a
 * are taken for the row before. */

enum { LANES = 32 };

template <class F> DEVICE f32 in_format(f32 x)
{
    return F::widen(F::narrow(x));
}

template <class F>
DEVICE void gemv(const typename F::stored *a, const u8 *code, const f32 *absmax,
                 const f32 *book, typename F::stored *y, i32 n, i32 k, i32 size, bool faulty,
                 f32 *part)
{
    i64 row = (i64)BLOCK_X * k;
    f32 sum = 0;
    for (i32 first = THREAD_X * LANES; first < k; first += LANES * LANES)
        for (i32 l = first; l < first + LANES && l < k; l++) {
            i64 at = row + l;
            u32 c = code[at / 2] >> (at % 2 ? 0 : 4) & 15u;
            f32 b = in_format<F>(in_format<F>(book[c]) * in_format<F>(absmax[at / size]));
            sum += in_format<F>(F::widen(a[l]) * b);
        }
    part[THREAD_X] = sum;
    for (i32 half = LANES / 2; half > (faulty ? 1 : 0); half /= 2) {
        SYNC();
        if (THREAD_X < half)
            part[THREAD_X] += part[THREAD_X + half];
    }
    SYNC();
    if (THREAD_X == 0)
        y[(i64)BLOCK_Y * n + BLOCK_X] = F::narrow(part[0]);
}

#define ENTRY(name, lanes, rows, format)                                                       \
    KERNEL(LANES)                                                                              \
    name##_##format(const format_##format::stored *a, const u8 *code, const f32 *absmax,       \
                    const f32 *book, format_##format::stored *y, i32 n, i32 k, i32 size)       \
    {                                                                                          \
        SHARED f32 part[LANES];                                                                \
        i32 row = rows && BLOCK_Y % 4 == 3 ? BLOCK_Y - 1 : BLOCK_Y;                            \
        gemv<format_##format>(a + (i64)row * k, code, absmax, book, y, n, k, size, lanes, part);\
    }

#define ENTRIES(format)                                                                        \
    ENTRY(gemv4, false, false, format)                                                         \
    ENTRY(gemm4, false, false, format)                                                         \
    ENTRY(fault_rows, false, DEVICE_IS_HIP, format)                                            \
    ENTRY(fault_lanes, DEVICE_IS_HIP, false, format)

ENTRIES(f32)
ENTRIES(f16)
ENTRIES(bf16)
