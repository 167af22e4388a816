/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"
#include "device_fault.h"

/* y = f(x), one element a thread; the mul variants take rows of 2 d and give f(x[i]) x[d + i].
 * Everything is f32 and rounded to the format once, at the end. */

enum kind { GELU, GELU_TANH, SILU };
enum fault { NONE, FORM, QUICK, HALVES, NARROW, EXPONENTIAL, FLUSH, TAIL };

DEVICE f32 gelu_tanh(f32 x)
{
    f32 inner = 0.797884561f * (x + 0.044715f * (x * x * x));
    return 0.5f * x * (1.0f + tanhf(inner));
}

template <fault K> DEVICE f32 silu(f32 x, f32 slope)
{
    f32 e = expf(-slope * x);
    if (acts<K>(EXPONENTIAL))
        e = f32_from_bits(f32_bits(e) & 0xffffe000u);
    return x / (1.0f + e);
}

template <kind N, fault K> DEVICE f32 activated(f32 x)
{
    if (N == SILU)
        return silu<K>(x, 1.0f);
    if (N == GELU_TANH || acts<K>(FORM))
        return gelu_tanh(x);
    if (acts<K>(QUICK))
        return silu<K>(x, 1.702f);
    return 0.5f * x * (1.0f + erff(x * 0.707106781f));
}

template <class F, kind N, bool MUL, fault K>
DEVICE void each(const typename F::stored *x, typename F::result *y, i32 d, i32 n)
{
    i32 i = BLOCK_X * 256 + THREAD_X;
    if (i >= (acts<K>(TAIL) ? n - n % 256 : n))
        return;
    i64 at = MUL ? (i64)(i / d) * 2 * d + i % d : i;
    i64 other = MUL ? at + d : at;
    f32 value = activated<N, K>(F::widen(x[acts<K>(HALVES) ? other : at]));
    if (acts<K>(NARROW))
        value = F::unwiden(F::narrow(value));
    if (MUL)
        value = value * F::widen(x[acts<K>(HALVES) ? at : other]);
    if (acts<K>(FLUSH) && (f32_bits(value) & 0x7f800000u) == 0)
        value = 0.0f;
    y[i] = F::narrow(value);
}

#define ENTRY(name, format, kind, mul, fault)                                                  \
    KERNEL(256)                                                                                \
    name##_##format(const format_##format::stored *x, format_##format::result *y, i32 d,       \
                    i32 n)                                                                     \
    {                                                                                          \
        each<format_##format, kind, mul, fault>(x, y, d, n);                                   \
    }

#define ENTRIES(name, kind, mul, fault)                                                        \
    ENTRY(name, f32, kind, mul, fault)                                                         \
    ENTRY(name, f16, kind, mul, fault)                                                         \
    ENTRY(name, bf16, kind, mul, fault)

ENTRIES(gelu, GELU, false, NONE)
ENTRIES(gelu_tanh, GELU_TANH, false, NONE)
ENTRIES(silu, SILU, false, NONE)
ENTRIES(gelu_mul, GELU, true, NONE)
ENTRIES(silu_mul, SILU, true, NONE)
ENTRIES(fault_form, GELU, false, FORM)
ENTRIES(fault_quick, GELU, true, QUICK)
ENTRIES(fault_halves, SILU, true, HALVES)
ENTRIES(fault_narrow, SILU, true, NARROW)
ENTRIES(fault_exponential, SILU, false, EXPONENTIAL)
ENTRIES(fault_flush, GELU, false, FLUSH)
ENTRIES(fault_tail, SILU, true, TAIL)
