/* SPDX-License-Identifier: Apache-2.0 */
#include "gemm.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Rows of one matrix of the batch, and of k the range [first, last): what is summed at once. Its
 * elements lie from `base` on in the reference. */
struct slice {
    int64_t batch, first, last, row, rows, base;
};

/* Operands of a slice packed as floats, with notes on each row of op(A) and column of op(B). */
struct packed {
    struct gemm_operands o;
    struct gemm_line *row, *column; /* owned */
};

static void packed_release(struct packed *p)
{
    free(p->o.a);
    free(p->o.b);
    free(p->row);
    free(p->column);
}

/* Room for the longest slice of so many rows. */
static enum err packed_init(struct packed *p, const struct gemm *g, int64_t rows,
                            struct errinfo *e)
{
    size_t columns = (size_t)(g->n + GEMM_PANEL - 1) / GEMM_PANEL * GEMM_PANEL;
    size_t k = g->k ? (size_t)g->k : 1;
    *p = (struct packed){.o = {rows, g->n, g->k, NULL, NULL}};
    p->o.a = calloc((size_t)rows * k, sizeof *p->o.a);
    p->o.b = calloc(columns * k, sizeof *p->o.b);
    p->row = calloc((size_t)rows, sizeof *p->row);
    p->column = calloc((size_t)g->n, sizeof *p->column);
    if (p->o.a && p->o.b && p->row && p->column)
        return ERR_OK;
    packed_release(p);
    return err_set(e, ERR_NOMEM, "no memory for the reference of gemm m=%lld,n=%lld,k=%lld",
                   (long long)g->m, (long long)g->n, (long long)g->k);
}

static void line_note(struct gemm_line *l, double x)
{
    double size = fabs(x);
    if (!isfinite(x)) {
        l->special = true;
        return;
    }
    l->sum += size;
    l->largest = size > l->largest ? size : l->largest;
    l->subnormal |= x != 0 && size < FLT_MIN;
}

static float *packed_b(const struct packed *p, int64_t l, int64_t j)
{
    int64_t panel = j / GEMM_PANEL * GEMM_PANEL;
    return &p->o.b[panel * p->o.k + l * GEMM_PANEL + j - panel];
}

static float *packed_a(const struct packed *p, int64_t i, int64_t l)
{
    return &p->o.a[i * p->o.k + l];
}

static void packed_fill(struct packed *p, const struct gemm *g, const struct slice *s,
                        const struct tensor *a, const struct tensor *b)
{
    p->o.k = s->last - s->first;
    memset(p->row, 0, (size_t)s->rows * sizeof *p->row);
    memset(p->column, 0, (size_t)g->n * sizeof *p->column);
    for (int64_t i = 0; i < s->rows; i++)
        for (int64_t l = 0; l < p->o.k; l++) {
            double x = tensor_value(a, gemm_at_a(g, s->batch, s->row + i, s->first + l));
            *packed_a(p, i, l) = (float)x;
            line_note(&p->row[i], x);
        }
    for (int64_t l = 0; l < p->o.k; l++)
        for (int64_t j = 0; j < g->n; j++) {
            double x = tensor_value(b, gemm_at_b(g, s->batch, s->first + l, j));
            *packed_b(p, l, j) = (float)x;
            line_note(&p->column[j], x);
        }
}

/* --- one element -----------------------------------------------------------------------------
 */

struct reference_job {
    struct gemm g; /* of this output and slice */
    const struct packed *p;
    const struct tensor *c; /* NULL unless beta != 0 */
    const struct slice *s;
    struct oracle *o;
    int64_t first, last; /* rows */
};

/* AMD's matrix unit takes bf16 subnormals as zeros, whatever the mode. */
static bool inputs_flush(const struct gemm *g)
{
    return g->flush || (g->sums == GEMM_MATRIX && g->in == DTYPE_BF16);
}

static bool is_flushed(const struct gemm *g, float x)
{
    return inputs_flush(g) && x != 0 && fabsf(x) < FLT_MIN;
}

/* Any special operand makes a special product: NaN, Inf * 0 or Inf. What every order of
 * summation must give: NaN if an operand is NaN, for Inf * 0, and for Inf of both signs; else
 * Inf, unless the finite products could overflow to the other one. */
static struct gemm_sum special_sum(const struct reference_job *job, int64_t i, int64_t j)
{
    bool nan = false, plus = false, minus = false, unsure = false;
    double finite = 0;
    for (int64_t l = 0; l < job->g.k; l++) {
        float a = *packed_a(job->p, i, l), b = *packed_b(job->p, l, j);
        double x = (double)a * b;
        nan |= isnan(x);
        plus |= isinf(x) && x > 0;
        minus |= isinf(x) && x < 0;
        unsure |= isinf(x) && (is_flushed(&job->g, a) || is_flushed(&job->g, b));
        if (isfinite(x))
            finite += fabs(x);
    }
    struct gemm_sum s = {.magnitude = finite};
    s.value = nan || (plus && minus) ? (double)NAN : plus ? INFINITY : -INFINITY;
    s.unsure = !isnan(s.value) && (unsure || finite >= gemm_sum_limit(&job->g) / 2);
    return s;
}

static double at_least_normal(enum dtype d, double x)
{
    double least = d == DTYPE_F16 ? 0x1p-14 : 0x1p-126;
    return x > least ? x : least;
}

/* Partial sums after every second term, zeros up to a multiple of 16 included; double errs by
 * less than k 2^-53 of the magnitude each time. */
static double sum_steps(const struct packed *p, int64_t i, int64_t j, double magnitude)
{
    int64_t k = (p->o.k + 15) / 16 * 16;
    double sum = 0, walk = 0;
    for (int64_t l = 0; l < k; l++) {
        if (l < p->o.k)
            sum += (double)*packed_a(p, i, l) * *packed_b(p, l, j);
        walk += l % 2 ? fabs(sum) : 0;
    }
    return walk + (double)(k * k) * 0x1p-53 * magnitude;
}

static struct gemm_sum element_sum(const struct reference_job *job, int64_t i, int64_t j)
{
    const struct gemm_line *r = &job->p->row[i], *c = &job->p->column[j];
    int64_t at = job->s->base + i * job->g.n + j, k = job->g.k;
    if (k && (r->special || c->special))
        return special_sum(job, i, j);
    const struct oracle *o = job->o; /* dot.c has left its sums there */
    struct gemm_sum s = {o->value[at], o->tail[at], .magnitude = o->scale[at],
                         .walk = o->drop[at]};
    if (k)
        s.last = fabs((double)*packed_a(job->p, i, k - 1) * *packed_b(job->p, k - 1, j));
    if (inputs_flush(&job->g))
        s.lost = 0x1p-126 * ((r->subnormal ? c->sum : 0) + (c->subnormal ? r->sum : 0));
    if (job->g.acc == DTYPE_F16)
        s.steps = sum_steps(job->p, i, j, s.magnitude);
    s.peak = at_least_normal(job->g.in, r->largest) * at_least_normal(job->g.in, c->largest);
    return s;
}

/* --- rows over threads -----------------------------------------------------------------------
 */

static void *reference_rows(void *context)
{
    const struct reference_job *job = context;
    struct oracle *o = job->o;
    int64_t base = job->s->base;
    struct gemm_dots d = {o->value + base, o->tail + base, o->scale + base, o->drop + base};
    gemm_dot(&job->p->o, job->first, job->last, &d);
    for (int64_t i = job->first; i < job->last; i++)
        for (int64_t j = 0; j < job->g.n; j++) {
            int64_t at = base + i * job->g.n + j;
            struct gemm_sum s = element_sum(job, i, j);
            double old = job->c ? tensor_value(job->c, at) : 0;
            struct gemm_element r = gemm_reference(&job->g, &s, old);
            o->value[at] = r.value;
            o->tail[at] = r.tail;
            o->error[at] = r.error;
            o->bound[at] = r.bound;
            o->drop[at] = r.drop;
            o->scale[at] = r.scale;
        }
    return NULL;
}

/* A thread that cannot be started has its rows done here. */
static void rows_spread(const struct reference_job *all, int threads)
{
    enum { THREADS_MAX = 64 };
    struct reference_job job[THREADS_MAX];
    pthread_t id[THREADS_MAX];
    bool started[THREADS_MAX] = {false};
    int count = threads < 1 ? 1 : threads > THREADS_MAX ? THREADS_MAX : threads;
    for (int i = 0; i < count; i++) {
        job[i] = *all;
        job[i].first = all->last * i / count;
        job[i].last = all->last * (i + 1) / count;
        if (i + 1 < count)
            started[i] = !pthread_create(&id[i], NULL, reference_rows, &job[i]);
        if (!started[i])
            reference_rows(&job[i]);
    }
    for (int i = 0; i < count; i++)
        if (started[i])
            pthread_join(id[i], NULL);
}

/* --- outputs ---------------------------------------------------------------------------------
 */

/* What the device computes into output `which` for a slice, as a GEMM of its own. */
static struct gemm gemm_of(const struct gemm *whole, int which, const struct slice *s)
{
    struct gemm g = *whole;
    if (which != GEMM_SUM)
        return g;
    g.alpha = 1;
    g.beta = 0;
    if (whole->sums == GEMM_NARROW) {
        g.sums = GEMM_CHAIN;
        g.split = 1;
        g.k = s->last - s->first;
    } else
        g.out = DTYPE_F32;
    return g;
}

/* Narrow partial sums are outputs of their own, a C for each range; all else is one slice of k
 * a matrix. */
static struct slice slice_at(const struct gemm *g, int64_t range, int64_t ranges, int64_t batch)
{
    int64_t chunk = (g->k + ranges - 1) / ranges, first = range * chunk;
    struct slice s = {
        .batch = batch, .rows = g->m, .base = (range * g->batch + batch) * g->m * g->n};
    s.first = first < g->k ? first : g->k;
    s.last = s.first + chunk < g->k ? s.first + chunk : g->k;
    return s;
}

/* Of the slice of a whole matrix, the rows that have elements of the span. */
static void slice_rows(struct slice *s, const struct gemm *g, struct case_span span)
{
    int64_t end = s->base + g->m * g->n;
    s->row = span.from > s->base ? (span.from - s->base) / g->n : 0;
    s->rows = span.to < end ? (span.to - s->base + g->n - 1) / g->n : g->m;
    s->rows -= s->row;
    s->base += s->row * g->n;
}

enum err gemm_oracle(const struct case_id *id, const struct case_plan *plan,
                     const struct tensor *const *input, int which, struct case_span span,
                     int threads, struct oracle *o, struct errinfo *e)
{
    struct gemm g;
    struct packed p;
    gemm_decode(id, &g);
    int64_t ranges = which == GEMM_SUM && g.sums == GEMM_NARROW ? g.split : 1;
    int64_t size = g.m * g.n, most = (span.to - span.from) / g.n + 2;
    TRY(packed_init(&p, &g, most < g.m ? most : g.m, e));
    bool old = plan->tensor[GEMM_C].role == TENSOR_INOUT && which == GEMM_C;
    for (int64_t i = span.from / size; i * size < span.to; i++) {
        struct slice s = slice_at(&g, i / g.batch, ranges, i % g.batch);
        slice_rows(&s, &g, span);
        packed_fill(&p, &g, &s, input[GEMM_A], input[GEMM_B]);
        struct reference_job all = {
            gemm_of(&g, which, &s), &p, old ? input[GEMM_C] : NULL, &s, o, 0, s.rows};
        rows_spread(&all, threads);
    }
    packed_release(&p);
    return ERR_OK;
}
