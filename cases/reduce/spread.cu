/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"
#include "device_fault.h"
#include "device_warp.h"

/* Mean and variance (over n) of each row, in f32; one warp a row, each lane every 32nd term.
 *
 *   welford   one pass: mean += (x - mean) / k, squares += (x - old mean) (x - mean); lanes
 *             l and l ^ 16, 8, 4, 2, 1 then merge as Chan, Golub and LeVeque do
 *   twopass   the mean by shuffles, then the squares of the distances from it */

enum fault { NONE, SAMPLE, NAIVE };

struct part {
    f32 count, mean, squares;
};

DEVICE part part_add(part p, f32 x)
{
    f32 away = x - p.mean;
    p.count += 1.0f;
    p.mean += away / p.count;
    p.squares += away * (x - p.mean);
    return p;
}

DEVICE part part_join(part a, part b)
{
    if (b.count == 0.0f)
        return a;
    f32 count = a.count + b.count, away = b.mean - a.mean, share = b.count / count;
    part p;
    p.count = count;
    p.mean = a.mean + away * share;
    p.squares = a.squares + b.squares + away * away * a.count * share;
    return p;
}

template <class F, fault K>
DEVICE void welford(const typename F::stored *x, f32 *mean, f32 *var, i32 n)
{
    i64 row = (i64)BLOCK_X * n;
    part p = {0.0f, 0.0f, 0.0f};
    f32 sum = 0, squares = 0;
    for (i32 i = THREAD_X; i < n; i += 32) {
        f32 v = F::widen(x[row + i]);
        p = part_add(p, v);
        sum += v;
        squares += v * v;
    }
    for (i32 mask = 16; mask > 0; mask /= 2) {
        part other = {lane_xor(p.count, mask), lane_xor(p.mean, mask),
                      lane_xor(p.squares, mask)};
        p = part_join(p, other);
    }
    f32 v = p.squares / (f32)(acts<K>(SAMPLE) ? n - 1 : n);
    if (acts<K>(NAIVE)) {
        f32 m = warp_sum(sum) / (f32)n;
        v = warp_sum(squares) / (f32)n - m * m;
    }
    if (THREAD_X == 0) {
        mean[BLOCK_X] = p.mean;
        var[BLOCK_X] = v;
    }
}

template <class F> DEVICE void twopass(const typename F::stored *x, f32 *mean, f32 *var, i32 n)
{
    i64 row = (i64)BLOCK_X * n;
    f32 sum = 0, squares = 0;
    for (i32 i = THREAD_X; i < n; i += 32)
        sum += F::widen(x[row + i]);
    f32 m = warp_sum(sum) / (f32)n;
    for (i32 i = THREAD_X; i < n; i += 32) {
        f32 away = F::widen(x[row + i]) - m;
        squares += away * away;
    }
    squares = warp_sum(squares);
    if (THREAD_X == 0) {
        mean[BLOCK_X] = m;
        var[BLOCK_X] = squares / (f32)n;
    }
}

#define ENTRY(name, format, call)                                                              \
    KERNEL(32)                                                                                 \
    name##_##format(const format_##format::stored *x, f32 *mean, f32 *var, i32 n)              \
    {                                                                                          \
        call(x, mean, var, n);                                                                 \
    }

#define ENTRIES(format)                                                                        \
    ENTRY(twopass, format, twopass<format_##format>)                                           \
    ENTRY(welford, format, (welford<format_##format, NONE>))                                   \
    ENTRY(fault_sample, format, (welford<format_##format, SAMPLE>))                            \
    ENTRY(fault_naive, format, (welford<format_##format, NAIVE>))

ENTRIES(f32)
ENTRIES(f16)
ENTRIES(bf16)
