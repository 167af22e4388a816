/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"
#include "device_fault.h"

/* Rows of d logits x. With m the largest of a row and s = sum expf(x - m):
 *
 *   softmax      y = expf(x - m) / s
 *   log_softmax  y = (x - m) - logf(s)
 *   cross        loss = keep nll + share mean, nll = -y[target] and mean = -sum y / d of
 *                log_softmax's y; 0 where target is negative
 *
 * One block of 256 threads a row: each thread takes every 256th element, ascending; then a tree
 * in shared memory. */

enum { THREADS = 256 };
enum kind { SOFTMAX, LOG, CROSS };
enum fault { NONE, SHIFT, TAIL, ACCUMULATE, EXPONENTIAL, FLUSH, LABEL, SMOOTH };

template <fault K> DEVICE f32 kept(f32 x)
{
    return acts<K>(ACCUMULATE) ? bf16_widen(bf16_round(x)) : x;
}

/* The larger, or a NaN of either. */
DEVICE f32 larger(f32 x, f32 y)
{
    return x > y || x != x ? x : y;
}

/* The sum (or largest) of all threads' values, in every thread. */
template <fault K, bool SUM> DEVICE f32 tree(f32 *part, f32 value)
{
    part[THREAD_X] = value;
    SYNC();
    for (i32 half = THREADS / 2; half > 0; half /= 2) {
        if (THREAD_X < half) {
            f32 x = part[THREAD_X], y = part[THREAD_X + half];
            part[THREAD_X] = SUM ? kept<K>(x + y) : larger(x, y);
        }
        SYNC();
    }
    f32 all = part[0];
    SYNC();
    return all;
}

template <fault K> DEVICE f32 weight(f32 t)
{
    f32 e = expf(t);
    return acts<K>(EXPONENTIAL) ? f32_from_bits(f32_bits(e) & 0xffffe000u) : e;
}

template <class F, fault K>
DEVICE f32 largest_of(f32 *part, const typename F::stored *x, i32 d)
{
    f32 most = f32_from_bits(0xff800000u);
    for (i32 i = THREAD_X; i < d; i += THREADS)
        most = larger(F::widen(x[i]), most);
    most = tree<K, false>(part, most);
    return acts<K>(SHIFT) ? 0.0f : most;
}

template <class F, fault K>
DEVICE f32 sum_of(f32 *part, const typename F::stored *x, i32 d, f32 most)
{
    f32 sum = 0;
    for (i32 i = THREAD_X; i < (acts<K>(TAIL) ? d - d % 32 : d); i += THREADS)
        sum = kept<K>(sum + weight<K>(F::widen(x[i]) - most));
    return tree<K, true>(part, sum);
}

template <class F, kind N, fault K>
DEVICE void rows(const typename F::stored *x, typename F::result *y, i32 d)
{
    SHARED f32 part[THREADS];
    const typename F::stored *in = x + (i64)BLOCK_X * d;
    f32 most = largest_of<F, K>(part, in, d);
    f32 sum = sum_of<F, K>(part, in, d, most);
    f32 scale = N == LOG ? logf(sum) : sum;
    for (i32 i = THREAD_X; i < d; i += THREADS) {
        f32 t = F::widen(in[i]) - most;
        f32 value = N == LOG ? t - scale : weight<K>(t) / scale;
        if (acts<K>(FLUSH) && (f32_bits(value) & 0x7f800000u) == 0)
            value = 0.0f;
        y[(i64)BLOCK_X * d + i] = F::narrow(value);
    }
}

template <class F, fault K>
DEVICE void cross(const typename F::stored *x, const i32 *target, f32 *loss, i32 d, f32 keep,
                  f32 share)
{
    SHARED f32 part[THREADS];
    const typename F::stored *in = x + (i64)BLOCK_X * d;
    f32 most = largest_of<F, K>(part, in, d);
    f32 log = logf(sum_of<F, K>(part, in, d, most));
    f32 mean = 0;
    for (i32 i = THREAD_X; share != 0.0f && i < d; i += THREADS)
        mean -= (F::widen(in[i]) - most) - log;
    mean = tree<K, true>(part, mean) / (f32)(acts<K>(SMOOTH) ? d - 1 : d);
    if (THREAD_X != 0)
        return;
    i32 label = target[BLOCK_X];
    if (acts<K>(LABEL) && label >= 0 && label + 1 < d)
        label++;
    f32 value = 0.0f;
    if (label >= 0)
        value = keep * -((F::widen(in[label]) - most) - log);
    if (label >= 0 && share != 0.0f)
        value += share * mean;
    loss[BLOCK_X] = value;
}

#define ENTRY(name, format, kind, fault)                                                       \
    KERNEL(256)                                                                                \
    name##_##format(const format_##format::stored *x, format_##format::result *y, i32 d)       \
    {                                                                                          \
        rows<format_##format, kind, fault>(x, y, d);                                           \
    }

#define ENTRY_CROSS(name, format, fault)                                                       \
    KERNEL(256)                                                                                \
    name##_##format(const format_##format::stored *x, const i32 *target, f32 *loss, i32 d,     \
                    f32 keep, f32 share)                                                       \
    {                                                                                          \
        cross<format_##format, fault>(x, target, loss, d, keep, share);                        \
    }

#define ENTRIES(name, kind, fault)                                                             \
    ENTRY(name, f32, kind, fault)                                                              \
    ENTRY(name, f16, kind, fault)                                                              \
    ENTRY(name, bf16, kind, fault)

#define ENTRIES_CROSS(name, fault)                                                             \
    ENTRY_CROSS(name, f32, fault)                                                              \
    ENTRY_CROSS(name, f16, fault)                                                              \
    ENTRY_CROSS(name, bf16, fault)

ENTRIES(softmax, SOFTMAX, NONE)
ENTRIES(log_softmax, LOG, NONE)
ENTRIES_CROSS(cross, NONE)
ENTRIES(fault_shift, SOFTMAX, SHIFT)
ENTRIES(fault_tail, SOFTMAX, TAIL)
ENTRIES(fault_accumulate, LOG, ACCUMULATE)
ENTRIES(fault_exponential, SOFTMAX, EXPONENTIAL)
ENTRIES(fault_flush, SOFTMAX, FLUSH)
ENTRIES_CROSS(fault_label, LABEL)
ENTRIES_CROSS(fault_smooth, SMOOTH)
