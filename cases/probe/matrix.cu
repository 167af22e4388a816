/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"
#include "device_matrix.h"

/* One warp a block asks a matrix unit 16 things at once: try e of a block has row e of A and
 * column e of B, 16 products deep, and its C on the diagonal, where its result comes out.
 * a, b [n][16], c and the bits out [n]; n is a multiple of 16. out[0] is no try: 1 if there is
 * such a unit; else results are f32 chains of fused multiply-adds. */

template <class F>
DEVICE f32 chain(const typename F::stored *a, const typename F::stored *b, f32 c)
{
    for (i32 k = 0; k < 16; k++)
        c = fmaf((f32)F::widen(a[k]), (f32)F::widen(b[k]), c);
    return c;
}

DEVICE u32 bits_of(f32 x)
{
    return f32_bits(x);
}

DEVICE u32 bits_of(u16 x)
{
    return x;
}

template <class F, class M>
DEVICE void ask(const typename F::stored *a, const typename F::stored *b,
                const typename M::sum *c, u32 *out)
{
    i32 first = BLOCK_X * 16;
    typename M::sum acc[8];
#pragma unroll
    for (i32 e = 0; e < 8; e++)
        acc[e] = matrix_c_row(e) == matrix_c_column(e) ? c[first + matrix_c_row(e)] : 0;
    if (M::PRESENT) {
        for (i32 step = 0; step < 16; step += M::K) {
            typename F::stored x[M::A], y[M::B];
#pragma unroll
            for (i32 e = 0; e < M::A; e++)
                x[e] = a[(first + M::a_row(e)) * 16 + step + M::a_k(e)];
#pragma unroll
            for (i32 e = 0; e < M::B; e++)
                y[e] = b[(first + M::b_column(e)) * 16 + step + M::b_k(e)];
            M::step(acc, x, y);
        }
    }
#pragma unroll
    for (i32 e = 0; e < 8; e++) {
        i32 at = first + matrix_c_row(e);
        if (matrix_c_row(e) != matrix_c_column(e))
            continue;
        if (at == 0)
            out[at] = M::PRESENT;
        else if (M::PRESENT)
            out[at] = bits_of(acc[e]);
        else
            out[at] = f32_bits(chain<F>(a + at * 16, b + at * 16, (f32)c[at]));
    }
}

#define ENTRY(name, format)                                                                    \
    KERNEL(32)                                                                                 \
    probe_##name(const format_##format::stored *a, const format_##format::stored *b,           \
                 const matrix_##name::sum *c, u32 *out)                                        \
    {                                                                                          \
        ask<format_##format, matrix_##name>(a, b, c, out);                                     \
    }

ENTRY(f16, f16)
ENTRY(f16_f16, f16)
ENTRY(bf16, bf16)
ENTRY(tf32, tf32)
