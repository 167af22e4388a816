/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "poison.h"
#include "sample.h"
#include "ulp.h"

/* Evidence in the values themselves. */

static double share(int64_t part, int64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static bool inputs_finite(const struct suspect *s)
{
    for (int i = 0; i < s->in->plan->n_tensor; i++) {
        const struct tensor *t = s->in->input[i];
        for (int64_t k = 0; t && k < t->count; k++)
            if (!dtype_is_finite(t->dtype, tensor_bits(t, k)))
                return false;
    }
    return true;
}

/* NaN with the payload that outputs and gaps were poisoned with, quieted on its way. */
static bool carries_poison(enum dtype d, uint64_t bits)
{
    const struct dtype_info *info = dtype_info(d);
    uint64_t quiet = UINT64_C(1) << (info->fraction - 1);
    uint64_t mask = (UINT64_C(1) << info->fraction) - 1;
    return dtype_is_nan(d, bits) &&
           ((bits | quiet) & mask) == ((poison_bits(d) | quiet) & mask);
}

/* Elements whose class is wrong, and what is known of them. */
struct classes {
    int64_t special, poison;
    int64_t nan;        /* NaN where a finite number is right */
    int64_t nan_zero;   /* ... which is 0 */
    int64_t zeros;      /* elements for which 0 is right */
    int64_t gone;       /* wrong ones that are 0 */
};

static void classes_count(const struct suspect *s, struct classes *c)
{
    enum dtype d = s->t->dtype;
    for (int64_t i = 0; i < s->count; i++) {
        uint64_t bits = tensor_bits(s->t, i);
        double right = s->in->oracle->value[i];
        bool number = isfinite(right) && dtype_is_finite(d, dtype_round(d, right));
        bool odd = !dtype_is_finite(d, bits) || !number;
        c->zeros += right == 0;
        c->gone += s->bad[i] && tensor_value(s->t, i) == 0;
        if (!s->bad[i] || !odd)
            continue;
        c->special++;
        c->poison += dtype_info(d)->kind == DTYPE_KIND_FLOAT && carries_poison(d, bits);
        c->nan += dtype_is_nan(d, bits) && number;
        c->nan_zero += dtype_is_nan(d, bits) && right == 0;
    }
}

/* NaN where everything is finite: memory that nobody wrote, unless the numbers say how the
 * arithmetic came to it. */
static void claim_nan(struct suspect *s, const struct classes *c)
{
    double least, part = share(c->special, s->n_bad);
    if (c->nan_zero == c->nan && c->zeros == c->nan && c->zeros < s->count)
        claim_add(s->o, CAUSE_NANINF, s->side, part,
                  "%lld NaN, everywhere where the right result is 0 and nowhere else: 0 / 0 of what "
                  "is empty",
                  (long long)c->nan);
    else if (s->n_bad == c->special && suspect_above(s, &least))
        claim_add(s->o, CAUSE_NANINF, s->side, part,
                  "%lld NaN, all and only where an input is %.6g or larger in magnitude: what "
                  "overflows on the way",
                  (long long)c->nan, least);
    else
        claim_add(s->o, CAUSE_UNINITIALISED, s->side, 0.95 * part,
                  "%lld NaN although every input and every right result is finite",
                  (long long)c->nan);
}

void diagnose_classes(struct suspect *s)
{
    struct classes c = {0};
    double least;
    classes_count(s, &c);
    bool overflown = c.special && c.special < s->n_bad &&
                     c.special + c.gone == s->n_bad && inputs_finite(s) && suspect_above(s, &least);
    if (overflown)
        claim_add(s->o, CAUSE_NANINF, s->side, 1,
                  "%lld NaN or Inf and %lld zeros, all and only where an input is %.6g or larger in "
                  "magnitude: what overflows on the way, and what is divided by it",
                  (long long)c.special, (long long)c.gone, least);
    if (c.special * 2 < s->n_bad || overflown)
        return;
    if (c.poison * 2 > c.special)
        claim_add(s->o, CAUSE_UNINITIALISED, s->side, share(c.poison, s->n_bad),
                  "%lld NaN carry the pattern that memory was filled with before the kernel",
                  (long long)c.poison);
    else if (c.nan == c.special && inputs_finite(s))
        claim_nan(s, &c);
    else
        claim_add(
            s->o, CAUSE_NANINF, s->side,
            (c.special == s->n_bad ? 1 : 0.9) * share(c.special, s->n_bad),
            "of %lld wrong elements %lld differ in class only: NaN or Inf where the other is "
            "right",
            (long long)s->n_bad, (long long)c.special);
}

void diagnose_flush(struct suspect *s)
{
    if (dtype_info(s->t->dtype)->kind != DTYPE_KIND_FLOAT)
        return;
    double smallest = dtype_min_normal(s->t->dtype);
    int64_t n = 0, subnormal = 0, kept = 0;
    for (int64_t i = 0; i < s->count; i++) {
        double value = fabs(s->in->oracle->value[i]);
        if (!(value > 0 && value < smallest))
            continue;
        subnormal++;
        bool zero = tensor_value(s->t, i) == 0;
        kept += !zero;
        n += s->bad[i] && zero;
    }
    if (n && n >= 4 * kept)
        claim_add(s->o, CAUSE_FLUSH, s->side, share(n, s->n_bad),
                  "%lld of %lld results that should be subnormal are zero", (long long)n,
                  (long long)subnormal);
}

void diagnose_zeros(struct suspect *s)
{
    int64_t zeros = 0;
    for (int64_t i = 0; i < s->count; i++)
        zeros += s->bad[i] && tensor_value(s->t, i) == 0;
    if (zeros == s->n_bad && s->n_bad * 10 > s->count * 9)
        claim_add(s->o, CAUSE_LOCALISED, s->side, 1,
                  "all %lld wrong elements are zero: nothing was computed there",
                  (long long)zeros);
}

/* Result over reference where the reference is far above its bound; at most `room` of them, for
 * elements first, first + step, ... */
static int64_t ratios(const struct suspect *s, int64_t first, int64_t step, int64_t end,
                      int64_t room, double *ret_ratio)
{
    int64_t n = 0;
    for (int64_t i = first; i < end && n < room; i += step) {
        double value = s->in->oracle->value[i], got = tensor_value(s->t, i);
        if (isfinite(got) && isfinite(value) && fabs(value) > 64 * s->in->oracle->bound[i])
            ret_ratio[n++] = got / value;
    }
    qsort(ret_ratio, (size_t)n, sizeof *ret_ratio, sample_ascending);
    return n;
}

enum { RATIO_SAMPLE = 4096 };

/* Half the width of the middle 80 % over the median: small when one factor fits all. */
static double spread(const double *sorted, int64_t n)
{
    double median = sorted[n / 2];
    return fabs((sorted[n * 9 / 10] - sorted[n / 10]) / 2 / median);
}

static bool is_factor(const double *sorted, int64_t n, double *ret_factor)
{
    if (n < 4 || sorted[n / 2] == 0)
        return false;
    double off = fabs(sorted[n / 2] - 1), width = spread(sorted, n);
    *ret_factor = sorted[n / 2];
    return width < 0.02 && off > 4 * width;
}

/* Lines of a matrix: rows, or columns. */
struct lines {
    const char *name;
    int64_t count, length, start, step; /* line l holds l * start + i * step, i < length */
    int64_t fits, explained;            /* lines with one factor each; bad elements in them */
    double low, high;
};

static void lines_fit(const struct suspect *s, struct lines *x, double *work)
{
    for (int64_t l = 0; l < x->count; l++) {
        double factor;
        int64_t first = l * x->start, end = first + x->length * x->step;
        int64_t n = ratios(s, first, x->step, end, RATIO_SAMPLE, work);
        if (!is_factor(work, n, &factor))
            continue;
        x->low = !x->fits || factor < x->low ? factor : x->low;
        x->high = !x->fits || factor > x->high ? factor : x->high;
        x->fits++;
        for (int64_t i = first; i < end; i += x->step)
            x->explained += s->bad[i];
    }
}

/* How much of the errors' variance, in units of the bounds, one factor explains. */
static double factor_variance(const struct suspect *s, double factor)
{
    double total = 0, left = 0;
    const struct oracle *o = s->in->oracle;
    for (int64_t i = 0; i < s->count; i++) {
        double x = o->value[i], y = tensor_value(s->t, i);
        if (!s->bad[i] || !isfinite(x) || !isfinite(y) || !(o->bound[i] > 0))
            continue;
        total += (y - x) / o->bound[i] * ((y - x) / o->bound[i]);
        left += (y - factor * x) / o->bound[i] * ((y - factor * x) / o->bound[i]);
    }
    return total > 0 ? 1 - left / total : 0;
}

bool suspect_from_zero(const struct suspect *s)
{
    int64_t n = 0;
    for (int64_t i = s->first; i <= s->last; i++)
        n += s->bad[i] && s->in->oracle->value[i] == 0 && tensor_value(s->t, i) != 0;
    return n * 100 > s->n_bad;
}

void diagnose_factor(struct suspect *s)
{
    if (s->n_bad * 4 < s->count || s->count < 4)
        return;
    double work[RATIO_SAMPLE], factor;
    int64_t step = s->count / RATIO_SAMPLE + 1;
    int64_t n = ratios(s, 0, step, s->count, RATIO_SAMPLE, work);
    if (is_factor(work, n, &factor)) {
        /* Inputs that lost bits look like a factor just below one; the model then leaves less.
         */
        if (suspect_fit(s) && s->variance > factor_variance(s, factor))
            return;
        claim_add(s->o, CAUSE_SCALE, s->side, 1,
                  "every element is the right one times %.9g (spread %.1g)", factor,
                  spread(work, n));
        return;
    }
    /* A wrong sum is one factor a row, too. A model has no factor to choose for each line. */
    if (s->t->rank != 2 || suspect_from_zero(s) || (suspect_fit(s) && s->variance > 0.95))
        return;
    int64_t m = s->t->dim[0], n_column = s->t->dim[1];
    struct lines row = {"row", m, n_column, n_column, 1, 0, 0, 1, 1};
    struct lines column = {"column", n_column, m, 1, n_column, 0, 0, 1, 1};
    lines_fit(s, &row, work);
    lines_fit(s, &column, work);
    const struct lines *best = row.explained >= column.explained ? &row : &column;
    if (best->fits > 1 && best->explained * 2 > s->n_bad)
        claim_add(s->o, CAUSE_SCALE, s->side, share(best->explained, s->n_bad),
                  "%lld of %lld %ss have one factor each, from %.6g to %.6g",
                  (long long)best->fits, (long long)best->count, best->name, best->low,
                  best->high);
}

/* A factor too close to one to be seen in any single element: the regression of results on the
 * reference, when dividing by its slope brings nearly all wrong elements back inside. */
void diagnose_slope(struct suspect *s)
{
    double xx = 0, xy = 0, rr = 0;
    const struct oracle *o = s->in->oracle;
    for (int64_t i = 0; i < s->count; i++) {
        double x = o->value[i], y = tensor_value(s->t, i);
        if (!isfinite(x) || !isfinite(y) || !isfinite(o->bound[i]))
            continue;
        xx += x * x;
        xy += x * y;
        rr += (y - x) * (y - x);
    }
    if (!(xx > 0) || s->count < 64)
        return;
    double slope = xy / xx, left = rr - (slope - 1) * (slope - 1) * xx;
    double error = sqrt(fmax(left, 0) / xx / (double)s->count);
    int64_t healed = 0;
    for (int64_t i = 0; i < s->count; i++)
        healed += s->bad[i] && fabs((tensor_value(s->t, i) / slope - o->value[i]) -
                                    o->tail[i]) <= o->bound[i];
    if (fabs(slope - 1) > 10 * error && healed * 10 >= s->n_bad * 9)
        claim_add(
            s->o, CAUSE_SCALE, s->side, share(healed, s->n_bad),
            "results lie on the right ones times %.6g (+- %.1g); divided by it, %lld of %lld "
            "wrong elements are right",
            slope, error, (long long)healed, (long long)s->n_bad);
}
