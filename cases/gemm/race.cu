/* SPDX-License-Identifier: Apache-2.0 */
#include "gemm.cuh"

/* naive.cu with planted nondeterminism, which acts on HIP only; on CUDA every entry is right. Hidden,
 * for tests of the instrument itself.
 *
 *   race     a result goes through shared memory to a thread of the next warp without a barrier: right
 *            only when warps happen to run in ascending order
 *   jumble   each warp adds its share of k with an atomic: every order of warps rounds in its own
 *            way, all of them inside the bound */

enum { SIDE = 16, THREADS = SIDE * SIDE, WARP = 32, WARPS = THREADS / WARP };

/* Where thread t's element of C lies, or that it has none. */
DEVICE bool place(i32 t, i32 m, i32 n, i32 *i, i32 *j)
{
    *i = BLOCK_Y * SIDE + t / SIDE;
    *j = BLOCK_X * SIDE + t % SIDE;
    return *i < m && *j < n;
}

template <class F>
DEVICE void race(const typename F::stored *a, const typename F::stored *b, typename F::result *c,
                 i32 m, i32 n, i32 k, i64 a_row, i64 a_col, i64 b_row, i64 b_col, f32 alpha,
                 f32 beta, typename F::wide *shared)
{
    i32 t = THREAD_Y * SIDE + THREAD_X, i, j;
    if (place(t, m, n, &i, &j))
        shared[t] = chain<F>(a + i * a_row, b + j * b_col, k, a_col, b_row);
    if (!DEVICE_IS_HIP)
        SYNC();
    const volatile typename F::wide *seen = shared;
    if (t >= WARP && place(t - WARP, m, n, &i, &j))
        scaled_store<F>(c, (i64)i * n + j, seen[t - WARP], alpha, beta);
    if (t >= THREADS - WARP && place(t, m, n, &i, &j))
        scaled_store<F>(c, (i64)i * n + j, seen[t], alpha, beta);
}

template <class F>
DEVICE void jumble(const typename F::stored *a, const typename F::stored *b,
                   typename F::result *c, i32 m, i32 n, i32 k, i64 a_row, i64 a_col, i64 b_row,
                   i64 b_col, f32 alpha, f32 beta, typename F::wide *shared)
{
    i32 t = THREAD_Y * SIDE + THREAD_X, i, j;
    i32 chunk = DEVICE_IS_HIP ? (k + WARPS - 1) / WARPS : k;
    i32 first = t / WARP * chunk, last = first + chunk < k ? first + chunk : k;
    shared[t] = 0;
    SYNC();
    for (i32 e = t % WARP; e < THREADS; e += WARP)
        if (first < last && place(e, m, n, &i, &j))
            ATOMIC_ADD(&shared[e],
                       chain<F>(a + i * a_row + first * a_col, b + j * b_col + first * b_row,
                                last - first, a_col, b_row));
    SYNC();
    if (place(t, m, n, &i, &j))
        scaled_store<F>(c, (i64)i * n + j, shared[t], alpha, beta);
}

#define ENTRY(name, format)                                                                    \
    KERNEL(256) fault_##name##_##format(GEMM_ARGUMENTS(format))                                \
    {                                                                                          \
        SHARED format_##format::wide shared[THREADS];                                          \
        name<format_##format>(GEMM_OF_BATCH, shared);                                          \
    }

ENTRY(race, f32)
ENTRY(race, f16)
ENTRY(race, bf16)
ENTRY(race, i8)
ENTRY(jumble, f32)
ENTRY(jumble, f16)
ENTRY(jumble, bf16)
ENTRY(jumble, i8)
