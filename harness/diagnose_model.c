/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Which candidate way of computing explains what a device gave: by bits (so many of the sampled
 * elements are equal), or by errors (so much of their variance is the candidate's error too,
 * which holds whatever the order of summation). */

enum { MODEL_SAMPLE = 512, MODEL_RIGHT = 128, MODEL_WHOLE = 8192, MODEL_COUNT_MAX = 64 };

struct picked {
    int64_t n, index[MODEL_SAMPLE];
    uint64_t bits[MODEL_SAMPLE]; /* of the model at hand */
};

/* How well a model fits one tensor on a sample. */
struct fit {
    int model;       /* -1: none */
    double equal;    /* share of equal bits */
    double variance; /* share of the error's variance explained, in units of the bound */
};

static void sample_add(struct picked *s, const uint8_t *marked, int64_t count, int64_t n_marked,
                       int64_t room)
{
    int64_t step = n_marked / room + 1, seen = 0, first = s->n;
    for (int64_t i = 0; i < count && s->n < MODEL_SAMPLE && s->n - first < room; i++)
        if (marked[i] && seen++ % step == 0)
            s->index[s->n++] = i;
}

static bool same_bits(enum dtype d, uint64_t x, uint64_t y)
{
    return x == y || (dtype_is_nan(d, x) && dtype_is_nan(d, y));
}

/* Error of an element in units of its bound; infinite when it is not finite. */
static double error_of(const struct oracle *o, enum dtype d, uint64_t bits, int64_t i)
{
    double unit = o->bound[i] > 0 ? o->bound[i] : 1;
    return ((dtype_value(d, bits) - o->value[i]) - o->tail[i]) / unit;
}

static struct fit fit_model(const struct diagnose_input *in, const struct tensor *t,
                            const struct picked *s, int model)
{
    struct fit f = {.model = model};
    double total = 0, left = 0;
    int64_t equal = 0;
    for (int64_t x = 0; x < s->n; x++) {
        int64_t i = s->index[x];
        uint64_t got = tensor_bits(t, i);
        equal += same_bits(t->dtype, got, s->bits[x]);
        double e = error_of(in->oracle, t->dtype, got, i);
        double m = error_of(in->oracle, t->dtype, s->bits[x], i);
        if (!isfinite(e) || !isfinite(m))
            continue;
        total += e * e;
        left += (e - m) * (e - m);
    }
    f.equal = s->n ? (double)equal / (double)s->n : 0;
    f.variance = total > 0 ? 1 - left / total : 0;
    return f;
}

static double fit_value(const struct fit *f)
{
    return fmax(f->equal, f->variance);
}

static bool model_bits(const struct diagnose_input *in, struct picked *s, int model)
{
    const struct family *family = in->id->family;
    return family->model(in->id, in->plan, in->input, in->which, model, s->n, s->index,
                         s->bits);
}

/* Elements of the tensor's beginning, in pieces of a sample, that the model gives. */
static int64_t equal_of_all(const struct diagnose_input *in, const struct tensor *t,
                            struct picked *work, int model)
{
    int64_t equal = 0, end = t->count < MODEL_WHOLE ? t->count : MODEL_WHOLE;
    for (int64_t at = 0; at < end; at += MODEL_SAMPLE) {
        work->n = end - at < MODEL_SAMPLE ? end - at : MODEL_SAMPLE;
        for (int64_t i = 0; i < work->n; i++)
            work->index[i] = at + i;
        if (!model_bits(in, work, model))
            return 0;
        for (int64_t i = 0; i < work->n; i++)
            equal += same_bits(t->dtype, tensor_bits(t, at + i), work->bits[i]);
    }
    return equal;
}

/* The best fitting wrong model; a right one that fits as well wins against it. Of models that fit
 * `s` alike the one that fits the whole tensor better, for which there is room in `work`; NULL:
 * the first. */
static struct fit best_fit(const struct diagnose_input *in, const struct tensor *t,
                           struct picked *s, struct picked *work, bool want_right)
{
    struct fit best = {.model = -1};
    const struct case_model *models = in->id->family->models;
    for (int m = 0; models[m].name; m++) {
        if ((want_right && !models[m].right) || !model_bits(in, s, m))
            continue;
        struct fit f = fit_model(in, t, s, m);
        double more = best.model < 0 ? 1 : fit_value(&f) - fit_value(&best);
        bool tie = work && f.equal >= 0.8 && fabs(more) <= 1e-9;
        if (more > 1e-9 ||
            (tie && equal_of_all(in, t, work, m) > equal_of_all(in, t, work, best.model)))
            best = f;
    }
    return best;
}

/* Would the model be wrong where the device is right? Then it is not how the device computes:
 * many ways of computing give a few wrong elements the same bits. */
static bool is_refuted(struct suspect *s, struct picked *right, int model)
{
    int64_t off = 0;
    const struct oracle *o = s->in->oracle;
    if (right->n < 8 || (s->count - s->n_bad) * 20 < s->count ||
        !model_bits(s->in, right, model))
        return false;
    for (int64_t x = 0; x < right->n; x++)
        off += !element_right_bits(o, s->t->dtype, right->bits[x], right->index[x]);
    return off * 2 > right->n;
}

/* The best fitting one of those that nothing refutes. */
static struct fit fit_wrong(struct suspect *s, struct picked *bad, struct picked *right)
{
    struct fit best = {.model = -1};
    const struct case_model *models = s->in->id->family->models;
    for (int m = 0; models[m].name; m++) {
        if (!model_bits(s->in, bad, m))
            continue;
        struct fit f = fit_model(s->in, s->t, bad, m);
        if ((best.model < 0 || fit_value(&f) > fit_value(&best) + 1e-9) &&
            !(fit_value(&f) > 0 && is_refuted(s, right, m)))
            best = f;
    }
    return best;
}

bool suspect_fit(struct suspect *s)
{
    if (s->fitted)
        return s->model >= 0;
    s->fitted = true;
    s->model = -1;
    struct picked *bad = calloc(1, sizeof *bad), *right = calloc(1, sizeof *right);
    uint8_t *good = calloc((size_t)s->count + 1, 1);
    if (bad && right && good && s->in->id->family->models && s->in->id->family->model) {
        for (int64_t i = 0; i < s->count; i++)
            good[i] = !s->bad[i];
        sample_add(bad, s->bad, s->count, s->n_bad, MODEL_SAMPLE);
        sample_add(right, good, s->count, s->count - s->n_bad, MODEL_RIGHT);
        struct fit f = fit_wrong(s, bad, right);
        s->model = f.model;
        s->equal = f.equal;
        s->variance = f.variance;
    }
    free(bad);
    free(right);
    free(good);
    return s->model >= 0;
}

void diagnose_models_bits(struct suspect *s)
{
    if (!suspect_fit(s) || s->equal < 0.7)
        return;
    const struct case_model *m = &s->in->id->family->models[s->model];
    char more[80] = "";
    if (s->variance > s->equal)
        snprintf(more, sizeof more, " and explains %.1f %% of the error's variance",
                 100 * s->variance);
    claim_add(s->o, m->cause, s->side, fmax(s->equal, s->variance),
              "%s gives exactly these bits in %.1f %% of the wrong elements%s", m->name,
              100 * s->equal, more);
}

void diagnose_models_errors(struct suspect *s)
{
    if (!suspect_fit(s) || s->equal >= 0.7 || s->variance < 0.7)
        return;
    const struct case_model *m = &s->in->id->family->models[s->model];
    claim_add(s->o, m->cause, s->side, s->variance,
              "%s explains %.1f %% of the error's variance", m->name, 100 * s->variance);
}

/* --- two sides that are both right -----------------------------------------------------------
 */

static int64_t mark_different(const struct diagnose_input *in, uint8_t *marked)
{
    int64_t n = 0;
    for (int64_t i = 0; i < in->a->count; i++) {
        marked[i] = !same_bits(in->a->dtype, tensor_bits(in->a, i), tensor_bits(in->b, i));
        n += marked[i];
    }
    return n;
}

/* Of two ways of computing the one that says more is named: what the declared precision does
 * not allow before what it does, another order of summation last. */
static int weight(const struct case_model *m)
{
    if (!m->right)
        return 3;
    return m->cause == CAUSE_ORDER ? 0 : m->cause == CAUSE_CONTRACTION ? 1 : 2;
}

/* The chance that k or more of n elements come out equal where two neighbouring values are as
 * likely as each other: what a model that has nothing to do with the side would reach. */
static double chance_of(int64_t k, int64_t n)
{
    double sum = 0, whole = lgamma((double)n + 1) - (double)n * log(2);
    for (int64_t x = k; x <= n; x++)
        sum += exp(whole - lgamma((double)x + 1) - lgamma((double)(n - x) + 1));
    return fmin(sum, 1);
}

/* More than another order or a contraction, which are to be expected, is said only where chance
 * does not do as well: once in a thousand sides, all models tried counted. */
static bool beyond_chance(const struct case_model *models, const struct fit *f, int64_t n)
{
    int tried = 0;
    while (models[tried].name)
        tried++;
    return weight(&models[f->model]) < 2 ||
           chance_of(llround(f->equal * (double)n), n) * tried < 1e-3;
}

/* The models that fit each side bit for bit on the differing elements, where there are some. */
static bool claim_models(const struct diagnose_input *in, struct picked *s, struct picked *work,
                         struct finding_out *o)
{
    const struct case_model *models = in->id->family->models;
    if (!models || !in->id->family->model)
        return false;
    /* Sides that err alike within their bounds accuse nobody: rows that share one rounded factor
     * can make a fault look like it. */
    bool right = o->verdict == VERDICT_EQUIVALENT;
    struct fit a = best_fit(in, in->a, s, work, right),
               b = best_fit(in, in->b, s, work, right);
    if (a.model < 0 || a.model == b.model || a.equal < 0.8 || b.equal < 0.8 ||
        !beyond_chance(models, &a, s->n) || !beyond_chance(models, &b, s->n))
        return false;
    bool name_b = weight(&models[b.model]) > weight(&models[a.model]);
    int named = name_b ? b.model : a.model;
    claim_add(o, models[named].cause, '=', fmin(a.equal, b.equal),
              "A is %s (%.1f %% of the differing elements), B is %s (%.1f %%)",
              models[a.model].name, 100 * a.equal, models[b.model].name, 100 * b.equal);
    return true;
}

static bool claim_signs(const struct diagnose_input *in, const uint8_t *marked, int64_t n,
                        struct finding_out *o)
{
    int64_t signs = 0, flushed = 0;
    double smallest =
        dtype_info(in->a->dtype)->kind == DTYPE_KIND_FLOAT ? dtype_min_normal(in->a->dtype) : 0;
    for (int64_t i = 0; i < in->a->count; i++) {
        if (!marked[i])
            continue;
        double a = tensor_value(in->a, i), b = tensor_value(in->b, i);
        signs += a == 0 && b == 0;
        flushed += (a == 0) != (b == 0) && fabs(a) < smallest && fabs(b) < smallest;
    }
    if (signs * 10 >= n * 9) {
        claim_add(o, CAUSE_NANINF, '=', (double)signs / (double)n,
                  "%lld of %lld differing elements are zeros of opposite sign",
                  (long long)signs, (long long)n);
        return true;
    }
    if (flushed * 10 < n * 9)
        return false;
    claim_add(o, CAUSE_FLUSH, '=', (double)flushed / (double)n,
              "%lld of %lld differing elements are zero on one side and subnormal on the other",
              (long long)flushed, (long long)n);
    return true;
}

static bool biased(const struct distribution *d)
{
    return d->count >= 64 && fabs(d->mean) > 0.2 * d->rms &&
           fabs(d->mean) > 6 * d->rms / sqrt((double)d->count);
}

static bool claim_bias(struct finding_out *o)
{
    const struct distribution *a = &o->stats.a.ulp, *b = &o->stats.b.ulp;
    /* A bias that the verdict does not mind accuses nobody: an approximated exp has one too. */
    if (biased(a) == biased(b) || o->verdict != VERDICT_DISTINGUISHABLE)
        return false;
    const struct distribution *d = biased(a) ? a : b;
    claim_add(
        o, CAUSE_ROUNDING, biased(a) ? 'A' : 'B', 0.8,
        "errors of %c lean to one side: mean %+.3g ULP at an RMS of %.3g; those of the other "
        "side do not",
        biased(a) ? 'A' : 'B', d->mean, d->rms);
    return true;
}

/* One side errs as the declared accumulation must, the other less than it can. */
static bool claim_upcast(struct finding_out *o)
{
    const struct side_stats *a = &o->stats.a, *b = &o->stats.b;
    if (a->count < 64)
        return false;
    bool exact_a = a->correctly_rounded == a->count, exact_b = b->correctly_rounded == b->count;
    const struct side_stats *other = exact_a ? b : a;
    if (exact_a == exact_b || other->correctly_rounded * 10 > other->count * 9)
        return false;
    claim_add(
        o, CAUSE_UPCAST, exact_a ? 'A' : 'B', 0.9,
        "every element of %c is the exact result rounded once; of the other side only %.1f %%",
        exact_a ? 'A' : 'B', 100.0 * (double)other->correctly_rounded / (double)other->count);
    return true;
}

/* Library functions differ by vendor within their documented errors: nothing else need be
 * sought for a difference of that size. */
static bool claim_functions(const struct diagnose_input *in, struct finding_out *o)
{
    if (!in->id->family->functions)
        return false;
    claim_add(o, CAUSE_APPROXIMATE, '=', 0.7,
              "each stack has its own library functions, and both err within their documented "
              "bounds: RMS %.3g and %.3g ULP, mean %+.3g and %+.3g",
              o->stats.a.ulp.rms, o->stats.b.ulp.rms, o->stats.a.ulp.mean, o->stats.b.ulp.mean);
    return true;
}

/* What remains when nothing else fits: errors of rounding size without bias are what another
 * order of summation gives. Sizes are compared in units of the bound, which near-zero results
 * do not dominate. */
static void claim_order(struct finding_out *o)
{
    const struct distribution *a = &o->stats.a.bound, *b = &o->stats.b.bound;
    double ratio = a->rms > 0 && b->rms > 0 ? fmax(a->rms / b->rms, b->rms / a->rms) : 0;
    bool alike = o->verdict == VERDICT_EQUIVALENT || (!biased(a) && !biased(b));
    if (ratio > 0 && ratio < 4 && alike)
        claim_add(o, CAUSE_ORDER, '=', 0.6,
                  "both sides err alike, by RMS %.2g and %.2g of the "
                  "bound",
                  a->rms, b->rms);
    else
        claim_add(
            o, CAUSE_UNEXPLAINED, '=', 0,
            "both sides are right, but err by RMS %.2g and %.2g of their bounds, and no known "
            "pattern fits",
            a->rms, b->rms);
}

/* Sides that differ no more than one of them from itself. */
static bool claim_noise(const struct diagnose_input *in, struct finding_out *o)
{
    const struct finding *f = in->finding;
    if (!f)
        return false;
    double noise = 0, off = o->stats.pair.worst_absolute;
    if (f->a.unstable && !strcmp(f->a.unstable_tensor, o->name))
        noise = f->a.noise_largest;
    if (f->b.unstable && !strcmp(f->b.unstable_tensor, o->name))
        noise = fmax(noise, f->b.noise_largest);
    if (!(noise > 0) || off > 2 * noise)
        return false;
    claim_add(o, CAUSE_ORDER, '=', 0.9,
              "the kernel adds in an order that is not fixed: runs of one side differ by up to "
              "%.3g, the sides by %.3g",
              noise, off);
    return true;
}

/* The first output of a family that answers questions: each answer that differs is a cause. One
 * of each cause comes before the second of any. */
static void claim_readings(const struct diagnose_input *in, struct finding_out *o)
{
    const struct family *f = in->id->family;
    struct case_reading *a = calloc(2 * CASE_READINGS_MAX, sizeof *a);
    struct case_reading *b = a ? a + CASE_READINGS_MAX : NULL;
    int count = a ? f->readings(in->id, in->a, CASE_READINGS_MAX, a) : 0;
    if (a && f->readings(in->id, in->b, CASE_READINGS_MAX, b) != count)
        count = 0;
    for (int pass = 0; pass < 2; pass++) {
        bool seen[CAUSE_COUNT_] = {false};
        for (int i = 0; i < count; i++) {
            if (!strcmp(a[i].words, b[i].words))
                continue;
            if (seen[a[i].cause] == (pass == 1))
                claim_add(o, a[i].cause, '=', 1,
                          "%s: A %s, B %s (all: gpuparity probe A.h5 B.h5)", a[i].name,
                          a[i].words, b[i].words);
            seen[a[i].cause] = true;
        }
    }
    free(a);
}

static bool is_first_output(const struct diagnose_input *in)
{
    int first = 0;
    while (in->plan->tensor[first].role == TENSOR_IN)
        first++;
    return in->which == first;
}

void diagnose_pair(const struct diagnose_input *in, struct finding_out *o)
{
    if (in->id->family->readings) {
        if (is_first_output(in))
            claim_readings(in, o);
        return;
    }
    struct picked *s = calloc(1, sizeof *s), *work = calloc(1, sizeof *work);
    uint8_t *marked = calloc((size_t)in->a->count + 1, 1);
    if (s && work && marked) {
        int64_t n = mark_different(in, marked);
        sample_add(s, marked, in->a->count, n, MODEL_SAMPLE);
        if (n && !claim_signs(in, marked, n, o) && !claim_noise(in, o) &&
            !diagnose_random_rounding(in, o) && !claim_models(in, s, work, o) && !claim_functions(in, o) && !claim_upcast(o) &&
            !claim_bias(o))
            claim_order(o);
    }
    free(s);
    free(work);
    free(marked);
}
