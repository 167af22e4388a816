/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <mpfr.h>
#include <stdlib.h>

#include "../cases/fp8/fp8.h"
#include "planted.h"
#include "scene.h"
#include "suite.h"

/* fp8: scales and codes against their definition, what inexact division leaves free, planted
 * faults on both simulated devices. */

static struct fp8 decoded(const struct scene *s)
{
    struct fp8 f;
    fp8_decode(&s->id, &f);
    return f;
}

/* --- the definition, by another way ----------------------------------------------------------
 *
 * Quotients in MPFR, numbers of a format from its definition: OCP 8-bit floating point (e4m3: no
 * Inf, 448 the largest; e5m2 like IEEE, 57344), fnuz: bias one more, no -0, 240 and 57344. */

struct format {
    const char *name;
    int fraction, bias;
    double most;
};

static const struct format formats[] = {
    {"e4m3", 3, 7, 448}, {"e5m2", 2, 15, 57344}, {"e4m3fnuz", 3, 8, 240}, {"e5m2fnuz", 2, 16, 57344}};

static const struct format *format_of(const struct scene *s)
{
    char name[32];
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "to=%s,", formats[i].name);
        if (strstr(s->text, name))
            return &formats[i];
    }
    ck_abort();
}

static double number(const struct format *f, int code)
{
    int e = code >> f->fraction, m = code & ((1 << f->fraction) - 1);
    return e ? ldexp((1 << f->fraction) + m, e - f->bias - f->fraction)
             : ldexp(m, 1 - f->bias - f->fraction);
}

/* The nearest number up to the largest, ties to the even code. */
static double nearest(const struct format *f, double q)
{
    double best = 0, a = fmin(fabs(q), f->most);
    for (int code = 0; code < 128 && number(f, code) <= f->most; code++) {
        double off = fabs(number(f, code) - a), least = fabs(best - a);
        if (off < least || (off == least && code % 2 == 0))
            best = number(f, code);
    }
    return copysign(best, q);
}

/* x / y, rounded to f32. */
static double quotient(double x, double y)
{
    mpfr_exp_t least = mpfr_get_emin();
    mpfr_t q;
    mpfr_init2(q, 24);
    mpfr_set_d(q, x, MPFR_RNDN);
    mpfr_set_emin(-148);
    int ternary = mpfr_div_d(q, q, y, MPFR_RNDN);
    ternary = mpfr_check_range(q, ternary, MPFR_RNDN);
    mpfr_subnormalize(q, ternary, MPFR_RNDN);
    mpfr_set_emin(least);
    double value = mpfr_get_d(q, MPFR_RNDN);
    mpfr_clear(q);
    return value;
}

/* Where the group of element i begins and ends, from the words of the id. */
static void group_of(const struct scene *s, int64_t i, int64_t *ret_from, int64_t *ret_to)
{
    struct fp8 f = decoded(s);
    int64_t row = i / f.d * f.d, from = row, to = row + f.d;
    if (strstr(s->text, "group=tensor")) {
        from = 0;
        to = f.rows * f.d;
    } else if (strstr(s->text, "group=block")) {
        from = row + i % f.d / f.width * f.width;
        to = from + f.width < row + f.d ? from + f.width : row + f.d;
    }
    *ret_from = from;
    *ret_to = to;
}

static double scale_of(const struct scene *s, int64_t i)
{
    int64_t from, to;
    double most = 0;
    group_of(s, i, &from, &to);
    for (int64_t k = from; k < to; k++) {
        double x = fabs(tensor_value(s->at[FP8_X], k));
        most = x > most ? x : most;
    }
    double scale = isinf(most) ? most : quotient(most, format_of(s)->most);
    return scale == 0 ? 1 : scale;
}

static double code_of(const struct scene *s, int64_t i, double scale)
{
    double x = tensor_value(s->at[FP8_X], i);
    if (isnan(x) || isinf(scale))
        return isfinite(x) ? 0 : (double)NAN;
    return nearest(format_of(s), quotient(x, scale));
}

static const char *const exact_ids[] = {
    "fp8/quantize:to=e4m3,rows=5,d=301",
    "fp8/quantize:to=e5m2,rows=5,d=301,group=tensor",
    "fp8/quantize:to=e4m3fnuz,rows=5,d=301,group=block,width=100",
    "fp8/quantize:to=e5m2fnuz,rows=5,d=301,dtype=bf16",
    "fp8/quantize:to=e4m3,rows=9,d=67,dist=special",
    "fp8/quantize:to=e4m3fnuz,rows=9,d=67,dist=special,dtype=f16",
    "fp8/quantize:to=e5m2,rows=9,d=67,dist=subnormal",
    "fp8/quantize:to=e4m3,rows=9,d=67,dist=wide,mode=strict",
    "fp8/quantize:to=e4m3fnuz,rows=9,d=67,dist=ties,dtype=f16",
    "fp8/quantize:to=e5m2fnuz,rows=9,d=1,dist=integer",
};

/* The same without a scale, and every tie with both neighbours: of each six the middle one lies
 * halfway between numbers of the format. */
static const char *const cast_ids[] = {
    "fp8/cast:to=e4m3,rows=4,d=192,dist=ties",
    "fp8/cast:to=e5m2,rows=4,d=192,dist=ties,dtype=f16",
    "fp8/cast:to=e4m3fnuz,rows=4,d=192,dist=ties,dtype=bf16",
    "fp8/cast:to=e5m2fnuz,rows=4,d=192,dist=ties",
    "fp8/cast:to=e4m3,rows=9,d=67,dist=special",
    "fp8/cast:to=e4m3,rows=9,d=67,dist=wide,mode=fastdiv",
};

START_TEST(casts_follow_the_definition)
{
    struct scene s;
    scene_init(&s, cast_ids[_i], "code");
    const struct format *f = format_of(&s);
    int64_t ties = 0;
    for (int64_t i = 0; i < s.o.count; i++) {
        double x = tensor_value(s.at[FP8_X], i), code = isnan(x) ? x : nearest(f, x);
        ck_assert_msg(isnan(code) ? isnan(s.o.value[i]) : s.o.value[i] == code,
                      "%s: %a is %a, not %a", s.text, x, s.o.value[i], code);
        ck_assert(s.o.bound[i] == 0);
        double below = nearest(f, nextafter(x, 0)), above = nearest(f, nextafter(x, 2 * x));
        ties += below != above && fabs(x) < f->most;
    }
    static const int midpoints[] = {126, 123, 127, 127, 0, 0}; /* below the largest number */
    ck_assert_int_ge(ties, 2 * midpoints[_i]);
    scene_release(&s);
}
END_TEST

START_TEST(references_follow_the_definition)
{
    struct scene s, scales;
    scene_init(&s, exact_ids[_i], "code");
    scene_init(&scales, exact_ids[_i], "scale");
    struct fp8 f = decoded(&s);
    for (int64_t i = 0; i < s.o.count; i++) {
        int64_t from, to;
        group_of(&s, i, &from, &to);
        double scale = scale_of(&s, i), code = code_of(&s, i, scale);
        double claimed = scales.o.value[fp8_group_of(&f, i)];
        ck_assert_msg(claimed == scale, "%s: scale %a, not %a", s.text, claimed, scale);
        ck_assert_msg(isnan(code) ? isnan(s.o.value[i]) : s.o.value[i] == code,
                      "%s: %lld is %a, not %a", s.text, (long long)i, s.o.value[i], code);
        ck_assert(s.o.bound[i] == 0 && fp8_group_of(&f, from) == fp8_group_of(&f, to - 1));
        ck_assert(from == 0 || fp8_group_of(&f, from - 1) == fp8_group_of(&f, from) - 1);
    }
    scene_release(&s);
    scene_release(&scales);
}
END_TEST

START_TEST(products_are_exact_within_their_bound)
{
    char text[100];
    struct scene s;
    snprintf(text, sizeof text, "fp8/dequantize:to=%s,rows=4,d=256", formats[_i].name);
    scene_init(&s, text, "y");
    for (int64_t i = 0; i < s.o.count; i++) {
        int code = (int)tensor_bits(s.at[FP8_CODE_IN], i);
        double y = number(&formats[_i], code & 127) * (code > 127 ? -1 : 1) *
                   scene_value(&s, "scale", i / 256);
        if (!isfinite(s.o.value[i])) /* NaN and Inf: the codes that are no numbers */
            ck_assert(_i < 2 ? number(&formats[_i], code & 127) > formats[_i].most
                             : code == 0x80);
        else
            ck_assert(s.o.value[i] == y &&
                      fabs((double)(float)y - y) <= fmin(s.o.bound[i], 0x1p-23 * fabs(y)));
    }
    scene_release(&s);
}
END_TEST

/* --- inexact division ------------------------------------------------------------------------
 */

/* Quotients that err by `ulps` u twice, one way. A device's code is right exactly if an allowed
 * quotient has it. Returns how many codes changed, and of these how many were found wrong. */
struct flips {
    int64_t changed, wrong;
};

static struct flips flip(const struct scene *s, double u)
{
    struct flips n = {0, 0};
    struct fp8 f = decoded(s);
    for (int64_t i = 0; i < s->o.count; i++) {
        double x = tensor_value(s->at[FP8_X], i), scale = scale_of(s, i);
        double q = x / scale * (1 + u * 0x1p-24), code = nearest(format_of(s), q);
        n.changed += code != nearest(format_of(s), quotient(x, scale));
        n.wrong += scene_off(s, f.to, i, code) > 1;
    }
    return n;
}

/* 123 000 codes. Quotients that are far off change codes that the allowed ones cannot reach:
 * wrong, but for the bf16 quotients that lie on a boundary. */
START_TEST(codes_flip_at_boundaries_only)
{
    char text[120];
    struct scene s;
    struct flips all = {0, 0}, far = {0, 0};
    for (int seed = 1; seed <= 30; seed++) {
        snprintf(text, sizeof text,
                 "fp8/quantize:dtype=bf16,to=%s,rows=4,d=256,seed=%d,mode=fastdiv",
                 formats[_i].name, seed);
        scene_init(&s, text, "code");
        for (double u = -10; u <= 10; u += 5) {
            struct flips n = flip(&s, u);
            all.changed += n.changed;
            all.wrong += n.wrong;
        }
        struct flips n = flip(&s, 40000);
        far.changed += n.changed;
        far.wrong += n.wrong;
        scene_release(&s);
    }
    ck_assert_msg(all.changed > 0 && all.wrong == 0, "%lld changed, %lld wrong",
                  (long long)all.changed, (long long)all.wrong);
    ck_assert_msg(far.changed > 100 && far.wrong > far.changed * 3 / 4,
                  "far: %lld changed, %lld wrong", (long long)far.changed,
                  (long long)far.wrong);
}
END_TEST

/* A code beside the right one is wrong unless an allowed quotient reaches the boundary. */
START_TEST(neighbours_are_wrong_away_from_boundaries)
{
    struct scene s;
    scene_init(&s, "fp8/quantize:to=e4m3,rows=20,d=256,mode=fastdiv", "code");
    const struct format *f = format_of(&s);
    int64_t checked_count = 0;
    for (int64_t i = 0; i < s.o.count; i++) {
        double q = tensor_value(s.at[FP8_X], i) / scale_of(&s, i);
        double low = nearest(f, q * (1 - 23 * 0x1p-24)), high = nearest(f, q * (1 + 23 * 0x1p-24));
        if (low != high || low == 0 || fabs(low) >= f->most)
            continue;
        uint64_t bits = dtype_round(DTYPE_E4M3, low);
        for (int step = -1; step <= 1; step += 2)
            ck_assert(scene_off(&s, DTYPE_E4M3, i, dtype_value(DTYPE_E4M3, bits + (uint64_t)step)) >
                      1);
        checked_count++;
    }
    ck_assert_int_gt(checked_count, 4500);
    scene_release(&s);
}
END_TEST

/* x below the boundary 1.0625 by j steps of 2^-23, 2 u / 1.0625 each: up to 11 u away both codes are
 * right, further only the nearer one. */
START_TEST(freedom_ends_eleven_u_from_a_boundary)
{
    struct fp8 f = {.dtype = DTYPE_F32, .to = DTYPE_E4M3};
    struct element scale = element_exact(1);
    for (int j = 1; j < 12; j++) {
        struct element e = fp8_code(&f, 1.0625 - j * 0x1p-23, &scale);
        bool both = fabs(e.value - 1) <= e.bound && fabs(e.value - 1.125) <= e.bound;
        ck_assert_msg(both == (j * 2 / 1.0625 < 11), "%d steps away: %a +- %a", j, e.value,
                      e.bound);
        ck_assert(fabs(e.value - 1) <= e.bound && fabs(e.value - 1.25) > e.bound);
    }
}
END_TEST

START_TEST(flushed_inputs_may_be_zero_and_nothing_else)
{
    struct fp8 f = {.dtype = DTYPE_F32, .to = DTYPE_E5M2, .mode = {.flush = true, .exact_div = true}};
    struct element scale = fp8_scale(&f, 0x1p-106);
    ck_assert(isfinite(scale.bound));
    struct element x = fp8_code(&f, 0x1.8p-127, &scale);
    double code = fp8_number(f.to, 0x1.8p-127 / scale.value);
    ck_assert(code != 0 && fabs(x.value - code) <= x.bound && fabs(x.value) <= x.bound);
    ck_assert(fabs(x.value - 2 * code) > x.bound && fabs(x.value + code) > x.bound);
    ck_assert(isinf(fp8_scale(&f, 0x1p-120).bound));
}
END_TEST

/* --- power, refusals -------------------------------------------------------------------------
 */

START_TEST(cases_have_power)
{
    scene_suites("fp8", 56, 350);
}
END_TEST

START_TEST(impossible_ids_say_what_is_possible)
{
    scene_refused("fp8/cast:group=block", "no groups");
    scene_refused("fp8/quantize:width=64", "group=block");
    scene_refused("fp8/dequantize:dist=wide", "every code");
    scene_refused("fp8/fault_cut:to=e4m3", "to=e5m2 only");
    scene_refused("fp8/quantize:rows=65535,d=1048576", "2^30");
}
END_TEST

/* --- on both simulated devices ---------------------------------------------------------------
 */

static const struct {
    const char *id;
    enum cause cause;
} planted[] = {
    {"fp8/fault_cut:to=e5m2,rows=4,d=301", CAUSE_ROUNDING},
    {"fp8/fault_bias:rows=4,d=301", CAUSE_CODEBOOK},
    {"fp8/fault_zero:to=e4m3fnuz,rows=4,d=301,dist=wide", CAUSE_NANINF},
    {"fp8/fault_way:rows=8,d=301", CAUSE_ROUNDING},
    {"fp8/fault_reciprocal:dtype=bf16,rows=40,d=512", CAUSE_APPROXIMATE},
    {"fp8/fault_last:rows=40,d=7", CAUSE_SCALE},
    {"fp8/fault_saturate:rows=8,d=192,dist=lognormal", CAUSE_NANINF},
    {"fp8/fault_next:dtype=f16,rows=4,d=301,group=block", CAUSE_SCALE},
};

START_TEST(planted_faults_are_found_and_named)
{
    planted_expect(planted[_i].id, planted[_i].cause);
}
END_TEST

START_TEST(right_kernels_agree)
{
    static const char *const ids[] = {
        "fp8/quantize:to=e4m3,rows=40,d=301,dist=ties,dtype=f16",
        "fp8/quantize:to=e5m2,rows=9,d=301,dist=special,dtype=bf16,group=block",
        "fp8/quantize:to=e5m2fnuz,rows=9,d=301,dist=subnormal",
        "fp8/quantize:to=e4m3fnuz,rows=9,d=301,dist=wide,mode=strict",
        "fp8/dequantize:to=e4m3,rows=9,d=301",
        "fp8/cast:to=e5m2,rows=4,d=192,dist=ties,dtype=bf16",
        "fp8/cast:to=e4m3fnuz,rows=9,d=67,dist=special",
    };
    struct seen s = checked(ids[_i]);
    ck_assert_msg(s.verdict == VERDICT_SAME, "%s: %s", ids[_i], s.reason);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("fp8");
    TCase *c = tcase_create("fp8");
    tcase_add_loop_test(c, references_follow_the_definition, 0,
                        sizeof exact_ids / sizeof *exact_ids);
    tcase_add_loop_test(c, casts_follow_the_definition, 0, sizeof cast_ids / sizeof *cast_ids);
    tcase_add_loop_test(c, products_are_exact_within_their_bound, 0, 4);
    tcase_add_loop_test(c, codes_flip_at_boundaries_only, 0, 4);
    tcase_add_test(c, neighbours_are_wrong_away_from_boundaries);
    tcase_add_test(c, freedom_ends_eleven_u_from_a_boundary);
    tcase_add_test(c, flushed_inputs_may_be_zero_and_nothing_else);
    tcase_add_test(c, cases_have_power);
    tcase_add_test(c, impossible_ids_say_what_is_possible);
    tcase_add_loop_test(c, planted_faults_are_found_and_named, 0,
                        sizeof planted / sizeof *planted);
    tcase_add_loop_test(c, right_kernels_agree, 0, 7);
    suite_add_tcase(s, c);
    return suite_run(s);
}
