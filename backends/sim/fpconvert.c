/* SPDX-License-Identifier: Apache-2.0 */
#include "fp.h"

#include "fpround.h"

static uint64_t nan_convert(const struct fp_env *v, enum fp_format to, enum fp_format from,
                            uint64_t a)
{
    if (v->rules->convert_nan[to] == FP_NAN_CANONICAL || fp_layout(to)->finite_only)
        return v->rules->nan[to];
    if (fp_layout(from)->finite_only)
        return (v->rules->nan[to] & ~fp_sign_bit(to)) |
               (a & fp_sign_bit(from) ? fp_sign_bit(to) : 0);
    /* payloads are aligned at the top */
    const int pad_to = fp_padding(to), pad_from = fp_padding(from);
    const int width_to = fp_layout(to)->fraction, width_from = fp_layout(from)->fraction;
    uint64_t payload = a >> pad_from & ((UINT64_C(1) << width_from) - 1);
    payload = width_to >= width_from ? payload << (width_to - width_from)
                                     : payload >> (width_from - width_to);
    payload |= UINT64_C(1) << (width_to - 1);
    return fp_infinity(to, a & fp_sign_bit(from)) | payload << pad_to;
}

uint64_t fp_convert(const struct fp_env *v, enum fp_format to, enum fp_format from, uint64_t a)
{
    const struct fp_number x = fp_unpack(v, from, a);
    switch (x.kind) {
    case FP_KIND_NAN:
        return nan_convert(v, to, from, a);
    case FP_KIND_INF:
        return v->saturate ? fp_max_finite(to, x.sign) : fp_infinity(to, x.sign);
    case FP_KIND_ZERO:
        return fp_zero(to, x.sign);
    default:
        return fp_pack(v, to, x.sign, x.exponent, x.sig);
    }
}

static uint64_t int_max(int bits, bool is_signed)
{
    return UINT64_MAX >> (64 - bits + is_signed);
}

static uint64_t int_mask(int bits, uint64_t i)
{
    return i & UINT64_MAX >> (64 - bits);
}

static uint64_t int_nan(const struct fp_env *v, enum fp_format from, int bits)
{
    bool wide = bits == 64 || from == FP_F64;
    return v->rules->nan_to_int == FP_NAN_TO_INT_WIDE_TOP && wide ? UINT64_C(1) << (bits - 1)
                                                                  : 0;
}

uint64_t fp_to_int(const struct fp_env *v, enum fp_format from, uint64_t a, int bits,
                   bool is_signed)
{
    const struct fp_number x = fp_unpack(v, from, a);
    if (x.kind == FP_KIND_NAN)
        return int_nan(v, from, bits);
    if (x.kind == FP_KIND_ZERO)
        return 0;
    const uint64_t top = int_max(bits, is_signed);
    const uint64_t largest = x.sign ? (is_signed ? top + 1 : 0) : top; /* magnitude */
    uint64_t magnitude = largest;
    if (x.kind == FP_KIND_FINITE && x.exponent <= 64) {
        fp_wide m = x.exponent >= 0 ? (fp_wide)x.sig << x.exponent
                                    : fp_shift_round(x.sig, -x.exponent, v->round, x.sign);
        magnitude = m < largest ? (uint64_t)m : largest;
    }
    return int_mask(bits, x.sign ? -magnitude : magnitude);
}

uint64_t fp_from_int(const struct fp_env *v, enum fp_format to, uint64_t i, bool is_signed)
{
    bool sign = is_signed && i >> 63;
    return fp_pack(v, to, sign, 0, sign ? -i : i);
}

uint64_t fp_round_int(const struct fp_env *v, enum fp_format f, uint64_t a)
{
    const struct fp_number x = fp_unpack(v, f, a);
    if (x.kind == FP_KIND_NAN)
        return fp_nan_result(v, f, 1, &a);
    if (x.kind != FP_KIND_FINITE)
        return x.kind == FP_KIND_INF ? fp_infinity(f, x.sign) : fp_zero(f, x.sign);
    if (x.exponent >= 0)
        return fp_pack(v, f, x.sign, x.exponent, x.sig);
    return fp_pack(v, f, x.sign, 0, fp_shift_round(x.sig, -x.exponent, v->round, x.sign));
}

uint64_t fp_ldexp(const struct fp_env *v, enum fp_format f, uint64_t a, int32_t n)
{
    const struct fp_number x = fp_unpack(v, f, a);
    if (x.kind == FP_KIND_NAN)
        return fp_nan_result(v, f, 1, &a);
    if (x.kind != FP_KIND_FINITE)
        return x.kind == FP_KIND_INF ? fp_infinity(f, x.sign) : fp_zero(f, x.sign);
    const int32_t far = 8192; /* beyond the range of every format */
    n = n > far ? far : n < -far ? -far : n;
    return fp_pack(v, f, x.sign, x.exponent + n, x.sig);
}

uint64_t fp_frexp_mantissa(const struct fp_env *v, enum fp_format f, uint64_t a)
{
    const struct fp_number x = fp_unpack(v, f, a);
    if (x.kind != FP_KIND_FINITE)
        return fp_ldexp(v, f, a, 0);
    return fp_pack(v, f, x.sign, -fp_layout(f)->fraction - 1, x.sig);
}

int fp_frexp_exponent(const struct fp_env *v, enum fp_format f, uint64_t a)
{
    const struct fp_number x = fp_unpack(v, f, a);
    return x.kind == FP_KIND_FINITE ? x.exponent + fp_layout(f)->fraction + 1 : 0;
}

uint64_t fp_fract(const struct fp_env *v, enum fp_format f, uint64_t a)
{
    struct fp_env down = *v;
    down.round = FP_RD;
    uint64_t whole = fp_round_int(&down, f, a);
    uint64_t part = fp_sub(v, f, a, whole);
    return part == fp_one(f) ? part - (1u << fp_padding(f)) : part;
}
