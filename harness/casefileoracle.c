/* SPDX-License-Identifier: Apache-2.0 */
#include "casefile.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tasks.h"
#include "ulp.h"

/* The right answer of a case file's output: a formula, what a wider kernel computed, or a file.
 *
 * The bound is the limit of the file where there is one. A formula without a limit has a derived
 * one: what rounding every operation can do (expr.h), and the rounding to the output's format
 * where that is narrower than what the kernel computes in.
 *
 * `drop`, the smallest fault that the case wants to catch, is the value of the element before (of
 * the first one: after) in the place of this one: kernels go wrong in where they read and write. */

enum { CHUNK = 256 };

/* Matrix units align and truncate: the share of a term in their error is at most
 * u (5 P + 7 S) / 4, which is 3 u of all terms (cases/gemm/bound.c). */
static const double matrix_unit = 3;

struct oracle_job {
    const struct case_plan *plan;
    const struct casefile_tensor *c;
    const struct tensor *const *input;
    const struct case_tensor *t;
    long double param[CASE_PARAM_MAX];
    int64_t range[EXPR_INDEX_MAX];
    struct expr_rules rules;
    enum dtype dtype; /* of the output */
    bool rounds;      /* storing the result rounds it once more */
    const struct tensor *answer;
    struct case_span span;
    struct oracle *o;
    atomic_bool failed;
};

enum dtype casefile_compute(const struct casefile *f, enum dtype output)
{
    if (f->compute < DTYPE_COUNT_)
        return f->compute;
    return dtype_info(output)->kind != DTYPE_KIND_FLOAT || output == DTYPE_F64 ? output : DTYPE_F32;
}

static struct expr_rules rules_make(const struct casefile *f, enum dtype compute,
                                    const struct case_mode *m)
{
    const struct dtype_info *info = dtype_info(compute);
    struct expr_rules r = {.flush = m->flush,
                           .exact_div = m->exact_div,
                           .exact_sqrt = m->exact_sqrt,
                           .approximate = m->approximate,
                           .hardware = f->hardware,
                           .largest = INFINITY};
    if (info->kind != DTYPE_KIND_FLOAT)
        return r;
    r.unit = dtype_unit(compute);
    r.sum_unit = f->matrix ? matrix_unit * r.unit : 0;
    r.largest = dtype_max(compute);
    r.tiny = m->flush ? dtype_min_normal(compute) : dtype_min_subnormal(compute);
    return r;
}

static double limit_of(const struct case_limit *l, enum dtype d, double value)
{
    bool number = dtype_info(d)->kind == DTYPE_KIND_FLOAT;
    if (!isfinite(value))
        return 0;
    return l->ulp * (number ? ulp_size(d, value) : 1) + l->abs + l->rel * fabs(value);
}

/* Half the spacing of the format at v. */
static double storing(enum dtype d, double v)
{
    return dtype_info(d)->kind == DTYPE_KIND_FLOAT ? ulp_size(d, v) / 2 : 0.5;
}

void casefile_formula_at(const struct case_tensor *t, const struct expr *formula, int64_t i,
                         struct expr_env *v)
{
    int64_t rest = v->element = i;
    for (int k = t->rank - 1; k >= 0 && k < formula->n_index; k--) {
        v->index[k] = rest % t->dim[k];
        rest /= t->dim[k];
    }
}

static void formula_element(const struct oracle_job *j, struct expr_env *v, int64_t i)
{
    casefile_formula_at(j->t, &j->c->formula, i, v);
    struct expr_real r = expr_real(&j->c->formula, &j->rules, v);
    double head = (double)r.value, tail = isfinite(head) ? (double)(r.value - head) : 0;
    double error = (double)r.error + fabs(head) * 0x1p-106;
    j->o->value[i] = head;
    j->o->tail[i] = tail;
    j->o->error[i] = error;
    j->o->scale[i] = fabs(head);
    if (j->c->limit.reason)
        j->o->bound[i] = limit_of(&j->c->limit, j->dtype, head) + error;
    else if (isfinite(head))
        j->o->bound[i] = (double)r.slack * (1 + 0x1p-40) + error +
                         (j->rounds ? storing(j->dtype, fabs(head) + (double)r.slack) : 0);
    else
        j->o->bound[i] = (double)r.slack;
}

static void answer_element(const struct oracle_job *j, int64_t i)
{
    double v = tensor_value(j->answer, i);
    j->o->value[i] = v;
    j->o->scale[i] = fabs(v);
    j->o->bound[i] = limit_of(&j->c->limit, j->dtype, v);
}

static void chunk_do(void *context, int64_t chunk)
{
    struct oracle_job *j = context;
    int64_t from = j->span.from + chunk * CHUNK;
    int64_t to = from + CHUNK < j->span.to ? from + CHUNK : j->span.to;
    struct expr_env v = {.value = j->param, .tensor = j->input};
    memcpy(v.range, j->range, sizeof v.range);
    if (!j->answer && expr_env_init(&v, &j->c->formula, NULL)) {
        j->failed = true;
        return;
    }
    for (int64_t i = from; i < to; i++)
        if (j->answer)
            answer_element(j, i);
        else
            formula_element(j, &v, i);
    expr_env_release(&v);
}

static void drops_make(struct oracle *o, struct case_span span)
{
    for (int64_t i = span.from; i < span.to; i++) {
        double other = i ? o->value[i - 1] : o->count > 1 ? o->value[1] : 0;
        double drop = fabs(o->value[i] - other);
        o->drop[i] = isfinite(drop) ? drop : 0;
    }
}

static enum err ranges_find(const struct case_tensor *t, const struct expr *formula,
                            const struct tensor *const *input, const char *const *name,
                            int64_t *ret_range, struct errinfo *e)
{
    for (int k = 0; k < EXPR_INDEX_MAX; k++)
        ret_range[k] = k < t->rank && k < formula->n_index ? t->dim[k] : -1;
    return expr_ranges(formula, input, name, ret_range, e);
}

static void params_take(const struct casefile *f, const struct case_id *id, long double *ret_param)
{
    for (int k = 0; k < f->n_param; k++)
        ret_param[k] = f->params[k].kind != PARAM_REAL ? (long double)id->value[k].i
                       : f->f64[k]                     ? id->value[k].r
                                                       : (float)id->value[k].r;
}

enum err casefile_formula_env(const struct case_id *id, const struct case_plan *plan, int which,
                              long double *ret_param, struct expr_env *v, struct errinfo *e)
{
    const char *name[CASE_TENSOR_MAX];
    for (int k = 0; k < plan->n_tensor; k++)
        name[k] = plan->tensor[k].name;
    params_take(id->family->file, id, ret_param);
    return ranges_find(&plan->tensor[which], &id->family->file->tensor[which].formula, v->tensor,
                       name, v->range, e);
}

/* Every tensor without indices has one element, or as many as the output; those with indices
 * agree on how far each runs. */
static enum err formula_check(const struct casefile *f, struct oracle_job *j, int64_t count,
                              struct errinfo *e)
{
    const char *name[CASE_TENSOR_MAX];
    const struct tensor *const *input = j->input;
    for (int k = 0; k < j->plan->n_tensor; k++) {
        name[k] = j->plan->tensor[k].name;
        if (expr_uses_whole(&j->c->formula, k) && input[k]->count != 1 &&
            input[k]->count != count)
            return err_set(e, ERR_USAGE,
                           "%.200s: the formula of %s goes element by element: %s has %lld "
                           "elements, %s %lld; write its indices: %s[i,j]",
                           f->path, j->t->name, name[k], (long long)input[k]->count, j->t->name,
                           (long long)count, name[k]);
    }
    enum err err = ranges_find(j->t, &j->c->formula, input, name, j->range, e);
    return err ? err_context(e, err, "%.200s: the formula of %s", f->path, j->t->name) : ERR_OK;
}

/* The first element's drop is made of a neighbour. */
static struct case_span with_neighbour(struct case_span span, int64_t count)
{
    return (struct case_span){span.from ? span.from - 1 : 0,
                              span.to == 1 && count > 1 ? 2 : span.to};
}

static enum err answer_make(const struct oracle_job *j, struct tensor *ret_tensor,
                            struct errinfo *e)
{
    const struct casefile_data *d = &j->c->answer_data;
    enum dtype dtype = d->described ? d->dtype : j->t->dtype;
    size_t width = (size_t)dtype_info(dtype)->bytes, at = (size_t)j->span.from * width;
    TRY(tensor_reserve(ret_tensor, dtype, j->t->rank, j->t->dim, e));
    memcpy((char *)ret_tensor->data + at, (const char *)d->bytes + d->start + at,
           (size_t)(j->span.to - j->span.from) * width);
    return ERR_OK;
}

static enum err oracle_run(struct oracle_job *j, struct case_span span, int threads,
                           struct errinfo *e)
{
    tasks_run(threads, (j->span.to - j->span.from + CHUNK - 1) / CHUNK, chunk_do, j);
    if (j->failed)
        return err_set(e, ERR_NOMEM, "out of memory");
    drops_make(j->o, span);
    return ERR_OK;
}

/* A tensor that stands in the formula without indices, or is the answer, is looked at element by
 * element. */
bool casefile_needs(const struct case_id *id, const struct case_plan *plan, int which, int i,
                    struct case_span span, struct case_span *ret_need)
{
    const struct casefile *f = id->family->file;
    const struct casefile_tensor *c = &f->tensor[which];
    int64_t count = case_tensor_count(&plan->tensor[which]);
    if (f->like)
        return casefile_like_needs(id, which, i, span, ret_need);
    *ret_need = with_neighbour(span, count);
    if (case_tensor_count(&plan->tensor[i]) != count)
        return false;
    return c->answer == i || (c->formula.count && !expr_uses_places(&c->formula, i));
}

enum err casefile_oracle(const struct case_id *id, const struct case_plan *plan,
                         const struct tensor *const *input, int which, struct case_span span,
                         int threads, struct oracle *o, struct errinfo *e)
{
    const struct casefile *f = id->family->file;
    const struct casefile_tensor *c = &f->tensor[which];
    const struct case_tensor *t = &plan->tensor[which];
    struct oracle_job j = {.plan = plan, .c = c, .input = input, .t = t, .o = o};
    struct tensor read = {0};
    int64_t count = o->count;
    if (f->like)
        return casefile_like_oracle(id, input, which, span, threads, o, e);
    params_take(f, id, j.param);
    enum dtype compute = casefile_compute(f, t->dtype);
    j.rules = rules_make(f, compute, &id->mode);
    j.span = with_neighbour(span, count);
    j.dtype = t->dtype;
    j.rounds = t->dtype != compute;
    if (c->answer >= 0)
        j.answer = input[c->answer];
    else if (c->formula.count)
        TRY(formula_check(f, &j, count, e));
    if (c->answer_data.path) {
        TRY(answer_make(&j, &read, e));
        j.answer = &read;
    }
    if (j.answer && j.answer->count != count)
        return err_set(e, ERR_USAGE, "%.200s: the reference of %s has %lld elements, not %lld",
                       f->path, t->name, (long long)j.answer->count, (long long)count);
    enum err err = oracle_run(&j, span, threads, e);
    tensor_release(&read);
    return err;
}
