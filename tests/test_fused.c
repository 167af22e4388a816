/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <mpfr.h>
#include <stdlib.h>
#include <string.h>

#include "../cases/fused/fused.h"
#include "planted.h"
#include "rng.h"
#include "scene.h"
#include "suite.h"

/* --- the reference against MPFR --------------------------------------------------------------
 */

enum { BITS = 1500, N_MAX = 300 };

static const char *const exact_ids[] = {
    "fused/lamb:n=40",
    "fused/lamb:n=200,t=1,wd=0.1,dist=lognormal",
    "fused/lamb:n=77,t=1000,dist=subnormal",
    "fused/adam:n=100,eps=1e-12,dist=wide",
    "fused/adam:n=60,beta1=0,beta2=0.5,wd=0,t=3",
};

/* m, v and u of an element by the formulas of the header. */
static void exact_element(const struct scene *s, const struct fused *f, int64_t i, mpfr_t m,
                          mpfr_t v, mpfr_t u)
{
    double g = scene_value(s, "g", i);
    mpfr_t x;
    mpfr_init2(x, BITS);
    mpfr_set_d(m, scene_value(s, "m", i), MPFR_RNDN);
    mpfr_mul_d(m, m, (double)f->b1, MPFR_RNDN);
    mpfr_set_d(x, g, MPFR_RNDN);
    mpfr_mul_d(x, x, (double)f->a1, MPFR_RNDN);
    mpfr_add(m, m, x, MPFR_RNDN);
    mpfr_set_d(v, scene_value(s, "v", i), MPFR_RNDN);
    mpfr_mul_d(v, v, (double)f->b2, MPFR_RNDN);
    mpfr_set_d(x, g, MPFR_RNDN);
    mpfr_sqr(x, x, MPFR_RNDN);
    mpfr_mul_d(x, x, (double)f->a2, MPFR_RNDN);
    mpfr_add(v, v, x, MPFR_RNDN);
    mpfr_div_d(x, v, (double)f->c2, MPFR_RNDN);
    mpfr_sqrt(x, x, MPFR_RNDN);
    mpfr_add_d(x, x, (double)f->eps, MPFR_RNDN);
    mpfr_div_d(u, m, (double)f->c1, MPFR_RNDN);
    mpfr_div(u, u, x, MPFR_RNDN);
    mpfr_set_d(x, scene_value(s, "p", i), MPFR_RNDN);
    mpfr_mul_d(x, x, (double)f->wd, MPFR_RNDN);
    mpfr_add(u, u, x, MPFR_RNDN);
    mpfr_clear(x);
}

static void exact_one(struct scene *s, const char *output, int64_t i, mpfr_t y)
{
    mpfr_t d;
    mpfr_init2(d, BITS);
    scene_oracle(s, output);
    mpfr_sub_d(d, y, s->o.value[i], MPFR_RNDN);
    mpfr_sub_d(d, d, s->o.tail[i], MPFR_RNDN);
    double error = fabs(mpfr_get_d(d, MPFR_RNDA));
    ck_assert_msg(error <= s->o.error[i], "%s %s[%lld] is off by %a, claimed %a", s->text,
                  output, (long long)i, error, s->o.error[i]);
    ck_assert(s->o.error[i] <= 0x1p-18 * s->o.bound[i]);
    mpfr_clear(d);
}

/* The norms of p and u into norm[2]; 1 for both without a trust ratio. */
static void exact_norms(const struct scene *s, const struct fused *f, mpfr_t norm[2])
{
    mpfr_t m, v, u, p;
    mpfr_inits2(BITS, m, v, u, p, (mpfr_ptr)0);
    for (int k = 0; k < 2; k++)
        mpfr_set_si(norm[k], f->lamb ? 0 : 1, MPFR_RNDN);
    for (int64_t i = 0; i < f->n && f->lamb; i++) {
        exact_element(s, f, i, m, v, u);
        mpfr_set_d(p, scene_value(s, "p", i), MPFR_RNDN);
        mpfr_fma(norm[0], p, p, norm[0], MPFR_RNDN);
        mpfr_fma(norm[1], u, u, norm[1], MPFR_RNDN);
    }
    for (int k = 0; k < 2; k++)
        mpfr_sqrt(norm[k], norm[k], MPFR_RNDN);
    mpfr_clears(m, v, u, p, (mpfr_ptr)0);
}

START_TEST(reference_is_exact_within_its_error)
{
    struct scene s;
    struct fused f;
    mpfr_t m, v, u, norm[2];
    scene_init(&s, exact_ids[_i], "u");
    fused_decode(&s.id, &f);
    mpfr_inits2(BITS, m, v, u, norm[0], norm[1], (mpfr_ptr)0);
    exact_norms(&s, &f, norm);
    for (int k = 0; k < 2 && f.lamb; k++)
        exact_one(&s, "norms", k, norm[k]);
    for (int64_t i = 0; i < f.n; i += 7) {
        exact_element(&s, &f, i, m, v, u);
        exact_one(&s, "m", i, m);
        exact_one(&s, "v", i, v);
        exact_one(&s, "u", i, u);
        mpfr_mul(u, u, norm[0], MPFR_RNDN);
        mpfr_div(u, u, norm[1], MPFR_RNDN);
        mpfr_mul_d(u, u, (double)f.lr, MPFR_RNDN);
        mpfr_d_sub(u, scene_value(&s, "p", i), u, MPFR_RNDN);
        exact_one(&s, "p", i, u);
    }
    mpfr_clears(m, v, u, norm[0], norm[1], (mpfr_ptr)0);
    scene_release(&s);
}
END_TEST

START_TEST(powers_of_the_decays_are_right)
{
    struct case_id id;
    struct fused f;
    struct errinfo e = {0};
    mpfr_t x;
    mpfr_init2(x, 200);
    ck_assert(!caseid_parse("fused/adam:t=777", &id, &e));
    fused_decode(&id, &f);
    mpfr_set_flt(x, f.b2, MPFR_RNDN);
    mpfr_pow_ui(x, x, 777, MPFR_RNDN);
    mpfr_ui_sub(x, 1, x, MPFR_RNDN);
    ck_assert(f.c2 == mpfr_get_flt(x, MPFR_RNDN) && f.a2 == 1 - f.b2);
    mpfr_clear(x);
}
END_TEST

/* --- bounds by simulation --------------------------------------------------------------------
 *
 * A device's f32: fused or not, subnormals kept or not. */

struct way {
    bool fuse, flush;
};

static float kept(const struct way *w, float x)
{
    return w->flush && fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

static float multiply_add(const struct way *w, float a, float b, float c)
{
    a = kept(w, a);
    b = kept(w, b);
    c = kept(w, c);
    return kept(w, w->fuse ? fmaf(a, b, c) : kept(w, a * b) + c);
}

static void element_play(const struct way *w, const struct fused *f, float p, float g, float *m,
                         float *v, float *u)
{
    *m = multiply_add(w, f->b1, *m, kept(w, f->a1 * kept(w, g)));
    *v = multiply_add(w, f->b2, *v, kept(w, f->a2 * kept(w, kept(w, g) * kept(w, g))));
    float away = sqrtf(kept(w, *v / f->c2)) + f->eps;
    *u = multiply_add(w, f->wd, p, kept(w, kept(w, *m / f->c1) / away));
}

/* Pairs of pairs: never more additions than the kernel has. */
static float norm_play(const struct way *w, const float *x, int64_t n)
{
    float part[N_MAX] = {0};
    for (int64_t i = 0; i < n; i++)
        part[i] = multiply_add(w, x[i], x[i], 0);
    for (int64_t left = n; left > 1; left = (left + 1) / 2)
        for (int64_t i = 0; i < left / 2; i++)
            part[i] = kept(w, part[i] + part[left - 1 - i]);
    return sqrtf(part[0]);
}

static void judge_all(struct scene *s, const char *output, const float *y, int64_t n,
                      struct judged *t)
{
    scene_oracle(s, output);
    for (int64_t i = 0; i < n; i++)
        scene_judge(s, DTYPE_F32, i, (double)y[i], t);
}

static void case_play(const char *text, const struct way *w, struct judged t[5])
{
    struct scene s;
    struct fused f;
    float p[N_MAX] = {0}, m[N_MAX], v[N_MAX], u[N_MAX] = {0}, norm[2] = {0};
    scene_init(&s, text, "u");
    fused_decode(&s.id, &f);
    for (int64_t i = 0; i < f.n; i++) {
        p[i] = (float)scene_value(&s, "p", i);
        m[i] = (float)scene_value(&s, "m", i);
        v[i] = (float)scene_value(&s, "v", i);
        element_play(w, &f, p[i], (float)scene_value(&s, "g", i), &m[i], &v[i], &u[i]);
    }
    norm[0] = norm_play(w, p, f.n);
    norm[1] = norm_play(w, u, f.n);
    float rate = f.lamb ? f.lr * (norm[0] / norm[1]) : f.lr;
    for (int64_t i = 0; i < f.n; i++)
        p[i] = multiply_add(w, -rate, u[i], p[i]);
    judge_all(&s, "p", p, f.n, &t[0]);
    judge_all(&s, "m", m, f.n, &t[1]);
    judge_all(&s, "v", v, f.n, &t[2]);
    judge_all(&s, "u", u, f.n, &t[3]);
    if (f.lamb)
        judge_all(&s, "norms", norm, 2, &t[4]);
    scene_release(&s);
}

/* 4 outputs of 100 cases of up to 300 elements in each of 4 parts: more than 10^5 results. */
START_TEST(legal_arithmetic_stays_inside)
{
    static const char *const dists[] = {"normal", "lognormal", "subnormal", "wide", "ties"};
    struct judged t[5] = {{0, 0, 0}};
    for (int x = _i; x < 400; x += 4) {
        char text[CASEID_TEXT_MAX];
        struct way w = {x / 4 % 2, x % 3 == 0};
        int64_t n = 1 + (int64_t)(rng_bits(rng_key_make((uint64_t)x, "n"), 0, 0) % N_MAX);
        snprintf(text, sizeof text, "fused/%s:n=%lld,t=%d,wd=%s,dist=%s,seed=%d%s",
                 x / 8 % 2 ? "adam" : "lamb", (long long)n, 1 + x % 50, x % 7 ? "0.01" : "0",
                 dists[x / 16 % 5], 1 + x, w.flush ? ",mode=flush" : "");
        case_play(text, &w, t);
    }
    for (int k = 0; k < 4; k++) {
        ck_assert_int_ge(t[k].judged, 10000);
        ck_assert_msg(t[k].outside > t[k].judged * 0.999 && t[k].worst > 0.4,
                      "output %d: %lld of %lld faults outside, worst error %.3f of its bound",
                      k, (long long)t[k].outside, (long long)t[k].judged, t[k].worst);
    }
    ck_assert(t[4].judged >= 80 && t[4].outside == t[4].judged);
}
END_TEST

/* Every operation errs by all it may, and each in the direction that makes u larger: that must
 * reach the bound, and not pass it. */
static double leaning_step(const struct fused *f, double p, double g, double m, double v)
{
    const struct device up = {.lean = 1}, down = {.lean = -1};
    double first =
        device_op(&up, device_op(&up, (double)f->b1 * m) + device_op(&up, (double)f->a1 * g));
    double square = device_op(&down, (double)f->a2 * device_op(&down, g * g));
    double second = device_op(&down, device_op(&down, (double)f->b2 * v) + square);
    double root = device_op(&down, sqrt(device_op(&down, second / (double)f->c2)));
    double away = device_op(&down, root + (double)f->eps);
    double q = device_op(&up, device_op(&up, first / (double)f->c1) / away);
    return device_op(&up, q + device_op(&up, (double)f->wd * p));
}

START_TEST(errors_that_all_lean_one_way_reach_the_bound)
{
    struct case_id id;
    struct fused f;
    struct errinfo e = {0};
    ck_assert(!caseid_parse("fused/adam:wd=0.5,t=5", &id, &e));
    fused_decode(&id, &f);
    for (uint64_t i = 0; i < 20000; i++) {
        struct rng_key key = rng_key_make(i, "lean");
        double x[4];
        for (uint64_t k = 0; k < 4; k++)
            x[k] = (double)(float)(rng_unit(key, k, 0) + 0x1p-10);
        struct element u = fused_element(&f, x[0], x[1], x[2], x[3]).u;
        double off = fabs(leaning_step(&f, x[0], x[1], x[2], x[3]) - u.value) / u.bound;
        ck_assert_msg(off > 0.85 && off <= 1, "%llu: %.4f of its bound", (unsigned long long)i,
                      off);
    }
}
END_TEST

START_TEST(suites_have_power)
{
    scene_suites("fused", 8, 60);
}
END_TEST

START_TEST(special_gradients_follow_ieee)
{
    struct case_id id;
    struct fused f;
    struct errinfo e = {0};
    ck_assert(!caseid_parse("fused/adam", &id, &e));
    fused_decode(&id, &f);
    struct fused_element x = fused_element(&f, 1, (double)NAN, 0.1, 0.2);
    ck_assert(isnan(x.m.value) && isnan(x.v.value) && isnan(x.u.value) && x.u.bound == 0);
    x = fused_element(&f, 1, -(double)INFINITY, 0.1, 0.2);
    ck_assert(x.m.value < 0 && isinf(x.m.value) && x.v.value > 0 && isinf(x.v.value) &&
              isnan(x.u.value));
    x = fused_element(&f, 1, 3e38, 0.1, 0.2);
    ck_assert(isfinite(x.m.bound) && isinf(x.v.bound) && isinf(x.u.bound));
}
END_TEST

/* --- planted faults --------------------------------------------------------------------------
 */

static const struct {
    const char *id;
    enum cause cause;
} planted[] = {
    {"fused/fault_bias:n=500,t=3", CAUSE_SCALE},
    {"fused/fault_decay:n=500,wd=0.1", CAUSE_MASK},
    {"fused/fault_inside:n=500,eps=0.01", CAUSE_SCALE},
    {"fused/fault_moment:n=500", CAUSE_ACCUMULATE},
    {"fused/fault_flush:n=500,dist=subnormal", CAUSE_FLUSH},
    {"fused/fault_ratio:n=500", CAUSE_SCALE},
    {"fused/fault_tail:n=2500", CAUSE_LOCALISED},
};

START_TEST(planted_faults_are_found_and_named)
{
    planted_expect(planted[_i].id, planted[_i].cause);
}
END_TEST

START_TEST(right_kernels_are_not_blamed)
{
    static const char *const ids[] = {"fused/lamb:n=1500,dist=lognormal",
                                      "fused/adam:n=300,dist=special,mode=strict"};
    struct seen s = checked(ids[_i]);
    planted_right(ids[_i], &s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("fused");
    TCase *c = tcase_create("fused");
    tcase_add_loop_test(c, reference_is_exact_within_its_error, 0,
                        sizeof exact_ids / sizeof *exact_ids);
    tcase_add_test(c, powers_of_the_decays_are_right);
    tcase_add_loop_test(c, legal_arithmetic_stays_inside, 0, 4);
    tcase_add_test(c, errors_that_all_lean_one_way_reach_the_bound);
    tcase_add_test(c, suites_have_power);
    tcase_add_test(c, special_gradients_follow_ieee);
    tcase_add_loop_test(c, planted_faults_are_found_and_named, 0,
                        sizeof planted / sizeof *planted);
    tcase_add_loop_test(c, right_kernels_are_not_blamed, 0, 2);
    suite_add_tcase(s, c);
    return suite_run(s);
}
