/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose.h"

#include <math.h>
#include <stdlib.h>

#include "ulp.h"

/* The shape of the errors, where nothing gives them exactly: a smooth function of the result, or
 * noise that lies over everything alike. */

struct point {
    double right, error, room; /* room: the bound */
    double key;                /* what they are sorted by */
    int64_t index;
    bool bad;
};

struct points {
    int64_t n, bad;
    struct point *at; /* owned */
    double typical;   /* the middle one of the right results' sizes */
};

static int by_key(const void *x, const void *y)
{
    double a = ((const struct point *)x)->key, b = ((const struct point *)y)->key;
    return (a > b) - (a < b);
}

static int by_index(const void *x, const void *y)
{
    int64_t a = ((const struct point *)x)->index, b = ((const struct point *)y)->index;
    return (a > b) - (a < b);
}

static void points_sort(struct points *p, int (*by)(const void *, const void *))
{
    qsort(p->at, (size_t)p->n, sizeof *p->at, by);
}

/* All elements that can be judged. */
static struct points points_of(const struct suspect *s)
{
    struct points p = {.at = calloc((size_t)s->count + 1, sizeof *p.at)};
    const struct oracle *o = s->in->oracle;
    for (int64_t i = 0; p.at && i < s->count; i++) {
        double e = (tensor_value(s->t, i) - o->value[i]) - o->tail[i];
        if (!isfinite(e) || !isfinite(o->bound[i]) || !(o->bound[i] > 0))
            continue;
        p.at[p.n++] =
            (struct point){o->value[i], e, o->bound[i], fabs(o->value[i]), i, s->bad[i]};
        p.bad += s->bad[i];
    }
    if (!p.n)
        return p;
    points_sort(&p, by_key);
    p.typical = p.at[p.n / 2].key;
    points_sort(&p, by_index);
    return p;
}

/* Errors are not the size of whole terms or results, which is what a lost or foreign one leaves. */
static bool are_small(const struct suspect *s, const struct points *p, double size)
{
    const struct oracle *o = s->in->oracle;
    int64_t small = 0;
    for (int64_t k = 0; k < p->n; k++) {
        double whole = fmax(o->scale[p->at[k].index], fmax(fabs(p->at[k].right), p->typical));
        small += fabs(p->at[k].error) < size * whole;
    }
    return small * 10 > p->n * 9;
}

/* Or they are far below the largest result, which is what an absolute error is measured with. */
static bool are_tiny(const struct points *p, double size)
{
    double worst = 0, largest = 0;
    for (int64_t k = 0; k < p->n; k++) {
        worst = fmax(worst, fabs(p->at[k].error));
        largest = fmax(largest, fabs(p->at[k].right));
    }
    return worst < size * largest;
}

/* --- smooth ----------------------------------------------------------------------------------
 */

/* Over neighbours in the order of their keys. */
struct smooth {
    int64_t n;
    double sum, square, step; /* of errors, their squares, squares of steps between neighbours */
};

static double measure(const struct point *p, bool relative)
{
    double e = relative ? p->error / fabs(p->right) : p->error;
    return isfinite(e) ? e : 0;
}

static void smooth_add(struct smooth *m, struct point *p, int64_t n, bool relative)
{
    qsort(p, (size_t)n, sizeof *p, by_key);
    for (int64_t i = 1; i < n; i++) {
        if (p[i].key == p[i - 1].key)
            continue;
        double x = measure(&p[i], relative), y = measure(&p[i - 1], relative);
        m->n++;
        m->sum += x;
        m->square += x * x;
        m->step += (x - y) * (x - y);
    }
}

/* Steps between neighbours against the spread of all: 2 where neighbours have nothing to do with
 * each other, near 0 where the error is a smooth function of the key. A constant is none. */
static double roughness(const struct smooth *m)
{
    double mean = m->n ? m->sum / (double)m->n : 0;
    double spread = m->square - (double)m->n * mean * mean;
    return m->n >= 64 && spread > 0.02 * m->square ? m->step / spread : 2;
}

/* In runs of `length` elements by index: the whole tensor, or rows. */
static double roughness_of(struct points *p, int64_t length, bool relative)
{
    struct smooth m = {0};
    points_sort(p, by_index);
    for (int64_t from = 0, to; from < p->n; from = to) {
        for (to = from; to < p->n && p->at[to].index / length == p->at[from].index / length; to++)
            ;
        if (to - from >= 16)
            smooth_add(&m, p->at + from, to - from, relative);
    }
    return roughness(&m);
}

/* Are the wrong elements those whose key lies in one range, a small part of all? */
static bool in_one_range(struct points *p)
{
    int64_t first = -1, last = -1;
    points_sort(p, by_key);
    for (int64_t k = 0; k < p->n; k++)
        if (p->at[k].bad) {
            first = first < 0 ? k : first;
            last = k;
        }
    int64_t span = last - first + 1;
    return p->bad >= 8 && p->bad * 2 > span && span * 4 < p->n;
}

struct smoothness {
    double least;     /* roughness */
    const char *over; /* of what the error is a function: "the result", an input's name */
    bool range;       /* only wrong in a range of it */
};

static void smooth_look(struct points *p, int64_t count, int64_t row, const char *name,
                        struct smoothness *best)
{
    for (int way = 0; way < (row < count ? 4 : 2); way++) {
        double r = roughness_of(p, way < 2 ? count : row, way % 2);
        if (r < best->least)
            *best = (struct smoothness){r, name, best->range};
    }
    if (!best->range && in_one_range(p))
        *best = (struct smoothness){best->least, best->least < 0.5 ? best->over : name, true};
}

static struct smoothness smoothness_of(const struct suspect *s, struct points *p)
{
    struct smoothness best = {2, "the result", false};
    const struct case_plan *plan = s->in->plan;
    for (int k = 0; k < p->n; k++)
        p->at[k].key = p->at[k].right;
    smooth_look(p, s->count, s->t->rank ? s->t->dim[s->t->rank - 1] : 1, "the result", &best);
    for (int i = 0; i < plan->n_tensor; i++) {
        const struct tensor *t = s->in->input[i];
        if (!t || t->count != s->count || dtype_info(t->dtype)->kind != DTYPE_KIND_FLOAT)
            continue;
        for (int64_t k = 0; k < p->n; k++)
            p->at[k].key = tensor_value(t, p->at[k].index);
        smooth_look(p, s->count, s->count, plan->tensor[i].name, &best);
    }
    return best;
}

/* Another polynomial or table in the place of a function: its error changes slowly with the
 * result or an input, over the whole tensor or in each row, which has a divisor of its own. */
void diagnose_smooth(struct suspect *s)
{
    if (dtype_info(s->t->dtype)->kind != DTYPE_KIND_FLOAT || s->n_bad < 8)
        return;
    struct points p = points_of(s);
    struct smoothness m = {2, NULL, false};
    if (p.n && p.bad * 10 > s->n_bad * 9 && (are_small(s, &p, 0x1p-4) || are_tiny(&p, 0x1p-10)))
        m = smoothness_of(s, &p);
    if (m.least < 0.5 && s->n_bad * 20 > s->count)
        claim_add(s->o, CAUSE_APPROXIMATE, s->side, 0.92,
                  "the error is a smooth function of %s: from one value to the next it changes by "
                  "%.2g of its spread (noise: 1.4), as with another approximation of a function",
                  m.over, sqrt(m.least));
    else if (m.range)
        claim_add(s->o, CAUSE_APPROXIMATE, s->side, 0.92,
                  "elements are wrong where %s lies in one range, wherever they are, and their "
                  "errors are small: a function is approximated badly there",
                  m.over);
    free(p.at);
}

/* --- noise over everything -------------------------------------------------------------------
 */

struct noise_shape {
    double mean, rms; /* of errors in units of the bounds */
    double kurtosis;  /* the least of errors in units of bounds, of sums' sizes, and absolute */
    double worst;
    double follows; /* correlation of error and result, in its own standard errors */
    double ulps;    /* the largest error in ULP */
    int64_t few, most; /* wrong elements in the poorest and richest eighth, by index and column */
};

static double kurtosis_of(const struct suspect *s, const struct points *p, int unit)
{
    double square = 0, fourth = 0;
    for (int64_t k = 0; k < p->n; k++) {
        const struct point *x = &p->at[k];
        double size = unit == 0 ? x->room : unit == 1 ? s->in->oracle->scale[x->index] : 1;
        double e = size > 0 ? x->error / size : 0;
        square += e * e / (double)p->n;
        fourth += e * e * e * e / (double)p->n;
    }
    return square > 0 ? fourth / (square * square) : INFINITY;
}

/* What lacks some of its terms errs the other way than it is. */
static double correlation(const struct points *p)
{
    double xx = 0, ee = 0, xe = 0;
    for (int64_t k = 0; k < p->n; k++) {
        xx += p->at[k].right * p->at[k].right;
        ee += p->at[k].error * p->at[k].error;
        xe += p->at[k].right * p->at[k].error;
    }
    return xx > 0 && ee > 0 ? xe / sqrt(xx * ee) * sqrt((double)p->n) : 0;
}

static struct noise_shape shape_of(const struct suspect *s, const struct points *p)
{
    struct noise_shape r = {.kurtosis = INFINITY, .few = s->count};
    int64_t eighth[16] = {0}, length = s->t->rank ? s->t->dim[s->t->rank - 1] : 1;
    for (int64_t k = 0; k < p->n; k++) {
        const struct point *x = &p->at[k];
        double e = x->error / x->room;
        r.mean += e / (double)p->n;
        r.rms += e * e / (double)p->n;
        r.worst = fmax(r.worst, fabs(e));
        r.ulps = fmax(r.ulps, fabs(x->error) / ulp_size(s->t->dtype, x->right));
        if (!x->bad)
            continue;
        eighth[x->index * 8 / s->count]++;
        eighth[8 + x->index % length * 8 / length]++;
    }
    r.rms = sqrt(r.rms);
    r.follows = correlation(p);
    for (int unit = 0; unit < 3; unit++)
        r.kurtosis = fmin(r.kurtosis, kurtosis_of(s, p, unit));
    for (int i = 0; i < (length >= 8 ? 16 : 8); i++) {
        r.few = eighth[i] < r.few ? eighth[i] : r.few;
        r.most = eighth[i] > r.most ? eighth[i] : r.most;
    }
    return r;
}

/* Results are sums of several terms: there are many more inputs than results, or terms cancel. */
static bool are_sums(const struct suspect *s)
{
    const struct oracle *o = s->in->oracle;
    int64_t cancel = 0, inputs = 0;
    for (int64_t i = 0; i < s->count; i++)
        cancel += o->scale[i] > 3 * fabs(o->value[i]);
    for (int i = 0; i < s->in->plan->n_tensor; i++)
        inputs += s->in->input[i] ? s->in->input[i]->count : 0;
    return cancel * 2 > s->count || inputs >= 4 * s->count;
}

static void claim_noise_of(struct suspect *s, const struct noise_shape *r)
{
    bool functions = s->in->id->family->functions, sums = are_sums(s);
    if (!sums && r->ulps < 4)
        claim_add(s->o, CAUSE_APPROXIMATE, s->side, 0.91,
                  "%lld of %lld results are off by a little more than one rounding, at most %.2g "
                  "ULP, to both sides and everywhere: a quotient or function that is not correctly "
                  "rounded",
                  (long long)s->n_bad, (long long)s->count, r->ulps);
    else if (sums)
        claim_add(s->o, CAUSE_ACCUMULATE, s->side, 0.91,
                  "errors lie over all elements alike, to both sides (mean %+.2g, RMS %.2g, worst "
                  "%.2g of the bound), far below a whole term: what is added up was kept with "
                  "fewer bits, in a way that no candidate gives",
                  r->mean, r->rms, r->worst);
    else
        claim_add(s->o, functions ? CAUSE_APPROXIMATE : CAUSE_DOWNCAST, s->side, 0.91,
                  "errors lie over all elements alike, to both sides (mean %+.2g, RMS %.2g, worst "
                  "%.2g of the bound): an intermediate result%s has fewer bits",
                  r->mean, r->rms, r->worst, functions ? ", or a function's," : "");
    if (!sums && r->ulps >= 4)
        claim_add(s->o, functions ? CAUSE_DOWNCAST : CAUSE_APPROXIMATE, s->side, 0.4,
                  "these numbers fit a %s as well",
                  functions ? "rounded intermediate result" : "function of fewer bits");
}

void diagnose_noise(struct suspect *s)
{
    if (dtype_info(s->t->dtype)->kind != DTYPE_KIND_FLOAT || s->n_bad < 16)
        return;
    struct points p = points_of(s);
    struct noise_shape r = shape_of(s, &p);
    bool unbiased = fabs(r.mean) < 0.25 * r.rms || fabs(r.mean) * sqrt((double)p.n) < 4 * r.rms;
    /* Normal noise has a kurtosis of 3, a product of two normal terms 9; sums in binades that lie
     * far apart have more than 3. Eighths hold s->n_bad / 8 of the wrong ones each. */
    if (p.n >= 32 && p.bad * 10 > s->n_bad * 8 && unbiased && r.kurtosis < 8.5 &&
        fabs(r.follows) < 4 &&
        r.most < 4 * (r.few + 1) && are_small(s, &p, 0x1p-6))
        claim_noise_of(s, &r);
    free(p.at);
}
