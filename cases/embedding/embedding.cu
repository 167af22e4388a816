/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"
#include "device_fault.h"

/* grad[v] = sum of dy[t] over the tokens t with index[t] = v, but for v = `padding`; rows of d, f32.
 *
 * atomic   one thread an element of dy, adds it to grad by atomics: in no order
 * ordered  one thread an element of grad, tokens in ascending order */

enum fault { NONE, ROW, ACCUMULATE, TAIL, FREQUENCY, PADDING };

template <class F, fault K>
DEVICE void atomic_add(const typename F::stored *dy, const i32 *index, f32 *grad, i32 tokens,
                       i32 d, i32 vocab, i32 padding)
{
    i64 i = (i64)BLOCK_X * 256 + THREAD_X, n = (i64)tokens * d;
    if (i >= (acts<K>(TAIL) ? n - n % 256 : n))
        return;
    i32 v = index[i / d];
    if (v == padding && !acts<K>(PADDING))
        return;
    if (acts<K>(ROW) && v + 1 < vocab)
        v++;
    ATOMIC_ADD(grad + (i64)v * d + i % d, F::widen(dy[i]));
}

template <class F, fault K>
DEVICE void ordered_add(const typename F::stored *dy, const i32 *index, f32 *grad, i32 tokens,
                        i32 d, i32 vocab, i32 padding)
{
    i64 i = (i64)BLOCK_X * 256 + THREAD_X;
    if (i >= (i64)vocab * d)
        return;
    i32 v = (i32)(i / d), count = 0;
    f32 sum = 0;
    for (i32 t = 0; t < tokens; t++)
        if (index[t] == v && v != padding) {
            sum = sum + F::widen(dy[(i64)t * d + i % d]);
            count++;
            if (acts<K>(ACCUMULATE))
                sum = bf16_widen(bf16_round(sum));
        }
    grad[i] = acts<K>(FREQUENCY) && count ? sum / (f32)count : sum;
}

#define ENTRY(name, format, way, fault)                                                        \
    KERNEL(256)                                                                                \
    name##_##format(const format_##format::stored *dy, const i32 *index, f32 *grad,            \
                    i32 tokens, i32 d, i32 vocab, i32 padding)                                 \
    {                                                                                          \
        way<format_##format, fault>(dy, index, grad, tokens, d, vocab, padding);               \
    }

#define ENTRIES(name, way, fault)                                                              \
    ENTRY(name, f32, way, fault)                                                               \
    ENTRY(name, f16, way, fault)                                                               \
    ENTRY(name, bf16, way, fault)

ENTRIES(atomic, atomic_add, NONE)
ENTRIES(ordered, ordered_add, NONE)
ENTRIES(fault_row, atomic_add, ROW)
ENTRIES(fault_accumulate, ordered_add, ACCUMULATE)
ENTRIES(fault_tail, atomic_add, TAIL)
ENTRIES(fault_frequency, ordered_add, FREQUENCY)
ENTRIES(fault_padding, atomic_add, PADDING)
