/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_TESTS_FPROUTE_H
#define GPUPARITY_TESTS_FPROUTE_H

#include "fp.h"

#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The second route: operands become doubles, MPFR computes with the format's precision and
 * exponent range, and the result becomes bits again by arithmetic on the double. */

static const struct fp_rules plain = {
    .name = "test",
    .nan = {[FP_F64] = 0x7ff8000000000000,
            [FP_F32] = 0x7fc00000,
            [FP_TF32] = 0x7fc00000,
            [FP_F16] = 0x7e00,
            [FP_BF16] = 0x7fc0,
            [FP_E4M3] = 0x7f,
            [FP_E5M2] = 0x7e},
};

struct format {
    enum fp_format id;
    const char *name;
    int bits, exponent, fraction, padding;
};
static const struct format formats[] = {
    {FP_F64, "f64", 64, 11, 52, 0},   {FP_F32, "f32", 32, 8, 23, 0},
    {FP_F16, "f16", 16, 5, 10, 0},    {FP_BF16, "bf16", 16, 8, 7, 0},
    {FP_TF32, "tf32", 19, 8, 10, 13}, {FP_E5M2, "e5m2", 8, 5, 2, 0},
    {FP_E4M3, "e4m3", 8, 4, 3, 0},
};
enum { ARITHMETIC_FORMATS = 4, FORMATS = 7 };

static const struct {
    enum fp_round ours;
    mpfr_rnd_t theirs;
    const char *name;
} modes[] = {{FP_RNE, MPFR_RNDN, "rne"},
             {FP_RZ, MPFR_RNDZ, "rz"},
             {FP_RU, MPFR_RNDU, "ru"},
             {FP_RD, MPFR_RNDD, "rd"}};
enum { MODES = 4 };

static inline int bias(const struct format *f)
{
    return (1 << (f->exponent - 1)) - 1;
}

static inline double decode(const struct format *f, uint64_t bits)
{
    bits >>= f->padding;
    uint64_t fraction = bits & ((UINT64_C(1) << f->fraction) - 1);
    int field = (int)(bits >> f->fraction & ((1u << f->exponent) - 1));
    double sign = bits >> (f->bits - 1) & 1 ? -1 : 1;
    if (f->id == FP_E4M3 ? field == 15 && fraction == 7 : field == (1 << f->exponent) - 1) {
        if (f->id != FP_E4M3 && fraction == 0)
            return sign * INFINITY;
        return NAN;
    }
    double value = field ? ldexp(1.0 + ldexp((double)fraction, -f->fraction), field - bias(f))
                         : ldexp((double)fraction, 1 - bias(f) - f->fraction);
    return sign * value;
}

static inline uint64_t encode(const struct format *f, double x)
{
    uint64_t sign = (uint64_t) !!signbit(x) << (f->bits - 1), bits;
    int e;
    double m = frexp(fabs(x), &e); /* m in [1/2, 1) */
    if (isnan(x))
        return plain.nan[f->id];
    if (isinf(x))
        bits = ((UINT64_C(1) << f->exponent) - 1) << f->fraction;
    else if (x == 0)
        bits = 0;
    else if (e - 1 < 1 - bias(f))
        bits = (uint64_t)ldexp(m, e - 1 + bias(f) + f->fraction);
    else
        bits = ((uint64_t)(e - 1 + bias(f)) << f->fraction) +
               (uint64_t)ldexp(2 * m - 1, f->fraction);
    return (sign | bits) << f->padding;
}

static inline void full_range(void)
{
    mpfr_set_emin(-10000);
    mpfr_set_emax(10000);
}

static inline void range_set(const struct format *f)
{
    mpfr_set_emin(2 - bias(f) - f->fraction);
    mpfr_set_emax(bias(f) + 1 + (f->id == FP_E4M3)); /* its top exponent holds numbers */
}

/* What is in `r` after an operation with ternary value `t`, as bits. */
static inline uint64_t finish(const struct format *f, mpfr_t r, int t, mpfr_rnd_t mode)
{
    mpfr_subnormalize(r, t, mode);
    return encode(f, mpfr_get_d(r, MPFR_RNDN));
}

static mpfr_t operand[3], result;

static uint64_t state;

static inline uint64_t draw(void)
{
    state += 0x9e3779b97f4a7c15;
    uint64_t z = (state ^ state >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* Bits of the format: any, or of a moderate exponent so that operands interact. */
static inline uint64_t draw_bits(const struct format *f)
{
    uint64_t r = draw(), mask = f->bits == 64 ? UINT64_MAX : (UINT64_C(1) << f->bits) - 1;
    uint64_t bits = draw() & mask;
    if (r & 1) {
        uint64_t field = (uint64_t)bias(f) - 4 + (r >> 8) % 9;
        uint64_t keep = ~(((UINT64_C(1) << f->exponent) - 1) << f->fraction);
        bits = (bits & keep) | field << f->fraction;
    }
    if ((r & 6) == 6) /* few bits set: ties and exact results */
        bits &= ~((UINT64_C(1) << (f->fraction - f->fraction / 4)) - 1);
    return bits << f->padding;
}

enum { EDGE_MAX = 256 };

static inline int edges(const struct format *f, uint64_t *ret_edge)
{
    const int top = (1 << f->exponent) - 1;
    const uint64_t ones = (UINT64_C(1) << f->fraction) - 1;
    const int field[] = {0,           1,       2,           bias(f) - f->fraction - 1,
                         bias(f) - 1, bias(f), bias(f) + 1, bias(f) + f->fraction,
                         top - 2,     top - 1, top};
    const uint64_t fraction[] = {0, 1, 2, ones / 2, ones / 2 + 1, ones / 2 + 2, ones - 1, ones};
    int n = 0;
    for (size_t i = 0; i < sizeof field / sizeof *field; i++)
        for (size_t j = 0; j < sizeof fraction / sizeof *fraction; j++)
            for (uint64_t sign = 0; sign < 2; sign++)
                if (field[i] >= 0 && field[i] <= top)
                    ret_edge[n++] = (sign << (f->bits - 1) | (uint64_t)field[i] << f->fraction |
                                     fraction[j])
                                    << f->padding;
    return n;
}

static inline void mpfr_open(void)
{
    for (int i = 0; i < 3; i++)
        mpfr_init2(operand[i], 53);
    mpfr_init2(result, 53);
    state = 1;
}

#endif
