/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"
#include "device_fault.h"

/* Rotary position embedding of x [tokens][heads][d]: pair i of a token at position p turns by the
 * f32 angle p frequency[i]. neox pairs element i with i + d / 2, interleaved 2 i with 2 i + 1.
 * One thread a pair; n pairs. */

enum fault { NONE, LAYOUT, POSITION, SIGN, ANGLE, REDUCE, TAIL };

template <fault K> DEVICE f32 reduced(f32 a)
{
    return acts<K>(REDUCE) ? a - rintf(a * 0.159154943f) * 6.28318531f : a;
}

template <class F, bool NEOX, fault K>
DEVICE void rotate(const typename F::stored *x, const i32 *position, const f32 *frequency,
                   typename F::result *y, i32 heads, i32 d, i32 n)
{
    i32 k = BLOCK_X * 256 + THREAD_X, half = d / 2;
    if (k >= (acts<K>(TAIL) ? n - n % 256 : n))
        return;
    i32 i = k % half, row = k / half;
    i32 p = position[row / heads] + (acts<K>(POSITION) ? 1 : 0);
    f32 angle = (f32)p * frequency[i];
    if (acts<K>(ANGLE))
        angle = bf16_widen(bf16_round(angle));
    angle = reduced<K>(angle);
    f32 c = cosf(angle), s = acts<K>(SIGN) ? -sinf(angle) : sinf(angle);
    bool split = acts<K>(LAYOUT) ? !NEOX : NEOX;
    i64 first = (i64)row * d + (split ? i : 2 * i), second = first + (split ? half : 1);
    f32 a = F::widen(x[first]), b = F::widen(x[second]);
    y[first] = F::narrow(a * c - b * s);
    y[second] = F::narrow(b * c + a * s);
}

#define ENTRY(name, format, neox, fault)                                                       \
    KERNEL(256)                                                                                \
    name##_##format(const format_##format::stored *x, const i32 *position,                     \
                    const f32 *frequency, format_##format::result *y, i32 heads, i32 d, i32 n) \
    {                                                                                          \
        rotate<format_##format, neox, fault>(x, position, frequency, y, heads, d, n);          \
    }

#define ENTRIES(name, neox, fault)                                                             \
    ENTRY(name, f32, neox, fault)                                                              \
    ENTRY(name, f16, neox, fault)                                                              \
    ENTRY(name, bf16, neox, fault)

ENTRIES(neox, true, NONE)
ENTRIES(interleaved, false, NONE)
ENTRIES(fault_layout, true, LAYOUT)
ENTRIES(fault_position, true, POSITION)
ENTRIES(fault_sign, false, SIGN)
ENTRIES(fault_angle, true, ANGLE)
ENTRIES(fault_reduce, false, REDUCE)
ENTRIES(fault_tail, true, TAIL)
