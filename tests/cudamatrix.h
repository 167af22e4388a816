/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CUDAMATRIX_H
#define TESTS_CUDAMATRIX_H

#include "cudasim.h"

/* Small integers in the formats of matrix instructions, all of which hold them exactly. */

enum format { F16, BF16, TF32, S8, U8, S4, U4, B1 };
static const int format_bits[] = {16, 16, 32, 8, 8, 4, 4, 1};

static uint64_t state = 3;

static inline int draw(int low, int high)
{
    state = state * 6364136223846793005 + 1442695040888963407;
    return low + (int)((state >> 33) % (uint64_t)(high - low + 1));
}

static inline uint32_t encoded(enum format f, int v)
{
    float x = (float)v;
    uint32_t u;
    _Float16 h = (_Float16)v;
    uint16_t half;
    memcpy(&u, &x, 4);
    memcpy(&half, &h, 2);
    return f == F16    ? half
           : f == BF16 ? u >> 16
           : f == TF32 ? u
                       : (uint32_t)v & ((1u << format_bits[f]) - 1);
}

static inline int drawn(enum format f)
{
    return f == U8 || f == U4 ? draw(0, f == U8 ? 255 : 15)
           : f == S8          ? draw(-128, 127)
           : f == B1          ? draw(0, 1)
                              : draw(f == S4 ? -8 : -4, f == S4 ? 7 : 4);
}

static inline uint32_t c_encoded(int c_bits, int v)
{
    return c_bits == 32 ? encoded(TF32, v) : c_bits == 16 ? encoded(F16, v) : (uint32_t)v;
}

static inline size_t list_text(char *to, char name, int n)
{
    size_t at = (size_t)sprintf(to, "{");
    for (int k = 0; k < n; k++)
        at += (size_t)sprintf(to + at, "%s%%%c%d", k ? ", " : "", name, k);
    return at + (size_t)sprintf(to + at, "}");
}

#endif
