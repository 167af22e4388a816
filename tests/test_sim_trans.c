/* SPDX-License-Identifier: Apache-2.0 */
#include "suite.h"
#include "trans.h"

#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <mpfr.h>
#include <stdlib.h>

/* Digests over whole domains were captured on a Radeon Pro W7900 (gfx1100) and are published
 * with AMD's rocjitsu: D = (D xor result) * 1099511628211 from 14695981039346656037. */

static const uint64_t START = UINT64_C(14695981039346656037), PRIME = UINT64_C(1099511628211);

static uint64_t digest(uint32_t (*f)(uint32_t), uint32_t first, uint32_t count)
{
    uint64_t d = START;
    for (uint32_t i = 0; i < count; i++)
        d = (d ^ f(first + i)) * PRIME;
    return d;
}

START_TEST(reciprocal_is_silicon)
{
    ck_assert_uint_eq(digest(trans_rcp_f32, 0x3f800000, 1 << 23), UINT64_C(0xd54ec24992572df9));
}
END_TEST

START_TEST(reciprocal_root_is_silicon)
{
    ck_assert_uint_eq(digest(trans_rsq_f32, 0x3f800000, 1 << 24), UINT64_C(0x010bc79eb6e48caf));
}
END_TEST

START_TEST(logarithm_is_silicon)
{
    ck_assert_uint_eq(digest(trans_log_f32, 0x3f000000, 1 << 24), UINT64_C(0xc33a54efbae098be));
}
END_TEST

/* This one was captured on a gfx1201 and is stated to be the same on gfx1100; by bytes. */
START_TEST(root_is_silicon)
{
    uint64_t d = START;
    for (uint32_t i = 0; i < 1 << 24; i++) {
        uint32_t r = trans_sqrt_f32(0x3f800000 + i);
        for (int byte = 0; byte < 4; byte++)
            d = (d ^ (r >> 8 * byte & 0xff)) * PRIME;
    }
    ck_assert_uint_eq(d, UINT64_C(0xc696d1c206aff8a9));
}
END_TEST

static uint32_t bits_of(float x)
{
    union {
        float f;
        uint32_t u;
    } v = {.f = x};
    return v.u;
}

static uint64_t exp_digest(float step)
{
    uint64_t d = START;
    for (int i = 0; i < 1 << 24; i++)
        d = (d ^ trans_exp_f32(bits_of((float)i * step))) * PRIME;
    return d;
}

START_TEST(exponential_is_silicon)
{
    ck_assert_uint_eq(exp_digest(0x1p-24f), UINT64_C(0x68959bb684f42e5f));
    ck_assert_uint_eq(exp_digest(-0x1p-24f), UINT64_C(0x88b75684494db8d3));
}
END_TEST

struct pair {
    uint32_t x, y;
};

START_TEST(special_values)
{
    static const struct pair rcp[] = {
        {0x3f800001, 0x3f7ffffe}, {0x3fc00000, 0x3f2aaaaa}, {0x3fffffff, 0x3f000001},
        {0x7f000000, 0},          {0x00000001, 0x7f800000}, {0x7fa12345, 0x7fe12345},
        {0xff800000, 0x80000000}, {0x80000000, 0xff800000}, {0x7e800000, 0x00800000},
        {0xfe800001, 0x80000000}, {0x00800000, 0x7e800000}, {0xc0000000, 0xbf000000}};
    static const struct pair rsq[] = {
        {0x3f800001, 0x3f7fffff}, {0x40000000, 0x3f3504f3}, {0x407fffff, 0x3f000000},
        {0x80000001, 0xff800000}, {0xbf800000, 0xffc00000}, {0x7f800000, 0},
        {0xff800000, 0xffc00000}, {0xff812345, 0xffc12345}, {0x00000000, 0x7f800000},
        {0x3e800000, 0x40000000}, {0x00800000, 0x5f000000}};
    static const struct pair root[] = {{0x00000001, 0x00000000}, {0x80000001, 0x80000000},
                                       {0xbf800000, 0xffc00000}, {0x7f800000, 0x7f800000},
                                       {0x40800000, 0x40000000}, {0x00800000, 0x20000000},
                                       {0x3e800000, 0x3f000000}, {0x7f800001, 0x7fc00001}};
    static const struct pair power[] = {
        {0x00000000, 0x3f800000}, {0x80000000, 0x3f800000}, {0x337fffff, 0x3f800000},
        {0x43000000, 0x7f800000}, {0x7f800000, 0x7f800000}, {0xff800000, 0x00000000},
        {0xc2fc0000, 0x00800000}, {0xc2fc0001, 0x00000000}, {0x42fe0000, 0x7f000000},
        {0xbf800000, 0x3f000000}, {0x7fa00000, 0x7fe00000}};
    static const struct pair log[] = {
        {0x00000000, 0xff800000}, {0x80000000, 0xff800000}, {0x007fffff, 0xff800000},
        {0xbf800000, 0xffc00000}, {0x7f800000, 0x7f800000}, {0x3f800000, 0x00000000},
        {0x00800000, 0xc2fc0000}, {0x41000000, 0x40400000}, {0xffa00000, 0xffe00000}};
#define CHECK(f, pairs)                                                                        \
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)                                  \
    ck_assert_uint_eq(f(pairs[i].x), pairs[i].y)
    CHECK(trans_rcp_f32, rcp);
    CHECK(trans_rsq_f32, rsq);
    CHECK(trans_sqrt_f32, root);
    CHECK(trans_exp_f32, power);
    CHECK(trans_log_f32, log);
#undef CHECK
}
END_TEST

/* Every normal operand, by steps: within one unit in the last place of MPFR's answer, as the
 * manual promises. */
typedef int mpfr_fn(mpfr_t, const mpfr_t, mpfr_rnd_t);

static int reciprocal(mpfr_t r, const mpfr_t x, mpfr_rnd_t mode)
{
    return mpfr_ui_div(r, 1, x, mode);
}

static float float_of(uint32_t x)
{
    union {
        uint32_t u;
        float f;
    } v = {.u = x};
    return v.f;
}

START_TEST(whole_range_is_within_an_ulp)
{
    static const struct {
        uint32_t (*ours)(uint32_t);
        mpfr_fn *theirs;
        float low, high;
    } f[] = {{trans_rcp_f32, reciprocal, 0x1p-126f, 0x1p126f},
             {trans_rsq_f32, mpfr_rec_sqrt, 0x1p-126f, 0x1p127f},
             {trans_sqrt_f32, mpfr_sqrt, 0x1p-126f, 0x1p127f},
             {trans_exp_f32, mpfr_exp2, 0x1p-20f, 127.99f},
             {trans_log_f32, mpfr_log2, 0x1p-126f, 0x1p127f}};
    mpfr_t x, y;
    mpfr_inits2(64, x, y, (mpfr_ptr)0);
    for (uint32_t b = bits_of(f[_i].low); b <= bits_of(f[_i].high); b += 50021) {
        mpfr_set_flt(x, float_of(b), MPFR_RNDN);
        f[_i].theirs(y, x, MPFR_RNDN);
        double want = mpfr_get_d(y, MPFR_RNDN), got = float_of(f[_i].ours(b));
        if (want != 0)
            ck_assert_double_le(fabs(got - want), ldexp(1.0, ilogb(want) - 23));
    }
    mpfr_clears(x, y, (mpfr_ptr)0);
}
END_TEST

/* All f16 operands: exp and log against MPFR with one rounding. */
static uint32_t half_expected(mpfr_fn *f, uint32_t x)
{
    int field = (int)(x >> 10 & 31), fraction = (int)(x & 1023);
    mpfr_t a, r;
    mpfr_init2(a, 11);
    mpfr_init2(r, 11);
    mpfr_set_si_2exp(a, field ? fraction + 1024 : fraction, (field ? field : 1) - 25,
                     MPFR_RNDN);
    mpfr_setsign(a, a, x >> 15 & 1, MPFR_RNDN);
    mpfr_set_emin(-23);
    mpfr_set_emax(16);
    int t = f(r, a, MPFR_RNDN);
    t = mpfr_check_range(r, t, MPFR_RNDN);
    mpfr_subnormalize(r, t, MPFR_RNDN);
    double y = mpfr_get_d(r, MPFR_RNDN);
    mpfr_set_emin(-1000);
    mpfr_set_emax(1000);
    mpfr_clears(a, r, (mpfr_ptr)0);
    uint32_t sign = signbit(y) ? 0x8000 : 0;
    if (isnan(y) || isinf(y) || y == 0)
        return isnan(y) ? 0xfe00 : sign | (isinf(y) ? 0x7c00 : 0);
    int e = ilogb(y) < -14 ? -14 : ilogb(y);
    return sign + (uint32_t)((e + 14) << 10) + (uint32_t)ldexp(fabs(y), 10 - e);
}

START_TEST(half_precision_is_correctly_rounded)
{
    for (uint32_t x = 0; x < 0x10000; x++) {
        if ((x & 0x7fff) >= 0x7c00)
            continue;
        ck_assert_uint_eq(trans_exp_f16(x), half_expected(mpfr_exp2, x));
        if (x & 0x7fff)
            ck_assert_uint_eq(trans_log_f16(x), half_expected(mpfr_log2, x));
    }
    ck_assert_uint_eq(trans_exp_f16(0x7c00), 0x7c00);
    ck_assert_uint_eq(trans_exp_f16(0xfc00), 0);
    ck_assert_uint_eq(trans_log_f16(0x8000), 0xfc00);
    ck_assert_uint_eq(trans_log_f16(0xfc00), 0xfe00);
    ck_assert_uint_eq(trans_log_f16(0x7c01), 0x7e01);
    ck_assert_uint_eq(trans_rcp_f16(0x0001), 0x7c00);
    ck_assert_uint_eq(trans_rcp_f16(0x7bff), 0x0100);
    ck_assert_uint_eq(trans_rsq_f16(0x0001), 0x6c00);
    ck_assert_uint_eq(trans_sqrt_f16(0x4400), 0x4000);
    ck_assert_uint_eq(trans_rcp_f16(0xfc01), 0xfe01);
}
END_TEST

START_TEST(rows_are_lanes)
{
    uint32_t a[32], d[32];
    for (uint32_t i = 0; i < 32; i++)
        a[i] = i * 0x08421084u;
    trans_log_f32_row(d, a);
    for (int i = 0; i < 32; i++)
        ck_assert_uint_eq(d[i], trans_log_f32(a[i]));
    trans_exp_f32_row(d, d);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim_trans");
    TCase *t = tcase_create("trans");
    tcase_add_test(t, reciprocal_is_silicon);
    tcase_add_test(t, reciprocal_root_is_silicon);
    tcase_add_test(t, logarithm_is_silicon);
    tcase_add_test(t, root_is_silicon);
    tcase_add_test(t, exponential_is_silicon);
    tcase_add_test(t, special_values);
    tcase_add_loop_test(t, whole_range_is_within_an_ulp, 0, 5);
    tcase_add_test(t, half_precision_is_correctly_rounded);
    tcase_add_test(t, rows_are_lanes);
    suite_add_tcase(s, t);
    return suite_run(s);
}
