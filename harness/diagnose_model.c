/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Which candidate way of computing explains what a device gave: by bits (so many of the sampled
 * elements are equal), or by errors (so much of their variance is the candidate's error too,
 * which holds whatever the order of summation). */

enum { MODEL_FEW = 48, MODEL_RIGHT = 128, MODEL_WHOLE = 8192 };

void picked_add(struct picked *s, const uint8_t *marked, int64_t count, int64_t n_marked,
                int64_t room)
{
    int64_t step = n_marked / room + 1, seen = 0, first = s->n;
    for (int64_t i = 0; i < count && s->n < MODEL_SAMPLE && s->n - first < room; i++)
        if (marked[i] && seen++ % step == 0)
            s->index[s->n++] = i;
}

bool same_bits(enum dtype d, uint64_t x, uint64_t y)
{
    return x == y || (dtype_is_nan(d, x) && dtype_is_nan(d, y));
}

/* Error of an element in units of its bound; infinite when it is not finite. */
static double error_of(const struct oracle *o, enum dtype d, uint64_t bits, int64_t i)
{
    double unit = o->bound[i] > 0 ? o->bound[i] : 1;
    return ((dtype_value(d, bits) - o->value[i]) - o->tail[i]) / unit;
}

static struct model_fit fit_model(const struct diagnose_input *in, const struct tensor *t,
                            const struct picked *s, int model)
{
    struct model_fit f = {.model = model};
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

static double fit_value(const struct model_fit *f)
{
    return fmax(f->equal, f->variance);
}

bool model_bits(const struct diagnose_input *in, struct picked *s, int model)
{
    const struct family *family = in->id->family;
    int64_t index[MODEL_SAMPLE];
    if (!in->place)
        return family->model(in->id, in->plan, in->input, in->which, model, s->n, s->index,
                             s->bits);
    for (int64_t i = 0; i < s->n; i++)
        index[i] = in->place[s->index[i]];
    return !family->models[model].far &&
           family->model(in->id, in->plan, in->all, in->which, model, s->n, index, s->bits);
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

struct model_fit best_fit(const struct diagnose_input *in, const struct tensor *t, struct picked *s,
                    struct picked *work, bool want_right)
{
    struct model_fit best = {.model = -1};
    const struct case_model *models = in->id->family->models;
    for (int m = 0; models[m].name; m++) {
        if ((want_right && !models[m].right) || !model_bits(in, s, m))
            continue;
        struct model_fit f = fit_model(in, t, s, m);
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

/* A few elements show that most models have nothing to do with the errors. */
static bool is_hopeless(const struct suspect *s, struct picked *few, int model)
{
    if (!few->n || !model_bits(s->in, few, model))
        return false;
    struct model_fit f = fit_model(s->in, s->t, few, model);
    return f.equal < 0.1 && f.variance < 0.2;
}

static struct picked *picked_few(const struct picked *all)
{
    struct picked *few = calloc(1, sizeof *few);
    for (int64_t x = 0; few && all->n > 2 * MODEL_FEW && few->n < MODEL_FEW; x++)
        few->index[few->n++] = all->index[x * all->n / MODEL_FEW];
    return few;
}

/* The best fitting one of those that nothing refutes. */
static struct model_fit fit_wrong(struct suspect *s, struct picked *bad, struct picked *right)
{
    struct model_fit best = {.model = -1};
    struct picked *few = picked_few(bad);
    const struct case_model *models = s->in->id->family->models;
    for (int m = 0; few && models[m].name; m++) {
        if (is_hopeless(s, few, m) || !model_bits(s->in, bad, m))
            continue;
        struct model_fit f = fit_model(s->in, s->t, bad, m);
        if ((best.model < 0 || fit_value(&f) > fit_value(&best) + 1e-9) &&
            !(fit_value(&f) > 0 && is_refuted(s, right, m)))
            best = f;
    }
    free(few);
    return best;
}

/* Results that are defined to the bit: a model must give these very bits, not only errors alike. */
static bool is_exact(const struct suspect *s)
{
    for (int64_t i = s->first; i <= s->last; i++)
        if (s->bad[i] && s->in->oracle->bound[i] > 0)
            return false;
    return true;
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
        picked_add(bad, s->bad, s->count, s->n_bad, MODEL_SAMPLE);
        picked_add(right, good, s->count, s->count - s->n_bad, MODEL_RIGHT);
        struct model_fit f = fit_wrong(s, bad, right);
        s->model = f.model;
        s->equal = f.equal;
        s->variance = is_exact(s) ? f.equal : f.variance;
    }
    free(bad);
    free(right);
    free(good);
    return s->model >= 0;
}

/* The wrong elements of a sample that a model gets right. */
static int64_t rights_of(const struct suspect *s, struct picked *p, int model)
{
    int64_t right = 0;
    if (!model_bits(s->in, p, model))
        return 0;
    for (int64_t x = 0; x < p->n; x++)
        right += element_right_bits(s->in->oracle, s->t->dtype, p->bits[x], p->index[x]);
    return right;
}

/* A way that the precision allows, and is wrong all the same: does it take another way of rounding
 * products to be right? */
static bool right_instead(struct suspect *s)
{
    const struct case_model *models = s->in->id->family->models;
    struct picked *p = calloc(1, sizeof *p);
    bool found = false;
    if (p)
        picked_add(p, s->bad, s->count, s->n_bad, MODEL_SAMPLE);
    for (int m = 0; p && models[m].name && !found; m++) {
        if (!models[m].right || m == s->model ||
            (models[m].cause != CAUSE_CONTRACTION && models[s->model].cause != CAUSE_CONTRACTION))
            continue;
        found = rights_of(s, p, m) * 10 >= p->n * 9;
        if (found)
            claim_add(s->o, CAUSE_CONTRACTION, s->side, s->equal,
                      "%s gives these bits in %.1f %% of the wrong elements, and %s would be right",
                      models[s->model].name, 100 * s->equal, models[m].name);
    }
    free(p);
    return found;
}

void diagnose_models_bits(struct suspect *s)
{
    if (!suspect_fit(s) || s->equal < 0.7)
        return;
    const struct case_model *m = &s->in->id->family->models[s->model];
    char more[80] = "";
    if (m->right && right_instead(s))
        return;
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
