/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_DOUBLEBITS_H
#define GPUPARITY_DOUBLEBITS_H

#include <stdint.h>
#include <string.h>

/* A double and its bits. */

static inline uint64_t double_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double double_from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* 2^e, -1074 <= e <= 1023. */
static inline double double_power(int e)
{
    return double_from_bits(e < -1022 ? 1ULL << (e + 1074) : (uint64_t)(e + 1023) << 52);
}

#endif
