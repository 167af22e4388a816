/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cases/attention/attention.h"
#include "../cases/gemm/unit.h"
#include "caseid.h"
#include "reference.h"
#include "rng.h"

/* The references of attention: against MPFR, written from the definition; and their bounds, by
 * f32 arithmetic in many legal ways. */

struct scene {
    struct case_id id;
    struct case_plan plan;
    struct attention a;
    struct tensor input[CASE_TENSOR_MAX];
    const struct tensor *at[CASE_TENSOR_MAX];
    struct oracle o, lse;
};

static void scene_init(struct scene *s, const char *text)
{
    struct errinfo e = {0};
    memset(s, 0, sizeof *s);
    ck_assert_msg(!caseid_parse(text, &s->id, &e), "%s", e.text);
    ck_assert_msg(!s->id.family->plan(&s->id, &s->plan, &e), "%s: %s", text, e.text);
    attention_decode(&s->id, &s->a);
    for (int i = 0; i < s->plan.n_tensor; i++)
        if (s->plan.tensor[i].role != TENSOR_OUT) {
            ck_assert(!case_input(&s->id, &s->plan, i, &s->input[i], &e));
            s->at[i] = &s->input[i];
        }
    ck_assert(!s->id.family->oracle(&s->id, &s->plan, s->at, ATTENTION_O, 1, &s->o, &e));
    ck_assert(!s->id.family->oracle(&s->id, &s->plan, s->at, ATTENTION_LSE, 1, &s->lse, &e));
}

static void scene_release(struct scene *s)
{
    for (int i = 0; i < s->plan.n_tensor; i++)
        tensor_release(&s->input[i]);
    oracle_release(&s->o);
    oracle_release(&s->lse);
}

static double at4(const struct tensor *t, int64_t b, int64_t h, int64_t i, int64_t c)
{
    return tensor_value(t, ((b * t->dim[1] + h) * t->dim[2] + i) * t->dim[3] + c);
}

/* Where sequence b starts, by its table. */
static int64_t start_of(const struct scene *s, const char *table, int64_t b)
{
    for (int i = 0; i < s->plan.n_tensor; i++)
        if (!strcmp(s->plan.tensor[i].name, table))
            return (int64_t)tensor_value(s->at[i], b);
    return -1; /* sequences of one length */
}

static int64_t queries_of(const struct scene *s, int64_t b)
{
    int64_t start = start_of(s, "starts_q", b);
    return start < 0 ? s->a.queries : start_of(s, "starts_q", b + 1) - start;
}

static int64_t keys_of(const struct scene *s, int64_t b)
{
    int64_t start = start_of(s, "starts_k", b);
    return start < 0 ? s->a.keys : start_of(s, "starts_k", b + 1) - start;
}

static int64_t row_of(const struct scene *s, int64_t b, int64_t h, int64_t i)
{
    int64_t start = start_of(s, "starts_q", b);
    return start < 0 ? (b * s->a.heads + h) * s->a.queries + i : (start + i) * s->a.heads + h;
}

/* Element c of key j, through the table if there is one. */
static double key_value(const struct scene *s, int which, int64_t b, int64_t h, int64_t j,
                        int64_t c)
{
    int64_t page = s->a.page, start = start_of(s, "starts_k", b);
    if (start >= 0)
        return tensor_value(s->at[which], ((start + j) * s->a.kv_heads + h) * s->a.d + c);
    if (!page)
        return at4(s->at[which], b, h, j, c);
    const struct tensor *table = s->at[ATTENTION_PART_LSE + 1];
    int64_t at = (int64_t)tensor_value(table, b * table->dim[1] + j / page);
    return at4(s->at[which], at, h, j % page, c);
}

/* What dropout makes of the value that key j gives to the query in row `row`. */
static double kept(const struct scene *s, int64_t row, int64_t j)
{
    const struct family *f = s->id.family;
    double drop = s->id.value[family_param_find(f, "drop")].r;
    int rounds = (int)s->id.value[family_param_find(f, "rounds")].i;
    int64_t n = row * s->a.keys + j;
    if (s->a.kind != ATTENTION_DROPOUT)
        return 1;
    uint8_t byte = dropout_byte((uint64_t)n / 16, s->id.seed, rounds, (int)(n % 16));
    return byte <= floor(255 * (double)(float)(1 - drop)) ? (double)(1 / (float)(1 - drop)) : 0;
}

/* Written apart from attention_visible, from the words of the help. */
static bool is_visible(const struct scene *s, int64_t b, int64_t i, int64_t j)
{
    const union param_value *v = s->id.value;
    const struct family *f = s->id.family;
    int64_t mask = v[family_param_find(f, "mask")].i,
            window = v[family_param_find(f, "window")].i;
    int64_t back = mask == 2 ? i - j - queries_of(s, b) + keys_of(s, b) : i - j; /* keys back from the diagonal */
    return mask == 0 || (back >= 0 && (!window || back < window));
}

/* --- MPFR ------------------------------------------------------------------------------------
 */

enum { BITS = 400 };

struct exact {
    mpfr_t t, x, top, sum;
};

static void exact_score(struct exact *m, const struct scene *s, int64_t b, int64_t h, int64_t i,
                        int64_t j)
{
    const struct attention *a = &s->a;
    int64_t kv = h * a->kv_heads / a->heads;
    mpfr_set_zero(m->t, 1);
    for (int64_t l = 0; l < a->d; l++) {
        mpfr_set_d(m->x, tensor_value(s->at[0], row_of(s, b, h, i) * a->d + l), MPFR_RNDN);
        mpfr_mul_d(m->x, m->x, key_value(s, 1, b, kv, j, l), MPFR_RNDN);
        mpfr_add(m->t, m->t, m->x, MPFR_RNDN);
    }
    mpfr_mul_d(m->t, m->t, (double)a->scale, MPFR_RNDN);
    if (a->softcap != 0) {
        mpfr_div_d(m->t, m->t, (double)a->softcap, MPFR_RNDN);
        mpfr_tanh(m->t, m->t, MPFR_RNDN);
        mpfr_mul_d(m->t, m->t, (double)a->softcap, MPFR_RNDN);
    }
    if (a->alibi) {
        mpfr_set_d(m->x, tensor_value(s->at[attention_slopes(a)], h), MPFR_RNDN);
        mpfr_mul_si(m->x, m->x, labs((long)(i - j + keys_of(s, b) - queries_of(s, b))), MPFR_RNDN);
        mpfr_sub(m->t, m->t, m->x, MPFR_RNDN);
    }
}

static double off(mpfr_t exact, double value, double tail)
{
    mpfr_sub_d(exact, exact, value, MPFR_RNDN);
    mpfr_sub_d(exact, exact, tail, MPFR_RNDN);
    return fabs(mpfr_get_d(exact, MPFR_RNDA));
}

static void exact_row(struct exact *m, const struct scene *s, int64_t b, int64_t h, int64_t i)
{
    const struct attention *a = &s->a;
    int64_t row = row_of(s, b, h, i), seen = 0;
    for (int64_t c = 0; c<a->d; c += a->d> 3 ? 3 : 1) {
        int64_t at = row * a->d + c;
        mpfr_set_zero(m->top, 1);
        mpfr_set_zero(m->sum, 1);
        seen = 0;
        for (int64_t j = 0; j < keys_of(s, b); j++) {
            if (!is_visible(s, b, i, j))
                continue;
            seen++;
            exact_score(m, s, b, h, i, j);
            mpfr_exp(m->t, m->t, MPFR_RNDN);
            mpfr_add(m->sum, m->sum, m->t, MPFR_RNDN);
            mpfr_mul_d(m->t, m->t, key_value(s, 2, b, h * a->kv_heads / a->heads, j, c),
                       MPFR_RNDN);
            mpfr_mul_d(m->t, m->t, kept(s, row, j), MPFR_RNDN);
            mpfr_add(m->top, m->top, m->t, MPFR_RNDN);
        }
        if (!seen) {
            ck_assert(s->o.value[at] == 0 && s->o.bound[at] == 0);
            continue;
        }
        mpfr_div(m->top, m->top, m->sum, MPFR_RNDN);
        ck_assert_double_le(off(m->top, s->o.value[at], s->o.tail[at]), s->o.error[at]);
        ck_assert_double_le(s->o.error[at], 0x1p-6 * s->o.bound[at]);
    }
    if (!seen) {
        ck_assert(s->lse.value[row] == -(double)INFINITY);
        return;
    }
    mpfr_log(m->sum, m->sum, MPFR_RNDN);
    ck_assert_double_le(off(m->sum, s->lse.value[row], s->lse.tail[row]), s->lse.error[row]);
    ck_assert_double_le(s->lse.error[row], 0x1p-6 * s->lse.bound[row]);
}

START_TEST(references_equal_mpfr)
{
    static const char *const ids[] = {
        "attention/naive:queries=5,keys=9,d=7",
        "attention/flash:dtype=f16,queries=7,keys=5,d=4,mask=bottom",
        "attention/naive:dtype=bf16,queries=6,keys=6,d=5,mask=causal,window=3",
        "attention/flash:heads=4,kvheads=2,batch=2,queries=3,keys=8,d=5,alibi=1",
        "attention/naive:queries=4,keys=20,d=6,softcap=2.5,scale=0.7,mask=bottom,window=6",
        "attention/flash:queries=4,keys=20,d=6,dist=lognormal",
        "attention/flash:queries=4,keys=20,d=6,dist=subnormal",
        "attention/naive:dtype=f16,queries=1,keys=1,d=1",
        "attention/flash:heads=3,kvheads=1,queries=3,keys=4,d=2,alibi=1,softcap=1",
        "attention/split:heads=4,kvheads=2,batch=2,queries=2,keys=20,d=4,page=3,split=3",
        "attention/split:queries=9,keys=5,d=4,mask=bottom,split=7",
        "attention/dropout:queries=5,keys=20,d=4,drop=0.4,rounds=7",
        "attention/"
        "dropout:dtype=bf16,heads=2,kvheads=1,queries=6,keys=20,d=4,mask=bottom,seed=3",
        "attention/mma:dtype=f16,queries=5,keys=20,d=7,mask=causal",
        "attention/varlen:batch=6,queries=5,keys=9,d=4,mask=bottom,window=4",
        "attention/varlen:dtype=bf16,batch=4,heads=4,kvheads=2,queries=6,keys=8,d=3,alibi=1",
    };
    struct scene s;
    struct exact m;
    scene_init(&s, ids[_i]);
    mpfr_inits2(BITS, m.t, m.x, m.top, m.sum, (mpfr_ptr)0);
    for (int64_t b = 0; b < s.a.batch; b++)
        for (int64_t h = 0; h < s.a.heads; h++)
            for (int64_t i = 0; i < queries_of(&s, b); i++)
                exact_row(&m, &s, b, h, i);
    mpfr_clears(m.t, m.x, m.top, m.sum, (mpfr_ptr)0);
    scene_release(&s);
}
END_TEST

/* --- bounds by simulation --------------------------------------------------------------------
 */

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
    const struct scene *s;
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
        x[l] = at4(p->s->at[0], b, h, p->i, l);
        y[l] = key_value(p->s, 1, b, h * a->kv_heads / a->heads, j, l);
    }
    return unit_dot(p, a->d, x, y);
}

static void play_scores(struct played *p)
{
    const struct scene *s = p->s;
    const struct attention *a = &s->a;
    int64_t b = p->z / a->heads, h = p->z % a->heads;
    p->n = 0;
    for (int64_t j = 0; j < a->keys; j++) {
        if (!is_visible(s, b, p->i, j))
            continue;
        float dot = 0;
        for (int64_t l = 0; l < a->d; l++)
            dot =
                multiply_add(&p->w, (float)at4(s->at[0], b, h, p->i, l),
                             (float)key_value(s, 1, b, h * a->kv_heads / a->heads, j, l), dot);
        if (a->kind == ATTENTION_MMA)
            dot = unit_score(p, b, h, j);
        float t = flushed(&p->w, dot * a->scale);
        if (a->softcap != 0)
            t = a->softcap * function_of(&p->w, tanh((double)(t / a->softcap)));
        if (a->alibi)
            t = multiply_add(&p->w, -(float)tensor_value(s->at[attention_slopes(a)], h),
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
    ck_assert_msg(error <= o->bound[at], "element %lld: %a, exact %a, error %g of %g",
                  (long long)at, got, o->value[at], error, o->bound[at]);
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
    const struct scene *s = p->s;
    int64_t last = p->n; /* play_row has taken it off */
    double share = exp((double)p->t[last] - s->lse.value[row]);
    double value = (double)column_value(p, last, c) * kept(s, row, p->key[last]);
    double away = value - s->o.value[row * s->a.d + c];
    return last ? share * fabs(away) / (1 - share) : 0;
}

static void play_row(struct played *p, struct tally *t)
{
    const struct scene *s = p->s;
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
                judge_dropped(&s->o, at, got, last_moves(p, row, c), t);
            else
                judge(&s->o, at, got, t);
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
        struct scene s;
        if (kind == 4 && !strstr(simulated[_i], "dtype"))
            continue;
        if (kind == 3 && (strstr(simulated[_i], "softcap") || strstr(simulated[_i], "alibi")))
            continue;
        snprintf(id, sizeof id, "attention/%s:%s", kinds[kind], simulated[_i]);
        scene_init(&s, id);
        for (uint64_t x = 0; x < 8; x++)
            for (int64_t row = 0; row < s.a.batch * s.a.heads * s.a.queries; row++) {
                struct played p = {.s = &s, .z = row / s.a.queries, .i = row % s.a.queries};
                p.w = (struct way){x & 1,
                                   x & 2,
                                   s.id.mode.flush,
                                   kind % 3 ? 16 : 0,
                                   kind == 2 ? s.a.chunk : 0,
                                   (uint64_t)row << 32 | x << 28};
                play_row(&p, &t);
            }
        scene_release(&s);
    }
    ck_assert_int_ge(t.judged, 5000);
    /* A heavy tail leaves one key most of the weight, and seldom the last one. */
    bool peaked = strstr(simulated[_i], "lognormal");
    ck_assert_msg((t.powerful > 1000 || peaked) && t.caught == t.powerful,
                  "%lld of %lld lost keys caught, worst error %.3f of its bound",
                  (long long)t.caught, (long long)t.powerful, t.worst);
}
END_TEST

/* One sequence with one head lies in memory as flash has it. */
START_TEST(one_sequence_has_the_bounds_of_flash)
{
    struct scene one, flash;
    scene_init(&one, "attention/varlen:dtype=bf16,heads=1,queries=19,keys=37,d=20,mask=bottom");
    scene_init(&flash, "attention/flash:dtype=bf16,heads=1,queries=19,keys=37,d=20,mask=bottom");
    ck_assert_int_eq(one.o.count, flash.o.count);
    ck_assert_mem_eq(one.input[0].data, flash.input[0].data, tensor_bytes(&flash.input[0]));
    for (int64_t i = 0; i < flash.o.count; i++)
        ck_assert(one.o.value[i] == flash.o.value[i] && one.o.bound[i] == flash.o.bound[i]);
    for (int64_t i = 0; i < flash.lse.count; i++)
        ck_assert(one.lse.value[i] == flash.lse.value[i] &&
                  one.lse.bound[i] == flash.lse.bound[i]);
    scene_release(&one);
    scene_release(&flash);
}
END_TEST

/* --- the case --------------------------------------------------------------------------------
 */

START_TEST(bad_parameters_are_explained)
{
    static const struct {
        const char *id, *word;
    } bad[] = {
        {"attention/naive:heads=4,kvheads=3", "kvheads must divide"},
        {"attention/flash:window=3", "a window needs"},
        {"attention/flash:queries=65536,keys=65536", "2^30"},
        {"attention/fault_mask:d=100", "d up to 64"},
        {"attention/flash:page=16", "only attention/split"},
        {"attention/split:page=16,dist=special", "leave one out"},
        {"attention/varlen:dist=special", "take attention/flash"},
        {"attention/mma:d=8", "the matrix units take"},
    };
    struct case_id id;
    struct case_plan plan;
    struct errinfo e = {0};
    ck_assert(!caseid_parse(bad[_i].id, &id, &e));
    ck_assert_int_eq(id.family->plan(&id, &plan, &e), ERR_USAGE);
    ck_assert_msg(strstr(e.text, bad[_i].word), "%s", e.text);
}
END_TEST

START_TEST(slopes_are_those_of_alibi)
{
    struct scene s;
    scene_init(&s, "attention/flash:heads=8,queries=1,keys=2,d=1,alibi=1");
    for (int h = 0; h < 8; h++)
        ck_assert(tensor_value(s.at[attention_slopes(&s.a)], h) == ldexp(1, -h - 1));
    scene_release(&s);
    scene_init(&s, "attention/flash:heads=16,queries=1,keys=2,d=1,alibi=1");
    for (int h = 0; h < 16; h++)
        ck_assert_double_eq_tol(tensor_value(s.at[attention_slopes(&s.a)], h),
                                exp2(-(h + 1) / 2.0), 0x1p-24 * exp2(-(h + 1) / 2.0));
    scene_release(&s);
}
END_TEST

/* Known answers of Random123 for 7 and 10 rounds, and the harness's own generator. */
START_TEST(masks_are_those_of_philox)
{
    static const uint32_t zeros[2][4] = {
        {0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48},
        {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
    };
    for (int b = 0; b < 16; b++) {
        ck_assert_uint_eq(dropout_byte(0, 0, 7, b), zeros[0][b / 4] >> b % 4 * 8 & 255);
        ck_assert_uint_eq(dropout_byte(0, 0, 10, b), zeros[1][b / 4] >> b % 4 * 8 & 255);
    }
    for (uint64_t i = 0; i < 1000; i++) {
        struct rng_key key = rng_key_make(i, "mask");
        uint32_t words[4];
        uint64_t counter = rng_bits(key, i, 1);
        rng_block(key, counter, 0, words);
        for (int b = 0; b < 16; b++)
            ck_assert_uint_eq(dropout_byte(counter, (uint64_t)key.k[1] << 32 | key.k[0], 10, b),
                              words[b / 4] >> b % 4 * 8 & 255);
    }
}
END_TEST

/* NaN and Inf reach those rows that see them, and no others. */
START_TEST(special_values_reach_who_sees_them)
{
    struct scene s;
    scene_init(&s, "attention/flash:queries=36,keys=36,d=20,mask=causal,dist=special");
    for (int64_t i = 0; i < 36; i++) {
        double lse = s.lse.value[i];
        bool nan = i % 8 == 3 || i == 35;
        if (i < 24 && !nan)
            ck_assert(isfinite(lse) && isfinite(s.lse.bound[i]));
        if (nan)
            ck_assert(isnan(lse) && s.lse.bound[i] == 0);
        if (i % 8 == 7 && i < 24)
            ck_assert_double_eq_tol(lse, log((double)(i + 1)), 1e-9);
    }
    scene_release(&s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("attention");
    TCase *c = tcase_create("attention");
    tcase_add_loop_test(c, references_equal_mpfr, 0, 16);
    tcase_add_loop_test(c, legal_arithmetic_stays_inside, 0,
                        sizeof simulated / sizeof simulated[0]);
    tcase_add_test(c, one_sequence_has_the_bounds_of_flash);
    tcase_add_loop_test(c, bad_parameters_are_explained, 0, 8);
    tcase_add_test(c, slopes_are_those_of_alibi);
    tcase_add_test(c, masks_are_those_of_philox);
    tcase_add_test(c, special_values_reach_who_sees_them);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
