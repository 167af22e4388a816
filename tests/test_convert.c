/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cases/convert/convert.h"
#include "planted.h"
#include "scene.h"
#include "suite.h"
#include "wide.h"

/* Conversions: the reference against MPFR, the tables against their definition, planted faults
 * on both simulated devices. */

static const char *const ids[] = {
    "convert/cast:from=f32,to=f16,table=ties,n=190464",
    "convert/cast:from=f32,to=bf16,table=ties,n=195840",
    "convert/cast:from=f64,to=f32,table=ties,n=60000",
    "convert/cast:from=f32,to=i32,table=ties,n=60000",
    "convert/cast:from=f32,to=i8,table=ties,n=774",
    "convert/cast:from=f32,to=f16,table=sweep,n=65536",
    "convert/cast:from=f32,to=bf16,table=sweep,n=65536",
    "convert/cast:from=f32,to=i32,table=sweep,n=65536",
    "convert/cast:from=f32,to=i8,table=sweep,n=65536",
    "convert/cast:from=f64,to=f32,table=sweep,n=65536",
    "convert/cast:from=f16,to=f32,table=sweep,n=65536",
    "convert/cast:from=bf16,to=f32,table=sweep,n=65536",
    "convert/cast:from=f64,to=f32,n=4000,dist=special",
    "convert/cast:from=f32,to=i32,n=4000,dist=special",
    "convert/cast:from=f64,to=f16,table=ties,n=60000",
    "convert/cast:from=f64,to=bf16,table=ties,n=60000",
    "convert/cast:from=f32,to=u8,table=ties,n=1536",
    "convert/cast:from=f32,to=u32,table=ties,n=60000",
    "convert/cast:from=f32,to=u32,table=sweep,n=65536",
    "convert/cast:from=f32,to=f64,table=sweep,n=65536",
    "convert/cast:from=f16,to=bf16,table=sweep,n=65536",
    "convert/cast:from=bf16,to=f16,table=sweep,n=65536",
    "convert/cast:from=f16,to=i32,table=sweep,n=65536",
    "convert/cast:from=bf16,to=i32,table=sweep,n=65536",
    "convert/cast:from=f16,to=i8,table=sweep,n=65536",
    "convert/cast:from=bf16,to=i8,table=sweep,n=65536",
    "convert/cast:from=f16,to=f64,table=sweep,n=65536",
    "convert/cast:from=bf16,to=f64,table=sweep,n=65536",
    "convert/cast:from=i32,to=f32,table=sweep,n=65536",
    "convert/cast:from=u32,to=f32,table=sweep,n=65536",
    "convert/cast:from=i8,to=f32,table=sweep,n=256",
    "convert/cast:from=u8,to=f32,table=sweep,n=256",
};
enum { IDS = sizeof ids / sizeof ids[0] };

/* 64-bit integers, and NaN of f64: vendors differ, so those are not judged. */
static const char *const open_ids[] = {
    "convert/cast:from=f32,to=i64,table=ties,n=60000",
    "convert/cast:from=f32,to=i64,table=sweep,n=65536",
    "convert/cast:from=f64,to=i32,table=ties,n=60000",
    "convert/cast:from=f64,to=i32,table=sweep,n=65536",
};

/* What a conversion gives, from its definition. */
static double converted_integer(enum dtype to, double x, mpfr_t t)
{
    static const struct {
        enum dtype to;
        double low, high;
        mpfr_rnd_t round;
    } rules[] = {{DTYPE_I8, -128, 127, MPFR_RNDN},
                 {DTYPE_U8, 0, 255, MPFR_RNDN},
                 {DTYPE_I32, -2147483648.0, 2147483647, MPFR_RNDZ},
                 {DTYPE_U32, 0, 4294967295, MPFR_RNDZ},
                 {DTYPE_I64, -0x1p63, 0x1p63, MPFR_RNDZ}};
    int k = 0;
    while (rules[k].to != to)
        k++;
    if (isnan(x))
        return 0;
    mpfr_set_d(t, x, MPFR_RNDN);
    mpfr_rint(t, t, rules[k].round);
    double y = mpfr_get_d(t, MPFR_RNDN);
    return y > rules[k].high ? rules[k].high : y < rules[k].low ? rules[k].low : y;
}

static double converted(enum dtype from, enum dtype to, double x, mpfr_t t)
{
    if (dtype_info(to)->kind != DTYPE_KIND_FLOAT)
        return converted_integer(to, x, t);
    if (from == DTYPE_F64 && to != DTYPE_F32 && isfinite(x))
        x = converted(DTYPE_F64, DTYPE_F32, x, t); /* rounded twice */
    if (!isfinite(x))
        return x;
    mpfr_set_d(t, x, MPFR_RNDN);
    wide_round(to, t);
    double y = mpfr_get_d(t, MPFR_RNDN);
    return fabs(y) > wide_max(to) ? copysign(INFINITY, y) : y;
}

START_TEST(references_are_what_mpfr_says)
{
    struct scene w;
    mpfr_t t;
    mpfr_init2(t, WIDE_BITS);
    scene_init(&w, ids[_i], "y");
    for (int64_t i = 0; i < w.o.count; i++) {
        double x = tensor_value(&w.input[0], i), want = converted(w.input[0].dtype, w.plan.tensor[1].dtype, x, t);
        bool same = isnan(want) ? isnan(w.o.value[i]) : want == w.o.value[i];
        bool bare = w.o.bound[i] == 0 && w.o.tail[i] == 0 && w.o.error[i] == 0;
        if (!same || !bare) /* millions: Check's own macros write to a pipe each time */
            ck_abort_msg("%s: %a gives %a, not %a", ids[_i], x, w.o.value[i], want);
    }
    mpfr_clear(t);
    scene_release(&w);
}
END_TEST

/* Full tables: of each six, the outer numbers convert to neighbours and the middle one lies
 * halfway between these, or is the integer itself; the other three are the negated ones. */
START_TEST(tie_tables_hold_every_tie)
{
    struct scene w;
    scene_init(&w, ids[_i], "y");
    enum dtype to = w.plan.tensor[1].dtype, from = w.input[0].dtype;
    bool all = w.input[0].count == 6 * (int64_t)convert_points(to);
    for (int64_t i = 0; i < w.input[0].count; i += 6) {
        uint64_t middle = tensor_bits(&w.input[0], i + 1), sign = tensor_bits(&w.input[0], i + 4) ^ middle;
        ck_assert_uint_eq(sign, from == DTYPE_F64 ? UINT64_C(1) << 63 : UINT64_C(1) << 31);
        for (int s = 0; s < 6; s++)
            if (tensor_bits(&w.input[0], i + s) != ((middle + (uint64_t)(s % 3) - 1) | (s < 3 ? 0 : sign)))
                ck_abort_msg("%s: element %lld", ids[_i], (long long)i + s);
        double low = w.o.value[i], high = w.o.value[i + 2], x = tensor_value(&w.input[0], i + 1);
        if (to == DTYPE_I32) {
            ck_assert(x == trunc(x) && (low < x || x == 0x1p31));
        } else if (isfinite(high) && low != high) {
            ck_assert_double_eq(x - low, high - x);
            if (all)
                ck_assert_uint_eq(dtype_round(to, low), (uint64_t)(i / 6));
        } else {
            ck_assert(isinf(high) || (to == DTYPE_I8 && x >= 127.5));
        }
    }
    scene_release(&w);
}
END_TEST

static int each(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

START_TEST(sweeps_take_every_16_bit_input)
{
    static uint64_t seen[65536];
    struct scene w;
    scene_init(&w, ids[10 + _i], "y");
    for (int64_t i = 0; i < 65536; i++)
        seen[i] = tensor_bits(&w.input[0], i);
    qsort(seen, 65536, sizeof *seen, each);
    for (uint64_t i = 0; i < 65536; i++)
        if (seen[i] != i)
            ck_abort_msg("%llx is not there once", (unsigned long long)i);
    scene_release(&w);
}
END_TEST

START_TEST(flushing_modes_allow_zero_and_nothing_else)
{
    struct scene w;
    scene_init(&w, "convert/cast:from=f64,to=f32,table=ties,n=6000,mode=flush", "y");
    for (int64_t i = 0; i < w.o.count; i++) {
        bool small = fabs(tensor_value(&w.input[0], i)) < 0x1p-126;
        ck_assert(w.o.bound[i] == (small ? fabs(w.o.value[i]) : 0));
    }
    scene_release(&w);
}
END_TEST

START_TEST(results_without_a_rule_are_not_judged)
{
    struct scene w;
    mpfr_t t;
    int64_t open = 0;
    mpfr_init2(t, WIDE_BITS);
    scene_init(&w, open_ids[_i], "y");
    enum dtype to = w.plan.tensor[1].dtype;
    for (int64_t i = 0; i < w.o.count; i++) {
        double x = tensor_value(&w.input[0], i);
        bool free = isnan(x) || (to == DTYPE_I64 && fabs(x) >= 0x1p63);
        open += free;
        if (isinf(w.o.bound[i]) != free || (!free && w.o.value[i] != converted(w.input[0].dtype, to, x, t)))
            ck_abort_msg("%s: %a gives %a within %a", open_ids[_i], x, w.o.value[i], w.o.bound[i]);
    }
    ck_assert(_i % 2 ? open > 0 && open < w.o.count / 2 : open == 0);
    mpfr_clear(t);
    scene_release(&w);
}
END_TEST

/* The two vendors give different bits there, and the report says which and why. */
START_TEST(results_without_a_rule_are_named)
{
    const char *id = open_ids[2 * _i + 1];
    struct seen s = checked(id);
    planted_right(id, &s);
    ck_assert_msg(s.cause == CAUSE_NANINF, "%s: %s", id, s.reason);
}
END_TEST

START_TEST(impossible_ids_say_what_is_possible)
{
    static const char *const wrong[][2] = {
        {"convert/cast:from=i8,to=bf16", "f16-f32"},
        {"convert/cast:from=f16,to=f32,table=ties", "table=sweep"},
        {"convert/cast:table=ties,dist=wide", "dist=wide"},
        {"convert/fault_wrap:to=f16", "to=i8 only"},
    };
    struct errinfo e = {0};
    struct case_id id;
    struct case_plan plan;
    ck_assert(!caseid_parse(wrong[_i][0], &id, &e));
    ck_assert_int_eq(id.family->plan(&id, &plan, &e), ERR_USAGE);
    ck_assert_msg(strstr(e.text, wrong[_i][1]) != NULL, "%s", e.text);
}
END_TEST

/* --- on both simulated devices ---------------------------------------------------------------
 */

static const struct {
    const char *id;
    enum cause cause;
} planted[] = {
    {"convert/fault_truncate:n=1000", CAUSE_ROUNDING},
    {"convert/fault_truncate:n=6000,table=ties", CAUSE_ROUNDING},
    {"convert/fault_away:to=bf16,n=6000,table=ties", CAUSE_ROUNDING},
    {"convert/fault_flush:n=6000,table=ties", CAUSE_FLUSH},
    {"convert/fault_wrap:to=i8,n=6000,table=sweep", CAUSE_ROUNDING},
    {"convert/fault_cut:to=i8,n=5000,dist=wide", CAUSE_ROUNDING},
    {"convert/fault_cut:to=i8,n=6000,table=ties", CAUSE_ROUNDING},
    {"convert/fault_nearest:to=i32,n=1000,dist=lognormal", CAUSE_ROUNDING},
};

START_TEST(planted_faults_are_found_and_named)
{
    planted_expect(planted[_i].id, planted[_i].cause);
}
END_TEST

START_TEST(right_kernels_agree_to_the_bit)
{
    struct seen s = checked(ids[_i + 4]);
    ck_assert_msg(s.verdict == VERDICT_SAME, "%s is %s: %s", ids[_i + 4],
                  verdict_name(s.verdict), s.reason);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("convert");
    TCase *c = tcase_create("convert");
    tcase_add_loop_test(c, references_are_what_mpfr_says, 0, IDS);
    tcase_add_loop_test(c, tie_tables_hold_every_tie, 0, 5);
    tcase_add_loop_test(c, sweeps_take_every_16_bit_input, 0, 2);
    tcase_add_test(c, flushing_modes_allow_zero_and_nothing_else);
    tcase_add_loop_test(c, results_without_a_rule_are_not_judged, 0, 4);
    tcase_add_loop_test(c, results_without_a_rule_are_named, 0, 2);
    tcase_add_loop_test(c, impossible_ids_say_what_is_possible, 0, 4);
    tcase_add_loop_test(c, planted_faults_are_found_and_named, 0,
                        sizeof planted / sizeof planted[0]);
    tcase_add_loop_test(c, right_kernels_agree_to_the_bit, 0, IDS - 4);
    suite_add_tcase(s, c);
    return suite_run(s);
}
