/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_TESTS_WIDE_H
#define GPUPARITY_TESTS_WIDE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <mpfr.h>

#include "dtype.h"

/* The second route of the number tests: exact sums and roundings in MPFR, written from the
 * definition of a format (precision, smallest exponent), and a generator of test operands. */

enum { WIDE_BITS = 2300 }; /* any sum of three doubles is exact */

static inline uint64_t wide_random(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline double wide_double(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint64_t wide_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The exponent of the last bit of numbers of format d that are as large as x. */
static inline mpfr_exp_t wide_last_bit(enum dtype d, mpfr_srcptr x)
{
    const struct dtype_info *f = dtype_info(d);
    mpfr_exp_t e = mpfr_zero_p(x) ? -100000 : mpfr_get_exp(x) - 1, least = 1 - f->bias;
    return (e < least ? least : e) - f->fraction;
}

/* Rounds x to the format's grid, to nearest even, without an upper end. */
static inline void wide_round(enum dtype d, mpfr_ptr x)
{
    mpfr_exp_t q = wide_last_bit(d, x);
    mpfr_mul_2si(x, x, -q, MPFR_RNDN);
    mpfr_roundeven(x, x);
    mpfr_mul_2si(x, x, q, MPFR_RNDN);
}

/* The largest finite value from the definition: all exponents but the one IEEE keeps for Inf
 * and NaN, all fraction bits but the pattern FN keeps for NaN. */
static inline double wide_max(enum dtype d)
{
    const struct dtype_info *f = dtype_info(d);
    int top = (1 << f->exponent) - 1 - f->bias - (f->specials == DTYPE_SPECIALS_IEEE);
    double unit = ldexp(1, -f->fraction);
    return ldexp(2 - unit - (f->specials == DTYPE_SPECIALS_FN ? unit : 0), top);
}

#endif
