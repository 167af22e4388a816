/* SPDX-License-Identifier: Apache-2.0 */
#include "occupancy.h"

#include "launch.h"
#include "runtime.h"

enum { PROCESSORS = 48, SIMDS = 4, SIMD_WAVES = 16, SIMD_REGISTERS = 1536, GROUP_LDS = 131072 };

static unsigned registers(const struct kernel *k)
{
    return ((k->descriptor.rsrc1 & 63) + 1) * 8;
}

int occupancy_blocks(const struct kernel *k, unsigned threads, size_t dynamic_lds)
{
    const unsigned waves = (threads + WAVE_LANES - 1) / WAVE_LANES;
    const size_t lds = k->descriptor.lds + dynamic_lds;
    unsigned fit = SIMD_REGISTERS / ((registers(k) + 23) / 24 * 24);
    if (!waves || threads > THREADS_MAX || lds > LDS_BYTES)
        return 0;
    fit = (fit > SIMD_WAVES ? SIMD_WAVES : fit) * SIMDS / waves;
    if (lds && fit > GROUP_LDS / lds)
        fit = (unsigned)(GROUP_LDS / lds);
    return (int)fit;
}

void occupancy_best(const struct kernel *k, size_t dynamic_lds, int limit, int *ret_grid,
                    int *ret_block)
{
    unsigned most = k->meta->max_threads ? k->meta->max_threads : THREADS_MAX, best = 0;
    int threads = 0;
    if (limit > 0 && (unsigned)limit < most)
        most = (unsigned)limit;
    for (unsigned t = WAVE_LANES; t <= most; t += WAVE_LANES) {
        unsigned active = t * (unsigned)occupancy_blocks(k, t, dynamic_lds);
        if (active >= best && active) {
            best = active;
            threads = (int)t;
        }
    }
    *ret_block = threads;
    *ret_grid = threads ? occupancy_blocks(k, (unsigned)threads, dynamic_lds) * PROCESSORS : 0;
}

int occupancy_attribute(const struct kernel *k, int attribute, int *ret_value)
{
    switch (attribute) {
    case 0: /* threads a block */
        *ret_value = (int)k->meta->max_threads;
        return hipSuccess;
    case 1: /* shared memory */
        *ret_value = (int)k->descriptor.lds;
        return hipSuccess;
    case 3: /* local memory */
        *ret_value = (int)k->descriptor.scratch;
        return hipSuccess;
    case 4:
        *ret_value = (int)registers(k);
        return hipSuccess;
    case 8: /* dynamic shared memory */
        *ret_value = LDS_BYTES - (int)k->descriptor.lds;
        return hipSuccess;
    default:
        *ret_value = 0;
        return attribute >= 0 && attribute < 10 ? hipSuccess : hipErrorInvalidValue;
    }
}
