/* SPDX-License-Identifier: Apache-2.0 */
#include "fproute.h"
#include "suite.h"

START_TEST(comparison_orders_values)
{
    const struct format *f = &formats[_i];
    const struct fp_env v = {.rules = &plain};
    for (int i = 0; i < 50000; i++) {
        uint64_t a = draw_bits(f), b = i & 3 ? draw_bits(f) : a;
        if (i % 7 == 0)
            b ^= UINT64_C(1) << (f->bits - 1 + f->padding);
        double x = decode(f, a), y = decode(f, b);
        int want = x < y ? FP_LESS : x > y ? FP_GREATER : x == y ? FP_EQUAL : FP_UNORDERED;
        ck_assert_int_eq(fp_compare(&v, f->id, a, b), want);
        if (want == FP_UNORDERED)
            continue;
        bool a_first = x < y || (x == y && signbit(x) >= signbit(y));
        ck_assert_uint_eq(fp_min(&v, f->id, a, b), a_first ? a : b);
        ck_assert_uint_eq(fp_max(&v, f->id, a, b), a_first ? b : a);
    }
}
END_TEST

START_TEST(scaling_takes_numbers_apart)
{
    const struct format *f = &formats[_i];
    const struct fp_env v = {.rules = &plain};
    for (int i = 0; i < 30000; i++) {
        uint64_t a = draw_bits(f);
        int n = (int)(draw() % 200) - 100, e;
        double x = decode(f, a), m = frexp(x, &e);
        if (isfinite(x)) {
            ck_assert_uint_eq(fp_frexp_mantissa(&v, f->id, a), encode(f, m));
            ck_assert_int_eq(fp_frexp_exponent(&v, f->id, a), x == 0 ? 0 : e);
        }
        range_set(f);
        mpfr_set_prec(result, f->fraction + 1);
        mpfr_set_d(operand[0], x, MPFR_RNDN);
        int t = mpfr_mul_2si(result, operand[0], n, MPFR_RNDN);
        ck_assert_uint_eq(fp_ldexp(&v, f->id, a, n), finish(f, result, t, MPFR_RNDN));
        ck_assert_uint_eq(fp_ldexp(&v, f->id, a, INT32_MIN) << (64 - f->bits - f->padding) << 1,
                          isfinite(x) ? 0 : encode(f, x) << (64 - f->bits - f->padding) << 1);
    }
}
END_TEST

START_TEST(pieces)
{
    const struct fp_env v = {.rules = &plain};
    ck_assert_uint_eq(fp_clamp(FP_F32, 0x40000000), 0x3f800000);
    ck_assert_uint_eq(fp_clamp(FP_F32, 0xbf800000), 0);
    ck_assert_uint_eq(fp_clamp(FP_F32, 0x80000000), 0);
    ck_assert_uint_eq(fp_clamp(FP_F32, 0x7fc00000), 0);
    ck_assert_uint_eq(fp_clamp(FP_F32, 0x3e99999a), 0x3e99999a);
    ck_assert_uint_eq(fp_clamp(FP_F16, 0x7c00), 0x3c00);
    ck_assert_uint_eq(fp_clamp(FP_F64, 0x4000000000000000), 0x3ff0000000000000);
    ck_assert_uint_eq(fp_fract(&v, FP_F32, 0x40200000), 0x3f000000); /* 2.5 */
    ck_assert_uint_eq(fp_fract(&v, FP_F32, 0xbfa00000), 0x3f400000); /* -1.25 */
    ck_assert_uint_eq(fp_fract(&v, FP_F32, 0xb0000000), 0x3f7fffff); /* -2^-31 */
    ck_assert_uint_eq(fp_fract(&v, FP_F32, 0x7f800000), 0x7fc00000);
    static const struct {
        uint64_t bits;
        enum fp_class class;
    } classes[] = {{0x7f800001, FP_CLASS_SNAN},
                   {0xffc00000, FP_CLASS_QNAN},
                   {0xff800000, FP_CLASS_MINUS_INF},
                   {0xff7fffff, FP_CLASS_MINUS_NORMAL},
                   {0x80000001, FP_CLASS_MINUS_SUBNORMAL},
                   {0x80000000, FP_CLASS_MINUS_ZERO},
                   {0x00000000, FP_CLASS_PLUS_ZERO},
                   {0x007fffff, FP_CLASS_PLUS_SUBNORMAL},
                   {0x00800000, FP_CLASS_PLUS_NORMAL},
                   {0x7f800000, FP_CLASS_PLUS_INF}};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        ck_assert_uint_eq(fp_classify(FP_F32, classes[i].bits), classes[i].class);
        ck_assert_uint_eq(classes[i].class, 1u << i);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim_fpcompare");
    TCase *t = tcase_create("fp");
    tcase_add_checked_fixture(t, mpfr_open, NULL);
    tcase_add_loop_test(t, comparison_orders_values, 0, ARITHMETIC_FORMATS + 1);
    tcase_add_loop_test(t, scaling_takes_numbers_apart, 0, ARITHMETIC_FORMATS);
    tcase_add_test(t, pieces);
    suite_add_tcase(s, t);
    return suite_run(s);
}
