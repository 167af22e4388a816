/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two sides that are both right: which two ways of computing explain the elements that differ. */

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
static bool beyond_chance(const struct case_model *models, const struct model_fit *f, int64_t n)
{
    int tried = 0;
    while (models[tried].name)
        tried++;
    return weight(&models[f->model]) < 2 ||
           chance_of(llround(f->equal * (double)n), n) * tried < 1e-3;
}

/* The side whose every element is the exact result rounded once, where the other's are not: 'A',
 * 'B', or 0. The vendors' functions come close to that, some for thousands of elements. */
static char exact_side(const struct diagnose_input *in, const struct finding_out *o)
{
    const struct side_stats *a = &o->stats.a, *b = &o->stats.b;
    bool functions = in->id->family->functions;
    if (a->count < (functions ? 256 : 64))
        return 0;
    bool exact_a = (a->count - a->correctly_rounded) * 200 <= a->count;
    bool exact_b = (b->count - b->correctly_rounded) * 200 <= b->count;
    const struct side_stats *other = exact_a ? b : a;
    if (exact_a == exact_b ||
        other->correctly_rounded * 10 > other->count * (functions ? 7 : 9))
        return 0;
    return exact_a ? 'A' : 'B';
}

/* One side errs as the declared accumulation must, the other less than it can. */
static bool claim_upcast(const struct diagnose_input *in, struct finding_out *o)
{
    char exact = exact_side(in, o);
    const struct side_stats *own = exact == 'A' ? &o->stats.a : &o->stats.b;
    const struct side_stats *other = exact == 'A' ? &o->stats.b : &o->stats.a;
    if (!exact)
        return false;
    claim_add(o, CAUSE_UPCAST, exact, 0.9,
              "%.2f %% of the elements of %c are the exact result rounded once; of the other side "
              "only %.1f %%",
              100.0 * (double)own->correctly_rounded / (double)own->count, exact,
              100.0 * (double)other->correctly_rounded / (double)other->count);
    return true;
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
    struct model_fit a = best_fit(in, in->a, s, work, right),
               b = best_fit(in, in->b, s, work, right);
    if (a.model < 0 || a.model == b.model || a.equal < 0.8 || b.equal < 0.8 ||
        !beyond_chance(models, &a, s->n) || !beyond_chance(models, &b, s->n))
        return false;
    /* A side that is better than any order or narrower way says more. */
    int heavier = weight(&models[a.model]) > weight(&models[b.model]) ? weight(&models[a.model])
                                                                       : weight(&models[b.model]);
    if (exact_side(in, o) && (heavier == 0 || heavier == 3))
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
        picked_add(s, marked, in->a->count, n, MODEL_SAMPLE);
        if (n && !claim_signs(in, marked, n, o) && !claim_noise(in, o) &&
            !claim_models(in, s, work, o) && !diagnose_random_rounding(in, o) &&
            !claim_upcast(in, o) && !claim_functions(in, o) && !claim_bias(o))
            claim_order(o);
    }
    free(s);
    free(work);
    free(marked);
}
