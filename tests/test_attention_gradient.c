/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cases/attention/attention.h"
#include "scene.h"
#include "suite.h"

/* The references of attention's gradients: against differences of the forward definition in
 * MPFR, which know nothing of backward formulas; and their bounds, by f32 arithmetic in legal
 * ways. */

enum { OUTPUTS = 5 };
static const int outputs[OUTPUTS] = {ATTENTION_DP, ATTENTION_DS, ATTENTION_DQ, ATTENTION_DK,
                                     ATTENTION_DV};

struct gradients {
    struct scene c;
    struct attention a;
    struct oracle o[OUTPUTS];
};

static void gradients_open(struct gradients *s, const char *text)
{
    scene_open(&s->c, text);
    attention_decode(&s->c.id, &s->a);
    for (int i = 0; i < OUTPUTS; i++)
        s->o[i] = scene_oracle_at(&s->c, outputs[i], 1);
}

static void gradients_close(struct gradients *s)
{
    scene_release(&s->c);
    for (int i = 0; i < OUTPUTS; i++)
        oracle_release(&s->o[i]);
}

/* --- differences in MPFR ---------------------------------------------------------------------
 */

enum { BITS = 500, STEP = -120 };

/* What dropout makes of weight `at`; the mask itself is tested in test_attention.c. */
static double kept(const struct attention *a, int64_t at)
{
    if (a->kind != ATTENTION_DROPBACK)
        return 1;
    return dropout_keeps(a, at) ? (double)dropout_factor(a) : 0;
}

/* sum dO O with element `moved` of tensor `which` moved by `side` 2^STEP. */
struct forward {
    const struct gradients *s;
    int which, side;
    int64_t moved;
    mpfr_t x, y, t, top, sum, all;
};

static void forward_value(struct forward *f, mpfr_t ret, int which, int64_t at)
{
    mpfr_set_d(ret, tensor_value(f->s->c.at[which], at), MPFR_RNDN);
    if (which != f->which || at != f->moved)
        return;
    mpfr_t h;
    mpfr_init2(h, BITS);
    mpfr_set_si_2exp(h, f->side, STEP, MPFR_RNDN);
    mpfr_add(ret, ret, h, MPFR_RNDN);
    mpfr_clear(h);
}

static void forward_row(struct forward *f, int64_t z, int64_t i, int64_t c)
{
    const struct attention *a = &f->s->a;
    int64_t row = z * a->queries + i, from, to;
    int64_t kv = z / a->heads * a->kv_heads + z % a->heads * a->kv_heads / a->heads;
    mpfr_set_zero(f->top, 1);
    mpfr_set_zero(f->sum, 1);
    attention_visible(a, i, &from, &to);
    for (int64_t j = from; j < to; j++) {
        mpfr_set_zero(f->t, 1);
        for (int64_t l = 0; l < a->d; l++) {
            forward_value(f, f->x, ATTENTION_Q, row * a->d + l);
            forward_value(f, f->y, ATTENTION_K, (kv * a->keys + j) * a->d + l);
            mpfr_mul(f->x, f->x, f->y, MPFR_RNDN);
            mpfr_add(f->t, f->t, f->x, MPFR_RNDN);
        }
        mpfr_mul_d(f->t, f->t, (double)a->scale, MPFR_RNDN);
        mpfr_exp(f->t, f->t, MPFR_RNDN);
        mpfr_add(f->sum, f->sum, f->t, MPFR_RNDN);
        mpfr_mul_d(f->t, f->t, kept(a, row * a->keys + j), MPFR_RNDN);
        forward_value(f, f->x, ATTENTION_V, (kv * a->keys + j) * a->d + c);
        mpfr_mul(f->t, f->t, f->x, MPFR_RNDN);
        mpfr_add(f->top, f->top, f->t, MPFR_RNDN);
    }
    if (to <= from)
        return;
    mpfr_div(f->top, f->top, f->sum, MPFR_RNDN);
    mpfr_mul_d(f->top, f->top, tensor_value(f->s->c.at[ATTENTION_DO], row * a->d + c), MPFR_RNDN);
    mpfr_add(f->all, f->all, f->top, MPFR_RNDN);
}

static void forward_all(struct forward *f, int side)
{
    const struct attention *a = &f->s->a;
    f->side = side;
    mpfr_set_zero(f->all, 1);
    for (int64_t z = 0; z < a->batch * a->heads; z++)
        for (int64_t i = 0; i < a->queries; i++)
            for (int64_t c = 0; c < a->d; c++)
                forward_row(f, z, i, c);
}

/* The derivative minus the reference; differences err by about 2^(2 STEP). */
static double derivative_off(struct forward *f, double value, double tail)
{
    mpfr_t up;
    mpfr_init2(up, BITS);
    forward_all(f, 1);
    mpfr_set(up, f->all, MPFR_RNDN);
    forward_all(f, -1);
    mpfr_sub(up, up, f->all, MPFR_RNDN);
    mpfr_mul_2si(up, up, -STEP - 1, MPFR_RNDN);
    mpfr_sub_d(up, up, value, MPFR_RNDN);
    mpfr_sub_d(up, up, tail, MPFR_RNDN);
    double off = fabs(mpfr_get_d(up, MPFR_RNDA));
    mpfr_clear(up);
    return off;
}

START_TEST(gradients_are_derivatives)
{
    static const char *const ids[] = {
        "attention/backward:queries=3,keys=4,d=2",
        "attention/backward:heads=2,kvheads=1,queries=4,keys=3,d=2,mask=bottom",
        "attention/"
        "backward:dtype=bf16,batch=2,heads=1,queries=4,keys=4,d=3,mask=causal,window=2",
        "attention/dropback:heads=2,kvheads=1,queries=4,keys=5,d=2,drop=0.4,mask=bottom",
    };
    static const int of[3] = {ATTENTION_Q, ATTENTION_K, ATTENTION_V};
    struct gradients s;
    gradients_open(&s, ids[_i]);
    struct forward f = {.s = &s};
    mpfr_inits2(BITS, f.x, f.y, f.t, f.top, f.sum, f.all, (mpfr_ptr)0);
    for (int g = 0; g < 3; g++) {
        const struct oracle *o = &s.o[2 + g];
        f.which = of[g];
        ck_assert_int_eq(o->count, s.c.at[of[g]]->count);
        for (f.moved = 0; f.moved < o->count; f.moved++) {
            double off = derivative_off(&f, o->value[f.moved], o->tail[f.moved]);
            ck_assert_msg(off <= o->error[f.moved] + 0x1p-220, "d%d[%lld]: off by %g of %g", g,
                          (long long)f.moved, off, o->error[f.moved]);
            ck_assert_double_le(o->error[f.moved], 0x1p-6 * o->bound[f.moved] + 0x1p-800);
        }
    }
    mpfr_clears(f.x, f.y, f.t, f.top, f.sum, f.all, (mpfr_ptr)0);
    gradients_close(&s);
}
END_TEST

/* --- bounds by simulation --------------------------------------------------------------------
 */

/* Legal: fused or not, sums up or down, expf off by up to 2 ulp. */
struct play {
    const struct gradients *s;
    bool fused, down;
    uint64_t draw;
    float *p, *dp, *ds; /* owned; planes x queries x keys */
};

static float multiply_add(const struct play *p, float x, float y, float acc)
{
    return p->fused ? fmaf(x, y, acc) : acc + x * y;
}

static float exp_near(struct play *p, float x)
{
    float y = (float)exp((double)x);
    int64_t steps = (int64_t)(rng_bits(rng_key_make(5, "gradient"), p->draw++, 0) % 3);
    for (int64_t i = 0; i < steps && y > 0; i++)
        y = nextafterf(y, p->draw & 1 ? 2 * y : 0);
    return y;
}

/* Sum of n products, elements apart by a stride. */
static float dot(const struct play *p, int64_t n, const struct tensor *x, int64_t x_at,
                 const struct tensor *y, int64_t y_at)
{
    float acc = 0;
    for (int64_t l = 0; l < n; l++)
        acc = multiply_add(p, (float)tensor_value(x, x_at + l),
                           (float)tensor_value(y, y_at + l), acc);
    return acc;
}

static int64_t kv_of(const struct attention *a, int64_t z)
{
    return z / a->heads * a->kv_heads + z % a->heads * a->kv_heads / a->heads;
}

static void play_row(struct play *p, int64_t z, int64_t i)
{
    const struct attention *a = &p->s->a;
    int64_t row = z * a->queries + i, base = row * a->keys, from, to;
    float most = -INFINITY, sum = 0, delta = 0;
    attention_visible(a, i, &from, &to);
    for (int64_t j = from; j < to; j++) {
        int64_t k = (kv_of(a, z) * a->keys + j) * a->d;
        p->p[base + j] =
            dot(p, a->d, p->s->c.at[ATTENTION_Q], row * a->d, p->s->c.at[ATTENTION_K], k) *
            a->scale;
        p->dp[base + j] =
            dot(p, a->d, p->s->c.at[ATTENTION_DO], row * a->d, p->s->c.at[ATTENTION_V], k) *
            (float)kept(a, base + j);
        most = fmaxf(most, p->p[base + j]);
    }
    for (int64_t j = from; j < to; j++)
        sum += p->p[base + j] = exp_near(p, p->p[base + j] - most);
    for (int64_t j = from; j < to; j++)
        p->p[base + j] /= sum;
    for (int64_t x = from; x < to; x++) {
        int64_t j = p->down ? to - 1 - (x - from) : x;
        delta = multiply_add(p, p->p[base + j], p->dp[base + j], delta);
    }
    for (int64_t j = from; j < to; j++)
        p->ds[base + j] = p->p[base + j] * (p->dp[base + j] - delta);
}

struct tally {
    int64_t judged;
    double worst;
};

static void judge(const struct oracle *o, int64_t at, enum dtype d, float got, struct tally *t)
{
    double x = dtype_value(d, dtype_round(d, (double)got));
    double error = fabs((x - o->value[at]) - o->tail[at]);
    t->judged++;
    t->worst = fmax(t->worst, o->bound[at] > 0 ? error / o->bound[at] : 0);
    ck_assert_msg(error <= o->bound[at], "element %lld: %a, exact %a, error %g of %g",
                  (long long)at, x, o->value[at], error, o->bound[at]);
}

static void judge_matrices(const struct play *p, struct tally *t)
{
    const struct oracle *dp = &p->s->o[0], *ds = &p->s->o[1];
    for (int64_t at = 0; at < dp->count; at++) {
        judge(dp, at, DTYPE_F32, p->dp[at], t);
        judge(ds, at, DTYPE_F32, p->ds[at], t);
    }
}

static void judge_dq(const struct play *p, struct tally *t)
{
    const struct attention *a = &p->s->a;
    for (int64_t at = 0; at < p->s->o[2].count; at++) {
        int64_t row = at / a->d, k = kv_of(a, row / a->queries) * a->keys * a->d + at % a->d;
        float acc = 0;
        for (int64_t x = 0; x < a->keys; x++) {
            int64_t j = p->down ? a->keys - 1 - x : x;
            acc = multiply_add(p, p->ds[row * a->keys + j],
                               (float)tensor_value(p->s->c.at[ATTENTION_K], k + j * a->d), acc);
        }
        judge(&p->s->o[2], at, a->dtype, acc * a->scale, t);
    }
}

static void judge_keys(const struct play *p, bool values, struct tally *t)
{
    const struct attention *a = &p->s->a;
    const struct oracle *o = &p->s->o[values ? 4 : 3];
    const struct tensor *y = p->s->c.at[values ? ATTENTION_DO : ATTENTION_Q];
    int64_t rows = a->heads / a->kv_heads * a->queries;
    for (int64_t at = 0; at < o->count; at++) {
        int64_t plane = at / (a->keys * a->d), j = at / a->d % a->keys;
        float acc = 0;
        for (int64_t x = 0; x < rows; x++) {
            int64_t row = plane * rows + (p->down ? rows - 1 - x : x);
            float w = (values ? p->p : p->ds)[row * a->keys + j];
            w *= values ? (float)kept(a, row * a->keys + j) : 1;
            acc = multiply_add(p, w,
                               (float)tensor_value(y, row * a->d + at % a->d), acc);
        }
        judge(o, at, a->dtype, values ? acc : acc * a->scale, t);
    }
}

START_TEST(legal_arithmetic_stays_inside)
{
    static const char *const ids[] = {
        "attention/backward:queries=20,keys=30,d=16",
        "attention/backward:dtype=f16,queries=20,keys=30,d=16,mask=bottom",
        "attention/backward:dtype=bf16,heads=4,kvheads=2,queries=20,keys=18,d=16,mask=causal",
        "attention/backward:queries=20,keys=30,d=16,dist=positive",
        "attention/backward:queries=20,keys=30,d=16,dist=lognormal",
        "attention/backward:queries=20,keys=30,d=16,dist=subnormal",
        "attention/backward:queries=20,keys=30,d=16,dist=integer",
        "attention/dropback:dtype=f16,queries=20,keys=30,d=16,drop=0.3",
        "attention/dropback:queries=20,keys=30,d=16,dist=positive",
    };
    struct gradients s;
    struct tally t = {0};
    gradients_open(&s, ids[_i]);
    size_t n = (size_t)s.o[0].count;
    for (int way = 0; way < 8; way++) {
        struct play p = {&s, way & 1, way & 2, (uint64_t)way << 32, NULL, NULL, NULL};
        p.p = calloc(n, sizeof *p.p);
        p.dp = calloc(n, sizeof *p.dp);
        p.ds = calloc(n, sizeof *p.ds);
        for (int64_t row = 0; row < s.a.batch * s.a.heads * s.a.queries; row++)
            play_row(&p, row / s.a.queries, row % s.a.queries);
        judge_matrices(&p, &t);
        judge_dq(&p, &t);
        judge_keys(&p, false, &t);
        judge_keys(&p, true, &t);
        free(p.p);
        free(p.dp);
        free(p.ds);
    }
    ck_assert_int_ge(t.judged, 20000);
    ck_assert_double_gt(t.worst, 0.01);
    gradients_close(&s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("attention_gradient");
    TCase *c = tcase_create("gradient");
    tcase_add_loop_test(c, gradients_are_derivatives, 0, 4);
    tcase_add_loop_test(c, legal_arithmetic_stays_inside, 0, 9);
    suite_add_tcase(s, c);
    return suite_run(s);
}
