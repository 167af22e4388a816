/* SPDX-License-Identifier: Apache-2.0 */
#include "fp.h"

#include "fpround.h"

/* Orders finite values and infinities as integers; -0 just below +0. */
static int64_t key(enum fp_format f, uint64_t a)
{
    const uint64_t sign = fp_sign_bit(f), magnitude = a & (sign - 1);
    return a & sign ? -(int64_t)magnitude - 1 : (int64_t)magnitude;
}

static uint64_t trim(enum fp_format f, uint64_t a)
{
    uint64_t inside = fp_sign_bit(f) | (fp_sign_bit(f) - 1);
    return f == FP_TF32 ? a & inside & ~UINT64_C(0x1fff) : a & inside;
}

enum fp_order fp_compare(const struct fp_env *v, enum fp_format f, uint64_t a, uint64_t b)
{
    if (fp_is_nan(f, a) || fp_is_nan(f, b))
        return FP_UNORDERED;
    a = trim(f, fp_flush(v->flush_in, f, a));
    b = trim(f, fp_flush(v->flush_in, f, b));
    if (((a | b) & (fp_sign_bit(f) - 1)) == 0)
        return FP_EQUAL;
    int64_t x = key(f, a), y = key(f, b);
    return x < y ? FP_LESS : x > y ? FP_GREATER : FP_EQUAL;
}

static bool is_signalling(enum fp_format f, uint64_t a)
{
    return fp_is_nan(f, a) && !fp_layout(f)->finite_only && fp_quiet(f, a) != trim(f, a);
}

/* The result when an operand is a NaN. */
static uint64_t pick_nan(const struct fp_env *v, enum fp_format f, uint64_t a, uint64_t b)
{
    if (v->rules->minmax_signalling) {
        if (is_signalling(f, a))
            return fp_quiet(f, a);
        if (is_signalling(f, b))
            return fp_quiet(f, b);
    }
    if (!fp_is_nan(f, b))
        return trim(f, fp_flush(v->flush_in, f, b));
    if (!fp_is_nan(f, a))
        return trim(f, fp_flush(v->flush_in, f, a));
    return v->rules->minmax_nan == FP_NAN_CANONICAL ? v->rules->nan[f] : fp_quiet(f, b);
}

static uint64_t pick(const struct fp_env *v, enum fp_format f, uint64_t a, uint64_t b,
                     bool larger)
{
    if (fp_is_nan(f, a) || fp_is_nan(f, b))
        return pick_nan(v, f, a, b);
    a = trim(f, fp_flush(v->flush_in, f, a));
    b = trim(f, fp_flush(v->flush_in, f, b));
    return (key(f, a) < key(f, b)) == larger ? b : a;
}

uint64_t fp_min(const struct fp_env *v, enum fp_format f, uint64_t a, uint64_t b)
{
    return pick(v, f, a, b, false);
}

uint64_t fp_max(const struct fp_env *v, enum fp_format f, uint64_t a, uint64_t b)
{
    return pick(v, f, a, b, true);
}

uint64_t fp_min_nan(const struct fp_env *v, enum fp_format f, uint64_t a, uint64_t b)
{
    if (fp_is_nan(f, a) || fp_is_nan(f, b))
        return fp_nan_result(v, f, 2, (uint64_t[]){a, b});
    return fp_min(v, f, a, b);
}

uint64_t fp_max_nan(const struct fp_env *v, enum fp_format f, uint64_t a, uint64_t b)
{
    if (fp_is_nan(f, a) || fp_is_nan(f, b))
        return fp_nan_result(v, f, 2, (uint64_t[]){a, b});
    return fp_max(v, f, a, b);
}

uint64_t fp_clamp(enum fp_format f, uint64_t a)
{
    a = trim(f, a);
    if (fp_is_nan(f, a) || a & fp_sign_bit(f))
        return 0;
    return a > fp_one(f) ? fp_one(f) : a;
}

enum fp_class fp_classify(enum fp_format f, uint64_t a)
{
    const struct fp_env plain = {0};
    const bool sign = a & fp_sign_bit(f);
    if (fp_is_nan(f, a))
        return is_signalling(f, a) ? FP_CLASS_SNAN : FP_CLASS_QNAN;
    switch (fp_unpack(&plain, f, a).kind) {
    case FP_KIND_ZERO:
        return sign ? FP_CLASS_MINUS_ZERO : FP_CLASS_PLUS_ZERO;
    case FP_KIND_INF:
        return sign ? FP_CLASS_MINUS_INF : FP_CLASS_PLUS_INF;
    default:
        if (fp_is_subnormal(f, a))
            return sign ? FP_CLASS_MINUS_SUBNORMAL : FP_CLASS_PLUS_SUBNORMAL;
        return sign ? FP_CLASS_MINUS_NORMAL : FP_CLASS_PLUS_NORMAL;
    }
}
