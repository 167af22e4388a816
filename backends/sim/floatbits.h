/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_SIM_FLOATBITS_H
#define GPUPARITY_SIM_FLOATBITS_H

#include <stdint.h>
#include <string.h>

/* Numbers of the host and their bits. */

static inline uint32_t bits32(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

static inline float float32(uint32_t u)
{
    float f;
    memcpy(&f, &u, 4);
    return f;
}

static inline uint64_t bits64(double f)
{
    uint64_t u;
    memcpy(&u, &f, 8);
    return u;
}

static inline double float64(uint64_t u)
{
    double f;
    memcpy(&f, &u, 8);
    return f;
}

#endif
