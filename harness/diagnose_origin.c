/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose.h"

#include <math.h>
#include <stdlib.h>

/* Evidence in the inputs from which the wrong elements come, where it can be told which those
 * are: the element at the same place, its row, or the row that was reduced to it. */

/* Groups of `outputs` elements in order that come from `inputs` elements of t in order. */
struct origin {
    const struct tensor *t;
    int64_t outputs, inputs, groups;
};

static bool leads(const struct tensor *t, const struct tensor *out)
{
    for (int k = 0; k < out->rank; k++)
        if (t->dim[k] != out->dim[k])
            return false;
    return t->rank == out->rank + 1 && out->rank > 0;
}

/* `whole`: rows instead of single elements. */
static bool origin_make(const struct suspect *s, int which, bool whole, struct origin *ret)
{
    const struct tensor *t = s->in->input[which], *out = s->t;
    int64_t row = out->rank ? out->dim[out->rank - 1] : 1;
    if (!t || !out->count || dtype_info(t->dtype)->kind != DTYPE_KIND_FLOAT)
        return false;
    if (t->count == out->count)
        *ret = whole ? (struct origin){t, row, row, out->count / row}
                     : (struct origin){t, 1, 1, out->count};
    else if (leads(t, out) && !whole)
        *ret = (struct origin){t, 1, t->count / out->count, out->count};
    else
        return false;
    return ret->groups >= 4;
}

enum trait { TRAIT_SPECIAL, TRAIT_SUBNORMAL };

static bool group_has(const struct origin *g, int64_t group, enum trait trait)
{
    for (int64_t i = group * g->inputs; i < (group + 1) * g->inputs; i++) {
        uint64_t bits = tensor_bits(g->t, i);
        if (trait == TRAIT_SPECIAL ? !dtype_is_finite(g->t->dtype, bits)
                                   : dtype_is_subnormal(g->t->dtype, bits))
            return true;
    }
    return false;
}

static bool group_bad(const struct suspect *s, const struct origin *g, int64_t group)
{
    for (int64_t i = group * g->outputs; i < (group + 1) * g->outputs; i++)
        if (s->bad[i])
            return true;
    return false;
}

/* Do wrong elements occur in groups with the trait only, and not by chance? */
static bool follows(const struct suspect *s, const struct origin *g, enum trait trait)
{
    int64_t with = 0, bad = 0;
    for (int64_t k = 0; k < g->groups; k++) {
        bool has = group_has(g, k, trait), wrong = group_bad(s, g, k);
        if (wrong && !has)
            return false;
        with += has;
        bad += wrong;
    }
    double part = (double)with / (double)g->groups;
    return part <= 0.75 && (double)bad * log(part) < log(1e-6);
}

static bool any_follows(const struct suspect *s, enum trait trait)
{
    struct origin g;
    for (int i = 0; i < s->in->plan->n_tensor; i++)
        for (int whole = 0; whole < 2; whole++)
            if (origin_make(s, i, whole, &g) && follows(s, &g, trait))
                return true;
    return false;
}

void diagnose_origin(struct suspect *s)
{
    if (any_follows(s, TRAIT_SPECIAL))
        claim_add(s->o, CAUSE_NANINF, s->side, 0.96,
                  "all %lld wrong elements come from a NaN or an Inf among the inputs; what comes "
                  "from finite ones is right",
                  (long long)s->n_bad);
    else if (any_follows(s, TRAIT_SUBNORMAL))
        claim_add(s->o, CAUSE_FLUSH, s->side, 0.96,
                  "all %lld wrong elements come from subnormal inputs; what comes from normal "
                  "ones is right",
                  (long long)s->n_bad);
}

/* --- NaN of an overflow on the way -----------------------------------------------------------
 */

static double group_most(const struct origin *g, int64_t group)
{
    double most = 0;
    for (int64_t i = group * g->inputs; i < (group + 1) * g->inputs; i++)
        most = fmax(most, fabs(tensor_value(g->t, i)));
    return most;
}

/* Is there a size of the inputs from which on, and only from there, groups have wrong elements?
 * The chance that `bad` groups of `all` are the largest is 1 / C(all, bad). */
static bool above(const struct suspect *s, const struct origin *g, double *ret_least)
{
    double least = INFINITY, most = 0;
    int64_t bad = 0;
    for (int64_t k = 0; k < g->groups; k++) {
        double size = group_most(g, k);
        bool wrong = group_bad(s, g, k);
        bad += wrong;
        least = wrong ? fmin(least, size) : least;
        most = wrong ? most : fmax(most, size);
    }
    double n = (double)g->groups, b = (double)bad;
    *ret_least = least;
    return least > most && lgamma(n + 1) - lgamma(b + 1) - lgamma(n - b + 1) > log(1e3);
}

bool suspect_above(const struct suspect *s, double *ret_least)
{
    struct origin g;
    for (int i = 0; i < s->in->plan->n_tensor; i++)
        for (int whole = 0; whole < 2; whole++)
            if (origin_make(s, i, whole, &g) && above(s, &g, ret_least))
                return true;
    return false;
}
