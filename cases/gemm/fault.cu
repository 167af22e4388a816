/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

/* naive.cu with one planted fault each, which acts on HIP only: on CUDA every entry is right. For
 * tests of the instrument itself; the variants are hidden.
 *
 *   drop       the last element of k is left out
 *   scale      the sum is multiplied by 1 + 2^-10
 *   zero       zeros are written
 *   hang       an endless loop
 *   oob        the last thread also writes one element beyond C's end
 *   unwritten  C's last element is not written */

enum fault { FAULT_DROP, FAULT_SCALE, FAULT_ZERO, FAULT_HANG, FAULT_OOB, FAULT_UNWRITTEN };

template <class F, fault K>
DEVICE void gemm(const typename F::stored *a, const typename F::stored *b,
                 typename F::result *c, i32 m, i32 n, i32 k, i64 a_row, i64 a_col, i64 b_row,
                 i64 b_col, f32 alpha, f32 beta)
{
    i32 i = BLOCK_Y * 16 + THREAD_Y;
    i32 j = BLOCK_X * 16 + THREAD_X;
    if (i >= m || j >= n)
        return;
    bool acts = DEVICE_IS_HIP;
    i64 at = (i64)i * n + j;
    i64 last = (i64)m * n - 1;
    typename F::wide acc = 0;
    for (i32 l = 0; l < (acts && K == FAULT_DROP ? k - 1 : k); l++)
        acc += F::widen(a[i * a_row + l * a_col]) * F::widen(b[l * b_row + j * b_col]);
    if (acts && K == FAULT_SCALE)
        acc += acc / 1024;
    if (acts && K == FAULT_ZERO) {
        c[at] = 0;
        return;
    }
    if (acts && K == FAULT_HANG)
        while (true)
            (void)*(const volatile typename F::stored *)a;
    if (acts && K == FAULT_OOB && at == last)
        c[at + 1] = F::narrow(acc);
    if (acts && K == FAULT_UNWRITTEN && at == last)
        return;
    scaled_store<F>(c, at, acc, alpha, beta);
}

#define ENTRY(name, kind, format)                                                              \
    KERNEL(256)                                                                                \
    fault_##name##_##format(const format_##format::stored *a,                                  \
                            const format_##format::stored *b, format_##format::result *c,      \
                            i32 m, i32 n, i32 k, i64 a_row, i64 a_col, i64 a_batch, i64 b_row, \
                            i64 b_col, i64 b_batch, f32 alpha, f32 beta)                       \
    {                                                                                          \
        gemm<format_##format, kind>(a + BLOCK_Z * a_batch, b + BLOCK_Z * b_batch,              \
                                    c + BLOCK_Z * ((i64)m * n), m, n, k, a_row, a_col, b_row,  \
                                    b_col, alpha, beta);                                       \
    }

#define ENTRIES(name, kind)                                                                    \
    ENTRY(name, kind, f32)                                                                     \
    ENTRY(name, kind, f16)                                                                     \
    ENTRY(name, kind, bf16)                                                                    \
    ENTRY(name, kind, i8)

ENTRIES(drop, FAULT_DROP)
ENTRIES(scale, FAULT_SCALE)
ENTRIES(zero, FAULT_ZERO)
ENTRIES(hang, FAULT_HANG)
ENTRIES(oob, FAULT_OOB)
ENTRIES(unwritten, FAULT_UNWRITTEN)
