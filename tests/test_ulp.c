/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "suite.h"
#include "ulp.h"
#include "wide.h"

enum { PAIRS = 1000000, EDGE_MAX = 1024 };

static const enum dtype formats[] = {DTYPE_F64,      DTYPE_F32,      DTYPE_F16,
                                     DTYPE_BF16,     DTYPE_E4M3,     DTYPE_E5M2,
                                     DTYPE_E4M3FNUZ, DTYPE_E5M2FNUZ, DTYPE_TF32};
enum { FORMATS = sizeof formats / sizeof *formats };

static uint64_t sign_of(enum dtype d)
{
    return 1ULL << (8 * dtype_info(d)->bytes - 1);
}

/* All finite magnitudes at exponent edges x significand edges, both signs. */
static int edges(enum dtype d, uint64_t *ret_bits)
{
    const struct dtype_info *f = dtype_info(d);
    int top = (1 << f->exponent) - 1, n = 0;
    int unused = 8 * f->bytes - 1 - f->exponent - f->fraction;
    const int exponent[] = {
        0,       1,       2,  f->bias - 1, f->bias, f->bias + 1, f->bias + f->fraction,
        top - 2, top - 1, top};
    const uint64_t one = 1, last = (one << f->fraction) - 1;
    const uint64_t fraction[] = {0, 1, 2, last / 2, last / 2 + 1, last - 1, last};
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < 7; j++)
            for (int s = 0; s < 2; s++) {
                uint64_t bits = ((uint64_t)exponent[i] << f->fraction | fraction[j]) << unused;
                bits |= s ? sign_of(d) : 0;
                if (exponent[i] <= top && fraction[j] <= last && dtype_is_finite(d, bits))
                    ret_bits[n++] = bits;
            }
    ck_assert(n > 20 && n <= EDGE_MAX);
    return n;
}

/* The value of finite bits, in MPFR from the fields. */
static void exact_value(enum dtype d, uint64_t bits, mpfr_ptr x)
{
    const struct dtype_info *f = dtype_info(d);
    int unused = 8 * f->bytes - 1 - f->exponent - f->fraction;
    uint64_t magnitude = (bits & (sign_of(d) - 1)) >> unused, hidden = 1ULL << f->fraction;
    long e = (long)(magnitude >> f->fraction);
    uint64_t m = (magnitude & (hidden - 1)) | (e ? hidden : 0);
    mpfr_set_uj_2exp(x, m, (e ? e : 1) - f->bias - f->fraction, MPFR_RNDN);
    if (bits & sign_of(d))
        mpfr_neg(x, x, MPFR_RNDN);
}

/* The number of grid steps from 0 to |x|: an integer count binade by binade, in MPFR. */
static void count_steps(enum dtype d, mpfr_ptr x)
{
    const struct dtype_info *f = dtype_info(d);
    int sign = mpfr_sgn(x);
    if (sign == 0)
        return;
    mpfr_abs(x, x, MPFR_RNDN);
    mpfr_exp_t e = mpfr_get_exp(x) - 1, least = 1 - f->bias;
    mpfr_mul_2si(x, x, f->fraction - (e < least ? least : e), MPFR_RNDN);
    if (e > least) { /* a full binade has 2^fraction values */
        mpfr_t binades;
        mpfr_init2(binades, 200);
        mpfr_set_si_2exp(binades, e - least, f->fraction, MPFR_RNDN);
        mpfr_add(x, x, binades, MPFR_RNDN);
        mpfr_clear(binades);
    }
    if (sign < 0)
        mpfr_neg(x, x, MPFR_RNDN);
}

static void check_distance(enum dtype d, uint64_t a, uint64_t b, mpfr_ptr x, mpfr_ptr y)
{
    exact_value(d, a, x);
    exact_value(d, b, y);
    count_steps(d, x);
    count_steps(d, y);
    bool fine = mpfr_cmp_si(x, ulp_position(d, a)) == 0;
    mpfr_sub(x, x, y, MPFR_RNDN);
    mpfr_abs(x, x, MPFR_RNDN);
    if (!fine || ulp_distance(d, a, b) != mpfr_get_uj(x, MPFR_RNDN))
        ck_abort_msg("%s: %#llx and %#llx", dtype_info(d)->name, (unsigned long long)a,
                     (unsigned long long)b);
}

/* (bits - value - tail) / ulp, all exact but for the last division by a power of two. */
static void exact_error(enum dtype d, uint64_t bits, double value, double tail, mpfr_ptr x,
                        mpfr_ptr r)
{
    mpfr_set_d(r, value, MPFR_RNDN);
    mpfr_add_d(r, r, tail, MPFR_RNDN);
    exact_value(d, bits, x);
    mpfr_sub(x, x, r, MPFR_RNDN);
    mpfr_exp_t q = wide_last_bit(d, r);
    mpfr_exp_t top = ilogb(wide_max(d)) - dtype_info(d)->fraction;
    mpfr_mul_2si(x, x, -(q > top ? top : q), MPFR_RNDN);
}

static void check_error(enum dtype d, uint64_t bits, double value, double tail, mpfr_ptr x,
                        mpfr_ptr r)
{
    double got = ulp_error(d, bits, value, tail);
    exact_error(d, bits, value, tail, x, r);
    if (mpfr_cmpabs_ui(x, 0) != 0 && mpfr_get_exp(x) > 480) {
        ck_assert(d == DTYPE_F64);
        ck_assert(got == (mpfr_sgn(x) > 0 ? ULP_ERROR_MAX : -ULP_ERROR_MAX));
        return;
    }
    mpfr_sub_d(r, x, got, MPFR_RNDN);
    double off = fabs(mpfr_get_d(r, MPFR_RNDN)), want = mpfr_get_d(x, MPFR_RNDN);
    if (!(off <= fabs(want) * 0x1p-51)) /* ck_assert itself is slow */
        ck_abort_msg("%s %#llx against %a + %a: %a, not %a", dtype_info(d)->name,
                     (unsigned long long)bits, value, tail, got, want);
}

static void check_size(enum dtype d, double v, mpfr_ptr x)
{
    mpfr_set_d(x, v, MPFR_RNDN);
    mpfr_exp_t q = wide_last_bit(d, x), top = ilogb(wide_max(d)) - dtype_info(d)->fraction;
    if (ulp_size(d, v) != ldexp(1, (int)(q > top ? top : q)))
        ck_abort_msg("%s: ulp of %a", dtype_info(d)->name, v);
}

/* A tail of at most half an ulp of value; sometimes 0, the whole half, or of a sign that
 * matters. */
static double some_tail(double value, uint64_t r)
{
    double half = value == 0 ? 0 : ldexp(1, ilogb(value) - 53);
    switch (r % 5) {
    case 0:
        return 0;
    case 1:
        return half;
    case 2:
        return -half;
    default:
        return half * ((double)(r >> 11) * 0x1p-52 - 1);
    }
}

START_TEST(edge_pairs)
{
    enum dtype d = formats[_i];
    uint64_t bits[EDGE_MAX], state = 99;
    int n = edges(d, bits);
    mpfr_t x, y;
    mpfr_init2(x, WIDE_BITS);
    mpfr_init2(y, WIDE_BITS);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double v = dtype_value(d, bits[j]);
            check_distance(d, bits[i], bits[j], x, y);
            check_error(d, bits[i], v, 0, x, y);
            check_error(d, bits[i], v, some_tail(v, 1 + wide_random(&state) % 2), x, y);
            check_size(d, v, x);
        }
    mpfr_clear(x);
    mpfr_clear(y);
}
END_TEST

static uint64_t finite_bits(enum dtype d, uint64_t *state)
{
    for (;;) {
        uint64_t bits = wide_random(state);
        if (dtype_info(d)->bytes < 8)
            bits &= 2 * sign_of(d) - 1;
        if (d == DTYPE_TF32)
            bits &= ~0x1fffULL;
        if (dtype_is_finite(d, bits))
            return bits;
    }
}

/* A reference near the bits, far from them, or anywhere; with bits of its own far below. */
static double some_value(enum dtype d, uint64_t bits, uint64_t *state)
{
    uint64_t r = wide_random(state);
    double x = dtype_value(d, r % 3 ? bits : finite_bits(d, state));
    double shift = ((double)(wide_random(state) >> 11) * 0x1p-52 - 1) * 4;
    double v = r % 3 == 1 ? x + shift * ulp_size(d, x) : x * (1 + shift * 0x1p-30);
    return isfinite(v) ? v : x;
}

/* How many values lie between 0 and finite bits, in integers, from the value alone. */
static int64_t steps_from_value(enum dtype d, uint64_t bits)
{
    const struct dtype_info *f = dtype_info(d);
    int e;
    double x = dtype_value(d, bits), m = frexp(fabs(x), &e);
    int64_t binades = e - 1 - (1 - f->bias);
    if (x == 0 || binades < 0)
        m = ldexp(m, f->fraction + 1 + (int)(x == 0 ? 0 : binades)), binades = 0;
    else
        m = ldexp(m, f->fraction + 1);
    int64_t steps = (int64_t)m + (binades << f->fraction);
    return x < 0 ? -steps : steps;
}

START_TEST(random_pairs)
{
    enum dtype d = formats[_i];
    uint64_t state = (uint64_t)_i * 1000 + 5;
    mpfr_prec_t precision = d == DTYPE_F64 ? WIDE_BITS : 512;
    mpfr_t x, y;
    mpfr_init2(x, precision);
    mpfr_init2(y, precision);
    for (int i = 0; i < (_i < 6 ? PAIRS : PAIRS / 10); i++) {
        uint64_t a = finite_bits(d, &state), b = finite_bits(d, &state);
        int64_t p = steps_from_value(d, a), q = steps_from_value(d, b);
        uint64_t want = p > q ? (uint64_t)p - (uint64_t)q : (uint64_t)q - (uint64_t)p;
        if (ulp_distance(d, a, b) != want || ulp_position(d, a) != p)
            ck_abort_msg("%#llx and %#llx", (unsigned long long)a, (unsigned long long)b);
        double v = some_value(d, a, &state);
        check_error(d, a, v, some_tail(v, wide_random(&state)), x, y);
    }
    mpfr_clear(x);
    mpfr_clear(y);
}
END_TEST

/* Small formats: distances by walking the sorted list of all finite values. */
START_TEST(enumeration)
{
    enum dtype d = formats[_i];
    if (dtype_info(d)->bytes > 2)
        return;
    int64_t steps = 0;
    double last = 0;
    for (uint64_t code = 0; code < sign_of(d); code++) {
        if (!dtype_is_finite(d, code))
            continue;
        double v = dtype_value(d, code);
        ck_assert(code == 0 || v > last);
        steps += code != 0;
        last = v;
        ck_assert_int_eq(ulp_position(d, code), steps);
        if (dtype_is_finite(d, code | sign_of(d))) {
            ck_assert_int_eq(ulp_position(d, code | sign_of(d)), -steps);
            ck_assert_uint_eq(ulp_distance(d, code, code | sign_of(d)), 2 * (uint64_t)steps);
        }
    }
}
END_TEST

START_TEST(integers)
{
    ck_assert_int_eq(ulp_position(DTYPE_I8, 0x80), -128);
    ck_assert_int_eq(ulp_position(DTYPE_U8, 0x80), 128);
    ck_assert_uint_eq(ulp_distance(DTYPE_U64, 0, UINT64_MAX), UINT64_MAX);
    ck_assert_uint_eq(ulp_distance(DTYPE_U16, 0, 0xffff), 0xffff);
    ck_assert_int_eq(ulp_position(DTYPE_I16, 0x8000), -32768);
    ck_assert_uint_eq(ulp_distance(DTYPE_I32, 0x80000000, 0x7fffffff), 0xffffffff);
    ck_assert_uint_eq(ulp_distance(DTYPE_I64, 1ULL << 63, ~(1ULL << 63)), UINT64_MAX);
    ck_assert(ulp_size(DTYPE_I32, 1e6) == 1);
    ck_assert(ulp_error(DTYPE_I32, 7, 5, 0.25) == 1.75);
    ck_assert(ulp_error(DTYPE_I64, (1ULL << 62) + 3, 0x1p62, 0.5) == 2.5);
    ck_assert(ulp_error(DTYPE_U32, 0xffffffff, 0x1p32, 0) == -1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ulp");
    TCase *t = tcase_create("ulp");
    tcase_add_loop_test(t, edge_pairs, 0, FORMATS);
    tcase_add_loop_test(t, random_pairs, 0, FORMATS);
    tcase_add_loop_test(t, enumeration, 0, FORMATS);
    tcase_add_test(t, integers);
    suite_add_tcase(s, t);
    return suite_run(s);
}
