/* SPDX-License-Identifier: Apache-2.0 */
#include "device_fault.h"
#include "optim8bit.cuh"

/* Blockwise quantization and its inverse, as bitsandbytes does it:
 *
 *   absmax = max |x| of the block, NaN ignored, at least -FLT_MAX
 *   r = 1 / absmax, once; y = x * r; code = nearest value of the book
 *   back: book[code] * absmax, rounded once to f32 and then to the output's format
 *
 * One thread block a quantization block of `size` elements; `threads` is a power of two. 8-bit
 * books: a binary search by the middles of neighbours, a tie goes to the even index. 4-bit books
 * are followed by their thresholds; two codes a byte, the first in the high half.
 *
 * The fault_ entries hold one planted fault each, which acts on HIP only:
 *   swap    each pair of blocks stores its absmax in the other's place
 *   half    absmax of the first half of the block
 *   entry   book entry 200 is one step off
 *   linear  another book: values in equal steps
 *   long    the first half of a book of 512 entries, so that the top is missing
 *   tie     a tie goes up
 *   cut     the value below instead of the nearest
 *   nibbles 4-bit codes in the other order in their byte */

enum { THREADS = 256 };
enum fault { NONE, SWAP, HALF, ENTRY_OFF, LINEAR, LONG, TIE, CUT, NIBBLES };

template <class F>
DEVICE f32 block_absmax(const typename F::stored *x, i32 first, i32 last, i32 threads,
                        f32 *part)
{
    f32 most = -3.402823466e+38f;
    for (i32 i = first + THREAD_X; i < last; i += threads) {
        f32 v = F::widen(x[i]);
        v = v < 0 ? -v : v;
        most = v > most ? v : most;
    }
    part[THREAD_X] = most;
    return block_largest(part, threads);
}

template <i32 K> DEVICE f32 entry(const f32 *book, i32 i)
{
    if (acts<K>(LINEAR))
        return (i - 127) * (1.0f / 128);
    if (acts<K>(LONG))
        return (book[i / 2] + book[i / 2 + i % 2]) * 0.5f;
    return book[acts<K>(ENTRY_OFF) && i == 200 ? 201 : i];
}

template <i32 K> DEVICE u8 search(const f32 *book, f32 y)
{
    i32 pivot = 127, low = 0, high = 255;
    for (i32 step = 64; step; step /= 2)
        if (y > entry<K>(book, pivot)) {
            low = pivot;
            pivot += step;
        } else {
            high = pivot;
            pivot -= step;
        }
    f32 here = entry<K>(book, pivot);
    bool above = y > here;
    i32 other = above ? high : low;
    f32 middle = (entry<K>(book, other) + here) * 0.5f;
    if (acts<K>(CUT))
        return (u8)(above ? (y < entry<K>(book, high) ? pivot : high) : y == here ? pivot : low);
    if (acts<K>(TIE) && y == middle)
        return (u8)(above ? high : pivot);
    return (u8)((above ? y > middle : y < middle) ? other : pivot);
}

template <class F, i32 K>
DEVICE void quantize8(const typename F::stored *x, const f32 *book, u8 *code, f32 *absmax,
                      i32 n, i32 size, i32 threads, f32 *part)
{
    i32 first = BLOCK_X * size, last = first + size < n ? first + size : n;
    i32 upto = acts<K>(HALF) ? (first + last + 1) / 2 : last;
    f32 most = block_absmax<F>(x, first, upto, threads, part);
    f32 r = 1.0f / most;
    for (i32 i = first + THREAD_X; i < last; i += threads)
        code[i] = search<K>(book, F::widen(x[i]) * r);
    i32 at = BLOCK_X;
    if (acts<K>(SWAP) && (at ^ 1) * size < n)
        at ^= 1;
    if (THREAD_X == 0)
        absmax[at] = most;
}

struct nf4 {
    static DEVICE u32 code(const f32 *edge, f32 y)
    {
        u32 c = 0;
        for (i32 i = 0; i < 15; i++)
            c += y > edge[i];
        return c;
    }
};

struct fp4 {
    static DEVICE u32 code(const f32 *edge, f32 y)
    {
        f32 size = y < 0 ? -y : y;
        u32 rank = 0;
        for (i32 i = 0; i < 7; i++)
            rank += size > edge[i];
        return (0x32547610u >> (4 * rank) & 7u) + (y < 0 ? 8u : 0u);
    }
};

template <class F, class B, i32 K>
DEVICE void quantize4(const typename F::stored *x, const f32 *book, u8 *code, f32 *absmax,
                      i32 n, i32 size, i32 threads, f32 *part)
{
    i32 first = BLOCK_X * size, last = first + size < n ? first + size : n;
    f32 most = block_absmax<F>(x, first, last, threads, part);
    f32 r = 1.0f / most;
    for (i32 i = first + 2 * THREAD_X; i < last; i += 2 * threads) {
        f32 second = i + 1 < last ? F::widen(x[i + 1]) : 0.0f;
        u32 high = B::code(book + 16, F::widen(x[i]) * r);
        u32 low = B::code(book + 16, second * r);
        code[i / 2] = (u8)(acts<K>(NIBBLES) ? low << 4 | high : high << 4 | low);
    }
    if (THREAD_X == 0)
        absmax[BLOCK_X] = most;
}

#define QUANTIZE(name, function, format, ...)                                                  \
    KERNEL(THREADS)                                                                            \
    name##_##format(const format_##format::stored *x, const f32 *book, u8 *code, f32 *absmax,  \
                    i32 n, i32 size, i32 threads)                                              \
    {                                                                                          \
        SHARED f32 part[THREADS];                                                              \
        function<format_##format, __VA_ARGS__>(x, book, code, absmax, n, size, threads, part); \
    }

/* --- and back --------------------------------------------------------------------------------
 */

template <class F>
DEVICE void dequantize(const f32 *book, const u8 *code, const f32 *absmax,
                       typename F::stored *y, i32 n, i32 size, bool packed)
{
    i32 i = BLOCK_X * THREADS + THREAD_X;
    if (i >= n)
        return;
    u32 c = code[packed ? i / 2 : i];
    if (packed)
        c = c >> (i % 2 ? 0 : 4) & 15u;
    y[i] = F::narrow(book[c] * absmax[i / size]);
}

#define DEQUANTIZE(name, packed, format)                                                       \
    KERNEL(THREADS)                                                                            \
    name##_##format(const f32 *book, const u8 *code, const f32 *absmax,                        \
                    format_##format::stored *y, i32 n, i32 size)                               \
    {                                                                                          \
        dequantize<format_##format>(book, code, absmax, y, n, size, packed);                   \
    }

#define ENTRIES(format)                                                                        \
    QUANTIZE(quantize8, quantize8, format, NONE)                                               \
    QUANTIZE(quantize_nf4, quantize4, format, nf4, NONE)                                             \
    QUANTIZE(quantize_fp4, quantize4, format, fp4, NONE)                                             \
    QUANTIZE(fault_swap, quantize8, format, SWAP)                                              \
    QUANTIZE(fault_half, quantize8, format, HALF)                                              \
    QUANTIZE(fault_entry, quantize8, format, ENTRY_OFF)                                        \
    QUANTIZE(fault_linear, quantize8, format, LINEAR)                                          \
    QUANTIZE(fault_long, quantize8, format, LONG)                                              \
    QUANTIZE(fault_tie, quantize8, format, TIE)                                                \
    QUANTIZE(fault_nibbles, quantize4, format, nf4, NIBBLES)                                   \
    QUANTIZE(fault_cut, quantize8, format, CUT)                                                \
    DEQUANTIZE(dequantize8, false, format)                                                     \
    DEQUANTIZE(dequantize4, true, format)

ENTRIES(f32)
ENTRIES(f16)
ENTRIES(bf16)
