/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"
#include "device_fault.h"

/* y[i] = x[0] + ... + x[i] for each row of d, sums in f32 (i32: modulo 2^32). One block of 256
 * threads a row.
 *
 * chunk     each thread adds up its chunk of ceil(d / 256), the threads' sums are scanned by
 *           doubling, and each thread goes over its chunk again from what comes before it
 * doubling  tiles of 256: in each, sums over 1, 2, 4, ... 256 elements; then what all tiles before
 *           it add up to */

enum { THREADS = 256 };
enum fault { NONE, EXCLUSIVE, CARRY, ACCUMULATE, TAIL, RACE };

template <fault K> DEVICE f32 kept(f32 x)
{
    return acts<K>(ACCUMULATE) ? bf16_widen(bf16_round(x)) : x;
}

template <fault K> DEVICE i32 kept(i32 x)
{
    return x;
}

DEVICE i32 sum_of(i32 x, i32 y)
{
    return (i32)((u32)x + (u32)y);
}

DEVICE f32 sum_of(f32 x, f32 y)
{
    return x + y;
}

/* The sum of the values of this thread and all before it. */
template <class W, fault K> DEVICE W doubled(W *part, W value)
{
    part[THREAD_X] = value;
    SYNC();
    for (i32 step = 1; step < THREADS; step *= 2) {
        W before = THREAD_X >= step ? part[THREAD_X - step] : (W)0;
        SYNC();
        if (THREAD_X >= step)
            part[THREAD_X] = kept<K>(sum_of(part[THREAD_X], before));
        SYNC();
    }
    return part[THREAD_X];
}

template <class F, fault K>
DEVICE void chunks(const typename F::stored *x, typename F::result *y, i32 d)
{
    typedef typename F::wide wide;
    SHARED wide part[THREADS];
    i32 chunk = (d + THREADS - 1) / THREADS, first = THREAD_X * chunk;
    i32 end = first + chunk < d ? first + chunk : d;
    wide sum = 0;
    for (i32 i = first; i < end; i++)
        sum = kept<K>(sum_of(sum, F::widen(x[i])));
    doubled<wide, K>(part, sum);
    sum = THREAD_X && !acts<K>(CARRY) ? part[THREAD_X - 1] : (wide)0;
    for (i32 i = first; i < end; i++) {
        wide next = kept<K>(sum_of(sum, F::widen(x[i])));
        y[i] = F::narrow(acts<K>(EXCLUSIVE) ? sum : next);
        sum = next;
    }
}

template <class F, fault K>
DEVICE void tiles(const typename F::stored *x, typename F::result *y, i32 d)
{
    typedef typename F::wide wide;
    SHARED wide part[THREADS];
    wide before = 0;
    for (i32 tile = 0; tile < (acts<K>(TAIL) ? d - d % THREADS : d); tile += THREADS) {
        i32 i = tile + THREAD_X;
        wide sum = doubled<wide, K>(part, i < d ? F::widen(x[i]) : (wide)0);
        if (i < d)
            y[i] = F::narrow(tile ? kept<K>(sum_of(before, sum)) : sum);
        wide all = part[THREADS - 1];
        before = acts<K>(CARRY) ? (wide)0 : tile ? kept<K>(sum_of(before, all)) : all;
        SYNC();
    }
}

/* As tiles, but the last thread hands on what all tiles so far add up to, in shared memory. */
template <class F, fault K>
DEVICE void handed(const typename F::stored *x, typename F::result *y, i32 d)
{
    typedef typename F::wide wide;
    SHARED wide part[THREADS];
    SHARED wide total[1];
    total[0] = 0;
    for (i32 tile = 0; tile < d; tile += THREADS) {
        i32 i = tile + THREAD_X;
        wide sum = doubled<wide, K>(part, i < d ? F::widen(x[i]) : (wide)0);
        wide before = total[0];
        if (!acts<K>(RACE))
            SYNC();
        if (THREAD_X == THREADS - 1)
            total[0] = sum_of(before, sum);
        if (i < d)
            y[i] = F::narrow(sum_of(before, sum));
        SYNC();
    }
}

struct format_i32 : format_plain<i32, i32> {
};

#define ENTRY(name, format, way, fault)                                                        \
    KERNEL(256)                                                                                \
    name##_##format(const format_##format::stored *x, format_##format::result *y, i32 d)       \
    {                                                                                          \
        i64 row = (i64)BLOCK_X * d;                                                            \
        way<format_##format, fault>(x + row, y + row, d);                                      \
    }

#define ENTRIES(name, way, fault)                                                              \
    ENTRY(name, f32, way, fault)                                                               \
    ENTRY(name, f16, way, fault)                                                               \
    ENTRY(name, bf16, way, fault)                                                              \
    ENTRY(name, i32, way, fault)

ENTRIES(chunk, chunks, NONE)
ENTRIES(doubling, tiles, NONE)
ENTRIES(fault_exclusive, chunks, EXCLUSIVE)
ENTRIES(fault_carry, tiles, CARRY)
ENTRIES(fault_accumulate, tiles, ACCUMULATE)
ENTRIES(fault_tail, tiles, TAIL)
ENTRIES(fault_race, handed, RACE)
