/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"

/* Inputs that lost low bits. What they would make of the result is asked of the case's own
 * reference, for inputs (and factors of the id) rounded so: to first order that error does not
 * depend on the order of summation, so it explains nearly all of what is seen, or nothing. */

enum { SAMPLE = 1 << 14, FEWEST = 12, LOSSES_MAX = 4 };

/* What lost bits: the input at `tensor`, or the parameter in row `param` (-1: none); so many
 * fraction bits were left, nearest or cut. */
struct loss {
    int tensor, param, bits;
    bool cut;
};

/* Small errors add up: what one loss does not explain may be another's. */
struct losses {
    struct suspect *s;
    int64_t n, *index; /* elements to be explained, a sample */
    double *seen;      /* their errors in units of the bound */
    double *left;      /* what is not explained yet */
    double *made;      /* what a loss makes */
    double total;      /* the sum of squares of `seen` */
    int count;
    struct loss loss[LOSSES_MAX];
};

static double keep_bits(double x, int bits, bool cut)
{
    int exponent;
    if (!isfinite(x) || x == 0)
        return x;
    double digits = ldexp(frexp(x, &exponent), bits + 1);
    return ldexp(cut ? trunc(digits) : rint(digits), exponent - bits - 1);
}

static bool is_number(const struct tensor *t)
{
    return t && dtype_info(t->dtype)->kind == DTYPE_KIND_FLOAT;
}

static enum err input_lose(const struct tensor *t, const struct loss *l, struct tensor *ret)
{
    TRY(tensor_copy(ret, t, NULL));
    for (int64_t k = 0; k < t->count; k++)
        if (dtype_is_finite(t->dtype, tensor_bits(t, k)))
            tensor_set_bits(ret, k, dtype_round(t->dtype, keep_bits(tensor_value(t, k), l->bits,
                                                                    l->cut)));
    return ERR_OK;
}

/* The reference for inputs that lost bits, less the right one: w->made. */
static bool loss_errors(struct losses *w, const struct loss *l)
{
    const struct diagnose_input *in = w->s->in;
    struct tensor lost[CASE_TENSOR_MAX] = {0};
    const struct tensor *input[CASE_TENSOR_MAX] = {0};
    struct case_id id = *in->id;
    struct oracle o = {0};
    bool good = true;
    if (l->param >= 0)
        id.value[l->param].r = keep_bits(id.value[l->param].r, l->bits, l->cut);
    for (int i = 0; i < in->plan->n_tensor; i++) {
        input[i] = in->input[i];
        if (good && i == l->tensor) {
            good = !input_lose(in->input[i], l, &lost[i]);
            input[i] = &lost[i];
        }
    }
    good = good && !case_oracle(&id, in->plan, input, in->which, 1, &o, NULL);
    for (int64_t k = 0; good && k < w->n; k++) {
        int64_t i = w->index[k];
        const struct oracle *right = in->oracle;
        w->made[k] = ((o.value[i] - right->value[i]) + (o.tail[i] - right->tail[i])) /
                     right->bound[i];
        if (!isfinite(w->made[k]))
            w->made[k] = 0;
    }
    oracle_release(&o);
    for (int i = 0; i < CASE_TENSOR_MAX; i++)
        tensor_release(&lost[i]);
    return good;
}

static double squares(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t k = 0; k < n; k++)
        sum += x[k] * x[k];
    return sum;
}

/* The share of the errors that would be explained with w->made, too. */
static double explained(const struct losses *w)
{
    double left = 0;
    for (int64_t k = 0; k < w->n; k++)
        left += (w->left[k] - w->made[k]) * (w->left[k] - w->made[k]);
    return 1 - left / w->total;
}

static double middle(const double *x, int64_t n)
{
    double *size = calloc((size_t)n + 1, sizeof *size), half = 0;
    for (int64_t k = 0; size && k < n; k++)
        size[k] = fabs(x[k]);
    if (size) {
        qsort(size, (size_t)n, sizeof *size, sample_ascending);
        half = size[n / 2];
    }
    free(size);
    return half;
}

static void loss_try(struct losses *w, struct loss l, int most, struct loss *best,
                     double *variance)
{
    if (l.bits < 1 || l.bits >= most || !loss_errors(w, &l))
        return;
    double v = explained(w);
    if (v > *variance) {
        *variance = v;
        *best = l;
    }
}

/* Each bit less doubles the error: one look says how many bits may have survived. */
static void input_try(struct losses *w, int tensor, struct loss *best, double *variance)
{
    int most = dtype_info(w->s->in->input[tensor]->dtype)->fraction;
    struct loss l = {tensor, -1, most > 7 ? 7 : most / 2, false};
    if (l.bits < 1 || !loss_errors(w, &l))
        return;
    double made = middle(w->made, w->n), seen = middle(w->left, w->n);
    if (!(made > 0) || !(seen > 0))
        return;
    int about = l.bits + (int)lround(fmax(-60, fmin(60, log2(made / seen))));
    for (int more = 0; more < 5 && *variance < 0.95; more++) /* cutting errs twice as much */
        loss_try(w, (struct loss){tensor, -1, about + more % 3, more >= 2}, most, best, variance);
}

/* One factor fits any factor more or less: the rounded one must leave no more than the best. */
static void factor_try(struct losses *w, int param, struct loss *best, double *variance)
{
    for (int bits = 7; bits <= 10; bits += 3) {
        struct loss l = {-1, param, bits, false};
        if (!loss_errors(w, &l))
            continue;
        double both = 0, made = squares(w->made, w->n);
        for (int64_t k = 0; k < w->n; k++)
            both += w->left[k] * w->made[k];
        double most = made > 0 ? (squares(w->left, w->n) - both * both / made) / w->total : 0;
        if (1 - explained(w) <= 1.2 * most + 1e-6)
            loss_try(w, l, 23, best, variance);
    }
}

static double loss_find(struct losses *w, double variance, struct loss *best)
{
    const struct diagnose_input *in = w->s->in;
    for (int i = 0; i < in->plan->n_tensor; i++)
        if (is_number(in->input[i]))
            input_try(w, i, best, &variance);
    const struct param *p = in->id->family->params;
    for (int i = 0; p && p[i].name && !w->count; i++)
        if (p[i].kind == PARAM_REAL)
            factor_try(w, i, best, &variance);
    return variance;
}

/* The loss that explains most, then what explains most of the rest. */
static double losses_search(struct losses *w)
{
    double variance = 0;
    while (w->count < LOSSES_MAX && variance < 0.95) {
        struct loss best = {-1, -1, 0, false};
        double v = loss_find(w, variance + 0.05, &best);
        if (best.bits == 0 || !loss_errors(w, &best))
            break;
        for (int64_t k = 0; k < w->n; k++)
            w->left[k] -= w->made[k];
        w->loss[w->count++] = best;
        variance = v;
    }
    return variance;
}

/* What one factor for the whole tensor explains, which would be another cause. */
static double slope_explains(const struct losses *w)
{
    double xx = 0, xe = 0, ee = 0;
    const struct oracle *o = w->s->in->oracle;
    for (int64_t k = 0; k < w->n; k++) {
        double x = o->value[w->index[k]] / o->bound[w->index[k]];
        xx += x * x;
        xe += x * w->seen[k];
        ee += w->seen[k] * w->seen[k];
    }
    return xx > 0 && ee > 0 ? xe * xe / xx / ee : 0;
}

/* Of the wrong elements; of all where few are wrong. */
static void sample_errors(struct losses *w)
{
    const struct suspect *s = w->s;
    const struct oracle *o = s->in->oracle;
    bool all = s->n_bad < 64;
    int64_t step = (all ? s->count : s->n_bad) / SAMPLE + 1, seen = 0;
    for (int64_t i = 0; i < s->count; i++) {
        if ((!all && !s->bad[i]) || seen++ % step)
            continue;
        double e = (tensor_value(s->t, i) - o->value[i]) - o->tail[i];
        if (!isfinite(e) || !(o->bound[i] > 0) || isinf(o->bound[i]))
            continue;
        w->index[w->n] = i;
        w->left[w->n] = e / o->bound[i];
        w->seen[w->n++] = e / o->bound[i];
    }
    w->total = squares(w->seen, w->n);
}

static const char *format_of(int bits)
{
    return bits == 10 ? " (TF32, f16)" : bits == 7 ? " (bf16)" : bits == 3 ? " (e4m3)" : "";
}

/* "a cut to 10 fraction bits (TF32, f16), b rounded to 7 (bf16)" */
static void losses_words(const struct losses *w, char *text, size_t size)
{
    size_t at = 0;
    for (int i = 0; i < w->count && at < size; i++) {
        const struct loss *l = &w->loss[i];
        const char *name = l->param >= 0 ? w->s->in->id->family->params[l->param].name
                                         : w->s->in->plan->tensor[l->tensor].name;
        at += (size_t)snprintf(text + at, size - at, "%s%s %s to %d%s%s", i ? ", " : "", name,
                               l->cut ? "cut" : "rounded", l->bits, i ? "" : " fraction bits",
                               format_of(l->bits));
    }
}

static void losses_claim(struct losses *w)
{
    char words[200];
    sample_errors(w);
    if (w->n < FEWEST || !(w->total > 0))
        return;
    double variance = losses_search(w);
    bool factor = w->count && w->loss[0].param >= 0;
    if (variance < 0.8 || (!factor && variance < slope_explains(w)))
        return;
    losses_words(w, words, sizeof words);
    claim_add(w->s->o, CAUSE_DOWNCAST, w->s->side, variance,
              "%s: the reference for such inputs explains %.1f %% of the errors' variance",
              words, 100 * variance);
}

void diagnose_inputs(struct suspect *s)
{
    struct losses w = {.s = s};
    if (!suspect_askable(s) || dtype_info(s->t->dtype)->kind != DTYPE_KIND_FLOAT)
        return;
    w.index = calloc(SAMPLE + 1, sizeof *w.index);
    w.seen = calloc(3 * (SAMPLE + 1), sizeof *w.seen);
    if (w.index && w.seen) {
        w.left = w.seen + SAMPLE + 1;
        w.made = w.left + SAMPLE + 1;
        losses_claim(&w);
    }
    free(w.index);
    free(w.seen);
}
