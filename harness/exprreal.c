/* SPDX-License-Identifier: Apache-2.0 */
#include "expr.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

#include "exprnode.h"

/* What one operation here loses of its result: half an ulp; glibc documents at most 2 ulp for the
 * functions in use. */
static const long double own_unit = LDBL_EPSILON / 2, own_function = 2 * LDBL_EPSILON;

static int documented_ulp(enum expr_op op)
{
    switch (op) {
#define FUNCTION(id, name, arity, where, ulp, meaning)                                         \
    case EXPR_##id:                                                                            \
        return ulp;
#include "expr.def"
#undef FUNCTION
    default:
        return 0;
    }
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

/* What a device loses in the operation itself, of a result of that size. */
static long double device_rounding(const struct expr_rules *r, enum expr_op op, long double size)
{
    bool exact = op == EXPR_NEGATE || op == EXPR_ABS || op == EXPR_MIN || op == EXPR_MAX;
    int ulp = documented_ulp(op);
    if (exact)
        return 0;
    if (r->approximate && (function_of(op) || op == EXPR_DIVIDE))
        return INFINITY;
    if (op == EXPR_DIVIDE && !r->exact_div)
        ulp = 3; /* 2 with --prec-div=false, 2.5 with -fno-hip-fp32-correctly-rounded-divide-sqrt */
    if (op == EXPR_SQRT && !r->exact_sqrt)
        ulp = 3; /* 2^-23 relative (sqrt.approx), 3 */
    return (ulp ? 2 * ulp : 1) * r->unit * size + r->tiny;
}

static struct expr_real operation(const struct expr_rules *r, const struct expr_node *n,
                                  const struct expr_real *done, bool last)
{
    const struct expr_real *a[] = {&done[n->arg[0]], &done[n->arg[1]], &done[n->arg[2]]};
    long double x[3], own[3], device[3];
    struct expr_real v;
    bool unknown = false, open = false; /* open: an argument of which nothing is known */
    for (int i = 0; i < 3; i++) {
        open |= isinf(a[i]->slack);
        x[i] = a[i]->value;
        own[i] = a[i]->error;
        device[i] = a[i]->slack + a[i]->error;
    }
    v.value = value_of(n->op, x[0], x[1], x[2]);
    v.error = spread_of(n->op, v.value, x, own);
    v.error += (function_of(n->op) ? own_function : own_unit) * (fabsl(v.value) + v.error);
    v.slack = spread_of(n->op, v.value, x, device);
    unknown = isnan(v.slack) || isinf(v.slack);
    v.slack += device_rounding(r, n->op, fabsl(v.value) + v.slack);
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
static struct expr_real operand(const struct expr_rules *r, const struct expr_node *n,
                                const long double *value)
{
    struct expr_real v = {n->op == EXPR_NUMBER ? n->real : value[n->name], 0, 0};
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

struct expr_real expr_real(const struct expr *x, const struct expr_rules *r,
                           const long double *value)
{
    struct expr_real done[EXPR_NODES_MAX];
    done[0] = (struct expr_real){0};
    for (int i = 0; i < x->count; i++) {
        const struct expr_node *n = &x->node[i];
        if (n->op == EXPR_NUMBER || n->op == EXPR_VALUE)
            done[i] = operand(r, n, value);
        else
            done[i] = operation(r, n, done, i == x->count - 1);
    }
    return done[x->count - 1];
}
