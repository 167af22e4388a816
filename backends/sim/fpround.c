/* SPDX-License-Identifier: Apache-2.0 */
#include "fpround.h"

static const struct fp_layout layouts[FP_FORMAT_COUNT_] = {
#define FP_FORMAT(id, bytes, exponent, fraction, finite_only)                                  \
    [FP_##id] = {bytes, exponent, fraction, finite_only},
#include "fp.def"
#undef FP_FORMAT
};

const struct fp_layout *fp_layout(enum fp_format f)
{
    return &layouts[f];
}

int fp_padding(enum fp_format f)
{
    return f == FP_TF32 ? 13 : 0;
}

static uint64_t ones(int n)
{
    return (UINT64_C(1) << n) - 1;
}

/* Sign, exponent field and fraction, right-aligned. */
static uint64_t code(enum fp_format f, uint64_t bits)
{
    const struct fp_layout *l = &layouts[f];
    bits >>= fp_padding(f);
    return l->bytes == 8 ? bits : bits & ones(l->exponent + l->fraction + 1);
}

static uint64_t assemble(enum fp_format f, bool sign, uint64_t magnitude)
{
    const struct fp_layout *l = &layouts[f];
    return ((uint64_t)sign << (l->exponent + l->fraction) | magnitude) << fp_padding(f);
}

uint64_t fp_sign_bit(enum fp_format f)
{
    return assemble(f, true, 0);
}

uint64_t fp_zero(enum fp_format f, bool sign)
{
    return assemble(f, sign, 0);
}

uint64_t fp_one(enum fp_format f)
{
    return assemble(f, false, ones(layouts[f].exponent - 1) << layouts[f].fraction);
}

uint64_t fp_infinity(enum fp_format f, bool sign)
{
    const struct fp_layout *l = &layouts[f];
    return assemble(f, sign,
                    l->finite_only ? ones(l->exponent + l->fraction)
                                   : ones(l->exponent) << l->fraction);
}

uint64_t fp_max_finite(enum fp_format f, bool sign)
{
    const struct fp_layout *l = &layouts[f];
    return assemble(f, sign,
                    l->finite_only ? ones(l->exponent + l->fraction) - 1
                                   : (ones(l->exponent) << l->fraction) - 1);
}

bool fp_is_nan(enum fp_format f, uint64_t a)
{
    const struct fp_layout *l = &layouts[f];
    uint64_t magnitude = code(f, a) & ones(l->exponent + l->fraction);
    return l->finite_only ? magnitude == ones(l->exponent + l->fraction)
                          : magnitude > ones(l->exponent) << l->fraction;
}

bool fp_is_subnormal(enum fp_format f, uint64_t a)
{
    const struct fp_layout *l = &layouts[f];
    uint64_t magnitude = code(f, a) & ones(l->exponent + l->fraction);
    return magnitude != 0 && magnitude >> l->fraction == 0;
}

uint64_t fp_quiet(enum fp_format f, uint64_t a)
{
    if (!fp_is_nan(f, a))
        return a;
    return code(f, a) << fp_padding(f) | UINT64_C(1)
                                             << (layouts[f].fraction - 1 + fp_padding(f));
}

uint64_t fp_flush(uint8_t mask, enum fp_format f, uint64_t a)
{
    return mask >> f & 1 && fp_is_subnormal(f, a) ? a & fp_sign_bit(f) : a;
}

uint64_t fp_nan_result(const struct fp_env *v, enum fp_format f, int n, const uint64_t *operand)
{
    if (v->rules->nan_rule[f] == FP_NAN_OPERAND)
        for (int i = 0; i < n; i++)
            if (fp_is_nan(f, operand[i]))
                return fp_quiet(f, operand[i]);
    return v->rules->nan[f];
}

int fp_top_bit(fp_wide x)
{
    uint64_t high = (uint64_t)(x >> 64);
    return high ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll((uint64_t)x);
}

struct fp_number fp_unpack(const struct fp_env *v, enum fp_format f, uint64_t bits)
{
    const struct fp_layout *l = &layouts[f];
    uint64_t c = code(f, fp_flush(v->flush_in, f, bits));
    struct fp_number x = {.sign = c >> (l->exponent + l->fraction) & 1};
    uint64_t field = c >> l->fraction & ones(l->exponent);
    x.sig = c & ones(l->fraction);
    if (field == 0 && x.sig == 0)
        return x;
    if (fp_is_nan(f, bits)) {
        x.kind = FP_KIND_NAN;
        return x;
    }
    if (field == ones(l->exponent) && !l->finite_only) {
        x.kind = FP_KIND_INF;
        return x;
    }
    x.kind = FP_KIND_FINITE;
    const int lowest = 2 - (1 << (l->exponent - 1)) - l->fraction; /* of the last bit */
    if (field) {
        x.sig |= UINT64_C(1) << l->fraction;
        x.exponent = lowest + (int)field - 1;
    } else {
        int shift = l->fraction - fp_top_bit(x.sig);
        x.sig <<= shift;
        x.exponent = lowest - shift;
    }
    return x;
}

fp_wide fp_shift_jam(fp_wide x, int count)
{
    if (count <= 0)
        return x;
    if (count > 127)
        return x != 0;
    return x >> count | ((x & (((fp_wide)1 << count) - 1)) != 0);
}

fp_wide fp_shift_round(fp_wide x, int count, enum fp_round r, bool sign)
{
    if (count > 126) /* keep half, rest and 0 apart */
        return fp_shift_round(x != 0, 2, r, sign);
    fp_wide whole = x >> count, rest = x & (((fp_wide)1 << count) - 1);
    fp_wide half = (fp_wide)1 << (count - 1);
    bool up = false;
    switch (r) {
    case FP_RNE:
        up = rest > half || (rest == half && (whole & 1));
        break;
    case FP_RNA:
        up = rest >= half;
        break;
    case FP_RZ:
        break;
    case FP_RD:
        up = rest && sign;
        break;
    case FP_RU:
        up = rest && !sign;
        break;
    }
    return whole + up;
}

static uint64_t overflow(const struct fp_env *v, enum fp_format f, bool sign)
{
    bool nearest = v->round == FP_RNE || v->round == FP_RNA;
    bool outward = nearest || v->round == (sign ? FP_RD : FP_RU);
    return outward && !v->saturate ? fp_infinity(f, sign) : fp_max_finite(f, sign);
}

uint64_t fp_pack(const struct fp_env *v, enum fp_format f, bool sign, int exponent, fp_wide sig)
{
    if (sig == 0)
        return fp_zero(f, sign);
    const struct fp_layout *l = &layouts[f];
    const int lowest = 2 - (1 << (l->exponent - 1)) - l->fraction;
    int last = exponent + fp_top_bit(sig) - l->fraction; /* exponent of the result's last bit */
    const bool tiny = last < lowest;
    if (tiny)
        last = lowest;
    fp_wide m = last > exponent ? fp_shift_round(sig, last - exponent, v->round, sign)
                                : sig << (exponent - last);
    /* a carry out of the significand moves into the exponent field by itself */
    uint64_t field = tiny ? 0 : (uint64_t)(last - lowest);
    if (field > ones(l->exponent)) /* far too large: keep the sum below from wrapping */
        return overflow(v, f, sign);
    uint64_t magnitude = (field << l->fraction) + (uint64_t)m;
    if (magnitude > (fp_max_finite(f, false) >> fp_padding(f)))
        return overflow(v, f, sign);
    bool flush = v->rules->tiny_before_rounding ? tiny : magnitude >> l->fraction == 0;
    if (flush && v->flush_out >> f & 1)
        magnitude = 0;
    return assemble(f, sign, magnitude);
}
