/* SPDX-License-Identifier: Apache-2.0 */
#include "fproute.h"
#include "hmma.h"
#include "suite.h"

/* The second route: one group in MPFR numbers wide enough for everything; what is cut and
 * rounded is cut and rounded by MPFR. */

static mpfr_t wide, total;
static const struct format *const sides[] = {&formats[2], &formats[3],
                                             &formats[4]}; /* f16 bf16 tf32 */

static void wide_open(void)
{
    mpfr_open();
    mpfr_inits2(1200, wide, total, (mpfr_ptr)0);
    full_range();
}

static int nominal(const struct format *f, uint32_t x)
{
    int field = (int)(x >> (f->fraction + f->padding)) & ((1 << f->exponent) - 1);
    return (field ? field : 1) - bias(f);
}

struct group {
    int count;
    uint32_t a[8], b[8], c;
};

/* Exact sum of the cut terms; *ret_special is NaN or an infinity if one decides. */
static void group_sum(const struct format *f, const struct format *cf, const struct group *g,
                      double *ret_special)
{
    int largest = -126;
    double special = decode(cf, g->c);
    special = isfinite(special) ? 0 : special;
    for (int i = 0; i < g->count; i++) {
        double p = decode(f, g->a[i]) * decode(f, g->b[i]);
        int e = nominal(f, g->a[i]) + nominal(f, g->b[i]);
        bool infinite = isinf(decode(f, g->a[i])) || isinf(decode(f, g->b[i]));
        if (isnan(p) || infinite)
            special = isnan(p) ? NAN : special + p;
        else if (p != 0 && e > largest)
            largest = e;
    }
    if (decode(cf, g->c) != 0 && nominal(cf, g->c) > largest && special == 0)
        largest = nominal(cf, g->c);
    *ret_special = special;
    mpfr_set_ui(total, 0, MPFR_RNDN);
    for (int i = 0; i <= g->count && special == 0; i++) {
        double p = i < g->count ? decode(f, g->a[i]) * decode(f, g->b[i]) : decode(cf, g->c);
        mpfr_set_d(wide, p, MPFR_RNDN);
        mpfr_mul_2si(wide, wide, 24 - largest, MPFR_RNDN);
        mpfr_trunc(wide, wide);
        mpfr_add(total, total, wide, MPFR_RNDN);
    }
    mpfr_mul_2si(total, total, largest - 24, MPFR_RNDN);
}

static uint32_t group_expected(const struct format *f, const struct format *cf,
                               const struct group *g)
{
    const bool half = cf->id == FP_F16;
    const mpfr_rnd_t mode = half ? MPFR_RNDN : MPFR_RNDZ;
    double special;
    group_sum(f, cf, g, &special);
    if (special != 0)
        return isnan(special) ? (half ? 0x7fff : 0x7fffffff) : (uint32_t)encode(cf, special);
    if (mpfr_zero_p(total))
        return 0;
    if (!half && mpfr_cmpabs_ui(total, 0) && mpfr_get_exp(total) > 128)
        return mpfr_signbit(total) ? 0xff800000 : 0x7f800000;
    mpfr_set_prec(result, cf->fraction + 1);
    range_set(cf);
    int t = mpfr_set(result, total, mode);
    t = mpfr_check_range(result, t, mode);
    uint32_t bits = (uint32_t)finish(cf, result, t, mode);
    full_range();
    return bits;
}

enum { M = 16, N = 8, K = 16 };

/* One mma of depth k on random operands against groups in order. */
static void check_tile(enum hmma_format hf, int k, bool half,
                       uint32_t (*operand_bits)(const struct format *))
{
    const struct format *f = sides[hf], *cf = half ? &formats[2] : &formats[1];
    uint32_t a[M * K], b[N * K], c[M * N], d[M * N];
    uint16_t a16[M * K], b16[N * K], c16[M * N];
    for (int i = 0; i < M * k; i++)
        a16[i] = (uint16_t)(a[i] = operand_bits(f));
    for (int i = 0; i < N * k; i++)
        b16[i] = (uint16_t)(b[i] = operand_bits(f));
    for (int i = 0; i < M * N; i++)
        c16[i] = (uint16_t)(c[i] = operand_bits(cf));
    const bool narrow = hf != HMMA_TF32;
    if (half)
        hmma_f16(M, N, k, a16, b16, c16, c16);
    else
        hmma_f32(hf, M, N, k, narrow ? (void *)a16 : a, narrow ? (void *)b16 : b, c, d);
    const int most = narrow ? 8 : 4;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            struct group g = {.count = k < most ? k : most, .c = c[i * N + j]};
            for (int l = 0; l < k; l += g.count) {
                for (int x = 0; x < g.count; x++) {
                    g.a[x] = a[i * k + l + x];
                    g.b[x] = b[j * k + l + x];
                }
                g.c = group_expected(f, cf, &g);
            }
            ck_assert_uint_eq(half ? c16[i * N + j] : d[i * N + j], g.c);
        }
}

/* Finite, with zeros and subnormals. */
static uint32_t finite_bits(const struct format *f)
{
    uint64_t r = draw(), bits;
    do
        bits = draw_bits(f);
    while (!isfinite(decode(f, bits)));
    uint64_t field = ((UINT64_C(1) << f->exponent) - 1) << (f->fraction + f->padding);
    return (uint32_t)(r % 11 == 0 ? bits & ~field : r % 13 == 0 ? 0 : bits);
}

/* Exponents near 0, as data has. */
static uint32_t near_bits(const struct format *f)
{
    uint64_t sign = draw() & 1, field = (uint64_t)bias(f) - 6 + draw() % 12;
    return (uint32_t)((sign << (f->bits - 1) | field << f->fraction |
                       (draw() & ((UINT64_C(1) << f->fraction) - 1)))
                      << f->padding);
}

/* One in thirty Inf or NaN. */
static uint32_t any_bits(const struct format *f)
{
    uint64_t top = ((UINT64_C(1) << f->exponent) - 1) << (f->fraction + f->padding);
    uint32_t bits = near_bits(f);
    return draw() % 30
               ? bits
               : (uint32_t)(bits | top) &
                     (uint32_t)(draw() & 1 ? ~0ull : ~0ull << (f->fraction + f->padding));
}

START_TEST(tiles_agree_with_the_description)
{
    static uint32_t (*const kinds[])(const struct format *) = {near_bits, finite_bits,
                                                               any_bits};
    for (int round = 0; round < 60; round++) {
        uint32_t (*kind)(const struct format *) = kinds[round % 3];
        check_tile(HMMA_F16, round & 1 ? 16 : 8, false, kind);
        check_tile(HMMA_F16, round & 1 ? 16 : 8, true, kind);
        check_tile(HMMA_BF16, round & 1 ? 16 : 8, false, kind);
        check_tile(HMMA_TF32, round & 1 ? 8 : 4, false, kind);
    }
    check_tile(HMMA_F16, 4, false, near_bits);
    check_tile(HMMA_F16, 4, true, near_bits);
}
END_TEST

/* --- worked by hand: element (0, 0) of one mma; the other rows and columns are zero
 * ------------ */

static uint32_t one_f32(enum hmma_format f, int k, int n, const uint32_t *a, const uint32_t *b,
                        uint32_t c)
{
    uint32_t a32[16 * 16] = {0}, b32[8 * 16] = {0}, cd[16 * 8] = {0};
    uint16_t a16[16 * 16] = {0}, b16[8 * 16] = {0};
    for (int i = 0; i < n; i++) {
        a16[i] = (uint16_t)(a32[i] = a[i]);
        b16[i] = (uint16_t)(b32[i] = b[i]);
    }
    cd[0] = c;
    hmma_f32(f, 16, 8, k, f == HMMA_TF32 ? (void *)a32 : a16,
             f == HMMA_TF32 ? (void *)b32 : b16, cd, cd);
    return cd[0];
}

static uint16_t one_f16(int k, int n, const uint32_t *a, const uint32_t *b, uint16_t c)
{
    uint16_t a16[16 * 16] = {0}, b16[8 * 16] = {0}, cd[16 * 8] = {0};
    for (int i = 0; i < n; i++) {
        a16[i] = (uint16_t)a[i];
        b16[i] = (uint16_t)b[i];
    }
    cd[0] = c;
    hmma_f16(16, 8, k, a16, b16, cd, cd);
    return cd[0];
}

#define LIST(...) ((const uint32_t[]){__VA_ARGS__})

START_TEST(terms_are_cut_24_bits_down)
{
    /* 2^-24 beside 1: kept (unit 2^-24), then 1 + 2^-24 is cut to 1 in the result */
    ck_assert_uint_eq(one_f32(HMMA_F16, 8, 1, LIST(0x0001), LIST(0x3c00), 0x3f800000),
                      0x3f800000);
    /* two of them make 2^-23: seen */
    ck_assert_uint_eq(
        one_f32(HMMA_F16, 8, 2, LIST(0x0001, 0x0001), LIST(0x3c00, 0x3c00), 0x3f800000),
        0x3f800001);
    /* 1.5 * 2^-24 twice: each is cut to 2^-24 before the sum: 2^-23, not 1.5 * 2^-23 */
    ck_assert_uint_eq(one_f32(HMMA_F16, 8, 4, LIST(0x0003, 0x0003, 0x3c00, 0xbc00),
                              LIST(0x3800, 0x3800, 0x3c00, 0x3c00), 0),
                      0x34000000);
    /* -1.5 * 2^-24 is cut toward zero too */
    ck_assert_uint_eq(
        one_f32(HMMA_F16, 8, 3, LIST(0x8003, 0x3c00, 0xbc00), LIST(0x3800, 0x3c00, 0x3c00), 0),
        0xb3800000);
}
END_TEST

START_TEST(results_are_cut_toward_zero)
{
    /* 1 - 2^-24 and -(1 - 2^-24): 24 bits hold them */
    ck_assert_uint_eq(one_f32(HMMA_F16, 8, 1, LIST(0x8001), LIST(0x3c00), 0x3f800000),
                      0x3f7fffff);
    ck_assert_uint_eq(one_f32(HMMA_F16, 8, 1, LIST(0x0001), LIST(0x3c00), 0xbf800000),
                      0xbf7fffff);
    /* 2 + 3 * 2^-23 (c = 1 + 3 * 2^-23): 2^-23 units above 2 are cut to even multiples: + 2^-22
     */
    ck_assert_uint_eq(one_f32(HMMA_F16, 8, 1, LIST(0x3c00), LIST(0x3c00), 0x3f800003),
                      0x40000001);
}
END_TEST

START_TEST(products_are_not_normalised)
{
    /* 1.5 * 1.5 = 2.25 keeps exponent 0, so 2^-24 beside it is not cut; from a normalised one
     * (exponent 1) it would be. The 2^-24 survive the cancellation. */
    ck_assert_uint_eq(
        one_f32(HMMA_F16, 8, 3, LIST(0x3e00, 0xbe00, 0x0001), LIST(0x3e00, 0x3e00, 0x3c00), 0),
        0x33800000);
    /* beside 2 * 1 (exponent 1) it is cut away */
    ck_assert_uint_eq(
        one_f32(HMMA_F16, 8, 3, LIST(0x4000, 0xc000, 0x0001), LIST(0x3c00, 0x3c00, 0x3c00), 0),
        0);
}
END_TEST

START_TEST(groups_follow_each_other)
{
    /* 1, then 2^-24 in k = 0 and k = 15: two groups, each loses its own; in one group they add
     * up */
    uint32_t a[16] = {0x0001}, b[16] = {0x3c00};
    a[15] = 0x0001;
    b[15] = 0x3c00;
    ck_assert_uint_eq(one_f32(HMMA_F16, 16, 16, a, b, 0x3f800000), 0x3f800000);
    a[7] = a[15];
    b[7] = b[15];
    a[15] = 0;
    ck_assert_uint_eq(one_f32(HMMA_F16, 16, 16, a, b, 0x3f800000), 0x3f800001);
    /* tf32: groups of 4 */
    uint32_t s[8] = {0x33800000, 0, 0, 0, 0x33800000}, t[8] = {0x3f800000, 0, 0, 0, 0x3f800000};
    ck_assert_uint_eq(one_f32(HMMA_TF32, 8, 8, s, t, 0x3f800000), 0x3f800000);
    s[3] = s[4];
    t[3] = t[4];
    s[4] = 0;
    ck_assert_uint_eq(one_f32(HMMA_TF32, 8, 8, s, t, 0x3f800000), 0x3f800001);
    /* the low 13 bits of a tf32 operand are not there */
    ck_assert_uint_eq(one_f32(HMMA_TF32, 4, 1, LIST(0x3f801fff), LIST(0x3f800000), 0),
                      0x3f800000);
}
END_TEST

START_TEST(small_and_large)
{
    /* subnormal f16 squared, subnormal bf16 * 1, a subnormal result, a subnormal c */
    ck_assert_uint_eq(one_f32(HMMA_F16, 8, 1, LIST(0x0001), LIST(0x0001), 0), 0x27800000);
    ck_assert_uint_eq(one_f32(HMMA_BF16, 8, 1, LIST(0x0001), LIST(0x3f80), 0), 0x00010000);
    ck_assert_uint_eq(one_f32(HMMA_BF16, 8, 1, LIST(0x0080), LIST(0x3f00), 0), 0x00400000);
    ck_assert_uint_eq(one_f32(HMMA_BF16, 8, 1, LIST(0), LIST(0), 0x00000003), 0x00000003);
    /* 2^127 * 2 is beyond f32; 2^127 * 2 - 2^127 is not, and the product was never Inf */
    ck_assert_uint_eq(one_f32(HMMA_BF16, 8, 1, LIST(0x7f00), LIST(0x4000), 0), 0x7f800000);
    ck_assert_uint_eq(one_f32(HMMA_BF16, 8, 1, LIST(0x7f00), LIST(0x4000), 0xff000000),
                      0x7f000000);
    ck_assert_uint_eq(one_f32(HMMA_BF16, 8, 1, LIST(0xff00), LIST(0x7f00), 0), 0xff800000);
}
END_TEST

START_TEST(not_finite)
{
    ck_assert_uint_eq(one_f32(HMMA_F16, 8, 1, LIST(0x7e01), LIST(0x3c00), 0), 0x7fffffff);
    ck_assert_uint_eq(one_f32(HMMA_F16, 8, 1, LIST(0x7c00), LIST(0x0000), 0), 0x7fffffff);
    ck_assert_uint_eq(one_f32(HMMA_F16, 8, 1, LIST(0x7c00), LIST(0x3c00), 0xff800000),
                      0x7fffffff);
    ck_assert_uint_eq(one_f32(HMMA_F16, 8, 1, LIST(0xfc00), LIST(0x3c00), 0x3f800000),
                      0xff800000);
    ck_assert_uint_eq(one_f32(HMMA_F16, 8, 1, LIST(0x3c00), LIST(0x3c00), 0xffc00000),
                      0x7fffffff);
    ck_assert_uint_eq(one_f16(8, 1, LIST(0x7c00), LIST(0x8000), 0), 0x7fff);
    ck_assert_uint_eq(one_f16(8, 1, LIST(0x7bff), LIST(0x4000), 0), 0x7c00);
    /* Inf from the first group stays, whatever the second adds */
    uint32_t a[16] = {0x7bff}, b[16] = {0x4000};
    a[8] = 0xfbff;
    b[8] = 0x4000;
    ck_assert_uint_eq(one_f16(16, 16, a, b, 0), 0x7c00);
}
END_TEST

START_TEST(half_sums_round_each_group)
{
    /* 1 + 2^-11: a tie, to even; 1 + 2^-11 + 2^-24: above it */
    ck_assert_uint_eq(one_f16(8, 1, LIST(0x1000), LIST(0x3c00), 0x3c00), 0x3c00);
    ck_assert_uint_eq(one_f16(8, 2, LIST(0x1000, 0x0001), LIST(0x3c00, 0x3c00), 0x3c00),
                      0x3c01);
    /* the same two in two groups: rounded away one after the other */
    uint32_t a[16] = {0x1000}, b[16] = {0x3c00};
    a[8] = 0x0001;
    b[8] = 0x3c00;
    ck_assert_uint_eq(one_f16(16, 16, a, b, 0x3c00), 0x3c00);
    ck_assert_uint_eq(one_f16(8, 1, LIST(0x0001), LIST(0x3800), 0),
                      0x0000); /* half of the least */
    ck_assert_uint_eq(one_f16(8, 1, LIST(0x0003), LIST(0x3800), 0), 0x0002);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim_hmma");
    TCase *t = tcase_create("hmma");
    tcase_add_checked_fixture(t, wide_open, NULL);
    tcase_add_test(t, tiles_agree_with_the_description);
    tcase_add_test(t, terms_are_cut_24_bits_down);
    tcase_add_test(t, results_are_cut_toward_zero);
    tcase_add_test(t, products_are_not_normalised);
    tcase_add_test(t, groups_follow_each_other);
    tcase_add_test(t, small_and_large);
    tcase_add_test(t, not_finite);
    tcase_add_test(t, half_sums_round_each_group);
    suite_add_tcase(s, t);
    return suite_run(s);
}
