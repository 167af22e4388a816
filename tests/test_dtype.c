/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include <xxhash.h>

#include "dtype.h"
#include "suite.h"
#include "tensor.h"
#include "wide.h"

enum { RANDOM_ROUNDS = 200000 };

/* What the formats' definitions say: IEEE 754 for f64, f32 and f16, truncated f32 for bf16 and
 * tf32, the OCP 8-bit specification (2023), and AMD's documentation of the fnuz variants. */
static const struct {
    enum dtype d;
    double max, min_normal, min_subnormal;
    int nan, inf; /* patterns, where there are few enough to count */
} facts[] = {
    {DTYPE_F64, 0x1.fffffffffffffp1023, 0x1p-1022, 0x1p-1074, 0, 0},
    {DTYPE_F32, 0x1.fffffep127, 0x1p-126, 0x1p-149, 0, 0},
    {DTYPE_TF32, 0x1.ffcp127, 0x1p-126, 0x1p-136, 0, 0},
    {DTYPE_F16, 65504, 0x1p-14, 0x1p-24, 2 * 1023, 2},
    {DTYPE_BF16, 0x1.fep127, 0x1p-126, 0x1p-133, 2 * 127, 2},
    {DTYPE_E4M3, 448, 0x1p-6, 0x1p-9, 2, 0},
    {DTYPE_E5M2, 57344, 0x1p-14, 0x1p-16, 6, 2},
    {DTYPE_E4M3FNUZ, 240, 0x1p-7, 0x1p-10, 1, 0},
    {DTYPE_E5M2FNUZ, 57344, 0x1p-15, 0x1p-17, 1, 0},
};
enum { FACTS = sizeof facts / sizeof *facts };

static bool is_small(enum dtype d)
{
    return dtype_info(d)->bytes <= 2;
}

START_TEST(names)
{
    for (int d = 0; d < DTYPE_COUNT_; d++)
        ck_assert_int_eq(dtype_find(dtype_info((enum dtype)d)->name), d);
    ck_assert_int_eq(dtype_find("f31"), DTYPE_COUNT_);
    ck_assert_int_eq(dtype_find(""), DTYPE_COUNT_);
}
END_TEST

START_TEST(ends)
{
    enum dtype d = facts[_i].d;
    ck_assert(dtype_max(d) == facts[_i].max && wide_max(d) == facts[_i].max);
    ck_assert(dtype_min_normal(d) == facts[_i].min_normal);
    ck_assert(dtype_min_subnormal(d) == facts[_i].min_subnormal);
    ck_assert(dtype_unit(d) == facts[_i].min_subnormal / facts[_i].min_normal / 2);
}
END_TEST

/* Every pattern of the small formats by the textbook formula; the counts of specials. */
START_TEST(decode)
{
    enum dtype d = facts[_i].d;
    const struct dtype_info *f = dtype_info(d);
    int nan = 0, inf = 0, subnormal = 0, wrong = 0; /* ck_assert is slow in such a loop */
    for (uint64_t b = 0; is_small(d) && b < 1ULL << (8 * f->bytes); b++) {
        int e = (int)(b >> f->fraction) & ((1 << f->exponent) - 1);
        double m = (double)(b & ((1u << f->fraction) - 1)) * ldexp(1, -f->fraction);
        double x = e ? ldexp(1 + m, e - f->bias) : ldexp(m, 1 - f->bias), y = dtype_value(d, b);
        x = b >> (f->exponent + f->fraction) ? -x : x;
        nan += dtype_is_nan(d, b);
        inf += dtype_is_inf(d, b);
        subnormal += dtype_is_subnormal(d, b);
        wrong += dtype_is_finite(d, b) == (dtype_is_nan(d, b) || dtype_is_inf(d, b));
        if (dtype_is_nan(d, b))
            wrong += !isnan(y);
        else if (dtype_is_inf(d, b))
            wrong += y != copysign(INFINITY, x);
        else
            wrong += wide_bits(y) != wide_bits(x);
    }
    ck_assert_int_eq(wrong, 0);
    if (!is_small(d))
        return;
    ck_assert_int_eq(nan, facts[_i].nan);
    ck_assert_int_eq(inf, facts[_i].inf);
    ck_assert_int_eq(subnormal, 2 * ((1 << f->fraction) - 1));
}
END_TEST

/* f32, f64 and tf32 against the machine's own. */
START_TEST(decode_wide)
{
    uint64_t state = 1;
    int wrong = 0;
    for (int i = 0; i < RANDOM_ROUNDS; i++) {
        uint64_t r = wide_random(&state);
        uint32_t w = (uint32_t)r;
        double y = wide_double(r);
        float x;
        memcpy(&x, &w, sizeof x);
        wrong += dtype_is_nan(DTYPE_F32, w) != (isnan(x) != 0);
        wrong += !isnan(x) && dtype_value(DTYPE_F32, w) != x;
        wrong += !isnan(y) && dtype_value(DTYPE_F64, r) != y;
        wrong += dtype_is_finite(DTYPE_F64, r) != (isfinite(y) != 0);
        w &= ~0x1fffu;
        memcpy(&x, &w, sizeof x);
        wrong +=
            isnan(x) ? !isnan(dtype_value(DTYPE_TF32, w)) : dtype_value(DTYPE_TF32, w) != x;
        wrong += !isnan(x) && dtype_round(DTYPE_TF32, x) != w;
    }
    ck_assert_int_eq(wrong, 0);
}
END_TEST

START_TEST(integers)
{
    ck_assert(dtype_value(DTYPE_I8, 0x80) == -128 && dtype_value(DTYPE_U8, 0x80) == 128);
    ck_assert(dtype_value(DTYPE_I32, 0xffffffff) == -1);
    ck_assert(dtype_value(DTYPE_U32, 0xffffffff) == 4294967295.0);
    ck_assert(dtype_value(DTYPE_I64, 1ULL << 63) == -0x1p63);
    ck_assert(dtype_value(DTYPE_CODE8, 200) == 200);
    ck_assert(!dtype_is_nan(DTYPE_I8, 0xff) && dtype_is_finite(DTYPE_U8, 0xff));
    ck_assert_uint_eq(dtype_round(DTYPE_I32, NAN), 0);
    ck_assert_uint_eq(dtype_round(DTYPE_I32, INFINITY), 0x7fffffff);
    ck_assert_uint_eq(dtype_round(DTYPE_I32, -INFINITY), 0x80000000);
    ck_assert_uint_eq(dtype_round(DTYPE_U8, -3), 0);
    ck_assert_uint_eq(dtype_round(DTYPE_I64, 0x1p63), INT64_MAX);
}
END_TEST

/* The element nearest to a + b, from the definition. */
static uint64_t round_exactly(enum dtype d, double a, double b)
{
    const struct dtype_info *f = dtype_info(d);
    uint64_t sign = 1ULL << (8 * f->bytes - 1), bits;
    mpfr_t x;
    mpfr_init2(x, WIDE_BITS);
    mpfr_set_d(x, a, MPFR_RNDN);
    mpfr_add_d(x, x, b, MPFR_RNDN);
    bool negative = mpfr_zero_p(x) ? signbit(a) && b == 0 : mpfr_sgn(x) < 0;
    wide_round(d, x);
    mpfr_abs(x, x, MPFR_RNDN);
    int unused = 8 * f->bytes - 1 - f->exponent - f->fraction;
    uint64_t limit = (1ULL << (f->exponent + f->fraction)) - 1;
    if (mpfr_cmp_d(x, wide_max(d)) > 0) {
        if (f->specials == DTYPE_SPECIALS_IEEE)
            limit -= (1ULL << f->fraction) - 1;
        bits = f->specials == DTYPE_SPECIALS_FNUZ ? 0 : limit << unused;
    } else if (mpfr_cmp_d(x, ldexp(1, 1 - f->bias)) < 0) {
        mpfr_mul_2si(x, x, f->bias - 1 + f->fraction, MPFR_RNDN);
        bits = (uint64_t)mpfr_get_ui(x, MPFR_RNDN) << unused;
        if (bits == 0 && f->specials == DTYPE_SPECIALS_FNUZ)
            negative = false;
    } else {
        mpfr_exp_t e = mpfr_get_exp(x) - 1;
        mpfr_mul_2si(x, x, f->fraction - e, MPFR_RNDN);
        bits = (mpfr_get_ui(x, MPFR_RNDN) - (1ULL << f->fraction)) << unused;
        bits |= (uint64_t)(e + f->bias) << (f->fraction + unused);
    }
    if (f->specials == DTYPE_SPECIALS_FNUZ && mpfr_cmp_d(x, wide_max(d)) > 0 && bits == 0)
        negative = true;
    mpfr_clear(x);
    return negative ? bits | sign : bits;
}

static void check_round(enum dtype d, double a, double b)
{
    uint64_t want = round_exactly(d, a, b), got = dtype_round_sum(d, a, b);
    if (got != want || (b == 0 && dtype_round(d, a) != want)) /* ck_assert itself is slow */
        ck_abort_msg("%s: %a + %a is %#llx, not %#llx", dtype_info(d)->name, a, b,
                     (unsigned long long)want, (unsigned long long)got);
}

/* Between all neighbours of the small formats: the midpoint, and hardly beside it. */
START_TEST(round_midpoints)
{
    enum dtype d = facts[_i].d;
    uint64_t count = is_small(d) ? 1ULL << (8 * dtype_info(d)->bytes - 1) : 0;
    for (uint64_t code = 0; code < count; code++) {
        if (!dtype_is_finite(d, code))
            continue;
        double x = dtype_value(d, code), gap = ldexp(1, -dtype_info(d)->fraction);
        gap *= x < dtype_min_normal(d) ? dtype_min_normal(d) : ldexp(1, ilogb(x));
        double middle = x + gap / 2, hair = ldexp(middle, -53);
        check_round(d, x, 0);
        check_round(d, -middle, 0);
        check_round(d, middle, hair);
        check_round(d, middle, -hair);
        check_round(d, -middle, code & 1 ? 0x1p-1074 : -0x1p-1074);
    }
}
END_TEST

static double random_operand(enum dtype d, uint64_t *state)
{
    uint64_t r = wide_random(state);
    if (r % 8 == 0) {
        double x = wide_double(wide_random(state));
        return isfinite(x) ? x : 1;
    }
    int low = 1 - dtype_info(d)->bias - dtype_info(d)->fraction - 3;
    int high = ilogb(wide_max(d)) + 2, e = low + (int)((r >> 8) % (uint64_t)(high - low));
    double m = 1 + (double)(wide_random(state) >> 12) * 0x1p-52;
    if (r % 8 < 4) { /* near a grid point or a midpoint */
        double grid = ldexp(1, dtype_info(d)->fraction + 1);
        m = floor(m * grid) / grid;
    }
    double x = ldexp(r >> 63 ? -m : m, e);
    return isfinite(x) ? x : 1;
}

START_TEST(round_random)
{
    enum dtype d = facts[_i].d;
    uint64_t state = (uint64_t)_i + 1;
    for (int i = 0; i < RANDOM_ROUNDS / 4; i++) {
        double a = random_operand(d, &state);
        double half = a == 0 ? 0 : ldexp(1, ilogb(a) - 53);
        double b = half * ((double)(wide_random(&state) >> 11) * 0x1p-52 - 1);
        if (i % 4 == 0)
            b = i % 8 ? half : -half;
        check_round(d, a, i % 3 ? b : 0);
    }
    check_round(d, 0.0, 0);
    check_round(d, -0.0, 0);
}
END_TEST

START_TEST(round_specials)
{
    for (int i = 0; i < FACTS; i++) {
        enum dtype d = facts[i].d;
        ck_assert(dtype_is_nan(d, dtype_round(d, NAN)));
        bool keeps_inf = dtype_info(d)->specials == DTYPE_SPECIALS_IEEE;
        for (int s = 1; s >= -1; s -= 2) {
            uint64_t b = dtype_round_sum(d, s * INFINITY, 1);
            ck_assert(keeps_inf ? dtype_value(d, b) == s * INFINITY : dtype_is_nan(d, b));
        }
    }
    ck_assert_uint_eq(dtype_round(DTYPE_F32, NAN), 0x7fc00000);
    ck_assert_uint_eq(dtype_round(DTYPE_BF16, -NAN), 0x7fc0);
    ck_assert_uint_eq(dtype_round(DTYPE_E4M3, -1000), 0xff);
    ck_assert_uint_eq(dtype_round(DTYPE_E4M3FNUZ, -1000), 0x80);
}
END_TEST

/* Integer formats: halves to even, saturation, and tails that decide. */
START_TEST(round_integers)
{
    static const enum dtype formats[] = {DTYPE_I64, DTYPE_I32, DTYPE_I8, DTYPE_U8, DTYPE_U32};
    uint64_t state = 7;
    mpfr_t x;
    mpfr_init2(x, WIDE_BITS);
    for (int i = 0; i < RANDOM_ROUNDS; i++) {
        enum dtype d = formats[i % 5];
        int width = 8 * dtype_info(d)->bytes;
        bool is_signed = dtype_info(d)->kind == DTYPE_KIND_INT;
        uint64_t r = wide_random(&state);
        double a = ldexp((double)(int64_t)(r & ~7ULL), (int)(r % 64) * -1);
        a = i % 4 ? a : floor(a) + 0.5;
        double ulp = fabs(nextafter(a, INFINITY) - a);
        double b = i % 3 ? ulp * ((double)(wide_random(&state) >> 11) * 0x1p-53 - 0.5) : 0;

        mpfr_set_d(x, a, MPFR_RNDN);
        mpfr_add_d(x, x, b, MPFR_RNDN);
        mpfr_roundeven(x, x);
        mpfr_t low, high;
        mpfr_inits2(WIDE_BITS, low, high, (mpfr_ptr)0);
        mpfr_set_d(low, is_signed ? -ldexp(1, width - 1) : 0, MPFR_RNDN);
        mpfr_set_d(high, ldexp(1, is_signed ? width - 1 : width), MPFR_RNDN);
        mpfr_sub_ui(high, high, 1, MPFR_RNDN);
        mpfr_max(x, x, low, MPFR_RNDN);
        mpfr_min(x, x, high, MPFR_RNDN);
        uint64_t want = (uint64_t)mpfr_get_sj(x, MPFR_RNDN);
        want = width == 64 ? want : want & ((1ULL << width) - 1);
        if (dtype_round_sum(d, a, b) != want)
            ck_abort_msg("%s %a %a", dtype_info(d)->name, a, b);
        mpfr_clears(low, high, (mpfr_ptr)0);
    }
    mpfr_clear(x);
}
END_TEST

START_TEST(tensors)
{
    struct tensor t;
    struct errinfo e;
    const int64_t dim[] = {2, 3}, none[] = {0, 5}, bad[] = {3, -1};
    const int64_t huge[] = {1LL << 40, 1LL << 40}, vast[] = {1LL << 40, 1LL << 40, 0};
    ck_assert_int_eq(tensor_init(&t, DTYPE_F16, 2, dim, &e), ERR_OK);
    ck_assert(t.count == 6 && tensor_bytes(&t) == 12);
    for (int64_t i = 0; i < t.count; i++)
        ck_assert_uint_eq(tensor_bits(&t, i), 0);
    tensor_set_bits(&t, 5, 0x3c00);
    ck_assert(tensor_value(&t, 5) == 1);
    ck_assert_uint_eq(((const uint16_t *)t.data)[5], 0x3c00);
    tensor_release(&t);
    tensor_release(&t);

    ck_assert_int_eq(tensor_init(&t, DTYPE_U8, 0, NULL, &e), ERR_OK);
    ck_assert_int_eq(t.count, 1);
    tensor_release(&t);
    ck_assert_int_eq(tensor_init(&t, DTYPE_F64, 2, none, &e), ERR_OK);
    ck_assert(t.count == 0 && t.data);
    tensor_release(&t);
    ck_assert_int_eq(tensor_init(&t, DTYPE_F64, 3, vast, &e), ERR_OK);
    tensor_release(&t);
    ck_assert_int_eq(tensor_init(&t, DTYPE_F64, 2, bad, &e), ERR_USAGE);
    ck_assert_int_eq(tensor_init(&t, DTYPE_U8, 2, huge, &e), ERR_USAGE);
    ck_assert_int_eq(tensor_init(&t, DTYPE_U8, TENSOR_RANK_MAX + 1, dim, NULL), ERR_USAGE);
    ck_assert_int_eq(tensor_init(&t, DTYPE_COUNT_, 2, dim, NULL), ERR_USAGE);
}
END_TEST

/* XXH3-128 over "f16", rank, shape and bytes as one buffer; frozen. */
START_TEST(digest_layout)
{
    struct tensor t;
    char hex[33], want[33] = "";
    const int64_t dim[] = {2, 3};
    const uint8_t buffer[40] = {
        'f', '1', '6', 0, 2, [12] = 2, [20] = 3, [28] = 0, [38] = 0x34, 0x12};
    tensor_init(&t, DTYPE_F16, 2, dim, NULL);
    tensor_set_bits(&t, 5, 0x1234);
    tensor_digest(&t, hex);
    XXH128_canonical_t digest;
    XXH128_canonicalFromHash(&digest, XXH3_128bits(buffer, sizeof buffer));
    for (size_t i = 0; i < sizeof digest.digest; i++)
        sprintf(want + 2 * i, "%02x", digest.digest[i]);
    ck_assert_str_eq(hex, want);
    tensor_release(&t);
}
END_TEST

/* The digest sees format, shape and every byte. */
START_TEST(digests)
{
    struct tensor t;
    char first[33], other[33];
    const int64_t dim[] = {2, 3}, turned[] = {3, 2}, flat[] = {6};
    tensor_init(&t, DTYPE_F16, 2, dim, NULL);
    tensor_digest(&t, first);
    ck_assert_str_eq(first, "c570415f91246256fd6bff41cf730f48");
    tensor_set_bits(&t, 5, 1);
    tensor_digest(&t, other);
    ck_assert_str_ne(first, other);
    tensor_release(&t);
    for (int i = 0; i < 3; i++) {
        tensor_init(&t, i == 2 ? DTYPE_BF16 : DTYPE_F16, i == 1 ? 1 : 2,
                    i == 0   ? turned
                    : i == 1 ? flat
                             : dim,
                    NULL);
        tensor_digest(&t, other);
        ck_assert_str_ne(first, other);
        tensor_release(&t);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("dtype");
    TCase *t = tcase_create("dtype");
    tcase_add_test(t, names);
    tcase_add_loop_test(t, ends, 0, FACTS);
    tcase_add_loop_test(t, decode, 0, FACTS);
    tcase_add_test(t, decode_wide);
    tcase_add_test(t, integers);
    tcase_add_loop_test(t, round_midpoints, 0, FACTS);
    tcase_add_loop_test(t, round_random, 0, FACTS);
    tcase_add_test(t, round_specials);
    tcase_add_test(t, round_integers);
    tcase_add_test(t, tensors);
    tcase_add_test(t, digest_layout);
    tcase_add_test(t, digests);
    suite_add_tcase(s, t);
    return suite_run(s);
}
