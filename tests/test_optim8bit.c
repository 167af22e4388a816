/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <float.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cases/optim8bit/optim8bit.h"
#include "scene.h"
#include "suite.h"

/* Blockwise quantization: the book, the reference of codes and the witness rule. What is
 * expected is worked out here by other means: exhaustive search for the nearest value with
 * integers and MPFR, not by sorted boundaries. */

/* --- books -----------------------------------------------------------------------------------
 */

/* Published entries of the dynamic map: ends, zero, smallest. */
START_TEST(dynamic_books_have_the_published_landmarks)
{
    struct book b;
    book_make(BOOK_DYNAMIC, &b);
    ck_assert_float_eq(b.value[0], -0.99296874f);
    ck_assert_float_eq(b.value[255], 1);
    ck_assert_float_eq(b.value[127], 0);
    ck_assert_float_eq(b.value[128], 5.5e-7f);
    ck_assert_float_eq(b.value[126], -5.5e-7f);
    book_make(BOOK_UDYNAMIC, &b);
    ck_assert_float_eq(b.value[0], 0);
    ck_assert_float_eq(b.value[1], 3.25e-7f);
    ck_assert_float_eq(b.value[255], 1);
    book_make(BOOK_LINEAR, &b);
    ck_assert(b.value[0] == -1 && b.value[127] == 0 && b.value[128] == 0 && b.value[255] == 1);
}
END_TEST

/* fp4 is a sign, two bits of exponent (bias 1) and one of fraction, over 12 and rounded; 1 is
 * special-cased as 1/192. */
START_TEST(fp4_is_a_tiny_float)
{
    struct book b;
    book_make(BOOK_FP4, &b);
    const int twelfths[8] = {0, 0, 8, 12, 4, 6, 2, 3};
    for (int c = 0; c < 16; c++) {
        double want = c % 8 == 1 ? 1 / 192.0 : twelfths[c % 8] / 12.0;
        ck_assert_double_eq_tol(fabs((double)b.value[c]), want, 3e-8);
        ck_assert(!signbit(b.value[c]) == (c < 8));
    }
}
END_TEST

START_TEST(books_ascend_and_edges_lie_between)
{
    for (int kind = 0; kind < BOOK_COUNT_; kind++) {
        struct book b;
        book_make(kind, &b);
        for (int k = 0; k + 1 < b.count; k++) {
            float low = book_value(&b, k), high = book_value(&b, k + 1);
            bool zeros = kind == BOOK_LINEAR && k == 127;
            zeros |= kind == BOOK_FP4 && k == 7;
            ck_assert_msg(zeros ? low == high : low < high, "book %d place %d", kind, k);
            ck_assert(b.edge[k] >= low && b.edge[k] <= high);
        }
    }
}
END_TEST

/* The nearest value by trying all of them, distances in MPFR; on a tie the even index. */
static int nearest(const struct book *b, float y)
{
    int best = 0;
    mpfr_t d, least;
    mpfr_inits2(300, d, least, NULL);
    mpfr_set_inf(least, 1);
    for (int k = 0; k < b->count; k++) {
        mpfr_set_flt(d, y, MPFR_RNDN);
        mpfr_sub_d(d, d, (double)b->value[k], MPFR_RNDN);
        mpfr_abs(d, d, MPFR_RNDN);
        int c = mpfr_cmp(d, least);
        if (c < 0 || (c == 0 && k % 2 == 0)) {
            best = k;
            mpfr_set(least, d, MPFR_RNDN);
        }
    }
    mpfr_clears(d, least, NULL);
    return best;
}

/* Boundaries are rounded to f32, so the nearest value is not asked for within 2 ulp of one. */
START_TEST(codes_are_those_of_the_nearest_value)
{
    const enum book_kind kinds[] = {BOOK_DYNAMIC, BOOK_UDYNAMIC, BOOK_ULINEAR, BOOK_NF4};
    struct book b;
    struct rng_key key = rng_key_make(7, "test");
    book_make(kinds[_i], &b);
    for (int i = 0; i < 3000; i++) {
        double s = 2 * rng_unit(key, (uint64_t)i, 0) - 1;
        float y = (float)(i % 2 ? s : s * exp2(-20 * rng_unit(key, (uint64_t)i, 1)));
        int place = book_place(&b, y);
        double slack = kinds[_i] == BOOK_NF4 ? 40 : 2; /* thresholds are rounded decimals */
        if (book_other(&b, place, (double)y, slack, 0) < 0)
            ck_assert_msg(place == nearest(&b, y), "%a: %d, nearest %d", (double)y, place,
                          nearest(&b, y));
    }
    for (int k = 0; k < b.count; k++)
        ck_assert_int_eq(book_place(&b, b.value[k]), k);
}
END_TEST

START_TEST(ties_and_nan_follow_the_rules)
{
    struct book b;
    book_make(BOOK_DYNAMIC, &b);
    for (int k = 0; k < 255; k++) {
        ck_assert_int_eq(book_place(&b, b.edge[k]), k + k % 2);
        ck_assert_int_eq(book_place(&b, nextafterf(b.edge[k], 2)), k + 1);
        ck_assert_int_eq(book_place(&b, nextafterf(b.edge[k], -2)), k);
    }
    ck_assert_int_eq(book_place(&b, NAN), 0);
    book_make(BOOK_NF4, &b);
    for (int k = 0; k < 15; k++)
        ck_assert_int_eq(book_place(&b, b.edge[k]), k);
    book_make(BOOK_FP4, &b);
    ck_assert_int_eq(book_code(&b, book_place(&b, -0.0f)), 0);
    ck_assert_int_eq(book_code(&b, book_place(&b, -1e-30f)), 8);
    ck_assert_int_eq(book_code(&b, book_place(&b, NAN)), 0);
    for (int k = 0; k < 15; k++) {
        if (k == 7)
            continue;
        double size = fabs((double)book_value(&b, book_place(&b, b.edge[k])));
        double beyond = fabs((double)book_value(&b, k < 7 ? k : k + 1));
        ck_assert_msg(size < beyond, "a tie takes the smaller magnitude: edge %d", k);
    }
}
END_TEST

/* --- the reference of quantize ---------------------------------------------------------------
 */

static bool accepts(const struct oracle *o, int64_t i, double x)
{
    return fabs(x - o->value[i]) <= o->bound[i];
}

/* Everything again by loops over the plain definition. */
START_TEST(quantize_follows_the_definition)
{
    static const char *const ids[] = {
        "optim8bit/quantize:n=1000,block=64",
        "optim8bit/quantize:n=333,block=32,dtype=bf16,dist=ties",
        "optim8bit/quantize:n=1000,block=128,dtype=f16,book=nf4",
        "optim8bit/quantize:n=501,block=64,book=nf4,dist=lognormal",
    };
    struct scene w;
    scene_open(&w, ids[_i]);
    struct oracle absmax = scene_oracle_of(&w, "absmax"), code = scene_oracle_of(&w, "code"),
                  y = scene_oracle_of(&w, "y");
    const struct tensor *x = scene_tensor(&w, "x");
    struct book b;
    book_make(book_of(&w.id), &b);
    int64_t block = w.id.value[P_BLOCK].i;
    for (int64_t i = 0; i < x->count; i++) {
        float most = 0;
        for (int64_t k = i / block * block; k < x->count && k / block == i / block; k++)
            most = fmaxf(most, fabsf((float)tensor_value(x, k)));
        ck_assert(absmax.value[i / block] == (double)most && absmax.bound[i / block] == 0);
        volatile float r = 1 / most, q = (float)tensor_value(x, i) * r;
        int want = book_other(&b, book_place(&b, q), (double)q, 64, 0) < 0 ? nearest(&b, q)
                                                                           : book_place(&b, q);
        int got = (int)code.value[b.bits == 8 ? i : i / 2];
        if (b.bits == 4)
            got = got >> (i % 2 ? 0 : 4) & 15;
        ck_assert_int_eq(got, want);
        volatile float back = b.value[want] * most;
        ck_assert(y.value[i] == dtype_value(x->dtype, dtype_round(x->dtype, (double)back)));
        ck_assert(y.bound[i] == 0);
    }
    oracle_release(&absmax);
    oracle_release(&code);
    oracle_release(&y);
    scene_release(&w);
}
END_TEST

/* An all-zero block: 0 * (1/0) is NaN, code 0. All NaN: absmax -FLT_MAX. An Inf: finite
 * elements get the zero's code, the Inf code 0, back comes NaN. */
START_TEST(special_blocks)
{
    struct scene w;
    scene_open(&w, "optim8bit/quantize:n=96,block=32");
    struct tensor *x = &w.input[scene_place(&w, "x")];
    for (int i = 0; i < 96; i++)
        tensor_set_bits(x, i, i < 32 ? 0 : i < 64 ? 0x7fc00000 : 0x3f800000);
    tensor_set_bits(x, 70, 0x7f800000);
    struct oracle absmax = scene_oracle_of(&w, "absmax"), code = scene_oracle_of(&w, "code"),
                  y = scene_oracle_of(&w, "y");
    ck_assert(absmax.value[0] == 0 && absmax.value[1] == -FLT_MAX && isinf(absmax.value[2]));
    ck_assert(code.value[3] == 0 && code.value[40] == 0 && code.value[70] == 0);
    ck_assert(code.value[65] == 127 && isnan(y.value[65]) && y.value[3] == 0);
    oracle_release(&absmax);
    oracle_release(&code);
    oracle_release(&y);
    scene_release(&w);
}
END_TEST

/* --- the witness rule ------------------------------------------------------------------------
 */

/* A device whose reciprocal is off by up to 2 ulp and that is otherwise exact stays inside the
 * bound in 2^18 elements; codes two steps off, or one step without a boundary near, do not. */
START_TEST(witnesses_cover_a_reciprocal_off_by_two_ulp)
{
    static const char *const ids[] = {
        "optim8bit/quantize:n=87382,block=64,mode=fastdiv",
        "optim8bit/quantize:n=87382,block=256,dtype=bf16,mode=fastdiv",
        "optim8bit/quantize:n=87382,block=64,dtype=f16,book=linear,mode=fastdiv",
        "optim8bit/quantize:n=87382,block=64,dtype=bf16,mode=fastdiv,dist=ties",
    };
    struct scene w;
    scene_open(&w, ids[_i]);
    struct oracle code = scene_oracle_of(&w, "code"), absmax = scene_oracle_of(&w, "absmax");
    const struct tensor *x = scene_tensor(&w, "x");
    struct book b;
    book_make(book_of(&w.id), &b);
    int64_t block = w.id.value[P_BLOCK].i, flips = 0, witnessed = 0;
    for (int64_t i = 0; i < x->count; i++) {
        float r = 1 / (float)absmax.value[i / block];
        int step = (int)(i / block % 5) - 2;
        for (; step; step -= step > 0 ? 1 : -1)
            r = nextafterf(r, step > 0 ? INFINITY : 0);
        int got = book_place(&b, (float)tensor_value(x, i) * r);
        double right = nearbyint(code.value[i]);
        flips += got != (int)right;
        witnessed += code.bound[i] != 0;
        ck_assert_msg(accepts(&code, i, got), "[%d]: %d, reference %g +- %g", (int)i, got,
                      code.value[i], code.bound[i]);
        int right_ones = 0;
        for (int c = -3; c <= 3; c++)
            right_ones += accepts(&code, i, right + c);
        ck_assert_int_eq(right_ones, code.bound[i] != 0 ? 2 : 1);
    }
    ck_assert_msg(_i == 0 || flips > 0, "the simulation had no flips");
    ck_assert_int_ge(witnessed, flips);
    ck_assert_msg(_i == 3 || witnessed < x->count / 100, "%d witnesses", (int)witnessed);
    oracle_release(&code);
    oracle_release(&absmax);
    scene_release(&w);
}
END_TEST

/* Two codes a byte: a device with a reciprocal off by up to 2 ulp has right bytes and right
 * numbers; a code one step off elsewhere has a wrong byte, and a wrong number in any case. */
START_TEST(witnesses_of_packed_codes)
{
    static const char *const ids[] = {
        "optim8bit/quantize:n=20001,block=64,dtype=bf16,book=fp4,mode=fastdiv",
        "optim8bit/quantize:n=20001,block=64,dtype=bf16,book=nf4,mode=fastdiv,dist=ties",
        "optim8bit/quantize:n=20001,block=32,book=fp4,mode=fastdiv,dist=ties",
    };
    struct scene w;
    scene_open(&w, ids[_i]);
    struct oracle code = scene_oracle_of(&w, "code"), absmax = scene_oracle_of(&w, "absmax"),
                  y = scene_oracle_of(&w, "y");
    const struct tensor *x = scene_tensor(&w, "x");
    struct book b;
    book_make(book_of(&w.id), &b);
    int64_t block = w.id.value[P_BLOCK].i, flips = 0;
    int byte = 0;
    for (int64_t i = 0; i < x->count; i++) {
        float most = (float)absmax.value[i / block], r = 1 / most;
        for (int step = (int)(i / block % 3); step; step--)
            r = nextafterf(r, i / block % 2 ? 0 : INFINITY);
        float q = (float)tensor_value(x, i) * r;
        int place = book_place(&b, q), right = book_place(&b, (float)tensor_value(x, i) / most);
        flips += place != right;
        for (int off = -1; off <= 1; off++) {
            if (place + off < 0 || place + off >= b.count)
                continue;
            volatile float back = book_value(&b, place + off) * most;
            double got = dtype_value(x->dtype, dtype_round(x->dtype, (double)back));
            bool zeros = back == 0 && book_value(&b, place) == 0;
            bool takes = fabs(got - y.value[i]) <= y.bound[i];
            ck_assert_msg(off ? !takes || zeros || y.bound[i] > 0 : takes, "[%d] %d%+d", (int)i,
                          place, off);
        }
        byte = (byte << 4 | book_code(&b, place)) & 255;
        if (i % 2)
            ck_assert_msg(accepts(&code, i / 2, byte), "byte %d: %x", (int)i / 2, byte & 255);
        if (i % 2 && code.bound[i / 2] == 0)
            ck_assert(!accepts(&code, i / 2, byte ^ 16));
    }
    if (b.kind == BOOK_FP4) /* quotients of 16-bit numbers miss the boundaries of nf4 */
        ck_assert_int_gt(flips, 0);
    oracle_release(&code);
    oracle_release(&absmax);
    oracle_release(&y);
    scene_release(&w);
}
END_TEST

/* Exact division leaves no freedom. */
START_TEST(no_freedom_with_exact_division)
{
    struct scene w;
    scene_open(&w, "optim8bit/quantize:n=5000,block=64,dtype=bf16,dist=ties");
    struct oracle code = scene_oracle_of(&w, "code");
    for (int64_t i = 0; i < code.count; i++)
        ck_assert(code.bound[i] == 0 && code.drop[i] == 1);
    oracle_release(&code);
    scene_release(&w);
}
END_TEST

/* --- usage -----------------------------------------------------------------------------------
 */

static void ck_refused(const char *text, const char *word)
{
    struct case_id id;
    struct case_plan plan;
    struct errinfo e = {0};
    ck_assert_msg(!caseid_parse(text, &id, &e), "%s", e.text);
    ck_assert_int_eq(id.family->plan(&id, &plan, &e), ERR_USAGE);
    ck_assert_msg(strstr(e.text, word) != NULL, "%s", e.text);
}

START_TEST(senseless_parameters_are_refused)
{
    ck_refused("optim8bit/quantize:block=96", "powers of two");
    ck_refused("optim8bit/quantize:lr=0.1", "no use for lr");
    ck_refused("optim8bit/adam8:block=64", "no use for block");
    ck_refused("optim8bit/ademamix8:n=1000", "multiple of 256");
    ck_refused("optim8bit/fault_tie:book=nf4", "8-bit books only");
    ck_refused("optim8bit/fault_tie:book=fp4", "8-bit books only");
    ck_refused("optim8bit/fault_nibbles", "nf4 books only");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("optim8bit");
    TCase *t = tcase_create("book");
    tcase_add_test(t, dynamic_books_have_the_published_landmarks);
    tcase_add_test(t, fp4_is_a_tiny_float);
    tcase_add_test(t, books_ascend_and_edges_lie_between);
    tcase_add_loop_test(t, codes_are_those_of_the_nearest_value, 0, 4);
    tcase_add_test(t, ties_and_nan_follow_the_rules);
    suite_add_tcase(s, t);
    t = tcase_create("quantize");
    tcase_add_loop_test(t, quantize_follows_the_definition, 0, 4);
    tcase_add_test(t, special_blocks);
    tcase_add_loop_test(t, witnesses_cover_a_reciprocal_off_by_two_ulp, 0, 4);
    tcase_add_loop_test(t, witnesses_of_packed_codes, 0, 3);
    tcase_add_test(t, no_freedom_with_exact_division);
    tcase_add_test(t, senseless_parameters_are_refused);
    suite_add_tcase(s, t);
    return suite_run(s);
}
