/* SPDX-License-Identifier: Apache-2.0 */
#include "fproute.h"
#include "suite.h"

static uint64_t convert_expected(const struct format *to, const struct format *from, uint64_t a,
                                 mpfr_rnd_t mode)
{
    double x = decode(from, a);
    range_set(to);
    mpfr_set_prec(result, to->fraction + 1);
    int t = mpfr_set_d(result, x, mode);
    if (to->id != FP_E4M3)
        return finish(to, result, t, mode);
    mpfr_subnormalize(result, t, mode);
    double y = mpfr_get_d(result, MPFR_RNDN);
    if (isinf(x) || isnan(x) || fabs(y) <= 448)
        return isinf(x) ? (x < 0 ? 0xff : 0x7f) : encode(to, y);
    bool outward = mode == MPFR_RNDN || mode == (x < 0 ? MPFR_RNDD : MPFR_RNDU);
    return (x < 0 ? 0x80 : 0) | (outward ? 0x7f : 0x7e);
}

static void check_convert(const struct format *to, const struct format *from, uint64_t a,
                          int mode)
{
    const struct fp_env v = {.rules = &plain, .round = modes[mode].ours};
    uint64_t got = fp_convert(&v, to->id, from->id, a);
    uint64_t want = convert_expected(to, from, a, modes[mode].theirs);
    if (got != want)
        ck_abort_msg("%s.%s.%s(%" PRIx64 ") = %" PRIx64 ", MPFR says %" PRIx64,
                     modes[mode].name, to->name, from->name, a, got, want);
}

START_TEST(conversions_agree_with_mpfr)
{
    const struct format *from = &formats[_i];
    uint64_t edge[EDGE_MAX];
    const int n = edges(from, edge);
    for (int mode = 0; mode < MODES; mode++)
        for (int to = 0; to < FORMATS; to++) {
            for (int i = 0; i < n; i++)
                check_convert(&formats[to], from, edge[i], mode);
            if (from->bits <= 16)
                for (uint64_t a = 0; a < UINT64_C(1) << from->bits; a++)
                    check_convert(&formats[to], from, a, mode);
            else
                for (int i = 0; i < 50000; i++)
                    check_convert(&formats[to], from, draw_bits(from), mode);
        }
}
END_TEST

/* Values in the middle between two of the narrow format's: random operands rarely hit them. */
START_TEST(ties_and_neighbours_narrow_well)
{
    for (int to = 2; to < FORMATS; to++)
        for (int i = 0; i < 40000; i++) {
            const struct format *f = &formats[to];
            uint64_t a = draw_bits(f);
            double x = decode(f, a), y = decode(f, a + (UINT64_C(1) << f->padding));
            uint64_t middle;
            double m = (x + y) / 2;
            memcpy(&middle, &m, sizeof m);
            for (int mode = 0; mode < MODES; mode++)
                for (uint64_t d = 0; d < 3; d++)
                    check_convert(f, &formats[0], middle + d - 1, mode);
        }
}
END_TEST

START_TEST(tf32_rounds_away_at_ties)
{
    const struct fp_env v = {.rules = &plain, .round = FP_RNA};
    for (int i = 0; i < 200000; i++) {
        uint32_t a = (uint32_t)draw_bits(&formats[1]);
        if (i & 1)
            a = (a & ~0x1fffu) | 0x1000;
        if (fp_is_nan(FP_F32, a))
            continue;
        uint32_t want = (a & 0x7f800000) == 0x7f800000 ? a : (a + 0x1000) & ~0x1fffu;
        ck_assert_uint_eq(fp_convert(&v, FP_TF32, FP_F32, a), want);
    }
}
END_TEST

START_TEST(saturating_conversion_never_overflows)
{
    const struct fp_env v = {.rules = &plain, .saturate = true};
    ck_assert_uint_eq(fp_convert(&v, FP_E4M3, FP_F32, 0x7f800000), 0x7e);
    ck_assert_uint_eq(fp_convert(&v, FP_E4M3, FP_F32, 0xff800000), 0xfe);
    ck_assert_uint_eq(fp_convert(&v, FP_E4M3, FP_F32, 0x43f00000), 0x7e);  /* 480 */
    ck_assert_uint_eq(fp_convert(&v, FP_E5M2, FP_F32, 0x7149f2ca), 0x7b);  /* 1e30 */
    ck_assert_uint_eq(fp_convert(&v, FP_F16, FP_F32, 0xc7800000), 0xfbff); /* -65536 */
    ck_assert_uint_eq(fp_convert(&v, FP_E4M3, FP_F32, 0x7fc00000), 0x7f);
}
END_TEST

static uint64_t to_int_expected(double x, mpfr_rnd_t mode, int bits, bool is_signed)
{
    mpfr_t r, low, high;
    mpfr_inits2(64, r, low, high, (mpfr_ptr)0);
    mpfr_set_d(r, x, MPFR_RNDN);
    mpfr_set_si_2exp(low, is_signed ? -1 : 0, bits - 1, MPFR_RNDN);
    mpfr_set_ui_2exp(high, 1, bits - is_signed, MPFR_RNDN);
    mpfr_sub_ui(high, high, 1, MPFR_RNDN);
    mpfr_rint(r, r, mode);
    if (mpfr_less_p(r, low))
        mpfr_set(r, low, MPFR_RNDN);
    if (mpfr_greater_p(r, high))
        mpfr_set(r, high, MPFR_RNDN);
    uint64_t i = is_signed ? (uint64_t)mpfr_get_sj(r, MPFR_RNDN) : mpfr_get_uj(r, MPFR_RNDN);
    mpfr_clears(r, low, high, (mpfr_ptr)0);
    return bits == 64 ? i : i & ((UINT64_C(1) << bits) - 1);
}

static void check_to_int(const struct format *f, uint64_t a)
{
    const double x = decode(f, a);
    for (int mode = 0; mode < MODES; mode++)
        for (int bits = 8; bits <= 64; bits *= 2)
            for (int is_signed = 0; is_signed < 2; is_signed++) {
                const struct fp_env v = {.rules = &plain, .round = modes[mode].ours};
                uint64_t got = fp_to_int(&v, f->id, a, bits, is_signed);
                uint64_t want =
                    isnan(x) ? 0 : to_int_expected(x, modes[mode].theirs, bits, is_signed);
                if (got != want)
                    ck_abort_msg("%s.%c%d.%s(%" PRIx64 ") = %" PRIx64 " not %" PRIx64,
                                 modes[mode].name, is_signed ? 's' : 'u', bits, f->name, a, got,
                                 want);
            }
}

START_TEST(floats_become_integers)
{
    const struct format *f = &formats[_i];
    uint64_t edge[EDGE_MAX];
    const int n = edges(f, edge);
    full_range();
    for (int i = 0; i < n; i++)
        check_to_int(f, edge[i]);
    for (int i = 0; i < 4000; i++) {
        /* exponents up to just beyond 2^64, where rounding and saturation happen */
        uint64_t field = (uint64_t)bias(f) - 3 + draw() % 70;
        uint64_t keep = ~(((UINT64_C(1) << f->exponent) - 1) << f->fraction);
        if (field < (1u << f->exponent))
            check_to_int(f, (draw_bits(f) & keep) | field << f->fraction);
    }
    /* halves and the limits of each width */
    for (int i = -300; i <= 300; i++)
        check_to_int(f, encode(f, i / 2.0));
}
END_TEST

START_TEST(integers_become_floats)
{
    const struct format *f = &formats[_i];
    range_set(f);
    mpfr_set_prec(result, f->fraction + 1);
    for (int i = 0; i < 40000; i++) {
        uint64_t x = draw() >> (draw() & 63);
        if (i & 1)
            x = UINT64_C(1) << (i / 2 & 63) | (i & 128 ? UINT64_C(1) << (i / 256 & 63) : 0);
        for (int mode = 0; mode < MODES; mode++)
            for (int is_signed = 0; is_signed < 2; is_signed++) {
                const struct fp_env v = {.rules = &plain, .round = modes[mode].ours};
                int t = is_signed ? mpfr_set_sj(result, (intmax_t)x, modes[mode].theirs)
                                  : mpfr_set_uj(result, x, modes[mode].theirs);
                ck_assert_uint_eq(fp_from_int(&v, f->id, x, is_signed),
                                  finish(f, result, t, modes[mode].theirs));
            }
    }
}
END_TEST

START_TEST(rounding_to_integral_keeps_the_sign)
{
    static double (*const by_host[])(double) = {rint, trunc, ceil, floor};
    const struct format *f = &formats[_i];
    uint64_t edge[EDGE_MAX];
    const int n = edges(f, edge);
    for (int i = 0; i < n + 20000; i++) {
        uint64_t a = i < n ? edge[i] : draw_bits(f);
        for (int mode = 0; mode < MODES; mode++) {
            const struct fp_env v = {.rules = &plain, .round = modes[mode].ours};
            ck_assert_uint_eq(fp_round_int(&v, f->id, a),
                              encode(f, by_host[mode](decode(f, a))));
        }
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim_fpconvert");
    TCase *t = tcase_create("fp");
    tcase_add_checked_fixture(t, mpfr_open, NULL);
    tcase_add_loop_test(t, conversions_agree_with_mpfr, 0, FORMATS);
    tcase_add_test(t, ties_and_neighbours_narrow_well);
    tcase_add_test(t, tf32_rounds_away_at_ties);
    tcase_add_test(t, saturating_conversion_never_overflows);
    tcase_add_loop_test(t, floats_become_integers, 0, ARITHMETIC_FORMATS);
    tcase_add_loop_test(t, integers_become_floats, 0, ARITHMETIC_FORMATS);
    tcase_add_loop_test(t, rounding_to_integral_keeps_the_sign, 0, ARITHMETIC_FORMATS);
    suite_add_tcase(s, t);
    return suite_run(s);
}
