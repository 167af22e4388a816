/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cases/norm/norm.h"
#include "scene.h"
#include "suite.h"

struct rows {
    struct scene c;
    struct norm n;
};

static void rows_open(struct rows *s, const char *text)
{
    scene_open(&s->c, text);
    norm_decode(&s->c.id, &s->n);
}

/* NULL where the case has none of that name. */
static const struct tensor *named(const struct rows *s, const char *name)
{
    for (int i = 0; i < s->c.plan.n_tensor; i++)
        if (!strcmp(s->c.plan.tensor[i].name, name))
            return s->c.at[i];
    return NULL;
}

/* h, apart from the family's formula. */
static double normed(const struct rows *s, int64_t at)
{
    const struct tensor *r = named(s, "r");
    float x = (float)tensor_value(named(s, "x"), at);
    if (r)
        x += (float)tensor_value(r, at);
    return dtype_value(s->n.dtype, dtype_round(s->n.dtype, (double)x));
}

/* --- the plan --------------------------------------------------------------------------------
 */

START_TEST(plan_has_what_the_case_needs)
{
    struct rows s;
    rows_open(&s, "norm/layer:dtype=bf16,rows=3,d=70,add=1,eps=0.5");
    static const char *const names[] = {"x", "w", "y", "b", "r", "h"};
    ck_assert_int_eq(s.c.plan.n_tensor, 6);
    for (int i = 0; i < 6; i++)
        ck_assert_str_eq(s.c.plan.tensor[i].name, names[i]);
    const struct case_launch *l = &s.c.plan.launch[0];
    static const int places[] = {0, 1, 3, 2, 4, 5};
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(l->arg[i].tensor, places[i]);
    ck_assert_str_eq(l->entry, "layer_bf16");
    ck_assert(l->n_arg == 9 && l->arg[6].i == 70 && l->arg[7].f == 0.5f && l->arg[8].i == 1);
    ck_assert(l->grid[0] == 3 && l->block[0] == 256);
    scene_release(&s.c);
    rows_open(&s, "norm/rms:rows=3,d=70");
    ck_assert_int_eq(s.c.plan.n_tensor, 3);
    ck_assert_int_eq(s.c.plan.launch[0].arg[8].i, 0);
    scene_release(&s.c);
}
END_TEST

START_TEST(entries_exist_in_the_kernel_file)
{
    const char *ids[] = {"norm"};
    struct caselist l;
    const char *source = kernel_text_find("norm/norm.cu");
    ck_assert(source && !caselist_select(&l, 1, ids, "quick,full,stress", NULL));
    for (int64_t i = 0; i < l.count; i++) {
        char stem[80];
        snprintf(stem, sizeof stem, "ENTRIES(%s,", l.id[i].variant->name);
        ck_assert_msg(strstr(source, stem) != NULL, "no %s", stem);
    }
    ck_assert_int_gt(l.count, 100);
    caselist_release(&l);
}
END_TEST

START_TEST(too_large_is_explained)
{
    scene_refused("norm/rms:rows=65535,d=1048576", "2^30");
}
END_TEST

/* --- the reference against MPFR --------------------------------------------------------------
 */

static const char *const exact_ids[] = {
    "norm/rms:rows=3,d=33",
    "norm/layer:rows=3,d=33",
    "norm/layer:dtype=f16,rows=3,d=300,add=1",
    "norm/rms:dtype=bf16,rows=3,d=300,add=1,eps=1e-12",
    "norm/layer:rows=3,d=50,dist=wide",
    "norm/rms:rows=3,d=50,dist=wide,add=1",
    "norm/layer:rows=3,d=50,dist=cancel,eps=1e-12",
    "norm/layer:rows=8,d=40,dist=subnormal,eps=1e-12",
    "norm/rms:dtype=bf16,rows=8,d=40,dist=subnormal",
    "norm/layer:rows=2,d=1",
    "norm/layer:rows=5,d=40,dist=onehot",
    "norm/layer:dtype=f16,rows=4,d=64,dist=lognormal,add=1",
};

enum { BITS = 2000 };

/* Mean (0 for rms) and 1 / sqrt of row `row`. */
static void exact_row(const struct rows *s, int64_t row, mpfr_t mean, mpfr_t scale)
{
    mpfr_t c;
    int64_t d = s->n.d;
    mpfr_init2(c, BITS);
    mpfr_set_zero(mean, 1);
    mpfr_set_zero(scale, 1);
    for (int64_t i = 0; i < d && named(s, "b"); i++)
        mpfr_add_d(mean, mean, normed(s, row * d + i), MPFR_RNDN);
    mpfr_div_si(mean, mean, (long)d, MPFR_RNDN);
    for (int64_t i = 0; i < d; i++) {
        mpfr_d_sub(c, normed(s, row * d + i), mean, MPFR_RNDN);
        mpfr_sqr(c, c, MPFR_RNDN);
        mpfr_add(scale, scale, c, MPFR_RNDN);
    }
    mpfr_div_si(scale, scale, (long)d, MPFR_RNDN);
    mpfr_add_d(scale, scale, (double)s->n.eps, MPFR_RNDN);
    mpfr_rec_sqrt(scale, scale, MPFR_RNDN);
    mpfr_clear(c);
}

START_TEST(reference_is_exact_within_its_error)
{
    struct rows s;
    mpfr_t mean, scale, y;
    rows_open(&s, exact_ids[_i]);
    struct oracle o = scene_oracle_at(&s.c, NORM_Y, 1);
    mpfr_inits2(BITS, mean, scale, y, (mpfr_ptr)0);
    for (int64_t at = 0; at < o.count; at++) {
        int64_t i = at % s.n.d;
        if (i == 0)
            exact_row(&s, at / s.n.d, mean, scale);
        mpfr_d_sub(y, normed(&s, at), mean, MPFR_RNDN);
        mpfr_mul(y, y, scale, MPFR_RNDN);
        mpfr_mul_d(y, y, tensor_value(named(&s, "w"), i), MPFR_RNDN);
        if (named(&s, "b"))
            mpfr_add_d(y, y, tensor_value(named(&s, "b"), i), MPFR_RNDN);
        mpfr_sub_d(y, y, o.value[at], MPFR_RNDN);
        mpfr_sub_d(y, y, o.tail[at], MPFR_RNDN);
        double error = fabs(mpfr_get_d(y, MPFR_RNDA));
        ck_assert_msg(error <= o.error[at], "%lld is off by %a, claimed %a", (long long)at,
                      error, o.error[at]);
        ck_assert(o.error[at] <= 0x1p-20 * o.bound[at]);
    }
    mpfr_clears(mean, scale, y, (mpfr_ptr)0);
    oracle_release(&o);
    scene_release(&s.c);
}
END_TEST

START_TEST(stored_sums_are_rounded_twice)
{
    struct rows s;
    rows_open(&s, "norm/rms:dtype=f16,rows=9,d=99,add=1,dist=wide");
    struct oracle o = scene_oracle_at(&s.c, norm_h(&s.n), 1);
    for (int64_t at = 0; at < o.count; at++)
        ck_assert(o.value[at] == normed(&s, at) && o.bound[at] == 0 && o.tail[at] == 0);
    oracle_release(&o);
    scene_release(&s.c);
}
END_TEST

/* --- special values and power ----------------------------------------------------------------
 */

START_TEST(special_values_follow_the_definition)
{
    struct norm n = {.kind = NORM_RMS, .dtype = DTYPE_F32, .rows = 1, .d = 3, .eps = 1e-5f};
    double h[3] = {1, INFINITY, -2}, w[3] = {1, 1, 1}, b[3] = {0};
    struct norm_row r;
    norm_row_make(&n, h, &r);
    ck_assert(norm_output(&n, &r, 0, w, NULL).value == 0 &&
              isnan(norm_output(&n, &r, 1, w, NULL).value));
    n.kind = NORM_LAYER;
    norm_row_make(&n, h, &r);
    ck_assert(isnan(norm_output(&n, &r, 0, w, b).value));
    n.kind = NORM_RMS;
    h[1] = NAN;
    norm_row_make(&n, h, &r);
    ck_assert(isnan(norm_output(&n, &r, 0, w, NULL).value) &&
              norm_output(&n, &r, 0, w, NULL).bound == 0);
    h[1] = 3e38;
    norm_row_make(&n, h, &r);
    ck_assert(isinf(norm_output(&n, &r, 0, w, NULL).bound));
}
END_TEST

START_TEST(suites_are_small_and_have_power)
{
    scene_suites("norm", 12, 30);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("norm");
    TCase *c = tcase_create("norm");
    tcase_add_test(c, plan_has_what_the_case_needs);
    tcase_add_test(c, entries_exist_in_the_kernel_file);
    tcase_add_test(c, too_large_is_explained);
    tcase_add_loop_test(c, reference_is_exact_within_its_error, 0,
                        sizeof exact_ids / sizeof *exact_ids);
    tcase_add_test(c, stored_sums_are_rounded_twice);
    tcase_add_test(c, special_values_follow_the_definition);
    tcase_add_test(c, suites_are_small_and_have_power);
    suite_add_tcase(s, c);
    return suite_run(s);
}
