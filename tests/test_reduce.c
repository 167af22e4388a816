/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cases/reduce/reduce.h"
#include "caseid.h"
#include "scene.h"
#include "suite.h"

struct reduced {
    struct scene w;
    struct reduce r;
};

static void reduced_init(struct reduced *s, const char *text)
{
    scene_open(&s->w, text);
    reduce_decode(&s->w.id, &s->r);
}

/* --- the plan --------------------------------------------------------------------------------
 */

START_TEST(refusals_say_what_is_valid)
{
    static const struct {
        const char *id, *says;
    } bad[] = {
        {"reduce/ring:n=65", "at most 64 ranks"},
        {"reduce/flat:n=8,op=norm", "op=sum and op=mean"},
        {"reduce/tree:carry=hop", "only reduce/ring, pairs and flat"},
        {"reduce/welford:op=mean", "leave op out"},
        {"reduce/tree:rows=67108864,n=16777216", "2^31"},
        {"reduce/atomic:rows=65536,n=2", "at most 65535"},
    };
    struct case_id id;
    struct case_plan plan;
    struct errinfo e = {0};
    ck_assert(!caseid_parse(bad[_i].id, &id, &e));
    ck_assert_int_eq(id.family->plan(&id, &plan, &e), ERR_USAGE);
    ck_assert_msg(strstr(e.text, bad[_i].says) != NULL, "%s", e.text);
}
END_TEST

START_TEST(suites_are_runnable_and_quick_is_small)
{
    const char *ids[] = {"reduce"};
    struct caselist l;
    ck_assert(!caselist_select(&l, 1, ids, "quick", NULL));
    ck_assert_int_le(l.count, 40);
    caselist_release(&l);
    ck_assert(!caselist_select(&l, 1, ids, "quick,full,stress", NULL));
    for (int64_t i = 0; i < l.count; i++) {
        struct case_plan p;
        struct errinfo e = {0};
        ck_assert_msg(!l.id[i].family->plan(&l.id[i], &p, &e), "%s", e.text);
    }
    ck_assert_int_gt(l.count, 500);
    caselist_release(&l);
}
END_TEST

/* --- the reference against MPFR --------------------------------------------------------------
 */

static const char *const exact_ids[] = {
    "reduce/tree:rows=3,n=333",
    "reduce/serial:rows=3,n=50,dist=wide",
    "reduce/warp:dtype=f16,rows=3,n=70,op=mean,dist=cancel",
    "reduce/tree:rows=6,n=90,op=norm,dist=subnormal",
    "reduce/tree:dtype=bf16,rows=4,n=200,op=norm,dist=lognormal",
    "reduce/ring:dtype=bf16,rows=40,n=7,carry=hop",
    "reduce/pairs:rows=40,n=9,op=mean",
    "reduce/atomic:rows=2,n=3000",
    "reduce/welford:rows=4,n=99",
    "reduce/twopass:rows=8,n=40,dist=subnormal",
    "reduce/welford:dtype=f16,rows=3,n=64,dist=ties",
    "reduce/twopass:rows=2,n=1",
};

enum { BITS = 1200 };

static void exact_result(const struct reduced *s, int64_t row, int which, mpfr_t y, mpfr_t mean)
{
    int64_t n = s->r.n;
    bool spread = !strcmp(s->w.plan.tensor[which].name, "var"), norm = s->r.op == REDUCE_NORM;
    mpfr_t c;
    mpfr_init2(c, BITS);
    mpfr_set_zero(y, 1);
    mpfr_set_zero(mean, 1);
    for (int64_t i = 0; i < n && spread; i++)
        mpfr_add_d(mean, mean, tensor_value(s->w.at[REDUCE_X], row * n + i), MPFR_RNDN);
    mpfr_div_si(mean, mean, (long)n, MPFR_RNDN);
    for (int64_t i = 0; i < n; i++) {
        bool ranks =
            s->w.plan.tensor[REDUCE_X].dim[0] == n && s->w.plan.tensor[REDUCE_X].axis == 0;
        double x = tensor_value(s->w.at[REDUCE_X], ranks ? i * s->r.rows + row : row * n + i);
        mpfr_d_sub(c, x, mean, MPFR_RNDN);
        if (spread || norm)
            mpfr_sqr(c, c, MPFR_RNDN);
        mpfr_add(y, y, c, MPFR_RNDN);
    }
    if (spread || s->r.op == REDUCE_MEAN || !strcmp(s->w.plan.tensor[which].name, "mean"))
        mpfr_div_si(y, y, (long)n, MPFR_RNDN);
    if (norm)
        mpfr_sqrt(y, y, MPFR_RNDN);
    mpfr_clear(c);
}

static void exact_check(const struct reduced *s, int which)
{
    mpfr_t y, mean;
    struct oracle o = scene_oracle_at(&s->w, which, 2);
    mpfr_inits2(BITS, y, mean, (mpfr_ptr)0);
    for (int64_t row = 0; row < o.count; row++) {
        exact_result(s, row, which, y, mean);
        mpfr_sub_d(y, y, o.value[row], MPFR_RNDN);
        mpfr_sub_d(y, y, o.tail[row], MPFR_RNDN);
        double error = fabs(mpfr_get_d(y, MPFR_RNDA));
        ck_assert_msg(error <= o.error[row], "%lld is off by %a, claimed %a", (long long)row,
                      error, o.error[row]);
        ck_assert(o.error[row] <= 0x1p-20 * o.bound[row]);
    }
    mpfr_clears(y, mean, (mpfr_ptr)0);
    oracle_release(&o);
}

START_TEST(reference_is_exact_within_its_error)
{
    struct reduced s;
    reduced_init(&s, exact_ids[_i]);
    exact_check(&s, REDUCE_Y);
    if (reduce_is_spread(&s.r))
        exact_check(&s, REDUCE_VAR);
    scene_release(&s.w);
}
END_TEST

/* --- special values and power ----------------------------------------------------------------
 */

START_TEST(special_values_follow_ieee)
{
    struct reduce r = {.order = REDUCE_TREE, .dtype = DTYPE_F32, .rows = 1, .n = 3};
    struct element mean, var;
    double x[3] = {1, INFINITY, -2};
    r.mode = (struct case_mode){.exact_div = true, .exact_sqrt = true};
    ck_assert(reduce_sum(&r, x, 0, false).value == (double)INFINITY);
    x[2] = -INFINITY;
    ck_assert(isnan(reduce_sum(&r, x, 0, false).value));
    r.op = REDUCE_NORM;
    ck_assert(reduce_sum(&r, x, 0, false).value == (double)INFINITY);
    x[0] = NAN;
    ck_assert(isnan(reduce_sum(&r, x, 0, false).value));
    r.order = REDUCE_WELFORD;
    r.op = REDUCE_SUM;
    reduce_spread(&r, x, &mean, &var);
    ck_assert(isnan(mean.value) && mean.bound == 0 && isnan(var.value) && var.bound == 0);
    x[0] = 1;
    reduce_spread(&r, x, &mean, &var);
    ck_assert(isinf(mean.bound) && isnan(var.value));
    double big[3] = {3e38, 3e38, -3e38};
    r.order = REDUCE_TREE;
    ck_assert(isinf(reduce_sum(&r, big, 0, false).bound));
}
END_TEST

/* Every result of every case but those with atomics' raw sums: at least one element would show
 * a lost term. */
START_TEST(cases_have_power)
{
    const char *ids[] = {"reduce"};
    struct caselist l;
    ck_assert(!caselist_select(&l, 1, ids, "quick", NULL));
    for (int64_t k = 0; k < l.count; k++) {
        struct reduced s;
        char text[CASEID_TEXT_MAX];
        int64_t caught = 0;
        caseid_print(&l.id[k], text);
        reduced_init(&s, text);
        struct oracle o = scene_oracle_at(&s.w, REDUCE_Y, 1);
        for (int64_t i = 0; i < o.count; i++)
            caught += o.drop[i] > 2 * o.bound[i];
        ck_assert_msg(caught > 0, "%s catches nothing", text);
        oracle_release(&o);
        scene_release(&s.w);
    }
    caselist_release(&l);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("reduce");
    TCase *c = tcase_create("reduce");
    tcase_add_loop_test(c, refusals_say_what_is_valid, 0, 6);
    tcase_add_test(c, suites_are_runnable_and_quick_is_small);
    tcase_add_loop_test(c, reference_is_exact_within_its_error, 0,
                        sizeof exact_ids / sizeof *exact_ids);
    tcase_add_test(c, special_values_follow_ieee);
    tcase_add_test(c, cases_have_power);
    suite_add_tcase(s, c);
    return suite_run(s);
}
