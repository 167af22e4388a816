/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"
#include "device_fault.h"

/* Quantization to the 8-bit floats, in software: neither sm_86 nor gfx1100 has instructions.
 *
 * quantize: x is rows of `length` numbers, each cut into groups of `width` (the last may be
 * shorter). For each group scale = absmax / MAX, or 1 where that is 0; code = x / scale, clamped to
 * +-MAX, to nearest, ties to even. absmax passes over NaN, a NaN gets the code NaN. One block of
 * 256 threads a group.
 *
 * dequantize: y = code scale, one thread an element. cast: the code of x itself. */

enum { THREADS = 256 };
enum fault { NONE, CUT, BIAS, ZERO, WAY, RECIPROCAL, LAST, NEXT, SATURATE };

/* NAN is the code; FNUZ: no -0. */
template <i32 FRACTION, i32 BIAS_, i32 MOST, u32 NAN_, bool FNUZ> struct code8 {
    enum { fraction = FRACTION, bias = BIAS_, most = MOST, fnuz = FNUZ };
    enum { nan = NAN_ };
};
typedef code8<3, 7, 448, 0x7f, false> code_e4m3;
typedef code8<2, 15, 57344, 0x7e, false> code_e5m2;
typedef code8<3, 8, 240, 0x80, true> code_e4m3fnuz;
typedef code8<2, 16, 57344, 0x80, true> code_e5m2fnuz;

/* |x| to nearest even; `bits` of f32, not NaN nor too large. */
template <class C, fault K> DEVICE u32 magnitude8(u32 bits)
{
    i32 bias = C::bias + (acts<K>(BIAS) ? 1 : 0), shift = 23 - C::fraction;
    i32 e = (i32)(bits >> 23) - 127 + bias;
    u32 mantissa = bits;
    if (e < 1) {
        mantissa = (bits & 0x7fffffu) | 0x800000u;
        shift += 1 - e;
        if (shift > 25)
            return 0;
    }
    u32 half = acts<K>(CUT) ? 0 : (1u << (shift - 1)) - 1 + ((mantissa >> shift) & 1);
    u32 code = (mantissa + half) >> shift;
    return e < 1 ? code : code - ((u32)(127 - bias) << C::fraction);
}

template <class C, fault K> DEVICE u8 narrow8(f32 x)
{
    const f32 most = (f32)C::most;
    if (acts<K>(WAY))
        x = bf16_widen(bf16_round(x));
    if (acts<K>(SATURATE) && fabsf(x) > most)
        return (u8)C::nan;
    u32 bits = f32_bits(x < -most ? -most : x > most ? most : x);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (u8)C::nan;
    u32 code = magnitude8<C, K>(bits & 0x7fffffffu);
    bool sign = bits >> 31 && (!C::fnuz || code != 0 || acts<K>(ZERO));
    return (u8)(code | (sign ? 0x80u : 0u));
}

template <class C> DEVICE f32 widen8(u8 x)
{
    u32 sign = (u32)(x & 0x80) << 24, e = (u32)(x & 0x7f) >> C::fraction;
    u32 fraction = x & ((1u << C::fraction) - 1);
    bool odd = C::fnuz ? x == 0x80 : C::fraction == 3 ? (x & 0x7f) == 0x7f : e == 31;
    if (odd)
        return f32_from_bits(!C::fnuz && C::fraction == 2 && !fraction ? sign | 0x7f800000u
                                                                       : 0x7fc00000u);
    u32 bits = (e + 127 - C::bias) << 23 | fraction << (23 - C::fraction);
    f32 least = f32_from_bits((u32)(127 + 1 - C::bias - C::fraction) << 23);
    return e ? f32_from_bits(sign | bits) : (sign ? -least : least) * (f32)fraction;
}

template <class F> DEVICE f32 absmax_of(const typename F::stored *x, i32 width)
{
    SHARED f32 part[THREADS];
    f32 most = 0;
    for (i32 i = THREAD_X; i < width; i += THREADS)
        most = fmaxf(most, fabsf(F::widen(x[i])));
    part[THREAD_X] = most;
    SYNC();
    for (i32 half = THREADS / 2; half > 0; half /= 2) {
        if (THREAD_X < half)
            part[THREAD_X] = fmaxf(part[THREAD_X], part[THREAD_X + half]);
        SYNC();
    }
    return part[0];
}

template <class F, class C, fault K>
DEVICE void quantize(const typename F::stored *x, u8 *code, f32 *scale, i32 length, i32 width)
{
    i32 each = (length + width - 1) / width, group = BLOCK_X;
    i64 first = (i64)(group / each) * length + (i64)(group % each) * width;
    i32 left = length - group % each * width, n = left < width ? left : width;
    f32 s = absmax_of<F>(x + first, acts<K>(LAST) ? n - 1 : n) / (f32)C::most;
    if (s == 0.0f)
        s = 1.0f;
    if (THREAD_X == 0)
        scale[group] = s;
    for (i32 i = THREAD_X; i < n; i += THREADS) {
        f32 v = F::widen(x[first + i]);
        code[first + i] = narrow8<C, K>(acts<K>(RECIPROCAL) ? v * (1.0f / s) : v / s);
    }
}

template <class F, class C, fault K>
DEVICE void dequantize(const u8 *code, const f32 *scale, typename F::result *y, i32 length,
                       i32 width, i32 n)
{
    i32 i = BLOCK_X * 256 + THREAD_X, each = (length + width - 1) / width;
    if (i >= n)
        return;
    i32 group = i / length * each + i % length / width;
    if (acts<K>(NEXT) && group + 1 < n / length * each)
        group++;
    y[i] = F::narrow(widen8<C>(code[i]) * scale[group]);
}

#define QUANTIZE(name, format, to, fault)                                                      \
    KERNEL(256)                                                                                \
    name##_##format##_##to(const format_##format::stored *x, u8 *code, f32 *scale, i32 length, \
                           i32 width)                                                          \
    {                                                                                          \
        quantize<format_##format, code_##to, fault>(x, code, scale, length, width);            \
    }

#define DEQUANTIZE(name, format, to, fault)                                                    \
    KERNEL(256)                                                                                \
    name##_##format##_##to(const u8 *code, const f32 *scale, format_##format::result *y,       \
                           i32 length, i32 width, i32 n)                                       \
    {                                                                                          \
        dequantize<format_##format, code_##to, fault>(code, scale, y, length, width, n);       \
    }

#define CAST(name, format, to, fault)                                                          \
    KERNEL(256) name##_##format##_##to(const format_##format::stored *x, u8 *code, i32 n)      \
    {                                                                                          \
        i32 i = BLOCK_X * 256 + THREAD_X;                                                      \
        if (i < n)                                                                             \
            code[i] = narrow8<code_##to, fault>(format_##format::widen(x[i]));                 \
    }

#define FORMATS(entry, name, to, fault)                                                        \
    entry(name, f32, to, fault) entry(name, f16, to, fault) entry(name, bf16, to, fault)

FORMATS(QUANTIZE, quantize, e4m3, NONE)
FORMATS(QUANTIZE, quantize, e5m2, NONE)
FORMATS(QUANTIZE, quantize, e4m3fnuz, NONE)
FORMATS(QUANTIZE, quantize, e5m2fnuz, NONE)
FORMATS(DEQUANTIZE, dequantize, e4m3, NONE)
FORMATS(DEQUANTIZE, dequantize, e5m2, NONE)
FORMATS(DEQUANTIZE, dequantize, e4m3fnuz, NONE)
FORMATS(DEQUANTIZE, dequantize, e5m2fnuz, NONE)
FORMATS(CAST, cast, e4m3, NONE)
FORMATS(CAST, cast, e5m2, NONE)
FORMATS(CAST, cast, e4m3fnuz, NONE)
FORMATS(CAST, cast, e5m2fnuz, NONE)
FORMATS(CAST, fault_saturate, e4m3, SATURATE)
FORMATS(QUANTIZE, fault_cut, e5m2, CUT)
FORMATS(QUANTIZE, fault_bias, e4m3, BIAS)
FORMATS(QUANTIZE, fault_zero, e4m3fnuz, ZERO)
FORMATS(QUANTIZE, fault_way, e4m3, WAY)
FORMATS(QUANTIZE, fault_reciprocal, e4m3, RECIPROCAL)
FORMATS(QUANTIZE, fault_last, e4m3, LAST)
FORMATS(DEQUANTIZE, fault_next, e4m3, NEXT)
