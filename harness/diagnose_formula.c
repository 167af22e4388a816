/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "casefile.h"
#include "exprmutant.h"
#include "ulp.h"

/* A case file's formula says how a result comes about, so it also says what a faulty kernel
 * would give: an operand read elsewhere, a sum that ends too early. The one that gives what
 * nine in ten of the wrong elements hold is named. */

/* Elements that are looked at, and nodes of formulas computed in all; choices. */
enum { FORMULA_SAMPLE = 64, FORMULA_FIRST = 8, FORMULA_LOOKS = 20 * 1000 * 1000 };

struct trial {
    const struct suspect *s;
    const struct expr *x;
    const struct case_tensor *output;
    struct expr_env env; /* of the formula as it is written */
    long double param[CASE_PARAM_MAX];
    int64_t n, index[FORMULA_SAMPLE], looks;
};

static void sample_take(struct trial *t)
{
    const struct suspect *s = t->s;
    int64_t n = 0;
    for (int64_t i = s->first; i <= s->last; i++)
        n += s->bad[i] && !suspect_unwritten(s, i);
    int64_t step = n / FORMULA_SAMPLE + 1, seen = 0;
    for (int64_t i = s->first; i <= s->last && t->n < FORMULA_SAMPLE; i++)
        if (s->bad[i] && !suspect_unwritten(s, i) && seen++ % step == 0)
            t->index[t->n++] = i;
}

/* Exact: the element's bound is what a device may be off. */
static const struct expr_rules exact = {.largest = INFINITY};

/* Does the device have what the mutant gives, within the element's bound? */
static bool mutant_gives(const struct trial *t, const struct expr *x, struct expr_env *v,
                         int64_t i)
{
    casefile_formula_at(t->output, t->x, i, v);
    struct expr_real r = expr_real(x, &exact, v);
    double got = tensor_value(t->s->t, i);
    if (isnan(r.value) || isnan(got))
        return isnan(r.value) && isnan(got);
    /* The bound is of the right result's size; what is there may be larger. */
    double room = 2 * t->s->in->oracle->bound[i];
    if (dtype_info(t->s->t->dtype)->kind == DTYPE_KIND_FLOAT)
        room += 2 * ulp_size(t->s->t->dtype, got);
    return fabs((double)(got - r.value)) <= room;
}

/* The share of the sample that the mutant gives; 0 as soon as the first few do not fit. */
static double mutant_fits(struct trial *t, const struct expr *x)
{
    struct expr_env v = t->env;
    int64_t hits = 0, step = t->n % 37 ? 37 : 1;
    if (expr_env_init(&v, x, NULL))
        return 0;
    for (int64_t k = 0; k < t->n; k++) {
        /* Spread over the sample, so that the first few are not from one corner. */
        hits += mutant_gives(t, x, &v, t->index[k * step % t->n]);
        if (k + 1 == FORMULA_FIRST && hits * 2 < FORMULA_FIRST)
            break;
    }
    t->looks += v.looks;
    expr_env_release(&v);
    return (double)hits / (double)t->n;
}

/* Wrong in one short stretch, as a remainder is that nobody takes: where says more than what. An
 * eighth is a choice. */
static bool is_stretch(const struct suspect *s)
{
    return s->n_bad == s->last - s->first + 1 && s->n_bad * 8 <= s->count;
}

static void claim_mutant(const struct suspect *s, const struct expr_mutant *m, double fits)
{
    bool local = m->cause == CAUSE_MASK && is_stretch(s);
    char where[96] = "";
    if (local)
        snprintf(where, sizeof where, "from %lld to %lld, all that is wrong of %lld elements: ",
                 (long long)s->first, (long long)s->last, (long long)s->count);
    claim_add(s->o, local ? CAUSE_LOCALISED : m->cause, s->side, fits,
              "%s%s gives what %.4g %% of the wrong elements hold", where, m->words, 100 * fits);
}

static void mutants_try(struct trial *t, const struct expr_mutant *list, int count)
{
    const struct expr_mutant *best = NULL;
    double most = 0.9;
    for (int i = 0; i < count && t->looks < FORMULA_LOOKS; i++) {
        struct expr copy;
        if (expr_mutate(t->x, &list[i], &copy, NULL))
            return;
        double fits = mutant_fits(t, &copy);
        expr_release(&copy);
        if (fits > most || (!best && fits >= most)) {
            most = fits;
            best = &list[i];
        }
    }
    if (best)
        claim_mutant(t->s, best, most);
}

static bool trial_open(struct trial *t, const struct suspect *s)
{
    const struct diagnose_input *in = s->in;
    const struct casefile *f = in->id->family->file;
    if (!f || s->n_bad < 4)
        return false;
    *t = (struct trial){
        .s = s, .x = &f->tensor[in->which].formula, .output = &in->plan->tensor[in->which]};
    t->env = (struct expr_env){.value = t->param, .tensor = in->input};
    if (!t->x->count ||
        casefile_formula_env(in->id, in->plan, in->which, t->param, &t->env, NULL))
        return false;
    sample_take(t);
    return t->n >= 4;
}

void diagnose_formula(struct suspect *s)
{
    struct trial *t = calloc(1, sizeof *t);
    struct expr_mutant *list = calloc(EXPR_MUTANTS_MAX, sizeof *list);
    if (t && list && trial_open(t, s)) {
        const char *name[CASE_TENSOR_MAX];
        int rank = t->output->rank, n_index = t->x->n_index;
        for (int k = 0; k < s->in->plan->n_tensor; k++)
            name[k] = s->in->plan->tensor[k].name;
        mutants_try(t, list,
                    expr_mutants(t->x, name, s->in->input, t->env.range,
                                 rank < n_index ? rank : n_index, list));
    }
    free(t);
    free(list);
}
