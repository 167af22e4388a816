/* SPDX-License-Identifier: Apache-2.0 */
#include "gemm.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Operands packed as floats, and a line of notes for every row of op(A) and column of op(B). */
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

static void line_note(struct gemm_line *l, double x)
{
    if (!isfinite(x)) {
        l->special = true;
        return;
    }
    l->sum += fabs(x);
    l->subnormal |= x != 0 && fabs(x) < FLT_MIN;
}

static void packed_fill(struct packed *p, const struct gemm *g, const struct tensor *a,
                        const struct tensor *b)
{
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t l = 0; l < g->k; l++) {
            double x = tensor_value(a, g->ta ? l * g->m + i : i * g->k + l);
            p->o.a[i * g->k + l] = (float)x;
            line_note(&p->row[i], x);
        }
    for (int64_t l = 0; l < g->k; l++)
        for (int64_t j = 0; j < g->n; j++) {
            double x = tensor_value(b, g->tb ? j * g->k + l : l * g->n + j);
            int64_t panel = j / GEMM_PANEL * GEMM_PANEL;
            p->o.b[panel * g->k + l * GEMM_PANEL + j - panel] = (float)x;
            line_note(&p->column[j], x);
        }
}

static enum err packed_init(struct packed *p, const struct gemm *g, struct errinfo *e)
{
    size_t columns = (size_t)(g->n + GEMM_PANEL - 1) / GEMM_PANEL * GEMM_PANEL;
    size_t k = g->k ? (size_t)g->k : 1;
    *p = (struct packed){.o = {g->m, g->n, g->k, NULL, NULL}};
    p->o.a = calloc((size_t)g->m * k, sizeof *p->o.a);
    p->o.b = calloc(columns * k, sizeof *p->o.b);
    p->row = calloc((size_t)g->m, sizeof *p->row);
    p->column = calloc((size_t)g->n, sizeof *p->column);
    if (p->o.a && p->o.b && p->row && p->column)
        return ERR_OK;
    packed_release(p);
    return err_set(e, ERR_NOMEM, "no memory for the reference of gemm m=%lld,n=%lld,k=%lld",
                   (long long)g->m, (long long)g->n, (long long)g->k);
}

static float packed_a(const struct packed *p, int64_t i, int64_t l)
{
    return p->o.a[i * p->o.k + l];
}

static float packed_b(const struct packed *p, int64_t l, int64_t j)
{
    int64_t panel = j / GEMM_PANEL * GEMM_PANEL;
    return p->o.b[panel * p->o.k + l * GEMM_PANEL + j - panel];
}

/* --- elements with NaN or Inf among their operands -------------------------------------------
 */

static bool flushes(const struct gemm *g, float x)
{
    return g->flush && x != 0 && fabsf(x) < FLT_MIN;
}

/* Any special operand makes a special product: NaN, Inf * 0 or Inf. What every order of
 * summation must give: NaN if an operand is NaN, for Inf * 0, and for Inf of both signs; else
 * Inf, unless the finite products could overflow to the other one. */
static struct gemm_sum special_sum(const struct gemm *g, const struct packed *p, int64_t i,
                                   int64_t j)
{
    bool nan = false, plus = false, minus = false, unsure = false;
    double finite = 0;
    for (int64_t l = 0; l < g->k; l++) {
        float a = packed_a(p, i, l), b = packed_b(p, l, j);
        double x = (double)a * b;
        nan |= isnan(x);
        plus |= isinf(x) && x > 0;
        minus |= isinf(x) && x < 0;
        unsure |= isinf(x) && (flushes(g, a) || flushes(g, b));
        if (isfinite(x))
            finite += fabs(x);
    }
    struct gemm_sum s = {.magnitude = finite};
    s.value = nan || (plus && minus) ? NAN : plus ? INFINITY : -INFINITY;
    s.unsure = !isnan(s.value) && (unsure || finite >= FLT_MAX / 2);
    return s;
}

/* --- rows over threads -----------------------------------------------------------------------
 */

struct reference_job {
    const struct gemm *g;
    const struct packed *p;
    const struct tensor *c; /* NULL unless beta != 0 */
    int which;
    struct oracle *o;
    int64_t first, last;
};

static struct gemm_sum element_sum(const struct reference_job *j, int64_t row, int64_t column)
{
    const struct gemm_line *r = &j->p->row[row], *c = &j->p->column[column];
    int64_t at = row * j->g->n + column, k = j->g->k;
    if (k && (r->special || c->special))
        return special_sum(j->g, j->p, row, column);
    struct gemm_sum s = {
        .value = j->o->value[at], .tail = j->o->tail[at], .magnitude = j->o->scale[at]};
    if (k)
        s.last = fabs((double)packed_a(j->p, row, k - 1) * packed_b(j->p, k - 1, column));
    if (j->g->flush)
        s.lost = 0x1p-126 * ((r->subnormal ? c->sum : 0) + (c->subnormal ? r->sum : 0));
    return s;
}

static void *reference_rows(void *context)
{
    const struct reference_job *j = context;
    struct oracle *o = j->o;
    gemm_dot(&j->p->o, j->first, j->last, o->value, o->tail, o->scale);
    for (int64_t row = j->first; row < j->last; row++)
        for (int64_t column = 0; column < j->g->n; column++) {
            int64_t at = row * j->g->n + column;
            struct gemm_sum s = element_sum(j, row, column);
            double old = j->c ? tensor_value(j->c, at) : 0;
            struct gemm_element r = gemm_reference(j->g, j->which, &s, old);
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

enum err gemm_oracle(const struct case_id *id, const struct case_plan *plan,
                     const struct tensor *const *input, int which, int threads,
                     struct oracle *ret_oracle, struct errinfo *e)
{
    struct gemm g;
    struct packed p;
    struct oracle o;
    gemm_decode(id, &g);
    TRY(packed_init(&p, &g, e));
    enum err code = oracle_init(&o, g.m * g.n, e);
    if (code) {
        packed_release(&p);
        return code;
    }
    packed_fill(&p, &g, input[GEMM_A], input[GEMM_B]);
    const struct tensor *c = plan->tensor[GEMM_C].role == TENSOR_INOUT ? input[GEMM_C] : NULL;
    struct reference_job all = {&g, &p, c, which, &o, 0, g.m};
    rows_spread(&all, threads);
    packed_release(&p);
    *ret_oracle = o;
    return ERR_OK;
}
