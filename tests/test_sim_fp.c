/* SPDX-License-Identifier: Apache-2.0 */
#include "fproute.h"
#include "suite.h"

enum op { OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_SQRT, OP_FMA, OP_COUNT_ };
static const char *const op_name[] = {"add", "sub", "mul", "div", "sqrt", "fma"};

static uint64_t ours(const struct fp_env *v, enum op op, enum fp_format f, const uint64_t *x)
{
    switch (op) {
    case OP_ADD:
        return fp_add(v, f, x[0], x[1]);
    case OP_SUB:
        return fp_sub(v, f, x[0], x[1]);
    case OP_MUL:
        return fp_mul(v, f, x[0], x[1]);
    case OP_DIV:
        return fp_div(v, f, x[0], x[1]);
    case OP_SQRT:
        return fp_sqrt(v, f, x[0]);
    default:
        return fp_fma(v, f, x[0], x[1], x[2]);
    }
}

static uint64_t theirs(const struct format *f, mpfr_rnd_t mode, enum op op, const uint64_t *x)
{
    for (int i = 0; i < 3; i++)
        mpfr_set_d(operand[i], decode(f, x[i]), MPFR_RNDN);
    int t;
    switch (op) {
    case OP_ADD:
        t = mpfr_add(result, operand[0], operand[1], mode);
        break;
    case OP_SUB:
        t = mpfr_sub(result, operand[0], operand[1], mode);
        break;
    case OP_MUL:
        t = mpfr_mul(result, operand[0], operand[1], mode);
        break;
    case OP_DIV:
        t = mpfr_div(result, operand[0], operand[1], mode);
        break;
    case OP_SQRT:
        t = mpfr_sqrt(result, operand[0], mode);
        break;
    default:
        t = mpfr_fma(result, operand[0], operand[1], operand[2], mode);
    }
    return finish(f, result, t, mode);
}

static void check_op(const struct format *f, int mode, enum op op, const uint64_t *x)
{
    const struct fp_env v = {.rules = &plain, .round = modes[mode].ours};
    uint64_t a = ours(&v, op, f->id, x), b = theirs(f, modes[mode].theirs, op, x);
    if (a != b)
        ck_abort_msg("%s.%s.%s(%" PRIx64 ", %" PRIx64 ", %" PRIx64 ") = %" PRIx64
                     ", MPFR says %" PRIx64,
                     op_name[op], modes[mode].name, f->name, x[0], x[1], x[2], a, b);
}

START_TEST(arithmetic_agrees_with_mpfr)
{
    const struct format *f = &formats[_i];
    uint64_t edge[EDGE_MAX], x[3];
    const int n = edges(f, edge);
    mpfr_set_prec(result, f->fraction + 1);
    range_set(f);
    for (int mode = 0; mode < MODES; mode++)
        for (enum op op = 0; op < OP_COUNT_; op++) {
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++) {
                    memcpy(x, (uint64_t[]){edge[i], edge[j], edge[draw() % (uint64_t)n]},
                           sizeof x);
                    check_op(f, mode, op, x);
                }
            for (int i = 0; i < 100000; i++) {
                memcpy(x, (uint64_t[]){draw_bits(f), draw_bits(f), draw_bits(f)}, sizeof x);
                check_op(f, mode, op, x);
            }
        }
}
END_TEST

START_TEST(scaled_fma_rounds_once)
{
    const struct fp_env v = {.rules = &plain};
    mpfr_t wide;
    mpfr_init2(wide, 2000);
    mpfr_set_prec(result, 24);
    for (int i = 0; i < 100000; i++) {
        const struct format *f = &formats[1];
        uint64_t a = draw_bits(f), b = draw_bits(f), c = draw_bits(f);
        int scale = i & 1 ? 64 : -64;
        full_range();
        mpfr_set_d(operand[0], decode(f, a), MPFR_RNDN);
        mpfr_set_d(operand[1], decode(f, b), MPFR_RNDN);
        mpfr_set_d(operand[2], decode(f, c), MPFR_RNDN);
        mpfr_fma(wide, operand[0], operand[1], operand[2], MPFR_RNDN);
        mpfr_mul_2si(wide, wide, scale, MPFR_RNDN);
        range_set(f);
        int t = mpfr_set(result, wide, MPFR_RNDN);
        t = mpfr_check_range(result, t, MPFR_RNDN);
        ck_assert_uint_eq(fp_fma_scaled(&v, FP_F32, a, b, c, scale),
                          finish(f, result, t, MPFR_RNDN));
    }
    mpfr_clear(wide);
}
END_TEST

START_TEST(nans_follow_the_rules)
{
    struct fp_rules keep = plain;
    for (int f = 0; f < FP_FORMAT_COUNT_; f++)
        keep.nan_rule[f] = keep.convert_nan[f] = FP_NAN_OPERAND;
    keep.minmax_signalling = true;
    keep.minmax_nan = FP_NAN_OPERAND;
    const struct fp_env c = {.rules = &plain}, k = {.rules = &keep};
    const uint64_t q1 = 0x7fc12345, q2 = 0xffc54321, s1 = 0x7f812345, one = 0x3f800000,
                   inf = 0x7f800000;
    ck_assert_uint_eq(fp_add(&c, FP_F32, q1, one), 0x7fc00000);
    ck_assert_uint_eq(fp_add(&k, FP_F32, q1, q2), q1);
    ck_assert_uint_eq(fp_sub(&k, FP_F32, one, q2), q2);
    ck_assert_uint_eq(fp_mul(&k, FP_F32, s1, q2), q1);
    ck_assert_uint_eq(fp_mul(&k, FP_F32, 0, inf), 0x7fc00000);
    ck_assert_uint_eq(fp_fma(&k, FP_F32, 0, inf, q2), q2);
    ck_assert_uint_eq(fp_fma(&k, FP_F32, one, s1, q2), q1);
    ck_assert_uint_eq(fp_sqrt(&k, FP_F32, 0xbf800000), 0x7fc00000);
    ck_assert_uint_eq(fp_sqrt(&k, FP_F32, 0x80000000), 0x80000000);
    ck_assert_uint_eq(fp_div(&k, FP_F32, 0, 0x80000000), 0x7fc00000);
    ck_assert_uint_eq(fp_min(&c, FP_F32, q1, one), one);
    ck_assert_uint_eq(fp_max(&c, FP_F32, one, q1), one);
    ck_assert_uint_eq(fp_max(&c, FP_F32, q2, q1), 0x7fc00000);
    ck_assert_uint_eq(fp_max(&k, FP_F32, q2, q1), q1);
    ck_assert_uint_eq(fp_max(&k, FP_F32, one, s1), q1);
    ck_assert_uint_eq(fp_max(&c, FP_F32, one, s1), one);
    ck_assert_uint_eq(fp_max_nan(&c, FP_F32, one, q2), 0x7fc00000);
    ck_assert_uint_eq(fp_min_nan(&k, FP_F32, one, q2), q2);
    ck_assert_uint_eq(fp_convert(&k, FP_F16, FP_F32, 0xff812345), 0xfe09);
    ck_assert_uint_eq(fp_convert(&k, FP_F32, FP_F16, 0xfc01), 0xffc02000);
    ck_assert_uint_eq(fp_convert(&c, FP_F16, FP_F32, 0xff812345), 0x7e00);
    ck_assert_uint_eq(fp_to_int(&c, FP_F32, q1, 64, true), 0);
    keep.nan_to_int = FP_NAN_TO_INT_WIDE_TOP;
    ck_assert_uint_eq(fp_to_int(&k, FP_F32, q1, 32, true), 0);
    ck_assert_uint_eq(fp_to_int(&k, FP_F32, q1, 64, false), UINT64_C(1) << 63);
    ck_assert_uint_eq(fp_to_int(&k, FP_F64, 0x7ff8000000000000, 32, true), 0x80000000);
}
END_TEST

START_TEST(flushing_is_by_format)
{
    const struct fp_env v = {
        .rules = &plain, .flush_in = 1 << FP_F32, .flush_out = 1 << FP_F32};
    const struct fp_env out = {.rules = &plain, .flush_out = 1 << FP_F32};
    const uint64_t tiny = 0x80000001, small = 0x00800000, half = 0x3f000000;
    ck_assert_uint_eq(fp_add(&v, FP_F32, tiny, 0x80000000), 0x80000000);
    ck_assert_uint_eq(fp_add(&v, FP_F32, tiny, small), small);
    ck_assert_uint_eq(fp_mul(&v, FP_F32, small | 0x80000000, half), 0x80000000);
    ck_assert_uint_eq(fp_add(&out, FP_F32, 0x007fffff, 0x007fffff), 0x00fffffe);
    ck_assert_uint_eq(fp_mul(&v, FP_F16, 0x0001, 0x3c00), 0x0001);
    ck_assert_uint_eq(fp_convert(&v, FP_F32, FP_F64, 0x3690000000000000), 0);
    ck_assert_uint_eq(fp_convert(&v, FP_F64, FP_F32, tiny), 0x8000000000000000);
    ck_assert_int_eq(fp_compare(&v, FP_F32, tiny, 0), FP_EQUAL);
    ck_assert_uint_eq(fp_min(&v, FP_F32, tiny, 0x3f800000), 0x80000000);
    /* 0x1.fffffep-1 * 2^-126 rounds up to the smallest normal: kept when the rounded result
     * counts */
    struct fp_rules before = plain;
    before.tiny_before_rounding = true;
    const struct fp_env early = {.rules = &before, .flush_out = 1 << FP_F32};
    ck_assert_uint_eq(fp_mul(&out, FP_F32, 0x3f7fffff, small), small);
    ck_assert_uint_eq(fp_mul(&early, FP_F32, 0x3f7fffff, small), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim_fp");
    TCase *t = tcase_create("fp");
    tcase_add_checked_fixture(t, mpfr_open, NULL);
    tcase_add_loop_test(t, arithmetic_agrees_with_mpfr, 0, ARITHMETIC_FORMATS);
    tcase_add_test(t, scaled_fma_rounds_once);
    tcase_add_test(t, nans_follow_the_rules);
    tcase_add_test(t, flushing_is_by_format);
    suite_add_tcase(s, t);
    return suite_run(s);
}
