/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cases/norm/norm.h"
#include "caseid.h"
#include "kerneltext.h"

/* A case with its inputs, and its rows as numbers. */
struct scene {
    struct case_id id;
    struct case_plan plan;
    struct norm n;
    struct tensor input[CASE_TENSOR_MAX];
    const struct tensor *at[CASE_TENSOR_MAX];
};

static void scene_init(struct scene *s, const char *text)
{
    struct errinfo e = {0};
    memset(s, 0, sizeof *s);
    ck_assert_msg(!caseid_parse(text, &s->id, &e), "%s", e.text);
    ck_assert_msg(!s->id.family->plan(&s->id, &s->plan, &e), "%s: %s", text, e.text);
    norm_decode(&s->id, &s->n);
    for (int i = 0; i < s->plan.n_tensor; i++) {
        if (s->plan.tensor[i].role == TENSOR_OUT)
            continue;
        ck_assert_msg(!case_input(&s->id, &s->plan, i, &s->input[i], &e), "%s", e.text);
        s->at[i] = &s->input[i];
    }
}

static void scene_release(struct scene *s)
{
    for (int i = 0; i < s->plan.n_tensor; i++)
        tensor_release(&s->input[i]);
}

static struct oracle oracle_of(const struct scene *s, int which)
{
    struct oracle o;
    struct errinfo e = {0};
    ck_assert_msg(!norm_oracle(&s->id, &s->plan, s->at, which, 1, &o, &e), "%s", e.text);
    return o;
}

static const struct tensor *named(const struct scene *s, const char *name)
{
    for (int i = 0; i < s->plan.n_tensor; i++)
        if (!strcmp(s->plan.tensor[i].name, name))
            return s->at[i];
    return NULL;
}

/* h, apart from the family's formula. */
static double normed(const struct scene *s, int64_t at)
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
    struct scene s;
    scene_init(&s, "norm/layer:dtype=bf16,rows=3,d=70,add=1,eps=0.5");
    static const char *const names[] = {"x", "w", "y", "b", "r", "h"};
    ck_assert_int_eq(s.plan.n_tensor, 6);
    for (int i = 0; i < 6; i++)
        ck_assert_str_eq(s.plan.tensor[i].name, names[i]);
    const struct case_launch *l = &s.plan.launch[0];
    static const int places[] = {0, 1, 3, 2, 4, 5};
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(l->arg[i].tensor, places[i]);
    ck_assert_str_eq(l->entry, "layer_bf16");
    ck_assert(l->n_arg == 9 && l->arg[6].i == 70 && l->arg[7].f == 0.5f && l->arg[8].i == 1);
    ck_assert(l->grid[0] == 3 && l->block[0] == 256);
    scene_release(&s);
    scene_init(&s, "norm/rms:rows=3,d=70");
    ck_assert_int_eq(s.plan.n_tensor, 3);
    ck_assert_int_eq(s.plan.launch[0].arg[8].i, 0);
    scene_release(&s);
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

START_TEST(quick_is_small)
{
    const char *ids[] = {"norm"};
    struct caselist l;
    ck_assert(!caselist_select(&l, 1, ids, "quick", NULL));
    ck_assert_int_le(l.count, 12);
    caselist_release(&l);
}
END_TEST

START_TEST(too_large_is_explained)
{
    struct case_id id;
    struct case_plan plan;
    struct errinfo e = {0};
    ck_assert(!caseid_parse("norm/rms:rows=65535,d=1048576", &id, &e));
    ck_assert_int_eq(id.family->plan(&id, &plan, &e), ERR_USAGE);
    ck_assert_msg(strstr(e.text, "2^30") != NULL, "%s", e.text);
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
static void exact_row(const struct scene *s, int64_t row, mpfr_t mean, mpfr_t scale)
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
    struct scene s;
    mpfr_t mean, scale, y;
    scene_init(&s, exact_ids[_i]);
    struct oracle o = oracle_of(&s, NORM_Y);
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
    scene_release(&s);
}
END_TEST

START_TEST(stored_sums_are_rounded_twice)
{
    struct scene s;
    scene_init(&s, "norm/rms:dtype=f16,rows=9,d=99,add=1,dist=wide");
    struct oracle o = oracle_of(&s, norm_h(&s.n));
    for (int64_t at = 0; at < o.count; at++)
        ck_assert(o.value[at] == normed(&s, at) && o.bound[at] == 0 && o.tail[at] == 0);
    oracle_release(&o);
    scene_release(&s);
}
END_TEST

/* --- bounds by simulation --------------------------------------------------------------------
 */

enum { ROW_MAX = 40 };

/* One legal way for a device: fused or not, any order of sums, rsqrt off by up to 2 ulp. */
struct way {
    const struct norm *n;
    struct rng_key key;
    uint64_t draw;
    bool fused;
};

static uint64_t drawn(struct way *w, uint64_t below)
{
    return rng_bits(w->key, w->draw++, 0) % below;
}

static float kept(const struct way *w, float x)
{
    return w->n->mode.flush && fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

static float multiply_add(const struct way *w, float x, float y, float acc)
{
    x = kept(w, x);
    y = kept(w, y);
    return w->fused ? kept(w, fmaf(x, y, acc)) : kept(w, kept(w, x * y) + acc);
}

/* A chain in ascending or descending order: for d <= 256 legal, since D is at least 9 and no
 * longer row is drawn than 9 terms; else pairs, level by level. */
static float sum_of(struct way *w, const float *x, const float *y, int64_t d)
{
    float part[ROW_MAX] = {0};
    for (int64_t i = 0; i < d; i++)
        part[i] = multiply_add(w, x[i], y[i], 0);
    bool chain = d <= 9 && drawn(w, 2);
    if (chain) {
        float sum = 0;
        for (int64_t i = 0; i < d; i++)
            sum = multiply_add(w, x[i], y[i], sum);
        return sum;
    }
    for (int64_t left = d; left > 1; left = (left + 1) / 2)
        for (int64_t i = 0; i < left / 2; i++)
            part[i] = kept(w, part[i] + part[left - 1 - i]);
    return part[0];
}

static float rsqrt_of(struct way *w, float x)
{
    float q = (float)(1 / sqrt((double)x));
    for (uint64_t steps = drawn(w, 2); steps > 0; steps--)
        q = nextafterf(q, drawn(w, 2) ? 1e30f : 0);
    return q;
}

/* y before it is rounded to the format. */
static void play(struct way *w, const double *h, const double *gain, const double *bias,
                 float *ret_y)
{
    float x[ROW_MAX], ones[ROW_MAX], mean = 0;
    int64_t d = w->n->d;
    for (int64_t i = 0; i < d; i++) {
        x[i] = (float)h[i];
        ones[i] = 1;
    }
    if (bias)
        mean = sum_of(w, x, ones, d) / (float)d;
    for (int64_t i = 0; i < d; i++)
        x[i] = kept(w, kept(w, x[i]) - mean);
    float q = rsqrt_of(w, kept(w, sum_of(w, x, x, d) / (float)d) + w->n->eps);
    for (int64_t i = 0; i < d; i++) {
        float y = kept(w, x[i] * q);
        ret_y[i] = bias ? multiply_add(w, y, (float)gain[i], (float)bias[i])
                        : kept(w, y * kept(w, (float)gain[i]));
    }
}

static void line_fill(struct rng_key key, enum dist dist, enum dtype d, int64_t n, double *x)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = dtype_value(d, fill_bits(key, dist, d, n, i));
}

struct tally {
    int64_t judged, outside;
    double worst;
};

static double distance(const struct element *x, double device)
{
    return fabs(device - x->value - x->tail);
}

static double narrowed(enum dtype d, double x)
{
    return dtype_value(d, dtype_round(d, x));
}

static void judge(const struct norm *n, const struct element *x, float y, struct tally *t)
{
    if (isinf(x->bound))
        return;
    double off = distance(x, narrowed(n->dtype, (double)y));
    ck_assert_msg(off <= x->bound, "%s d=%lld: %a for %a, off by %a, bound %a",
                  dtype_info(n->dtype)->name, (long long)n->d, (double)y, x->value, off,
                  x->bound);
    t->judged++;
    t->worst = fmax(t->worst, off / x->bound);
    /* For f32 outside follows from inside, see lean_worst; what it tests is that the 16-bit
     * formats do not hide it. The device is wrong by twice the bound before it rounds to 16 bits, toward zero,
     * where rounding is no coarser. */
    double side = x->value > 0 ? -2 : 2;
    double wrong = (double)y + side * x->bound;
    wrong = n->dtype == DTYPE_F32 ? wrong : narrowed(n->dtype, wrong);
    t->outside += distance(x, wrong) > x->bound;
}

static const enum dtype formats[] = {DTYPE_F32, DTYPE_F16, DTYPE_BF16};
static const enum dist dists[] = {DIST_NORMAL,  DIST_POSITIVE, DIST_LOGNORMAL, DIST_WIDE,
                                  DIST_CANCEL,  DIST_INTEGER,  DIST_SUBNORMAL, DIST_ONEHOT,
                                  DIST_UNIFORM, DIST_TIES};

static void one_row(uint64_t x, struct tally *t)
{
    static const float eps[] = {1e-5f, 1e-12f, 1};
    struct norm n = {.kind = x % 2 ? NORM_LAYER : NORM_RMS,
                     .dtype = formats[x / 2 % 3],
                     .rows = 1,
                     .d = 1 + (int64_t)(x / 7 % ROW_MAX),
                     .eps = eps[x / 11 % 3],
                     .mode = {.exact_div = true, .exact_sqrt = true, .flush = x % 5 == 0}};
    double h[ROW_MAX], w[ROW_MAX], b[ROW_MAX];
    float y[ROW_MAX];
    line_fill(rng_key_make(x, "h"), dists[x / 6 % 10], n.dtype, n.d, h);
    line_fill(rng_key_make(x, "w"), x % 13 ? DIST_NORMAL : DIST_LOGNORMAL, n.dtype, n.d, w);
    line_fill(rng_key_make(x, "b"), DIST_NORMAL, n.dtype, n.d, b);
    const double *bias = n.kind == NORM_LAYER ? b : NULL;
    struct way way = {.n = &n, .key = rng_key_make(x, "way"), .fused = x / 3 % 2};
    struct norm_row r;
    norm_row_make(&n, h, &r);
    play(&way, h, w, bias, y);
    for (int64_t i = 0; i < n.d; i++) {
        struct element e = norm_output(&n, &r, i, w, bias);
        judge(&n, &e, y[i], t);
    }
}

/* 100000 rows in 4 parts. */
START_TEST(legal_arithmetic_stays_inside)
{
    struct tally t = {0};
    for (uint64_t x = 0; x < 25000; x++)
        one_row(x * 4 + (uint64_t)_i, &t);
    ck_assert_int_ge(t.judged, 400000);
    ck_assert_msg(t.outside == t.judged && t.worst > 0.9,
                  "%lld of %lld faults outside, worst error %.3f of its bound",
                  (long long)t.outside, (long long)t.judged, t.worst);
}
END_TEST

/* Of f32 rows of 9, where D, 9 too, is what a chain needs: every operation errs by `lean` times
 * all it may, in the direction that makes y smaller: sums up, the rest down. */
static double up(double x, double lean)
{
    return x + fabs(x) * lean * 0x1p-24;
}

static void lean_play(const struct norm *n, const double *h, const double *w, double lean,
                      double *ret_y)
{
    double sum = 0, mean = 0;
    for (int64_t i = 0; n->kind == NORM_LAYER && i < n->d; i++)
        mean = up(mean + h[i], lean);
    mean = up(mean / (double)n->d, n->kind == NORM_LAYER ? lean : 0);
    for (int64_t i = 0; i < n->d; i++) {
        double c = up(h[i] - mean, n->kind == NORM_LAYER ? lean : 0);
        sum = up(sum + up(c * c, lean), lean);
    }
    double q = up(1 / sqrt(up(up(sum / (double)n->d, lean) + (double)n->eps, lean)), -4 * lean);
    for (int64_t i = 0; i < n->d; i++) {
        double c = up(h[i] - mean, n->kind == NORM_LAYER ? -lean : 0);
        ret_y[i] = up(up(c * q, -lean) * w[i], -lean);
    }
}

static double lean_worst(enum norm_kind kind, double lean)
{
    struct norm n = {.kind = kind,
                     .dtype = DTYPE_F32,
                     .rows = 1,
                     .d = 9,
                     .eps = 1e-5f,
                     .mode = {.exact_div = true, .exact_sqrt = true}};
    double worst = 0, h[9], w[9], b[9] = {0}, y[9];
    for (uint64_t x = 0; x < 500; x++) {
        struct norm_row r;
        line_fill(rng_key_make(x, "h"), DIST_LOGNORMAL, n.dtype, n.d, h);
        line_fill(rng_key_make(x, "w"), DIST_POSITIVE, n.dtype, n.d, w);
        norm_row_make(&n, h, &r);
        lean_play(&n, h, w, lean, y);
        for (int64_t i = 0; i < n.d; i++) {
            struct element e = norm_output(&n, &r, i, w, kind == NORM_LAYER ? b : NULL);
            worst = fmax(worst, fabs(y[i] - e.value) / e.bound);
        }
    }
    return worst;
}

/* So the bound is right to a factor below 2, and a device that is twice as bad is outside. */
START_TEST(bounds_are_no_larger_than_arithmetic_allows)
{
    enum norm_kind kind = (enum norm_kind)_i;
    double most = lean_worst(kind, 1), twice = lean_worst(kind, 2);
    ck_assert_msg(most > 0.6 && most <= 1 && twice > 1, "%.3f and %.3f of the bound", most,
                  twice);
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

START_TEST(cases_have_power)
{
    const char *ids[] = {"norm"};
    struct caselist l;
    ck_assert(!caselist_select(&l, 1, ids, "quick,full", NULL));
    for (int64_t k = 0; k < l.count; k++) {
        struct scene s;
        char text[CASEID_TEXT_MAX];
        int64_t caught = 0;
        caseid_print(&l.id[k], text);
        scene_init(&s, text);
        struct oracle o = oracle_of(&s, NORM_Y);
        for (int64_t i = 0; i < o.count; i++)
            caught += o.drop[i] > 2 * o.bound[i];
        ck_assert_msg(caught > 0, "%s catches nothing", text);
        oracle_release(&o);
        scene_release(&s);
    }
    caselist_release(&l);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("norm");
    TCase *c = tcase_create("norm");
    tcase_add_test(c, plan_has_what_the_case_needs);
    tcase_add_test(c, entries_exist_in_the_kernel_file);
    tcase_add_test(c, quick_is_small);
    tcase_add_test(c, too_large_is_explained);
    tcase_add_loop_test(c, reference_is_exact_within_its_error, 0,
                        sizeof exact_ids / sizeof *exact_ids);
    tcase_add_test(c, stored_sums_are_rounded_twice);
    tcase_add_loop_test(c, legal_arithmetic_stays_inside, 0, 4);
    tcase_add_loop_test(c, bounds_are_no_larger_than_arithmetic_allows, 0, 2);
    tcase_add_test(c, special_values_follow_the_definition);
    tcase_add_test(c, cases_have_power);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
