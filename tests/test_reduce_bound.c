/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "../cases/reduce/reduce.h"
#include "suite.h"

/* --- bounds by simulation --------------------------------------------------------------------
 */

enum { TERMS_MAX = 96 };

struct way {
    const struct reduce *r;
    bool fused, flush;
};

static float kept(const struct way *w, float x)
{
    return w->flush && fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

static float plus(const struct way *w, float a, float b)
{
    return kept(w, kept(w, a) + kept(w, b));
}

static float fma_of(const struct way *w, float a, float b, float c)
{
    a = kept(w, a);
    b = kept(w, b);
    return w->fused ? kept(w, fmaf(a, b, c)) : plus(w, kept(w, a * b), c);
}

static float narrowed(const struct way *w, float x)
{
    enum dtype d = w->r->dtype;
    return (float)dtype_value(d, dtype_round(d, (double)x));
}

static float hop(const struct way *w, float x)
{
    return w->r->hop ? narrowed(w, x) : x;
}

static float chain(const struct way *w, const float *x, int64_t n, int64_t first, int64_t step)
{
    float sum = 0;
    for (int64_t i = first; i < n; i += step)
        sum = w->r->op == REDUCE_NORM ? fma_of(w, x[i], x[i], sum) : plus(w, sum, x[i]);
    return sum;
}

static float lanes(const struct way *w, const float *x, int64_t n, int count)
{
    float part[256] = {0};
    for (int l = 0; l < count; l++)
        part[l] = chain(w, x, n, l, count);
    for (int half = count / 2; half; half /= 2)
        for (int l = 0; l < half; l++)
            part[l] = plus(w, part[l], part[l + half]);
    return part[0];
}

static float ranks(const struct way *w, const float *x, int64_t n, int64_t first)
{
    float part[TERMS_MAX] = {0};
    for (int64_t i = 0; i < n; i++)
        part[i] = x[(first + i) % n];
    if (w->r->order == REDUCE_PAIRS)
        for (int64_t d = 1; d < n; d *= 2)
            for (int64_t i = 0; i + d < n; i += 2 * d)
                part[i] = hop(w, plus(w, part[i], part[i + d]));
    else
        for (int64_t i = 1; i < n; i++)
            part[0] = hop(w, plus(w, part[0], part[i]));
    return part[0];
}

static float sum_play(const struct way *w, const float *x, int64_t first)
{
    int64_t n = w->r->n;
    float y = w->r->order == REDUCE_SERIAL ? chain(w, x, n, 0, 1)
              : w->r->order == REDUCE_TREE || w->r->order == REDUCE_ATOMIC ? lanes(w, x, n, 256)
              : w->r->order == REDUCE_WARP                                 ? lanes(w, x, n, 32)
                                           : ranks(w, x, n, first);
    if (w->r->op == REDUCE_MEAN)
        y = kept(w, y / (float)n);
    return w->r->op == REDUCE_NORM ? sqrtf(y) : y;
}

struct moments {
    float count, mean, squares;
};

static struct moments join(const struct way *w, struct moments a, struct moments b)
{
    float n = a.count + b.count, away = plus(w, b.mean, -a.mean);
    if (b.count == 0)
        return a;
    float share = b.count / n, part = kept(w, kept(w, kept(w, away * away) * a.count) * share);
    return (struct moments){n, fma_of(w, away, share, a.mean),
                            plus(w, plus(w, a.squares, b.squares), part)};
}

static struct moments welford_play(const struct way *w, const float *x)
{
    struct moments lane[32] = {{0, 0, 0}};
    for (int64_t i = 0; i < w->r->n; i++) {
        struct moments *p = &lane[i % 32];
        float away = plus(w, x[i], -p->mean);
        p->count++;
        p->mean = plus(w, p->mean, kept(w, away / p->count));
        p->squares = fma_of(w, away, plus(w, x[i], -p->mean), p->squares);
    }
    for (int half = 16; half; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] = join(w, lane[l], lane[l + half]);
    lane[0].squares = kept(w, lane[0].squares / (float)w->r->n);
    return lane[0];
}

static struct moments twopass_play(const struct way *w, const float *x)
{
    float away[TERMS_MAX] = {0}, n = (float)w->r->n;
    struct reduce squares = *w->r, plain = *w->r;
    squares.op = REDUCE_NORM;
    plain.op = REDUCE_SUM;
    struct way ws = {&squares, w->fused, w->flush}, wp = {&plain, w->fused, w->flush};
    float mean = kept(w, lanes(&wp, x, w->r->n, 32) / n);
    for (int64_t i = 0; i < w->r->n; i++)
        away[i] = plus(w, x[i], -mean);
    return (struct moments){n, mean, kept(w, lanes(&ws, away, w->r->n, 32) / n)};
}

/* What is bounded by an argument of its own. */
enum argument { PLAIN, HOPS, ROOT, ONE_PASS, TWO_PASSES, ARGUMENTS };

struct tally {
    int64_t judged, outside;
    double worst[ARGUMENTS];
};

static enum argument argument_of(const struct reduce *r)
{
    return r->order == REDUCE_WELFORD        ? ONE_PASS
           : r->order == REDUCE_TWOPASS      ? TWO_PASSES
           : r->hop && r->dtype != DTYPE_F32 ? HOPS
           : r->op == REDUCE_NORM            ? ROOT
                                             : PLAIN;
}

static void judge(const struct reduce *r, const struct element *x, float y, struct tally *t)
{
    if (isinf(x->bound))
        return;
    double off = fabs((double)y - x->value - x->tail);
    ck_assert_msg(off <= x->bound, "order %d op %d %s n=%lld: %a for %a, off %a, bound %a",
                  (int)r->order, (int)r->op, dtype_info(r->dtype)->name, (long long)r->n,
                  (double)y, x->value, off, x->bound);
    t->judged++;
    double *worst = &t->worst[argument_of(r)];
    *worst = fmax(*worst, off / x->bound);
    enum dtype d = reduce_is_spread(r) ? DTYPE_F32 : r->dtype;
    uint64_t bits = dtype_round(d, x->value + (x->value > 0 ? -3 : 3) * x->bound);
    if (bits == dtype_round(d, x->value)) /* a copy: no smaller fault than the next number */
        bits = x->value == 0 ? 1 : bits - 1;
    double wrong = dtype_value(d, bits);
    t->outside += fabs(wrong - x->value - x->tail) > x->bound;
}

static const enum dist dists[] = {DIST_NORMAL, DIST_POSITIVE,  DIST_LOGNORMAL, DIST_WIDE,
                                  DIST_CANCEL, DIST_SUBNORMAL, DIST_TIES,      DIST_UNIFORM};

static struct reduce drawn(uint64_t x)
{
    static const enum dtype formats[] = {DTYPE_F32, DTYPE_F16, DTYPE_BF16};
    struct rng_key key = rng_key_make(x, "case");
    struct reduce r = {.order = (enum reduce_order)(rng_bits(key, 0, 0) % 9),
                       .op = (enum reduce_op)(rng_bits(key, 1, 0) % 3),
                       .dtype = formats[rng_bits(key, 2, 0) % 3],
                       .rows = 1,
                       .mode = {.exact_div = true, .exact_sqrt = true, .flush = x % 5 == 0}};
    bool all = reduce_is_all(&r);
    r.n = 1 + (int64_t)(rng_bits(key, 3, 0) % (all ? 16 : TERMS_MAX));
    r.hop = all && rng_bits(key, 4, 0) % 2;
    if (all && r.op == REDUCE_NORM)
        r.op = REDUCE_SUM;
    return r;
}

static void one_row(uint64_t at, struct tally *t)
{
    struct reduce r = drawn(at);
    struct way w = {&r, at / 3 % 2, r.mode.flush};
    double x[TERMS_MAX];
    float f[TERMS_MAX];
    struct rng_key key = rng_key_make(at, "x");
    for (int64_t i = 0; i < r.n; i++) {
        x[i] = dtype_value(r.dtype, fill_bits(key, dists[at / 11 % 8], r.dtype, r.n, i));
        f[i] = (float)x[i];
    }
    if (reduce_is_spread(&r)) {
        struct element mean, var;
        struct moments m =
            r.order == REDUCE_WELFORD ? welford_play(&w, f) : twopass_play(&w, f);
        reduce_spread(&r, x, &mean, &var);
        judge(&r, &mean, m.mean, t);
        judge(&r, &var, m.squares, t);
        return;
    }
    int64_t first = r.order == REDUCE_RING ? (int64_t)(at / 13) % r.n : 0;
    struct element y = reduce_sum(&r, x, first, false);
    judge(&r, &y, narrowed(&w, sum_play(&w, f, first)), t);
}

/* 120000 rows in 4 parts. */
START_TEST(legal_arithmetic_stays_inside)
{
    static const double least[ARGUMENTS] = {0.9, 0.9, 0.9, 0.35, 0.35};
    struct tally t = {0};
    for (uint64_t x = 0; x < 30000; x++)
        one_row(x * 4 + (uint64_t)_i, &t);
    ck_assert_int_ge(t.judged, 30000);
    ck_assert_int_eq(t.outside, t.judged);
    for (int a = 0; a < ARGUMENTS; a++)
        ck_assert_msg(t.worst[a] > least[a], "argument %d: worst error %.3f of its bound", a,
                      t.worst[a]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("reduce_bound");
    TCase *c = tcase_create("bound");
    tcase_add_loop_test(c, legal_arithmetic_stays_inside, 0, 4);
    suite_add_tcase(s, c);
    return suite_run(s);
}
