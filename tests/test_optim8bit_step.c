/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <float.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cases/optim8bit/step.h"
#include "caseid.h"
#include "suite.h"

/* Optimizer steps: states against MPFR, the interval of parameters against simulated devices.
 */

static const char *const rules[] = {"adam8",     "momentum8", "rmsprop8", "adagrad8",
                                    "lion8",     "ademamix8", "adam32",   "momentum32",
                                    "rmsprop32", "adagrad32", "lion32",   "ademamix32"};
enum { RULES = sizeof rules / sizeof *rules };

static struct step step_of(const char *variant, const char *rest)
{
    char text[200];
    struct case_id id;
    struct errinfo e = {0};
    snprintf(text, sizeof text, "optim8bit/%s:n=256,%s", variant, rest);
    ck_assert_msg(!caseid_parse(text, &id, &e), "%s", e.text);
    return step_make(&id);
}

/* --- f32 operations in MPFR ------------------------------------------------------------------
 */

static void to_f32(mpfr_t x, int inexact)
{
    mpfr_subnormalize(x, inexact, MPFR_RNDN);
}

static float product(float a, float b)
{
    mpfr_t x;
    mpfr_init2(x, 24);
    mpfr_set_flt(x, a, MPFR_RNDN);
    mpfr_t y;
    mpfr_init2(y, 24);
    mpfr_set_flt(y, b, MPFR_RNDN);
    to_f32(x, mpfr_mul(x, x, y, MPFR_RNDN));
    float r = mpfr_get_flt(x, MPFR_RNDN);
    mpfr_clears(x, y, NULL);
    return r;
}

static float fused(float a, float b, float c)
{
    mpfr_t x, y, z, r;
    mpfr_inits2(24, x, y, z, r, NULL);
    mpfr_set_flt(x, a, MPFR_RNDN);
    mpfr_set_flt(y, b, MPFR_RNDN);
    mpfr_set_flt(z, c, MPFR_RNDN);
    to_f32(r, mpfr_fma(r, x, y, z, MPFR_RNDN));
    float f = mpfr_get_flt(r, MPFR_RNDN);
    mpfr_clears(x, y, z, r, NULL);
    return f;
}

static float left(float b) /* 1 - b */
{
    return fused(b, -1, 1);
}

static float stored(const struct step *s, float x)
{
    return (float)dtype_value(s->d, dtype_round(s->d, (double)x));
}

static bool is_coupled(const struct step *s)
{
    return s->rule == RULE_MOMENTUM || s->rule == RULE_RMSPROP || s->rule == RULE_ADAGRAD;
}

/* g' */
static float expected_gradient(const struct step *s, float p, float g)
{
    float h = product(s->gnorm, g);
    if (s->wide)
        h = stored(s, h);
    if (!is_coupled(s) || s->wd == 0)
        return h;
    h = fused(p, s->wd, h);
    return s->wide ? stored(s, h) : h;
}

/* m of each rule as bitsandbytes has it, operation by operation. */
static float expected_m(const struct step *s, float p, float g, float m)
{
    float h = expected_gradient(s, p, g), b = s->rule == RULE_LION ? s->beta2 : s->beta1;
    if (s->rule == RULE_MOMENTUM)
        return s->t == 1 ? h : fused(m, b, h);
    if (s->rule == RULE_ADAGRAD)
        return fused(h, h, m);
    if (s->rule == RULE_RMSPROP)
        return s->wide ? fused(m, b, product(product(left(b), h), h))
                       : fused(left(b), product(h, h), product(m, b));
    return s->wide ? fused(m, b, product(left(b), h)) : fused(left(b), h, product(m, b));
}

static float expected_v(const struct step *s, float p, float g, float v)
{
    float h = expected_gradient(s, p, g), b = s->beta2;
    if (s->wide && s->rule == RULE_ADAM)
        return fused(v, b, product(left(b), product(h, h)));
    if (s->wide)
        return fused(v, b, product(product(left(b), h), h));
    return fused(product(left(b), h), h, product(v, b));
}

/* Plain numbers, and tiny ones whose squares are subnormal. */
static float number(uint64_t i, uint64_t lane, bool positive)
{
    struct rng_key key = rng_key_make(3, "step");
    double x = rng_normal(key, i, lane) * (i % 4 ? 1 : 0x1p-66);
    return (float)(positive ? fabs(x) : x);
}

START_TEST(states_match_mpfr)
{
    static const char *const rests[] = {"gnorm=0.7,wd=0.01", "gnorm=0.7,wd=0.01,dtype=bf16",
                                        "gnorm=0.7,wd=0.01,dtype=f16"};
    struct step s = step_of(rules[_i % RULES], rests[_i / RULES]);
    mpfr_exp_t low = mpfr_get_emin(), high = mpfr_get_emax();
    mpfr_set_emin(-148);
    mpfr_set_emax(128);
    for (uint64_t i = 0; i < 4000; i++) {
        float p = number(i, 0, false), g = number(i, 1, false);
        bool square = s.rule == RULE_RMSPROP || s.rule == RULE_ADAGRAD;
        struct state old = {number(i, 2, square), number(i, 3, false), number(i, 4, true)};
        step_at(&s, 1 + (int64_t)(i % 3));
        p = stored(&s, p);
        g = stored(&s, g);
        struct state new = step_state(&s, p, g, &old);
        ck_assert_msg(new.m == expected_m(&s, p, g, old.m), "%s %d: %a", rules[_i % RULES], (int)i,
                      (double)new.m);
        if (step_has_v(s.rule))
            ck_assert(new.v == expected_v(&s, p, g, old.v));
    }
    mpfr_set_emin(low);
    mpfr_set_emax(high);
}
END_TEST

START_TEST(bad_gradients_reset_adam)
{
    struct step s = step_of("adam8", "wd=0.1");
    struct state old = {1, 0, 1};
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        struct state new = step_state(&s, 1, bad[i], &old);
        struct range p = {1, 1, 1, 0};
        ck_assert(new.m == 0 && new.v == 0 && !signbit(new.m));
        p = step_param(&s, &p, bad[i], &old, &new);
        ck_assert(p.value == 1 && p.low == 1 && p.high == 1);
    }
}
END_TEST

/* c1 = 1 - b1^t and the rest, by MPFR. */
START_TEST(bias_corrections)
{
    const int64_t steps[] = {1, 2, 7, 50, 1000, 1000000};
    struct step s = step_of("adam8", "lr=0.002");
    mpfr_t x;
    mpfr_init2(x, 200);
    for (int i = 0; i < 6; i++) {
        step_at(&s, steps[i]);
        mpfr_set_flt(x, s.beta1, MPFR_RNDN);
        mpfr_pow_si(x, x, steps[i], MPFR_RNDN);
        float c1 = 1 - mpfr_get_flt(x, MPFR_RNDN);
        mpfr_set_flt(x, s.beta2, MPFR_RNDN);
        mpfr_pow_si(x, x, steps[i], MPFR_RNDN);
        float c2 = sqrtf(1 - mpfr_get_flt(x, MPFR_RNDN));
        ck_assert(s.c1 == c1 && s.c2 == c2 && s.size == -0.002f * c2 / c1);
    }
    mpfr_clear(x);
}
END_TEST

/* --- parameters ------------------------------------------------------------------------------
 *
 * A simulated device: every operation may be rounded or fused into the next, and fast ones are
 * off by their documented error. */

struct device {
    struct rng_key key;
    uint64_t draw;
    bool fast;
};

static int coin(struct device *d)
{
    return (int)(rng_bits(d->key, d->draw++, 0) >> 63);
}

/* x off by up to `ulps`. */
static float off(struct device *d, double x, double ulps)
{
    double wobble = d->fast ? (2 * rng_unit(d->key, d->draw++, 0) - 1) * ulps * 0x1p-23 : 0;
    return (float)(x * (1 + wobble));
}

static float root(struct device *d, float x)
{
    return off(d, sqrt((double)x), 1);
}

static float over(struct device *d, float a, float b)
{
    return off(d, (double)a / (double)b, 1.9);
}

/* a b + c */
static float join(struct device *d, float a, float b, float c)
{
    volatile float p = a * b;
    return coin(d) ? fmaf(a, b, c) : p + c;
}

static float decayed(struct device *d, const struct step *s, float p)
{
    volatile float f = join(d, -s->lr, s->wd, 1), r = p * f;
    return stored(s, r);
}

static float device_param(struct device *d, const struct step *s, float p, float g,
                          const struct state *old, const struct state *new)
{
    volatile float x;
    switch (s->rule) {
    case RULE_ADAM:
        x = root(d, new->v);
        x = x + s->floor;
        x = over(d, new->m, x);
        p = stored(s, join(d, s->size, x, p));
        return s->wd > 0 ? decayed(d, s, p) : p;
    case RULE_ADEMAMIX: {
        volatile float a = over(d, new->m, s->c1), b = over(d, root(d, new->v), s->c2);
        a = join(d, s->alpha, new->slow, a);
        b = b + s->eps;
        x = over(d, a, b);
        p = stored(s, join(d, -s->lr, x, p));
        return s->wd > 0 ? decayed(d, s, p) : p;
    }
    case RULE_MOMENTUM:
        return stored(s, join(d, -s->lr, new->m, p));
    case RULE_LION: {
        float h = expected_gradient(s, 0, g), b = s->beta1;
        float z = s->wide ? fused(old->m, b, product(left(b), h))
                          : fused(left(b), h, product(old->m, b));
        float u = stored(s, s->lr) * (float)((z > 0) - (z < 0));
        volatile float f = join(d, -s->lr, s->wd, 1);
        if (s->wd > 0 && s->d == DTYPE_F32)
            return join(d, p, f, -u);
        x = s->wd > 0 ? decayed(d, s, p) : p;
        return stored(s, x - u);
    }
    default:
        x = root(d, new->m);
        x = x + s->eps;
        g = s->wide ? expected_gradient(s, p, g) : g;
        return stored(s, join(d, -s->lr, over(d, g, x), p));
    }
}

/* 10^5 elements and more over all rules, formats and modes stay inside; the same moved by twice
 * the interval does not. */
START_TEST(parameters_stay_inside_their_interval)
{
    static const char *const rests[] = {"dtype=f32", "dtype=f32,wd=0.3", "dtype=bf16,wd=0.3",
                                        "dtype=f16", "dtype=f32,mode=fast,wd=0.1"};
    struct step s = step_of(rules[_i], rests[0]);
    double used = 0;
    for (int k = 0; k < 5; k++) {
        s = step_of(rules[_i], rests[k]);
        struct device d = {rng_key_make(9, rules[_i]), 0, !s.freedom.exact};
        for (uint64_t i = 0; i < 3000; i++) {
            float p = stored(&s, number(4 * i + 1, 10, false)),
                  g = stored(&s, number(4 * i + 1, 11, false));
            bool square = s.rule == RULE_RMSPROP || s.rule == RULE_ADAGRAD;
            struct state old = {number(4 * i + 1, 12, square), number(4 * i + 1, 13, false),
                                number(4 * i + 1, 14, true)};
            step_at(&s, 1 + (int64_t)(i % 30));
            struct state new = step_state(&s, p, g, &old);
            struct range r = {(double)p, (double)p, (double)p, 0};
            r = step_param(&s, &r, g, &old, &new);
            for (int repeat = 0; repeat < 2; repeat++) {
                double got = (double)device_param(&d, &s, p, g, &old, &new);
                ck_assert_msg(got >= r.low && got <= r.high,
                              "%s %s %d: %a not in [%a, %a], value %a", rules[_i], rests[k],
                              (int)i, got, r.low, r.high, r.value);
                if (r.high > r.low)
                    used = fmax(used, fabs(got - r.value) / (r.high - r.low) * 2);
            }
        }
    }
    ck_assert_msg(used > 0.05, "the interval is %g times too wide", 1 / used);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("optim8bit_step");
    TCase *t = tcase_create("step");
    tcase_add_loop_test(t, states_match_mpfr, 0, 3 * RULES);
    tcase_add_test(t, bad_gradients_reset_adam);
    tcase_add_test(t, bias_corrections);
    tcase_add_loop_test(t, parameters_stay_inside_their_interval, 0, RULES);
    suite_add_tcase(s, t);
    return suite_run(s);
}
