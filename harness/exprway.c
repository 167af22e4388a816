/* SPDX-License-Identifier: Apache-2.0 */
#include "exprway.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exprnode.h"

/* The value of a sum for the indices it was computed for last. */
struct recalled {
    bool known;
    int64_t index[EXPR_INDEX_MAX];
    double value;
};

struct player {
    const struct expr *x;
    const struct expr_way *w;
    struct expr_env *v;
    struct recalled *recalled;
};

static double keep(enum dtype d, double x)
{
    return d == DTYPE_F64 || d == DTYPE_COUNT_ || !isfinite(x) ? x
           : d == DTYPE_F32                                    ? (double)(float)x
                                                               : dtype_value(d, dtype_round(d, x));
}

/* The result of an operation. */
static double rounded(const struct player *p, double x)
{
    return p->w->wide ? x : keep(p->w->step, keep(p->w->compute, x));
}

/* a b + c, rounded once: exact in double but for one rounding where all are f32. */
static double fused(const struct player *p, double a, double b, double c)
{
    return rounded(p, fma(a, b, c));
}

static double reduced(const struct player *p, double x)
{
    double turns = rounded(p, x * (double)(float)(0.5 / M_PI));
    bool beyond = p->w->turns && fabs(turns) > p->w->turns;
    return beyond ? 0 : 2 * M_PI * (turns - floor(turns));
}

/* Functions as the hardware has them. */
static double hardware_function(const struct player *p, enum expr_op op, double x)
{
    switch (op) {
    case EXPR_EXP:
        return exp2(rounded(p, x * (double)(float)M_LOG2E));
    case EXPR_LOG:
        return rounded(p, log2(x)) * (double)(float)M_LN2;
    case EXPR_SIN:
        return sin(reduced(p, x));
    case EXPR_COS:
        return cos(reduced(p, x));
    case EXPR_TANH: {
        double e = rounded(p, exp2(rounded(p, 2 * x * (double)(float)M_LOG2E)));
        return 1 - rounded(p, 2 * rounded(p, 1 / rounded(p, e + 1)));
    }
    case EXPR_SQRT:
        return x > 0 ? x * rounded(p, 1 / sqrt(x)) : sqrt(x);
    default:
        return NAN;
    }
}

static double own_function(enum expr_op op, double x)
{
    switch (op) {
    case EXPR_SQRT:
        return sqrt(x);
    case EXPR_RSQRT:
        return 1 / sqrt(x);
    case EXPR_EXP:
        return exp(x);
    case EXPR_EXP2:
        return exp2(x);
    case EXPR_LOG:
        return log(x);
    case EXPR_LOG2:
        return log2(x);
    case EXPR_SIN:
        return sin(x);
    case EXPR_COS:
        return cos(x);
    case EXPR_TANH:
        return tanh(x);
    case EXPR_ERF:
        return erf(x);
    default:
        return NAN;
    }
}

static double function(const struct player *p, enum expr_op op, double x)
{
    double y = p->w->hardware ? hardware_function(p, op, x) : NAN;
    if (isnan(y))
        y = own_function(op, x);
    if (p->w->function_bits && isfinite(y)) {
        int exponent;
        y = ldexp(rint(ldexp(frexp(y, &exponent), p->w->function_bits + 1)),
                  -p->w->function_bits - 1);
        y = ldexp(y, exponent);
    }
    return rounded(p, y);
}

static double operation(const struct player *p, enum expr_op op, const double a[3])
{
    switch (op) {
    case EXPR_NEGATE:
        return -a[0];
    case EXPR_PLUS:
        return rounded(p, a[0] + a[1]);
    case EXPR_MINUS:
        return rounded(p, a[0] - a[1]);
    case EXPR_TIMES:
        return rounded(p, a[0] * a[1]);
    case EXPR_DIVIDE:
        return rounded(p, p->w->hardware ? a[0] * rounded(p, 1 / a[1]) : a[0] / a[1]);
    case EXPR_ABS:
        return fabs(a[0]);
    case EXPR_MIN:
        return fmin(a[0], a[1]);
    case EXPR_MAX:
        return fmax(a[0], a[1]);
    case EXPR_FMA:
        return fused(p, a[0], a[1], a[2]);
    default:
        return function(p, op, a[0]);
    }
}

static double play(struct player *p, int at);

static bool is_product(const struct player *p, int at)
{
    return p->x->node[at].op == EXPR_TIMES;
}

/* s times the product at `at`, exactly, plus c. */
static double product_plus(struct player *p, int at, double s, double c)
{
    const struct expr_node *n = &p->x->node[at];
    double a = play(p, n->arg[0]), b = play(p, n->arg[1]);
    return fused(p, s * a, b, c);
}

static double addition(struct player *p, const struct expr_node *n)
{
    int left = n->arg[0], right = n->arg[1];
    double sign = n->op == EXPR_MINUS ? -1 : 1;
    bool first = is_product(p, left), second = is_product(p, right);
    if (p->w->fuse == EXPR_FUSE_NONE || p->w->wide || p->w->step != DTYPE_COUNT_)
        first = second = false;
    if (first && second)
        first = p->w->fuse == EXPR_FUSE_FIRST;
    if (first)
        return product_plus(p, left, 1, sign * play(p, right));
    if (second)
        return product_plus(p, right, sign, play(p, left));
    const double a[3] = {play(p, left), play(p, right), 0};
    return operation(p, n->op, a);
}

/* --- sums ------------------------------------------------------------------------------------
 */

static double partial(const struct player *p, double x)
{
    return keep(p->w->sum, rounded(p, x));
}

/* The partial sum `before` and the term at the indices that are set. */
static double sum_term(struct player *p, int at, double before)
{
    const struct expr_node *n = &p->x->node[at];
    bool whole = p->w->fuse != EXPR_FUSE_NONE && p->w->term == DTYPE_COUNT_ && !p->w->wide &&
                 p->w->step == DTYPE_COUNT_ && n->op == EXPR_TIMES;
    if (whole)
        return keep(p->w->sum, product_plus(p, at, 1, before));
    return partial(p, before + keep(p->w->term, play(p, at)));
}

static double pairs_sum(struct player *p, double *part, int64_t n)
{
    for (; n > 1; n = (n + 1) / 2)
        for (int64_t i = 0; i < (n + 1) / 2; i++)
            part[i] = 2 * i + 1 < n ? partial(p, part[2 * i] + part[2 * i + 1]) : part[2 * i];
    return n ? part[0] : 0;
}

static double parts_sum(struct player *p, double *part, int64_t n)
{
    double sum = n ? part[0] : 0;
    for (int64_t i = 1; i < n; i++)
        sum = partial(p, sum + part[i]);
    return sum;
}

static double sum_in(struct player *p, int at, int64_t *k, int64_t range, double *part)
{
    const struct expr_way *w = p->w;
    int64_t parts = w->order == EXPR_PAIRS ? range : w->parts > 1 ? w->parts : 1;
    parts = parts < range ? parts : range;
    for (int64_t i = 0; i < range; i++) {
        *k = w->order == EXPR_BACKWARD ? range - 1 - i : i;
        int64_t to = w->order == EXPR_PAIRS   ? i
                     : w->order == EXPR_LANES ? i % parts
                                              : i * parts / range;
        part[to] = sum_term(p, at, part[to]);
    }
    return w->order == EXPR_PARTS ? parts_sum(p, part, parts) : pairs_sum(p, part, parts);
}

static double extreme_in(struct player *p, const struct expr_node *n, int64_t *k, int64_t range)
{
    double most = NAN;
    for (*k = 0; *k < range; ++*k) {
        double t = play(p, n->arg[0]);
        most = n->op == EXPR_HIGHEST ? fmax(most, t) : fmin(most, t);
    }
    return most;
}

static double run_over(struct player *p, const struct expr_node *n)
{
    int64_t *k = &p->v->index[n->slot], range = p->v->range[n->slot];
    if (n->op == EXPR_LOWEST || n->op == EXPR_HIGHEST)
        return extreme_in(p, n, k, range);
    int64_t taken = range - (p->w->lost < range ? p->w->lost : 0);
    taken -= p->w->multiple ? range % p->w->multiple : 0;
    double *part = calloc((size_t)range + 1, sizeof *part);
    double sum = part ? sum_in(p, n->arg[0], k, taken, part) : NAN;
    free(part);
    const double mean[3] = {sum, (double)range, 0};
    return n->op == EXPR_MEAN ? operation(p, EXPR_DIVIDE, mean) : sum;
}

static double run_recall(struct player *p, int at)
{
    const struct expr_node *n = &p->x->node[at];
    struct recalled *r = &p->recalled[at];
    bool same = r->known && !(n->depends >> EXPR_INDEX_MAX);
    for (int i = 0; i < EXPR_INDEX_MAX && same; i++)
        same = !(n->depends >> i & 1) || r->index[i] == p->v->index[i];
    if (same)
        return r->value;
    r->value = run_over(p, n);
    memcpy(r->index, p->v->index, sizeof r->index);
    r->known = true;
    return r->value;
}

/* --- all nodes -------------------------------------------------------------------------------
 */

static double leaf(const struct player *p, const struct expr_node *n)
{
    double x = n->op == EXPR_NUMBER  ? (double)n->real
               : n->op == EXPR_VALUE ? (double)p->v->value[n->name]
               : n->op == EXPR_INDEX ? (double)p->v->index[n->slot]
                                     : tensor_value(p->v->tensor[n->name], expr_place(p->v, n));
    return p->w->wide ? x : keep(p->w->compute, x);
}

static double play(struct player *p, int at)
{
    const struct expr_node *n = &p->x->node[at];
    bool narrow = at == p->x->count - 1 && p->w->last != DTYPE_COUNT_;
    if (n->op < EXPR_NEGATE)
        return leaf(p, n);
    if (n->op >= EXPR_SUM && n->op <= EXPR_HIGHEST)
        return run_recall(p, at);
    if ((n->op == EXPR_PLUS || n->op == EXPR_MINUS) && !narrow)
        return addition(p, n);
    double a[3];
    for (int i = 0; i < 3; i++) {
        a[i] = i && n->arg[i] == n->arg[0] ? a[0] : play(p, n->arg[i]);
        bool computed = p->x->node[n->arg[i]].op >= EXPR_NEGATE;
        a[i] = narrow && computed ? keep(p->w->last, a[i]) : a[i];
    }
    return operation(p, n->op, a);
}

enum err expr_way_value(const struct expr *x, const struct expr_way *w, struct expr_env *v,
                        double *ret_value, struct errinfo *e)
{
    struct player p = {x, w, v, calloc((size_t)x->count, sizeof *p.recalled)};
    if (!p.recalled)
        return err_set(e, ERR_NOMEM, "out of memory");
    *ret_value = play(&p, x->count - 1);
    free(p.recalled);
    return ERR_OK;
}
