/* SPDX-License-Identifier: Apache-2.0 */
#include "dot2.h"
#include "suite.h"

#include <check.h>
#include <limits.h>
#include <math.h>
#include <mpfr.h>
#include <stdlib.h>
#include <string.h>

/* The second route: terms and grid as MPFR numbers with room for everything, so that nothing is
 * rounded but where the unit's description says so. */

static mpfr_t term[3], scaled, sum, rounded;

static void numbers_open(void)
{
    mpfr_inits2(1200, term[0], term[1], term[2], scaled, sum, (mpfr_ptr)0);
    mpfr_init2(rounded, 24);
}

struct format {
    int exponent, fraction;
    bool flushes;
};
static const struct format f16 = {5, 10, false}, bf16 = {8, 7, true}, f32 = {8, 23, true};

/* Finite x; returns max(field, 1) - bias. */
static int number_set(mpfr_t r, const struct format *f, uint32_t x)
{
    int bias = (1 << (f->exponent - 1)) - 1, field = (int)(x >> f->fraction) & (2 * bias + 1);
    long fraction = (long)(x & ((1u << f->fraction) - 1));
    long significand = field ? fraction + (1L << f->fraction) : f->flushes ? 0 : fraction;
    int nominal = (field ? field : 1) - bias;
    mpfr_set_si_2exp(r, significand, nominal - f->fraction, MPFR_RNDN);
    mpfr_setsign(r, r, x >> (f->exponent + f->fraction) & 1, MPFR_RNDN);
    return nominal;
}

/* sum in c's frame, in units of 2^*ret_grid; false if all terms are zero */
static bool units_sum(const struct format *f, const uint32_t *a, const uint32_t *b, uint32_t c,
                      const struct format *cf, long floor, long *ret_grid)
{
    long grid = LONG_MIN / 2, lead = floor;
    for (int i = 0; i < 2; i++) {
        int nominal = number_set(term[i], f, a[i]);
        nominal += number_set(scaled, f, b[i]);
        mpfr_mul(term[i], term[i], scaled, MPFR_RNDN);
        if (!mpfr_zero_p(term[i]) && nominal - 24 > grid)
            grid = nominal - 24;
    }
    number_set(term[2], cf, c);
    bool nothing = true;
    for (int i = 0; i < 3; i++) {
        nothing &= mpfr_zero_p(term[i]) != 0;
        if (!mpfr_zero_p(term[i]) && mpfr_get_exp(term[i]) - 1 > lead)
            lead = mpfr_get_exp(term[i]) - 1;
    }
    if (lead - 26 > grid)
        grid = lead - 26;
    mpfr_set_ui(sum, 0, MPFR_RNDN);
    for (int i = 0; i < 3 && !nothing; i++) {
        mpfr_abs(scaled, term[i], MPFR_RNDN);
        mpfr_mul_2si(scaled, scaled, -grid, MPFR_RNDN);
        mpfr_floor(scaled, scaled);
        if (!mpfr_signbit(term[i]) == !mpfr_signbit(term[2])) {
            mpfr_add(sum, sum, scaled, MPFR_RNDN);
        } else {
            mpfr_sub(sum, sum, scaled, MPFR_RNDN);
            mpfr_sub_ui(sum, sum, 1, MPFR_RNDN);
        }
    }
    if (mpfr_signbit(term[2]))
        mpfr_neg(sum, sum, MPFR_RNDN);
    *ret_grid = grid;
    return !nothing;
}

static uint32_t f32_expected(const struct format *f, const uint32_t *a, const uint32_t *b,
                             uint32_t c)
{
    long grid;
    if (!units_sum(f, a, b, c, &f32, LONG_MIN / 2, &grid) || mpfr_zero_p(sum))
        return 0;
    mpfr_set(rounded, sum, MPFR_RNDN);
    mpfr_mul_2si(rounded, rounded, grid, MPFR_RNDN);
    uint32_t sign = mpfr_signbit(rounded) ? 0x80000000 : 0;
    long e = mpfr_get_exp(rounded) - 1;
    if (e < -126)
        return 0;
    if (e > 127)
        return sign | 0x7f800000;
    mpfr_mul_2si(rounded, rounded, 23 - e, MPFR_RNDN);
    return sign | (((uint32_t)(e + 127) << 23) +
                   ((uint32_t)labs(mpfr_get_si(rounded, MPFR_RNDN)) - 0x800000));
}

static uint16_t f16_expected(const uint32_t *a, const uint32_t *b, uint16_t c)
{
    long grid;
    if (!units_sum(&f16, a, b, c, &f16, -14, &grid) || mpfr_zero_p(sum))
        return 0;
    mpfr_mul_2si(sum, sum, grid, MPFR_RNDN);
    long e = mpfr_get_exp(sum) - 1, last = (e < -14 ? -14 : e) - 10;
    mpfr_mul_2si(sum, sum, -last, MPFR_RNDN);
    mpfr_rint(sum, sum, MPFR_RNDN);
    long units = labs(mpfr_get_si(sum, MPFR_RNDN));
    long bits = (last + 24) * 1024 + units;
    if (units == 0)
        return 0;
    return (uint16_t)((mpfr_signbit(sum) ? 0x8000 : 0) | (bits > 0x7c00 ? 0x7c00 : bits));
}

static uint64_t state = 1;

static uint32_t draw(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 32);
}

/* Any finite bits, or exponents near 0 so that terms meet; zeros and subnormals often. */
static uint32_t draw_finite(const struct format *f)
{
    const uint32_t top = (1u << f->exponent) - 1;
    uint32_t r = draw(), field = r & 1 ? draw() % top : top / 2 + draw() % 12 - 6;
    if ((r & 0x3e) == 0)
        field = 0;
    uint32_t fraction = draw() & ((1u << f->fraction) - 1);
    if ((r & 0xc0) == 0)
        fraction &= -(1u << (f->fraction - 3)) | 1u;
    if ((r & 0x700) == 0)
        fraction = 0;
    return (r >> 31) << (f->exponent + f->fraction) | field << f->fraction | fraction;
}

START_TEST(steps_agree_with_the_description)
{
    for (int i = 0; i < 150000; i++) {
        const struct format *f = i & 1 ? &f16 : &bf16;
        uint32_t a[2] = {draw_finite(f), draw_finite(f)},
                 b[2] = {draw_finite(f), draw_finite(f)};
        uint32_t c = draw_finite(&f32), pa = a[1] << 16 | a[0], pb = b[1] << 16 | b[0];
        ck_assert_uint_eq((i & 1 ? dot2_f32_f16 : dot2_f32_bf16)(pa, pb, c),
                          f32_expected(f, a, b, c));
        if (f == &f16) {
            uint16_t h = (uint16_t)draw_finite(&f16);
            ck_assert_uint_eq(dot2_f16_f16(pa, pb, h), f16_expected(a, b, h));
        } else {
            uint32_t h = draw_finite(&bf16);
            ck_assert_uint_eq(dot2_bf16_bf16(pa, pb, h), f32_expected(f, a, b, h << 16) >> 16);
        }
    }
}
END_TEST

struct step {
    uint32_t a, b, c, d;
};

/* Worked out by hand; f16 3c00 is 1, 4000 is 2, bc00 is -1, 4200 is 3, 4800 is 8. */
START_TEST(worked_cases)
{
    static const struct step s[] = {
        /* one sign: nothing is lost */
        {0x3c003c00, 0x3c003c00, 0x00000000, 0x40000000},
        {0x3c000000, 0x3c003c00, 0x3f800000, 0x40000000},
        /* 1 + 1 - 2: top 1, grid 2^-24 by the products (0 - 24 against 1 - 26); 2^25 - 2 (2^24
         * + 1) = -2 units in c's frame, 2^-23 */
        {0x3c003c00, 0x3c003c00, 0xc0000000, 0x34000000},
        /* 1 - 1 + 1: grid 2^-24; 2^24 + 2^24 - (2^24 + 1) = 2^24 - 1 units */
        {0xbc003c00, 0x3c003c00, 0x3f800000, 0x3f7fffff},
        /* -0 + -0 + 1: no product counts, grid 2^-26; 2^26 - 2 units is half way between 1 -
         * 2^-24 and 1: to even */
        {0x80008000, 0x3c003c00, 0x3f800000, 0x3f800000},
        /* 3 * 8 + 4 * 8 - 1: nominal exponents 4 and 5, grid 2^-19; -(2^19 - (24 * 2^19 + 1) -
         * (32 * 2^19 + 1)) = 55 * 2^19 + 2 units: 55 + 2^-18 */
        {0x44004200, 0x48004800, 0xbf800000, 0x425c0001},
    };
    for (size_t i = 0; i < sizeof s / sizeof *s; i++)
        ck_assert_uint_eq(dot2_f32_f16(s[i].a, s[i].b, s[i].c), s[i].d);
    /* bf16 sums lose the lower half of the f32 result: 1 + 2^-7 * 2^-1 stays 1 */
    ck_assert_uint_eq(dot2_bf16_bf16(0x3c00, 0x3f00, 0x3f80), 0x3f80);
    /* f16 sums round to nearest: 1 + 1.5 * 2^-11 is 1 + 2^-10 */
    ck_assert_uint_eq(dot2_f16_f16(0x1200, 0x3c00, 0x3c00), 0x3c01);
}
END_TEST

START_TEST(special_operands)
{
    static const struct step s[] = {
        {0x7e00, 0x3c00, 0x7fc12345, 0xffc00a3d}, /* a NaN factor beats c */
        {0x7c00, 0x0000, 0x7fc12345, 0xffc00000}, /* so does Inf * 0 */
        {0x7c007c00, 0x3c00bc00, 0, 0xffc00000},  /* Inf - Inf between the products */
        {0x7c00, 0x3c00, 0x7f812345, 0x7fc12345}, /* c's NaN beats an Inf, quieted */
        {0x7c00, 0x3c00, 0xff800000, 0xffc00000}, /* Inf - Inf with c */
        {0x7c00, 0x3c00, 0x7f800000, 0x7f800000}, {0xfc00, 0x3c00, 0x3f800000, 0xff800000},
        {0x3c00, 0x3c00, 0xff800000, 0xff800000}, {0x8000, 0x3c00, 0x80000000, 0x00000000},
        {0x0000, 0x3c00, 0x80000001, 0x00000000}, /* c flushed, all zero: +0 */
    };
    for (size_t i = 0; i < sizeof s / sizeof *s; i++)
        ck_assert_uint_eq(dot2_f32_f16(s[i].a, s[i].b, s[i].c), s[i].d);
    ck_assert_uint_eq(dot2_f32_bf16(0x7f80, 0x0001, 0), 0xffc00000); /* subnormal bf16 is 0 */
    ck_assert_uint_eq(dot2_f32_bf16(0x0001, 0x7f00, 0x3f800000), 0x3f800000);
    ck_assert_uint_eq(dot2_f16_f16(0x7e00, 0x3c00, 0), 0xfe3d);
    ck_assert_uint_eq(dot2_bf16_bf16(0x7fc0, 0x3f80, 0), 0xfffd);
    ck_assert_uint_eq(dot2_f16_f16(0x3c00, 0x3c00, 0x7d01), 0x7f01);
    ck_assert_uint_eq(dot2_f16_f16(0x7bff, 0x3c00, 0x7bff), 0x7c00);
}
END_TEST

union tile {
    uint32_t u32[16][16];
    uint16_t u16[16][16];
    uint8_t u8[16][16];
};

/* Sums of these stay finite, so that a whole tile does; zeros and subnormals among them. */
static uint32_t draw_near(const struct format *f)
{
    const uint32_t r = draw(), middle = (1u << (f->exponent - 1)) - 1;
    const uint32_t field = r % 9 == 0 ? 0 : middle + r / 16 % 8 - 7;
    const uint32_t fraction = r % 5 == 0 ? 0 : draw() & ((1u << f->fraction) - 1);
    return (r >> 31) << (f->exponent + f->fraction) | field << f->fraction | fraction;
}

START_TEST(tiles_are_eight_steps)
{
    for (int round = 0; round < 400; round++) {
        const bool brain = round & 1;
        const struct format *f = brain ? &bf16 : &f16;
        uint32_t (*const pick)(const struct format *) = round & 4 ? draw_near : draw_finite;
        union tile a, b, c, d, h, e;
        for (int i = 0; i < 16; i++)
            for (int k = 0; k < 16; k++) {
                a.u16[i][k] = (uint16_t)pick(f);
                b.u16[i][k] = (uint16_t)pick(f);
                c.u32[i][k] = pick(&f32);
                h.u16[i][k] = (uint16_t)pick(f);
            }
        if (round % 4 > 1 && round % 8 < 4) /* some Inf and NaN */
            a.u16[round / 4 % 16][round % 16] |= brain ? 0x7f80 : 0x7c00;
        (brain ? wmma_f32_bf16 : wmma_f32_f16)(d.u32, a.u16, b.u16, c.u32);
        (brain ? wmma_bf16_bf16 : wmma_f16_f16)(e.u16, a.u16, b.u16, h.u16);
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 16; j++) {
                uint32_t wide = c.u32[i][j], half = h.u16[i][j];
                for (int k = 0; k < 16; k += 2) {
                    uint32_t pa = (uint32_t)a.u16[i][k + 1] << 16 | a.u16[i][k],
                             pb = (uint32_t)b.u16[j][k + 1] << 16 | b.u16[j][k];
                    wide = (brain ? dot2_f32_bf16 : dot2_f32_f16)(pa, pb, wide);
                    half = (brain ? dot2_bf16_bf16 : dot2_f16_f16)(pa, pb, half);
                }
                ck_assert_uint_eq(d.u32[i][j], wide);
                ck_assert_uint_eq(e.u16[i][j], half);
            }
    }
}
END_TEST

static int64_t small(uint8_t x, int bits, bool is_signed)
{
    int64_t v = x % (1 << bits);
    return is_signed && v >= 1 << (bits - 1) ? v - (1 << bits) : v;
}

START_TEST(integers_are_exact)
{
    for (int round = 0; round < 64; round++) {
        const int bits = round & 1 ? 8 : 4;
        const bool a_signed = round & 2, b_signed = round & 4, clamp = round & 8;
        union tile a, b, c, d;
        for (int i = 0; i < 16; i++)
            for (int k = 0; k < 16; k++) {
                a.u8[i][k] = (uint8_t)(round & 16 ? 0xff : draw());
                b.u8[i][k] = (uint8_t)(round & 16 ? 0xff : draw());
                c.u32[i][k] = round & 32 ? 0x7ffffff0 ^ -(draw() & 1) : draw();
            }
        (bits == 8 ? wmma_i32_iu8 : wmma_i32_iu4)(d.u32, a.u8, b.u8, c.u32, a_signed, b_signed,
                                                  clamp);
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 16; j++) {
                int64_t want = (int32_t)c.u32[i][j];
                for (int k = 0; k < 16; k++)
                    want +=
                        small(a.u8[i][k], bits, a_signed) * small(b.u8[j][k], bits, b_signed);
                if (clamp)
                    want = want > INT32_MAX ? INT32_MAX : want < INT32_MIN ? INT32_MIN : want;
                ck_assert_uint_eq(d.u32[i][j], (uint32_t)want);
            }
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim_dot2");
    TCase *t = tcase_create("dot2");
    tcase_add_checked_fixture(t, numbers_open, NULL);
    tcase_add_test(t, steps_agree_with_the_description);
    tcase_add_test(t, worked_cases);
    tcase_add_test(t, special_operands);
    tcase_add_test(t, tiles_are_eight_steps);
    tcase_add_test(t, integers_are_exact);
    suite_add_tcase(s, t);
    return suite_run(s);
}
