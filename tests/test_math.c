/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "../cases/math/exact.h"
#include "planted.h"
#include "scene.h"
#include "suite.h"

/* The functions: the reference against MPFR at 300 bits, bounds against the nearest results,
 * planted faults on both simulated devices. */

enum { BITS = 300 };

static void whole_open(struct scene *w, const char *text)
{
    scene_open(w, text);
    w->o = scene_oracle_at(w, w->plan.n_tensor - 1, 1);
}

static void exactly(enum function f, double x, double d, mpfr_t r, mpfr_t t)
{
    mpfr_set_d(t, x, MPFR_RNDN);
    switch (f) {
    case FUNCTION_EXP:
        mpfr_exp(r, t, MPFR_RNDN);
        break;
    case FUNCTION_EXP2:
        mpfr_exp2(r, t, MPFR_RNDN);
        break;
    case FUNCTION_LOG:
        mpfr_log(r, t, MPFR_RNDN);
        break;
    case FUNCTION_LOG2:
        mpfr_log2(r, t, MPFR_RNDN);
        break;
    case FUNCTION_SIN:
        mpfr_sin(r, t, MPFR_RNDN);
        break;
    case FUNCTION_COS:
        mpfr_cos(r, t, MPFR_RNDN);
        break;
    case FUNCTION_TANH:
        mpfr_tanh(r, t, MPFR_RNDN);
        break;
    case FUNCTION_RSQRT:
        mpfr_rec_sqrt(r, t, MPFR_RNDN);
        break;
    case FUNCTION_SQRT:
        mpfr_sqrt(r, t, MPFR_RNDN);
        break;
    case FUNCTION_ERF:
        mpfr_erf(r, t, MPFR_RNDN);
        break;
    case FUNCTION_POW:
        mpfr_set_d(r, d, MPFR_RNDN);
        mpfr_pow(r, t, r, MPFR_RNDN);
        break;
    default:
        mpfr_div_d(r, t, d, MPFR_RNDN);
    }
}

static const struct {
    const char *id;
    enum function f;
    int worst; /* ulp of the worse stack, from its documentation */
} whole_ids[] = {
    {"math/expf:n=20000,lo=-110,hi=90", FUNCTION_EXP, 2},
    {"math/expf:n=999,table=dist,dist=special", FUNCTION_EXP, 2},
    {"math/exp2f:n=20000,lo=-152,hi=129", FUNCTION_EXP2, 2},
    {"math/exp2f:n=999,table=dist,dist=integer", FUNCTION_EXP2, 2},
    {"math/logf:n=20000,lo=0,hi=3e38", FUNCTION_LOG, 2},
    {"math/logf:n=20000,lo=0.99,hi=1.01", FUNCTION_LOG, 2},
    {"math/logf:n=999,table=dist,dist=special", FUNCTION_LOG, 2},
    {"math/log2f:n=20000,lo=0,hi=3e38", FUNCTION_LOG2, 1},
    {"math/log2f:n=20000,lo=0.99,hi=1.01", FUNCTION_LOG2, 1},
    {"math/sinf:n=20000,lo=-16777216,hi=16777216", FUNCTION_SIN, 2},
    {"math/sinf:n=20000,lo=3,hi=16777216", FUNCTION_SIN, 2},
    {"math/cosf:n=20000,lo=1.5,hi=16777216", FUNCTION_COS, 2},
    {"math/cosf:n=999,lo=0,hi=1", FUNCTION_COS, 2},
    {"math/tanhf:n=20000,lo=-10,hi=100", FUNCTION_TANH, 2},
    {"math/tanhf:n=9000,lo=0.001,hi=0.01", FUNCTION_TANH, 2},
    {"math/tanhf:n=999,table=dist,dist=special", FUNCTION_TANH, 2},
    {"math/rsqrtf:n=20000,lo=0,hi=3e38", FUNCTION_RSQRT, 2},
    {"math/rsqrtf:n=999,table=dist,dist=special", FUNCTION_RSQRT, 2},
    {"math/sqrtf:n=20000,lo=0,hi=3e38", FUNCTION_SQRT, 0},
    {"math/sqrtf:n=999,table=dist,dist=special", FUNCTION_SQRT, 0},
    {"math/divf:n=20000,lo=-3e38,hi=3e38", FUNCTION_DIV, 0},
    {"math/divf:n=999,table=dist,dist=special", FUNCTION_DIV, 0},
    {"math/divf:n=9000,lo=0.5,hi=2", FUNCTION_DIV, 0},
    {"math/erff:n=20000,lo=-12,hi=5", FUNCTION_ERF, 4},
    {"math/erff:n=999,table=dist,dist=special", FUNCTION_ERF, 4},
    {"math/powf:n=20000,lo=-50,hi=50", FUNCTION_POW, 8},
    {"math/powf:n=20000,lo=0.9,hi=1.1", FUNCTION_POW, 8},
    {"math/powf:n=9000,lo=1e-30,hi=1e30", FUNCTION_POW, 8},
    {"math/powf:n=999,table=dist,dist=special", FUNCTION_POW, 8},
    {"math/powf:n=999,table=dist,dist=integer", FUNCTION_POW, 8},
};
enum { WHOLE_IDS = sizeof whole_ids / sizeof whole_ids[0] };

/* MPFR's result as f32, nearest even, subnormals and overflow as IEEE 754 has them. */
static double nearest(mpfr_t r)
{
    mpfr_t y;
    mpfr_exp_t least = mpfr_get_emin(), most = mpfr_get_emax();
    mpfr_init2(y, 24);
    mpfr_set_emin(-148);
    mpfr_set_emax(128);
    int ternary = mpfr_set(y, r, MPFR_RNDN);
    ternary = mpfr_check_range(y, ternary, MPFR_RNDN);
    mpfr_subnormalize(y, ternary, MPFR_RNDN);
    double value = mpfr_get_d(y, MPFR_RNDN);
    mpfr_set_emin(least);
    mpfr_set_emax(most);
    mpfr_clear(y);
    return value;
}

static void one_holds(const struct scene *w, int which, int64_t i, mpfr_t r, mpfr_t t)
{
    double x = tensor_value(&w->input[0], i), d = w->at[1] ? tensor_value(&w->input[1], i) : 0;
    const struct oracle *o = &w->o;
    int worst = whole_ids[which].worst;
    exactly(whole_ids[which].f, x, d, r, t);
    double y = nearest(r);
    if (whole_ids[which].f == FUNCTION_RSQRT && x == 0)
        y = copysign(INFINITY, x); /* MPFR: +Inf; IEEE 754 rSqrt: by the sign */
    if (!mpfr_number_p(r) || (isinf(y) && isinf(o->value[i]))) {
        ck_assert_msg(isnan(y) ? isnan(o->value[i]) : y == o->value[i], "%s: f(%a, %a) is %a",
                      whole_ids[which].id, x, d, o->value[i]);
        return;
    }
    mpfr_sub_d(t, r, o->value[i], MPFR_RNDN);
    mpfr_sub_d(t, t, o->tail[i], MPFR_RNDN);
    double off = fabs(mpfr_get_d(t, MPFR_RNDA));
    ck_assert_msg(off <= o->error[i], "%s: f(%a, %a) errs by %a, not %a", whole_ids[which].id,
                  x, d, off, o->error[i]);
    if (isinf(o->bound[i])) {
        ck_assert(worst && fabs(o->value[i]) > 0x1.ffffp127);
        return;
    }
    ck_assert(o->error[i] <= 0x1p-20 * o->bound[i]);
    float step = nextafterf(fabsf((float)y), INFINITY) - fabsf((float)y);
    step = isfinite(step) ? step : 0x1p104f;
    ck_assert_double_eq_tol(o->bound[i] / (double)step, worst + 0.5, 1e-6);
}

START_TEST(references_are_what_mpfr_says)
{
    struct scene w;
    mpfr_t r, t;
    mpfr_inits2(BITS, r, t, (mpfr_ptr)0);
    whole_open(&w, whole_ids[_i].id);
    for (int64_t i = 0; i < w.o.count; i++)
        one_holds(&w, _i, i, r, t);
    mpfr_clears(r, t, (mpfr_ptr)0);
    scene_release(&w);
}
END_TEST

START_TEST(turns_beyond_the_limit_are_not_judged)
{
    double error = 0;
    exact_value(FUNCTION_SIN, 0x1p25, 0, &error);
    ck_assert(isinf(error));
    ck_assert(isnan(exact_value(FUNCTION_COS, INFINITY, 0, &error).hi));
}
END_TEST

START_TEST(ranges_are_covered_evenly)
{
    struct scene w;
    whole_open(&w, "math/expf:n=5000,lo=-10,hi=10");
    double last = -10;
    for (int64_t i = 0; i < 5000; i++) {
        double x = tensor_value(&w.input[0], i);
        ck_assert(x >= last && x <= 10);
        ck_assert(fabs(x) < 1e-37 || fabs(x - last) < 0.12 * fabs(last));
        last = x;
    }
    ck_assert(last > 9.9);
    scene_release(&w);
    whole_open(&w, "math/expf:n=3,lo=1,hi=1");
    for (int64_t i = 0; i < 3; i++)
        ck_assert(tensor_value(&w.input[0], i) == 1);
    scene_release(&w);
}
END_TEST

START_TEST(impossible_ids_say_what_is_possible)
{
    static const char *const wrong[][2] = {
        {"math/expf:mode=fast", "strict"},
        {"math/expf:dist=wide", "table=dist"},
        {"math/expf:lo=2,hi=1", "above"},
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
    {"math/fault_expf:n=2000,lo=-80,hi=80", CAUSE_APPROXIMATE},
    {"math/fault_logf:n=500,lo=1e-6,hi=1e6", CAUSE_DOWNCAST},
    {"math/fault_sinf:n=2000,lo=-100,hi=100", CAUSE_APPROXIMATE},
    {"math/fault_divf:n=2000", CAUSE_APPROXIMATE},
    /* The device's own log2f errs too: found, but too far from the model to be named. */
    {"math/fault_powf:n=2000,lo=0.01,hi=20", CAUSE_COUNT_},
};

START_TEST(planted_faults_are_found_and_named)
{
    planted_expect(planted[_i].id, planted[_i].cause);
}
END_TEST

START_TEST(right_kernels_are_not_blamed)
{
    struct seen s = checked(whole_ids[_i].id);
    ck_assert_msg(s.verdict == VERDICT_SAME || s.verdict == VERDICT_EQUIVALENT ||
                      s.verdict == VERDICT_DISTINGUISHABLE,
                  "%s is %s: %s", whole_ids[_i].id, verdict_name(s.verdict), s.reason);
    if (!whole_ids[_i].worst)
        ck_assert_msg(s.verdict == VERDICT_SAME, "%s: %s", whole_ids[_i].id, s.reason);
}
END_TEST

/* `gpuparity functions`: correctly rounded division is so on both sides; the fault is seen on B
 * alone, and fails. */
START_TEST(the_table_tells_whose_error_it_is)
{
    char command[300], line[512];
    int rows = 0;
    snprintf(command, sizeof command,
             "%s/gpuparity functions math/divf:n=2000 math/fault_divf:n=2000 --on "
             "cuda-sim,hip-sim",
             getenv("GPUPARITY_SIM_DIR"));
    FILE *f = popen(command, "r");
    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f)) {
        char *a = strstr(line, "seed=1` | "), *mark = strchr(line, '!');
        if (!a)
            continue;
        bool fault = strstr(line, "fault") != NULL;
        ck_assert_msg(strstr(a, "| 100.0 % |") == a + 8, "%s", line);
        ck_assert_msg(fault == (mark != NULL) && (!mark || strstr(mark, "|") == mark + 2), "%s",
                      line);
        ck_assert_msg(fault || strstr(a + 20, "100.0 % | -0.001 | 0.500 | 100.0 % |"), "%s",
                      line);
        rows++;
    }
    int status = pclose(f);
    ck_assert_int_eq(rows, 2);
    ck_assert_int_eq(WEXITSTATUS(status), 1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("math");
    TCase *c = tcase_create("math");
    tcase_add_loop_test(c, references_are_what_mpfr_says, 0, WHOLE_IDS);
    tcase_add_test(c, turns_beyond_the_limit_are_not_judged);
    tcase_add_test(c, ranges_are_covered_evenly);
    tcase_add_loop_test(c, impossible_ids_say_what_is_possible, 0, 3);
    tcase_add_loop_test(c, planted_faults_are_found_and_named, 0,
                        sizeof planted / sizeof *planted);
    tcase_add_loop_test(c, right_kernels_are_not_blamed, 0, WHOLE_IDS);
    tcase_add_test(c, the_table_tells_whose_error_it_is);
    suite_add_tcase(s, c);
    return suite_run(s);
}
