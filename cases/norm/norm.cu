/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"
#include "device_fault.h"

/* h = x, or x + r rounded to the format and stored; y = normalised h times w (layer: plus b).
 * One block of 256 threads a row: each thread adds every 256th element, ascending; then a tree
 * in shared memory. layer goes over the row once more for the squares of the distances from the
 * mean. All tensors are rows of d elements, but w and b, which are one row. Without add, r and
 * h are not touched; rms does not touch b. */

enum { THREADS = 256 };
enum kind { RMS, LAYER };
enum fault { NONE, TAIL, ACCUMULATE, ROOT, GAIN, SUM, SAMPLE, MEAN };

template <fault K> DEVICE f32 kept(f32 x)
{
    return acts<K>(ACCUMULATE) ? bf16_widen(bf16_round(x)) : x;
}

/* The sum of all threads' values, in every thread. */
template <fault K> DEVICE f32 tree_sum(f32 *part, f32 value)
{
    part[THREAD_X] = value;
    SYNC();
    for (i32 half = THREADS / 2; half > 0; half /= 2) {
        if (THREAD_X < half)
            part[THREAD_X] = kept<K>(part[THREAD_X] + part[THREAD_X + half]);
        SYNC();
    }
    f32 sum = part[0];
    SYNC();
    return sum;
}

template <class F, fault K>
DEVICE void residual_add(const typename F::stored *x, const typename F::stored *r,
                         typename F::result *h, i32 d)
{
    for (i32 i = THREAD_X; i < d; i += THREADS)
        h[i] = F::narrow(F::widen(x[i]) + F::widen(r[i]));
}

template <class F, fault K>
DEVICE f32 mean_of(f32 *part, const typename F::stored *h, i32 last, i32 d)
{
    f32 sum = 0;
    for (i32 i = THREAD_X; i < last; i += THREADS)
        sum += F::widen(h[i]);
    return tree_sum<K>(part, sum) / (f32)d;
}

template <class F, fault K>
DEVICE f32 variance_of(f32 *part, const typename F::stored *h, f32 mean, i32 last, i32 d)
{
    f32 sum = 0;
    for (i32 i = THREAD_X; i < last; i += THREADS) {
        f32 c = F::widen(h[i]) - mean;
        sum = kept<K>(sum + c * c);
    }
    return tree_sum<K>(part, sum) / (f32)(acts<K>(SAMPLE) ? d - 1 : d);
}

template <class F, kind N, fault K>
DEVICE void normalise(const typename F::stored *x, const typename F::stored *w,
                      const typename F::stored *b, typename F::result *y,
                      const typename F::stored *r, typename F::result *h, i32 d, f32 eps,
                      i32 add)
{
    SHARED f32 part[THREADS];
    i64 row = (i64)BLOCK_X * d;
    const typename F::stored *in = x + row;
    if (add) {
        residual_add<F, K>(x + row, r + row, h + row, d);
        if (!acts<K>(SUM))
            in = h + row;
    }
    /* A thread reads only what it wrote itself. */
    i32 last = acts<K>(TAIL) ? d - d % 32 : d;
    f32 mean = N == LAYER ? mean_of<F, K>(part, in, last, d) : 0.0f;
    f32 square = variance_of<F, K>(part, in, mean, last, d);
    f32 scale = acts<K>(ROOT) ? 1.0f / (sqrtf(square) + eps) : rsqrtf(square + eps);
    if (acts<K>(MEAN))
        mean = 0.0f;
    for (i32 i = THREAD_X; i < d; i += THREADS) {
        i32 at = acts<K>(GAIN) && i + 1 < d ? i + 1 : i;
        f32 value = (F::widen(in[i]) - mean) * scale * F::widen(w[at]);
        if (N == LAYER)
            value += F::widen(b[i]);
        y[row + i] = F::narrow(value);
    }
}

#define ENTRY(name, format, kind, fault)                                                       \
    KERNEL(256)                                                                                \
    name##_##format(const format_##format::stored *x, const format_##format::stored *w,        \
                    const format_##format::stored *b, format_##format::result *y,              \
                    const format_##format::stored *r, format_##format::result *h, i32 d,       \
                    f32 eps, i32 add)                                                          \
    {                                                                                          \
        normalise<format_##format, kind, fault>(x, w, b, y, r, h, d, eps, add);                \
    }

#define ENTRIES(name, kind, fault)                                                             \
    ENTRY(name, f32, kind, fault)                                                              \
    ENTRY(name, f16, kind, fault)                                                              \
    ENTRY(name, bf16, kind, fault)

ENTRIES(rms, RMS, NONE)
ENTRIES(layer, LAYER, NONE)
ENTRIES(fault_tail, RMS, TAIL)
ENTRIES(fault_accumulate, RMS, ACCUMULATE)
ENTRIES(fault_root, RMS, ROOT)
ENTRIES(fault_gain, RMS, GAIN)
ENTRIES(fault_sum, RMS, SUM)
ENTRIES(fault_sample, LAYER, SAMPLE)
ENTRIES(fault_mean, LAYER, MEAN)
