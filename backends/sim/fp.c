/* SPDX-License-Identifier: Apache-2.0 */
#include "fp.h"

#include "fpround.h"

enum { WIDE_TOP = 124 }; /* where leading bits are put before an addition */

/* x * 2^exponent with its leading bit at WIDE_TOP. */
struct term {
    bool sign;
    int exponent;
    fp_wide sig;
};

static struct term term_make(bool sign, int exponent, fp_wide sig)
{
    int shift = WIDE_TOP - fp_top_bit(sig);
    return (struct term){sign, exponent - shift, sig << shift};
}

static uint64_t zero_sum(const struct fp_env *v, enum fp_format f, bool sign_a, bool sign_b)
{
    return fp_zero(f, sign_a == sign_b ? sign_a : v->round == FP_RD);
}

/* Both are exact and 128 bits leave room: bits lost in the smaller one are far below the
 * rounding position unless the exponents are within one of each other, and then none are lost.
 */
static uint64_t sum(const struct fp_env *v, enum fp_format f, struct term a, struct term b,
                    int scale)
{
    if (a.exponent < b.exponent || (a.exponent == b.exponent && a.sig < b.sig)) {
        struct term t = a;
        a = b;
        b = t;
    }
    fp_wide small = fp_shift_jam(b.sig, a.exponent - b.exponent);
    fp_wide sig = a.sign == b.sign ? a.sig + small : a.sig - small;
    if (sig == 0)
        return zero_sum(v, f, a.sign, b.sign);
    return fp_pack(v, f, a.sign, a.exponent + scale, sig);
}

uint64_t fp_add(const struct fp_env *v, enum fp_format f, uint64_t a, uint64_t b)
{
    const struct fp_number x = fp_unpack(v, f, a), y = fp_unpack(v, f, b);
    if (x.kind == FP_KIND_NAN || y.kind == FP_KIND_NAN ||
        (x.kind == FP_KIND_INF && y.kind == FP_KIND_INF && x.sign != y.sign))
        return fp_nan_result(v, f, 2, (uint64_t[]){a, b});
    if (x.kind == FP_KIND_INF || y.kind == FP_KIND_INF)
        return fp_infinity(f, x.kind == FP_KIND_INF ? x.sign : y.sign);
    if (x.kind == FP_KIND_ZERO && y.kind == FP_KIND_ZERO)
        return zero_sum(v, f, x.sign, y.sign);
    if (x.kind == FP_KIND_ZERO)
        return fp_pack(v, f, y.sign, y.exponent, y.sig);
    if (y.kind == FP_KIND_ZERO)
        return fp_pack(v, f, x.sign, x.exponent, x.sig);
    return sum(v, f, term_make(x.sign, x.exponent, x.sig), term_make(y.sign, y.exponent, y.sig),
               0);
}

uint64_t fp_sub(const struct fp_env *v, enum fp_format f, uint64_t a, uint64_t b)
{
    return fp_add(v, f, a, fp_is_nan(f, b) ? b : b ^ fp_sign_bit(f));
}

uint64_t fp_mul(const struct fp_env *v, enum fp_format f, uint64_t a, uint64_t b)
{
    const struct fp_number x = fp_unpack(v, f, a), y = fp_unpack(v, f, b);
    const bool sign = x.sign != y.sign;
    const bool zero = x.kind == FP_KIND_ZERO || y.kind == FP_KIND_ZERO;
    const bool infinite = x.kind == FP_KIND_INF || y.kind == FP_KIND_INF;
    if (x.kind == FP_KIND_NAN || y.kind == FP_KIND_NAN || (zero && infinite))
        return fp_nan_result(v, f, 2, (uint64_t[]){a, b});
    if (infinite)
        return fp_infinity(f, sign);
    if (zero)
        return fp_zero(f, sign);
    return fp_pack(v, f, sign, x.exponent + y.exponent, (fp_wide)x.sig * y.sig);
}

uint64_t fp_fma_scaled(const struct fp_env *v, enum fp_format f, uint64_t a, uint64_t b,
                       uint64_t c, int scale)
{
    const struct fp_number x = fp_unpack(v, f, a), y = fp_unpack(v, f, b),
                           z = fp_unpack(v, f, c);
    const bool sign = x.sign != y.sign;
    const bool zero = x.kind == FP_KIND_ZERO || y.kind == FP_KIND_ZERO;
    const bool infinite = x.kind == FP_KIND_INF || y.kind == FP_KIND_INF;
    if (x.kind == FP_KIND_NAN || y.kind == FP_KIND_NAN || z.kind == FP_KIND_NAN ||
        (zero && infinite) || (infinite && z.kind == FP_KIND_INF && z.sign != sign))
        return fp_nan_result(v, f, 3, (uint64_t[]){a, b, c});
    if (infinite || z.kind == FP_KIND_INF)
        return fp_infinity(f, infinite ? sign : z.sign);
    if (zero && z.kind == FP_KIND_ZERO)
        return zero_sum(v, f, sign, z.sign);
    if (zero)
        return fp_pack(v, f, z.sign, z.exponent + scale, z.sig);
    const int exponent = x.exponent + y.exponent;
    const fp_wide product = (fp_wide)x.sig * y.sig;
    if (z.kind == FP_KIND_ZERO)
        return fp_pack(v, f, sign, exponent + scale, product);
    return sum(v, f, term_make(sign, exponent, product), term_make(z.sign, z.exponent, z.sig),
               scale);
}

uint64_t fp_fma(const struct fp_env *v, enum fp_format f, uint64_t a, uint64_t b, uint64_t c)
{
    return fp_fma_scaled(v, f, a, b, c, 0);
}

uint64_t fp_div(const struct fp_env *v, enum fp_format f, uint64_t a, uint64_t b)
{
    const struct fp_number x = fp_unpack(v, f, a), y = fp_unpack(v, f, b);
    const bool sign = x.sign != y.sign;
    if (x.kind == FP_KIND_NAN || y.kind == FP_KIND_NAN ||
        (x.kind == y.kind && x.kind != FP_KIND_FINITE))
        return fp_nan_result(v, f, 2, (uint64_t[]){a, b});
    if (x.kind == FP_KIND_INF || y.kind == FP_KIND_ZERO)
        return fp_infinity(f, sign);
    if (y.kind == FP_KIND_INF || x.kind == FP_KIND_ZERO)
        return fp_zero(f, sign);
    const int shift = fp_layout(f)->fraction + 4;
    const fp_wide numerator = (fp_wide)x.sig << shift;
    const fp_wide quotient = numerator / y.sig;
    return fp_pack(v, f, sign, x.exponent - y.exponent - shift,
                   quotient | (quotient * y.sig != numerator));
}

/* floor(sqrt(n)) for n < 2^(2 * bits) */
static uint64_t integer_root(fp_wide n, int bits)
{
    fp_wide root = 0, rest = 0;
    for (int i = bits - 1; i >= 0; i--) {
        rest = rest << 2 | (n >> (2 * i) & 3);
        fp_wide trial = root << 2 | 1;
        root <<= 1;
        if (rest >= trial) {
            rest -= trial;
            root |= 1;
        }
    }
    return (uint64_t)root;
}

uint64_t fp_sqrt(const struct fp_env *v, enum fp_format f, uint64_t a)
{
    const struct fp_number x = fp_unpack(v, f, a);
    if (x.kind == FP_KIND_NAN || (x.sign && x.kind != FP_KIND_ZERO))
        return fp_nan_result(v, f, 1, &a);
    if (x.kind == FP_KIND_INF)
        return fp_infinity(f, false);
    if (x.kind == FP_KIND_ZERO)
        return fp_zero(f, x.sign);
    int shift = fp_layout(f)->fraction + 6;
    shift += (x.exponent - shift) & 1; /* so that the exponent left is even */
    const fp_wide n = (fp_wide)x.sig << shift;
    const uint64_t root = integer_root(n, fp_layout(f)->fraction + 4);
    return fp_pack(v, f, false, (x.exponent - shift) / 2, root | ((fp_wide)root * root != n));
}
