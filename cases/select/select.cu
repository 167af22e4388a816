/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"
#include "device_fault.h"

/* The k largest of each row of d: value and index, largest first. NaN counts as larger than any
 * number; of equals (two NaN, two zeros of any sign) the one with the lower index comes first. One
 * block of 256 threads a row, which looks for the first element behind the one found before, k
 * times. argmax is k = 1 without the value. */

enum { THREADS = 256 };
enum fault { NONE, TIES, UNORDERED, TAIL, NARROW, LEAST };

/* Does x at i come before y at j? An index of -1 is behind all. */
template <fault K> DEVICE bool before(f32 x, i32 i, f32 y, i32 j)
{
    if (i < 0 || j < 0)
        return i >= 0;
    if (acts<K>(NARROW)) {
        x = bf16_widen(bf16_round(x));
        y = bf16_widen(bf16_round(y));
    }
    bool odd_x = x != x, odd_y = y != y;
    if (odd_x != odd_y)
        return acts<K>(UNORDERED) ? odd_y : odd_x;
    if (!odd_x && x != y)
        return acts<K>(LEAST) ? x < y : x > y;
    return acts<K>(TIES) ? i > j : i < j;
}

template <class F, fault K>
DEVICE void best_of(const typename F::stored *x, i32 d, f32 last, i32 last_at, f32 *value,
                    i32 *at)
{
    f32 best = 0;
    i32 best_at = -1;
    for (i32 i = THREAD_X; i < (acts<K>(TAIL) ? d - d % 32 : d); i += THREADS) {
        f32 v = F::widen(x[i]);
        bool open = last_at < 0 || before<K>(last, last_at, v, i);
        if (open && before<K>(v, i, best, best_at)) {
            best = v;
            best_at = i;
        }
    }
    value[THREAD_X] = best;
    at[THREAD_X] = best_at;
    SYNC();
    for (i32 half = THREADS / 2; half > 0; half /= 2) {
        i32 other = THREAD_X + half;
        if (THREAD_X < half &&
            before<K>(value[other], at[other], value[THREAD_X], at[THREAD_X])) {
            value[THREAD_X] = value[other];
            at[THREAD_X] = at[other];
        }
        SYNC();
    }
}

template <class F, fault K>
DEVICE void largest(const typename F::stored *x, typename F::result *y, i32 *index, i32 d, i32 k,
                    i32 values)
{
    SHARED f32 value[THREADS];
    SHARED i32 at[THREADS];
    const typename F::stored *in = x + (i64)BLOCK_X * d;
    f32 last = 0;
    i32 last_at = -1;
    for (i32 j = 0; j < k; j++) {
        best_of<F, K>(in, d, last, last_at, value, at);
        last = value[0];
        last_at = at[0];
        SYNC();
        if (THREAD_X == 0) {
            index[(i64)BLOCK_X * k + j] = last_at;
            if (values && last_at >= 0)
                y[(i64)BLOCK_X * k + j] = in[last_at];
        }
    }
}

#define ENTRY(name, format, fault)                                                             \
    KERNEL(256)                                                                                \
    name##_##format(const format_##format::stored *x, format_##format::result *y, i32 *index,  \
                    i32 d, i32 k)                                                              \
    {                                                                                          \
        largest<format_##format, fault>(x, y, index, d, k, 1);                                 \
    }

#define ENTRY_ARGMAX(name, format, fault)                                                      \
    KERNEL(256) name##_##format(const format_##format::stored *x, i32 *index, i32 d)           \
    {                                                                                          \
        largest<format_##format, fault>(x, (format_##format::result *)0, index, d, 1, 0);      \
    }

#define FORMATS(entry, name, fault)                                                            \
    entry(name, f32, fault) entry(name, f16, fault) entry(name, bf16, fault)

FORMATS(ENTRY, topk, NONE)
FORMATS(ENTRY_ARGMAX, argmax, NONE)
FORMATS(ENTRY_ARGMAX, fault_ties, TIES)
FORMATS(ENTRY, fault_unordered, UNORDERED)
FORMATS(ENTRY_ARGMAX, fault_tail, TAIL)
FORMATS(ENTRY, fault_narrow, NARROW)
FORMATS(ENTRY, fault_least, LEAST)
