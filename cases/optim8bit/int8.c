/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* LLM.int8: rows to integers, their product, back to f16. */

enum { A, W, BIAS, QA, STAT_A, QW, STAT_W, ACC, Y };

static const float factor = 6.200012e-05f; /* about 1/127^2, as the library has it */

static void launch_rows(struct case_plan *p, int64_t rows, int64_t columns, int x, int q,
                        float threshold)
{
    struct case_launch *l = plan_launch(p, "int8_rows", rows, 256);
    push_tensor(l, x);
    push_tensor(l, q);
    push_tensor(l, q + 1);
    push_i32(l, columns);
    push_f32(l, threshold);
}

enum err int8_plan(const struct case_id *id, struct case_plan *p, struct errinfo *e)
{
    int64_t m = id->value[P_M].i, n = id->value[P_N].i, k = id->value[P_K].i;
    const int64_t a[] = {m, k}, w[] = {n, k}, c[] = {m, n};
    bool wraps = id->variant->hidden;
    if (m * k > 1 << 26 || n * k > 1 << 26 || m * n > 1 << 26 || k > 131071)
        return err_set(e, ERR_USAGE,
                       "m=%lld,n=%lld,k=%lld: k is at most 131071 (sums fit in i32) and a "
                       "matrix has at most 2^26 elements",
                       (long long)m, (long long)n, (long long)k);
    plan_tensor(p, "a", TENSOR_IN, DTYPE_F16, 2, a, id->dist);
    plan_tensor(p, "w", TENSOR_IN, DTYPE_F16, 2, w,
                id->dist == DIST_ONEHOT ? DIST_NORMAL : id->dist);
    plan_tensor(p, "bias", TENSOR_IN, DTYPE_F16, 1, &n, DIST_NORMAL);
    plan_tensor(p, "qa", TENSOR_OUT, DTYPE_I8, 2, a, DIST_ZERO);
    plan_tensor(p, "stat_a", TENSOR_OUT, DTYPE_F32, 1, &m, DIST_ZERO);
    plan_tensor(p, "qw", TENSOR_OUT, DTYPE_I8, 2, w, DIST_ZERO);
    plan_tensor(p, "stat_w", TENSOR_OUT, DTYPE_F32, 1, &n, DIST_ZERO);
    plan_tensor(p, "acc", TENSOR_OUT, DTYPE_I32, 2, c, DIST_ZERO);
    plan_tensor(p, "y", TENSOR_OUT, DTYPE_F16, 2, c, DIST_ZERO);
    launch_rows(p, m, k, A, QA, (float)id->value[P_THRESHOLD].r);
    launch_rows(p, n, k, W, QW, 0);
    struct case_launch *l =
        plan_launch(p, wraps ? "fault_wrapped_product" : "int8_product", (n + 15) / 16, 16);
    l->grid[1] = (uint32_t)((m + 15) / 16);
    l->block[1] = 16;
    push_tensor(l, QA);
    push_tensor(l, QW);
    push_tensor(l, ACC);
    push_i32(l, m);
    push_i32(l, n);
    push_i32(l, k);
    l = plan_launch(p, "int8_finish", (m * n + 255) / 256, 256);
    push_tensor(l, ACC);
    push_tensor(l, STAT_A);
    push_tensor(l, STAT_W);
    push_tensor(l, BIAS);
    push_tensor(l, Y);
    push_i32(l, m);
    push_i32(l, n);
    return ERR_OK;
}

/* Halves of integers, scaled by a power of two; the first of each row is the 127 that makes
 * them halves again. */
bool int8_fill(const struct case_id *id, const struct case_plan *plan, int i,
                  struct case_span span, struct tensor *t)
{
    (void)plan;
    if (id->dist != DIST_TIES || i > W)
        return false;
    struct rng_key key = rng_key_make(id->seed, i == A ? "optim8bit/a" : "optim8bit/w");
    for (int64_t k = span.from; k < span.to; k++) {
        double half = (double)(rng_bits(key, (uint64_t)k, 0) % 252) - 125.5;
        double x = k % t->dim[1] ? half : 127;
        tensor_set_bits(t, k, dtype_round(DTYPE_F16, ldexp(x, (int)(k / t->dim[1] % 3))));
    }
    return true;
}

/* --- reference -------------------------------------------------------------------------------
 */

/* A matrix of integers by rows. With a fast division an integer may be its neighbour where the
 * exact quotient lies within 4 ulp of the middle between them (judge.c); `other` is it, else q.
 */
struct rows {
    int64_t rows, columns;
    int *q, *other;       /* owned */
    float *stat, *second; /* owned */
};

static void rows_release(struct rows *r)
{
    free(r->q);
    free(r->other);
    free(r->stat);
    free(r->second);
}

static int integer(float x)
{
    return isnan(x) ? 0 : (int)nearbyintf(fmaxf(-1000, fminf(1000, x)));
}

static bool is_counted(float v, float threshold)
{
    return !isnan(v) && !(threshold > 0 && v >= threshold);
}

static void row_make(struct rows *r, const struct tensor *x, int64_t row, float threshold,
                     const struct freedom *f)
{
    float most = 0, second = 0;
    for (int64_t i = 0; i < r->columns; i++) {
        float v = fabsf((float)tensor_value(x, row * r->columns + i));
        if (!is_counted(v, threshold))
            continue;
        second = v > most ? most : v > second ? v : second;
        most = v > most ? v : most;
    }
    float scale = 127 / most;
    for (int64_t i = 0; i < r->columns; i++) {
        int64_t at = row * r->columns + i;
        float v = (float)tensor_value(x, at);
        bool out = threshold > 0 && fabsf(v) >= threshold;
        volatile float y = v * scale;
        r->q[at] = r->other[at] = out ? 0 : integer(y);
        double exact = 127 * (double)v / (double)most, middle = floor(exact) + 0.5;
        if (f->exact || out || !isfinite(exact))
            continue;
        int e;
        frexp(middle, &e);
        if (fabs(exact - middle) <= f->ulps * ldexp(1, e - 24))
            r->other[at] = (int)(2 * middle) - r->q[at];
    }
    r->stat[row] = most;
    r->second[row] = second;
}

static enum err rows_init(struct rows *r, const struct tensor *x, float threshold,
                          const struct freedom *f, struct errinfo *e)
{
    *r = (struct rows){.rows = x->dim[0], .columns = x->dim[1]};
    r->q = calloc((size_t)x->count, sizeof *r->q);
    r->other = calloc((size_t)x->count, sizeof *r->other);
    r->stat = calloc((size_t)r->rows, sizeof *r->stat);
    r->second = calloc((size_t)r->rows, sizeof *r->second);
    if (!r->q || !r->other || !r->stat || !r->second) {
        rows_release(r);
        return err_set(e, ERR_NOMEM, "no memory for the reference of int8");
    }
    for (int64_t row = 0; row < r->rows; row++)
        row_make(r, x, row, threshold, f);
    return ERR_OK;
}

static void judge_rows(const struct rows *r, bool stats, struct case_span span,
                       struct oracle *o)
{
    if (stats)
        for (int64_t i = span.from; i < span.to; i++)
            judge_exact(o, i, (double)r->stat[i], (double)r->stat[i] - (double)r->second[i]);
    else
        for (int64_t i = span.from; i < span.to; i++) {
            judge_between(o, i, r->q[i], r->other[i], 1);
            o->scale[i] = 127;
        }
}

/* The sum, and how far integers that may be their neighbours can move it. */
struct sum {
    int64_t value, slack, largest; /* of its terms */
};

static struct sum sum_of(const struct rows *a, const struct rows *w, int64_t i, int64_t j)
{
    struct sum s = {0, 0, 0};
    for (int64_t l = 0; l < a->columns; l++) {
        int64_t x = i * a->columns + l, y = j * a->columns + l;
        int dx = abs(a->other[x] - a->q[x]), dy = abs(w->other[y] - w->q[y]);
        int64_t term = a->q[x] * w->q[y];
        s.largest = llabs(term) > llabs(s.largest) ? term : s.largest;
        s.value += term;
        s.slack += dx * abs(w->q[y]) + dy * abs(a->q[x]) + dx * dy;
    }
    return s;
}

static double finish(int64_t acc, float row, float column, double bias)
{
    volatile float x = (float)acc * row;
    x = x * column;
    float y = fmaf(x, factor, (float)bias);
    return dtype_value(DTYPE_F16, dtype_round(DTYPE_F16, (double)y));
}

static void judge_product(const struct rows *a, const struct rows *w, const struct tensor *bias,
                          bool finished, struct case_span span, struct oracle *o)
{
    for (int64_t at = span.from; at < span.to; at++) {
        int64_t i = at / w->rows, j = at % w->rows;
        struct sum s = sum_of(a, w, i, j);
        if (!finished) {
            judge_exact(o, at, (double)s.value, (double)s.largest);
            o->bound[at] = (double)s.slack;
            continue;
        }
        double b = tensor_value(bias, j);
        double y = finish(s.value, a->stat[i], w->stat[j], b);
        double low = finish(s.value - s.slack, a->stat[i], w->stat[j], b);
        double high = finish(s.value + s.slack, a->stat[i], w->stat[j], b);
        double without = finish(s.value - s.largest, a->stat[i], w->stat[j], b);
        judge_exact(o, at, y, y - without);
        if (s.slack)
            o->bound[at] = isfinite(high - low) ? fmax(high - y, y - low) : INFINITY;
    }
}

/* Both factors as integers. */
static enum err factors_init(const struct case_id *id, const struct tensor *const *input,
                             struct rows *a, struct rows *w, struct errinfo *e)
{
    struct freedom f = freedom_of(&id->mode);
    TRY(rows_init(a, input[A], (float)id->value[P_THRESHOLD].r, &f, e));
    enum err err = rows_init(w, input[W], 0, &f, e);
    if (err)
        rows_release(a);
    return err;
}

enum err int8_oracle(const struct case_id *id, const struct case_plan *plan,
                     const struct tensor *const *input, int which, struct case_span span,
                     struct oracle *o, struct errinfo *e)
{
    struct rows a, w;
    (void)plan;
    TRY(factors_init(id, input, &a, &w, e));
    if (which >= ACC)
        judge_product(&a, &w, input[BIAS], which == Y, span, o);
    else
        judge_rows(which >= QW ? &w : &a, which == STAT_A || which == STAT_W, span, o);
    rows_release(&a);
    rows_release(&w);
    return ERR_OK;
}

/* One result in another way; wrapped: sums that lose all but 16 bits after each term are the
 * last 16 bits of the exact one. */
static uint64_t way_result(enum way way, int which, const struct rows *a, const struct rows *w,
                           const struct tensor *bias, int64_t i, int64_t j)
{
    int64_t row = way == WAY_NEXT_ROW   ? (i + 1) % a->rows
                  : way == WAY_LAST_ROW ? (i + a->rows - 1) % a->rows
                                        : i;
    int64_t column = way == WAY_NEXT_COLUMN ? (j + 1) % w->rows : j, acc = sum_of(a, w, i, j).value;
    float stat = a->stat[row] * (way == WAY_POWER ? 127.0f * 127 / (128 * 128) : 1);
    if (way == WAY_WRAPPED)
        acc = (int16_t)acc;
    if (which == ACC)
        return dtype_round(DTYPE_I32, (double)acc);
    return dtype_round(DTYPE_F16, finish(acc, stat, w->stat[column], tensor_value(bias, j)));
}

bool int8_model(const struct case_id *id, const struct case_plan *plan,
                const struct tensor *const *input, int which, enum way way, int64_t n,
                const int64_t *index, uint64_t *ret_bits)
{
    struct rows a, w;
    (void)plan;
    if (which < ACC || (which == ACC && way != WAY_WRAPPED) ||
        factors_init(id, input, &a, &w, NULL))
        return false;
    for (int64_t k = 0; k < n; k++)
        ret_bits[k] = way_result(way, which, &a, &w, input[BIAS], index[k] / w.rows,
                                 index[k] % w.rows);
    rows_release(&a);
    rows_release(&w);
    return true;
}
