/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "../cases/gemm/unit.h"
#include "attended.h"
#include "suite.h"

/* The bounds of attention, by f32 arithmetic in many legal ways. */

/* One legal way for a device: fused or not, sums backward or forward within a tile,
 * functions off by up to 2 ulp as their makers allow. */
struct way {
    bool fused, backward, flush; /* matrix units: backward is AMD's */
    int64_t tile;  /* 0: three launches */
    int64_t chunk; /* split: keys a range; else 0 */
    uint64_t draw;
};

static float flushed(const struct way *w, float x)
{
    return w->flush && fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

static float multiply_add(const struct way *w, float x, float y, float acc)
{
    if (w->fused)
        return flushed(w, fmaf(flushed(w, x), flushed(w, y), acc));
    return flushed(w, flushed(w, flushed(w, x) * flushed(w, y)) + acc);
}

/* The double result, off by -2 to 2 ulp. */
static float function_of(struct way *w, double exact)
{
    float x = (float)exact;
    int64_t steps = (int64_t)(rng_bits(rng_key_make(9, "way"), w->draw++, 0) % 4);
    for (int64_t i = 0; i + 1 < steps && isfinite(x) && x != 0; i++)
        x = nextafterf(x, w->draw & 1 ? 2 * x : 0);
    return flushed(w, x);
}

struct played {
    const struct attended *s;
    struct way w;
    int64_t z, i, n, key[256];
    float t[256];
};

/* The sum of products as a vendor's matrix unit makes it. */
static float unit_dot(const struct played *p, int64_t n, const double *x, const double *y)
{
    double (*unit)(enum dtype, enum dtype, int64_t, const double *, const double *) =
        p->w.backward ? gemm_unit_gfx11 : gemm_unit_ampere;
    return (float)unit(p->s->a.dtype, DTYPE_F32, n, x, y);
}

static float unit_score(const struct played *p, int64_t b, int64_t h, int64_t j)
{
    const struct attention *a = &p->s->a;
    double x[128], y[128];
    for (int64_t l = 0; l < a->d; l++) {
        x[l] = at4(p->s->c.at[0], b, h, p->i, l);
        y[l] = key_value(p->s, 1, b, h * a->kv_heads / a->heads, j, l);
    }
    return unit_dot(p, a->d, x, y);
}

static void play_scores(struct played *p)
{
    const struct attended *s = p->s;
    const struct attention *a = &s->a;
    int64_t b = p->z / a->heads, h = p->z % a->heads;
    p->n = 0;
    for (int64_t j = 0; j < a->keys; j++) {
        if (!is_visible(s, b, p->i, j))
            continue;
        float dot = 0;
        for (int64_t l = 0; l < a->d; l++)
            dot =
                multiply_add(&p->w, (float)at4(s->c.at[0], b, h, p->i, l),
                             (float)key_value(s, 1, b, h * a->kv_heads / a->heads, j, l), dot);
        if (a->kind == ATTENTION_MMA)
            dot = unit_score(p, b, h, j);
        float t = flushed(&p->w, dot * a->scale);
        if (a->softcap != 0)
            t = a->softcap * function_of(&p->w, tanh((double)(t / a->softcap)));
        if (a->alibi)
            t = multiply_add(&p->w, -(float)tensor_value(s->c.at[attention_slopes(a)], h),
                             (float)labs((long)(p->i - j + a->keys - a->queries)), t);
        p->key[p->n] = j;
        p->t[p->n++] = t;
    }
}

static float column_value(const struct played *p, int64_t j, int64_t c)
{
    const struct attention *a = &p->s->a;
    int64_t h = p->z % a->heads;
    return (float)key_value(p->s, 2, p->z / a->heads, h * a->kv_heads / a->heads, p->key[j], c);
}

static float weight_of(const struct played *p, float w)
{
    enum dtype d = p->s->a.dtype;
    return p->w.tile ? (float)dtype_value(d, dtype_round(d, (double)w)) : w;
}

static float part_sum(const struct way *w, const float *x, int64_t n)
{
    float sum = 0;
    for (int64_t j = 0; j < n; j++)
        sum += x[w->backward ? n - 1 - j : j];
    return sum;
}

static float unit_values(const struct played *p, int64_t first, int64_t n, const float *w,
                         int64_t c)
{
    double x[16], y[16];
    for (int64_t j = 0; j < n; j++) {
        x[j] = (double)weight_of(p, w[j]);
        y[j] = (double)column_value(p, first + j, c);
    }
    return unit_dot(p, n, x, y);
}

static void play_flash(struct played *p, int64_t columns, float *ret_o, float *ret_lse)
{
    float most = -INFINITY, sum = 0, w[16];
    memset(ret_o, 0, (size_t)columns * sizeof *ret_o);
    for (int64_t first = 0; first < p->n; first += p->w.tile) {
        int64_t n = p->n - first < p->w.tile ? p->n - first : p->w.tile;
        float grown = most;
        for (int64_t j = 0; j < n; j++)
            grown = fmaxf(grown, p->t[first + j]);
        float rescale = first ? function_of(&p->w, exp((double)(most - grown))) : 0;
        for (int64_t j = 0; j < n; j++)
            w[j] = function_of(&p->w, exp((double)(p->t[first + j] - grown)));
        sum = multiply_add(&p->w, sum, rescale, part_sum(&p->w, w, n));
        for (int64_t c = 0; c < columns; c++) {
            ret_o[c] = flushed(&p->w, ret_o[c] * rescale);
            if (p->s->a.kind == ATTENTION_MMA)
                ret_o[c] += unit_values(p, first, n, w, c);
            for (int64_t j = 0; j < n && p->s->a.kind != ATTENTION_MMA; j++)
                ret_o[c] = multiply_add(&p->w, weight_of(p, w[j]),
                                        column_value(p, first + j, c), ret_o[c]);
        }
        most = grown;
    }
    for (int64_t c = 0; c < columns; c++)
        ret_o[c] /= sum;
    *ret_lse = most + function_of(&p->w, log((double)sum));
}

static void play_steps(struct played *p, int64_t columns, float *ret_o, float *ret_lse)
{
    float most = -INFINITY, w[256];
    for (int64_t j = 0; j < p->n; j++)
        most = fmaxf(most, p->t[j]);
    for (int64_t j = 0; j < p->n; j++)
        w[j] = function_of(&p->w, exp((double)(p->t[j] - most)));
    float sum = part_sum(&p->w, w, p->n);
    for (int64_t c = 0; c < columns; c++) {
        ret_o[c] = 0;
        for (int64_t j = 0; j < p->n; j++)
            if (kept(p->s, p->z * p->s->a.queries + p->i, p->key[j]) != 0)
                ret_o[c] = multiply_add(&p->w, flushed(&p->w, w[j] / sum),
                                        column_value(p, j, c), ret_o[c]);
        if (p->s->a.kind == ATTENTION_DROPOUT)
            ret_o[c] *= dropout_factor(&p->s->a);
    }
    *ret_lse = most + function_of(&p->w, log((double)sum));
}

/* Ranges, then the ranges joined. */
static void play_split(struct played *p, int64_t columns, float *ret_o, float *ret_lse)
{
    static const int max = 64;
    float o[64][128], lse[64], most = -INFINITY, sum = 0, w[64];
    int64_t n = 0;
    for (int64_t first = 0; first < p->n && n < max; n++) {
        struct played range = *p;
        int64_t last = first;
        while (last < p->n && p->key[last] / p->w.chunk == p->key[first] / p->w.chunk)
            last++;
        range.n = last - first;
        memmove(range.t, range.t + first, (size_t)range.n * sizeof *range.t);
        memmove(range.key, range.key + first, (size_t)range.n * sizeof *range.key);
        play_flash(&range, columns, o[n], &lse[n]);
        p->w.draw = range.w.draw;
        most = fmaxf(most, lse[n]);
        first = last;
    }
    for (int64_t r = 0; r < n; r++)
        sum += w[r] = function_of(&p->w, exp((double)(lse[r] - most)));
    for (int64_t c = 0; c < columns; c++) {
        ret_o[c] = 0;
        for (int64_t r = 0; r < n; r++)
            ret_o[c] = multiply_add(&p->w, w[r], o[r][c], ret_o[c]);
        ret_o[c] /= sum;
    }
    *ret_lse = most + function_of(&p->w, log((double)sum));
}

struct tally {
    int64_t judged, caught, powerful;
    double worst;
};

static void judge(const struct oracle *o, int64_t at, double got, struct tally *t)
{
    if (!isfinite(o->value[at]) || isinf(o->bound[at]))
        return;
    double error = fabs((got - o->value[at]) - o->tail[at]);
    t->judged++;
    t->worst = fmax(t->worst, error / o->bound[at]);
    if (!(error <= o->bound[at])) /* Check's own macros write to a pipe each time */
        ck_abort_msg("element %lld: %a, exact %a, error %g of %g", (long long)at, got,
                     o->value[at], error, o->bound[at]);
}

/* The same row without its last key, which moves the exact result by `moved`, must be outside
 * wherever that is more than twice the bound. */
static void judge_dropped(const struct oracle *o, int64_t at, double got, double moved,
                          struct tally *t)
{
    if (!(moved > 2.001 * o->bound[at]))
        return;
    t->powerful++;
    t->caught += fabs((got - o->value[at]) - o->tail[at]) > o->bound[at];
}

/* By how much column c moves without the last key. */
static double last_moves(const struct played *p, int64_t row, int64_t c)
{
    const struct attended *s = p->s;
    int64_t last = p->n; /* play_row has taken it off */
    double share = exp((double)p->t[last] - s->lse.value[row]);
    double value = (double)column_value(p, last, c) * kept(s, row, p->key[last]);
    double away = value - s->c.o.value[row * s->a.d + c];
    return last ? share * fabs(away) / (1 - share) : 0;
}

static void play_row(struct played *p, struct tally *t)
{
    const struct attended *s = p->s;
    int64_t row = p->z * s->a.queries + p->i, d = s->a.d;
    float o[128], lse;
    play_scores(p);
    for (int pass = 0; pass < 2 && p->n; pass++, p->n--) {
        (p->w.chunk ? play_split : p->w.tile ? play_flash : play_steps)(p, d, o, &lse);
        if (!pass)
            judge(&s->lse, row, (double)lse, t);
        for (int64_t c = 0; c < d; c++) {
            int64_t at = row * d + c;
            enum dtype f = s->a.dtype;
            double got = dtype_value(f, dtype_round(f, (double)o[c]));
            if (pass)
                judge_dropped(&s->c.o, at, got, last_moves(p, row, c), t);
            else
                judge(&s->c.o, at, got, t);
        }
    }
}

static const char *const simulated[] = {
    "queries=20,keys=40,d=16",
    "queries=20,keys=40,d=16,mask=bottom,seed=2",
    "dtype=f16,queries=20,keys=100,d=24",
    "dtype=bf16,queries=20,keys=60,d=24,mask=causal",
    "queries=20,keys=40,d=16,softcap=2,seed=3",
    "queries=20,keys=40,d=16,alibi=1,heads=4,kvheads=2",
    "queries=20,keys=40,d=16,dist=positive",
    "dtype=f16,queries=20,keys=40,d=16,dist=lognormal",
    "queries=20,keys=40,d=16,dist=lognormal",
    "queries=20,keys=40,d=16,dist=subnormal",
    "queries=20,keys=40,d=16,dist=integer",
    "queries=20,keys=40,d=32,dist=cancel",
    "dtype=bf16,queries=20,keys=40,d=16,dist=subnormal",
    "queries=20,keys=40,d=16,dist=subnormal,mode=flush",
    "queries=20,keys=40,d=16,dist=onehot",
};

START_TEST(legal_arithmetic_stays_inside)
{
    static const char *const kinds[] = {"naive", "flash", "split", "dropout", "mma"};
    char id[160];
    struct tally t = {0};
    for (int kind = 0; kind < 5; kind++) {
        struct attended s;
        if (kind == 4 && !strstr(simulated[_i], "dtype"))
            continue;
        if (kind == 3 && (strstr(simulated[_i], "softcap") || strstr(simulated[_i], "alibi")))
            continue;
        snprintf(id, sizeof id, "attention/%s:%s", kinds[kind], simulated[_i]);
        attended_open(&s, id);
        for (uint64_t x = 0; x < 8; x++)
            for (int64_t row = 0; row < s.a.batch * s.a.heads * s.a.queries; row++) {
                struct played p = {.s = &s, .z = row / s.a.queries, .i = row % s.a.queries};
                p.w = (struct way){x & 1,
                                   x & 2,
                                   s.c.id.mode.flush,
                                   kind % 3 ? 16 : 0,
                                   kind == 2 ? s.a.chunk : 0,
                                   (uint64_t)row << 32 | x << 28};
                play_row(&p, &t);
            }
        attended_close(&s);
    }
    ck_assert_int_ge(t.judged, 5000);
    /* A heavy tail leaves one key most of the weight, and seldom the last one. */
    bool peaked = strstr(simulated[_i], "lognormal");
    ck_assert_msg((t.powerful > 1000 || peaked) && t.caught == t.powerful,
                  "%lld of %lld lost keys caught, worst error %.3f of its bound",
                  (long long)t.caught, (long long)t.powerful, t.worst);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("attention_bound");
    TCase *c = tcase_create("attention_bound");
    tcase_add_loop_test(c, legal_arithmetic_stays_inside, 0,
                        sizeof simulated / sizeof simulated[0]);
    suite_add_tcase(s, c);
    return suite_run(s);
}
