/* SPDX-License-Identifier: Apache-2.0 */
#include "expr.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "exprfunction.h"

/* The value of a sum for the indices it was computed for last. */
struct expr_memo {
    bool known;
    int64_t index[EXPR_INDEX_MAX];
    struct expr_real value;
};

struct machine {
    const struct expr *x;
    const struct expr_rules *r;
    struct expr_env *v;
};

/* What one operation here loses of its result: half an ulp; glibc documents at most 2 ulp for the
 * functions in use. */
static const long double own_unit = LDBL_EPSILON / 2, own_function = 2 * LDBL_EPSILON;

bool expr_uses_functions(const struct expr *x)
{
    for (int i = 0; i < x->count; i++)
        if (expr_function_ulp(x->node[i].op))
            return true;
    return false;
}

bool expr_has_sum(const struct expr *x)
{
    for (int i = 0; i < x->count; i++)
        if (x->node[i].op == EXPR_SUM || x->node[i].op == EXPR_MEAN)
            return true;
    return false;
}

static long double rsqrt_long(long double x)
{
    return 1 / sqrtl(x);
}

typedef long double real_fn(long double x);

/* Functions of one argument; all but sin and cos are monotone where they are defined. */
static real_fn *function_of(enum expr_op op)
{
    switch (op) {
    case EXPR_SQRT:
        return sqrtl;
    case EXPR_RSQRT:
        return rsqrt_long;
    case EXPR_EXP:
        return expl;
    case EXPR_EXP2:
        return exp2l;
    case EXPR_LOG:
        return logl;
    case EXPR_LOG2:
        return log2l;
    case EXPR_SIN:
        return sinl;
    case EXPR_COS:
        return cosl;
    case EXPR_TANH:
        return tanhl;
    case EXPR_ERF:
        return erfl;
    default:
        return NULL;
    }
}

static long double value_of(enum expr_op op, long double a, long double b, long double c)
{
    real_fn *f = function_of(op);
    switch (op) {
    case EXPR_NEGATE:
        return -a;
    case EXPR_PLUS:
        return a + b;
    case EXPR_MINUS:
        return a - b;
    case EXPR_TIMES:
        return a * b;
    case EXPR_DIVIDE:
        return a / b;
    case EXPR_ABS:
        return fabsl(a);
    case EXPR_MIN:
        return fminl(a, b);
    case EXPR_MAX:
        return fmaxl(a, b);
    case EXPR_FMA:
        return fmal(a, b, c);
    default:
        return f ? f(a) : NAN;
    }
}

/* How far f's result moves while its argument moves by s. */
static long double function_spread(enum expr_op op, long double v, long double a, long double s)
{
    real_fn *f = function_of(op);
    bool positive = op == EXPR_SQRT || op == EXPR_RSQRT || op == EXPR_LOG || op == EXPR_LOG2;
    if (s == 0)
        return 0;
    if (op == EXPR_SIN || op == EXPR_COS)
        return s;
    if (positive && a - s <= 0)
        return INFINITY;
    return fmaxl(fabsl(f(a + s) - v), fabsl(f(a - s) - v));
}

/* How far the result v moves while the arguments move by s[0], s[1], s[2]. */
static long double spread_of(enum expr_op op, long double v, const long double *x,
                             const long double *s)
{
    switch (op) {
    case EXPR_NEGATE:
    case EXPR_ABS:
        return s[0];
    case EXPR_PLUS:
    case EXPR_MINUS:
        return s[0] + s[1];
    case EXPR_MIN:
    case EXPR_MAX:
        return fmaxl(s[0], s[1]);
    case EXPR_TIMES:
        return fabsl(x[0]) * s[1] + fabsl(x[1]) * s[0] + s[0] * s[1];
    case EXPR_FMA:
        return fabsl(x[0]) * s[1] + fabsl(x[1]) * s[0] + s[0] * s[1] + s[2];
    case EXPR_DIVIDE:
        if (s[0] == 0 && s[1] == 0)
            return 0;
        return fabsl(x[1]) > s[1] ? (s[0] + fabsl(v) * s[1]) / (fabsl(x[1]) - s[1]) : INFINITY;
    default:
        return function_spread(op, v, x[0], s[0]);
    }
}

/* exp(a) as exp2(a * log2(e)): the rounding of the product and of the constant move the argument
 * by 2 u |a|. log(a) as log2(a) * ln(2): lg2.approx is within 2^-22 near 1. */
static long double hardware_loss(const struct expr_rules *r, enum expr_op op, long double size,
                                 long double a)
{
    if (!r->hardware)
        return 0;
    if (op == EXPR_EXP)
        return 2.5L * r->unit * fabsl(a) * size;
    if (op == EXPR_LOG || op == EXPR_LOG2)
        return 0x1p-22L;
    return op == EXPR_SIN || op == EXPR_COS ? INFINITY : 0;
}

/* What a device loses in the operation itself, of a result of that size. */
static long double device_rounding(const struct expr_rules *r, enum expr_op op, long double size,
                                   long double a)
{
    bool exact = op == EXPR_NEGATE || op == EXPR_ABS || op == EXPR_MIN || op == EXPR_MAX;
    int ulp = expr_function_ulp(op);
    if (exact)
        return 0;
    if (r->approximate && (function_of(op) || op == EXPR_DIVIDE))
        return INFINITY;
    if (op == EXPR_DIVIDE && (!r->exact_div || r->hardware))
        ulp = 3; /* 2 with --prec-div=false, 2.5 with -fno-hip-fp32-correctly-rounded-divide-sqrt */
    if (op == EXPR_SQRT && (!r->exact_sqrt || r->hardware))
        ulp = 3; /* 2^-23 relative (sqrt.approx), 3 */
    return (ulp ? 2 * ulp : 1) * r->unit * size + r->tiny + hardware_loss(r, op, size, a);
}

static struct expr_real operation(const struct expr_rules *r, enum expr_op op,
                                  const struct expr_real a[3], bool last)
{
    long double x[3], own[3], device[3];
    struct expr_real v;
    bool unknown = false, open = false; /* open: an argument of which nothing is known */
    for (int i = 0; i < 3; i++) {
        open |= isinf(a[i].slack);
        x[i] = a[i].value;
        own[i] = a[i].error;
        device[i] = a[i].slack + a[i].error;
    }
    v.value = value_of(op, x[0], x[1], x[2]);
    v.error = spread_of(op, v.value, x, own);
    v.error += (function_of(op) ? own_function : own_unit) * (fabsl(v.value) + v.error);
    v.slack = spread_of(op, v.value, x, device);
    unknown = isnan(v.slack) || isinf(v.slack);
    v.slack += device_rounding(r, op, fabsl(v.value) + v.slack, x[0]);
    unknown |= !last && isfinite(v.value) && fabsl(v.value) + v.slack > r->largest;
    if (!isfinite(v.value)) { /* NaN and Inf are what they are */
        v.error = 0;
        v.slack = open ? INFINITY : 0;
    } else if (unknown || isnan(v.error)) {
        v.slack = INFINITY;
    }
    return v;
}

/* A constant in a kernel is rounded to its format; an input that is subnormal may be flushed. */
static struct expr_real operand(const struct expr_rules *r, long double value)
{
    struct expr_real v = {value, 0, 0};
    int exponent;
    if (!isfinite(v.value) || r->unit == 0)
        return v;
    long double digits = frexpl(v.value, &exponent) / r->unit;
    if (digits != floorl(digits))
        v.slack = r->unit * fabsl(v.value);
    if (r->flush && fabsl(v.value) < r->tiny)
        v.slack += fabsl(v.value);
    return v;
}

static struct expr_real tensor_element(const struct machine *m, const struct expr_node *n)
{
    const struct tensor *t = m->v->tensor[n->name];
    if (n->change == EXPR_CONSTANT)
        return operand(m->r, (long double)n->by);
    int64_t at = n->change ? expr_changed_place(n, t, m->v->element, m->v->index)
                           : expr_place(m->v, n);
    return operand(m->r, at < 0 || at >= t->count ? 0 : tensor_value(t, at));
}

static struct expr_real compute(const struct machine *m, int at);

/* What a sum collects. `size`: of all terms. */
struct run {
    struct expr_real v;
    long double size, carry;
    bool open;
};

static void sum_add(struct run *s, const struct expr_real *t)
{
    long double before = s->v.value; /* with what the addition loses (Neumaier) */
    s->v.value += t->value;
    s->carry += fabsl(before) >= fabsl(t->value) ? (before - s->v.value) + t->value
                                                 : (t->value - s->v.value) + before;
    s->v.error += t->error;
    s->v.slack += t->slack;
    s->size += fabsl(t->value);
    s->open |= isinf(t->slack);
}

static void extreme_take(struct run *s, const struct expr_real *t, bool highest)
{
    bool better = highest ? t->value > s->v.value : t->value < s->v.value;
    if (better || isnan(s->v.value))
        s->v.value = t->value;
    s->v.error = fmaxl(s->v.error, t->error);
    s->v.slack = fmaxl(s->v.slack, t->slack);
}

static struct expr_real sum_end(const struct machine *m, struct run *s, int64_t n)
{
    const struct expr_rules *r = m->r;
    double unit = r->sum_unit > 0 ? r->sum_unit : r->unit;
    if (isfinite(s->v.value))
        s->v.value += s->carry;
    s->v.error += (long double)n * own_unit * own_unit * s->size + own_unit * fabsl(s->v.value);
    long double roundings = n > 1 ? (long double)(n - 1) * unit : 0, tiny = (long double)n * r->tiny;
    s->v.slack += roundings / (1 - roundings) * (s->size + s->v.slack) + (n > 1 ? tiny : 0);
    if (!isfinite(s->v.value))
        s->v.slack = s->open ? INFINITY : 0;
    else if (s->open || roundings >= 1 || s->size + s->v.slack > r->largest)
        s->v.slack = INFINITY;
    return s->v;
}

static struct expr_real run_compute(const struct machine *m, const struct expr_node *n)
{
    int64_t *k = &m->v->index[n->slot], range = m->v->range[n->slot];
    bool extreme = n->op == EXPR_LOWEST || n->op == EXPR_HIGHEST;
    struct run s = {.v.value = extreme ? NAN : 0};
    int64_t end = n->change == EXPR_ENDS ? n->by : range;
    for (*k = 0; *k < end; ++*k) {
        if (n->change && !expr_changed_term(n, *k))
            continue;
        struct expr_real t = compute(m, n->arg[0]);
        if (extreme)
            extreme_take(&s, &t, n->op == EXPR_HIGHEST);
        else
            sum_add(&s, &t);
    }
    if (extreme)
        return s.v;
    s.v = sum_end(m, &s, range);
    const struct expr_real mean[3] = {s.v, {(long double)range, 0, 0}, {0, 0, 0}};
    return n->op == EXPR_MEAN ? operation(m->r, EXPR_DIVIDE, mean, false) : s.v;
}

/* Sums are kept as long as the indices they depend on stay. */
static struct expr_real run_recall(const struct machine *m, int at)
{
    const struct expr_node *n = &m->x->node[at];
    struct expr_memo *memo = &m->v->memo[at];
    bool same = memo->known && !(n->depends >> EXPR_INDEX_MAX);
    for (int i = 0; i < EXPR_INDEX_MAX && same; i++)
        same = !(n->depends >> i & 1) || memo->index[i] == m->v->index[i];
    if (same)
        return memo->value;
    memo->value = run_compute(m, n);
    memcpy(memo->index, m->v->index, sizeof memo->index);
    memo->known = true;
    return memo->value;
}

static struct expr_real compute(const struct machine *m, int at)
{
    const struct expr_node *n = &m->x->node[at];
    m->v->looks++;
    switch (n->op) {
    case EXPR_NUMBER:
        return operand(m->r, n->real);
    case EXPR_VALUE:
        return operand(m->r, m->v->value[n->name]);
    case EXPR_INDEX:
        return operand(m->r, (long double)m->v->index[n->slot]);
    case EXPR_TENSOR:
    case EXPR_ELEMENT:
        return tensor_element(m, n);
    case EXPR_SUM:
    case EXPR_MEAN:
    case EXPR_LOWEST:
    case EXPR_HIGHEST:
        return run_recall(m, at);
    default:
        break;
    }
    struct expr_real a[3];
    a[0] = compute(m, n->arg[0]);
    a[1] = n->arg[1] == n->arg[0] ? a[0] : compute(m, n->arg[1]);
    a[2] = n->arg[2] == n->arg[0] ? a[0] : compute(m, n->arg[2]);
    return operation(m->r, n->op, a, at == m->x->count - 1);
}

struct expr_real expr_real(const struct expr *x, const struct expr_rules *r, struct expr_env *v)
{
    const struct machine m = {x, r, v};
    return compute(&m, x->count - 1);
}

enum err expr_env_init(struct expr_env *v, const struct expr *x, struct errinfo *e)
{
    v->memo = calloc((size_t)x->count, sizeof *v->memo);
    return v->memo ? ERR_OK : err_set(e, ERR_NOMEM, "out of memory");
}

void expr_env_release(struct expr_env *v)
{
    free(v->memo);
    v->memo = NULL;
}
