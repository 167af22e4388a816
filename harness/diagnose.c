/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference.h"

void claim_add(struct finding_out *o, enum cause cause, char side, double share,
               const char *format, ...)
{
    if (o->n_claim == CAUSE_CLAIMS_MAX)
        return;
    struct cause_claim *c = &o->claim[o->n_claim++];
    *c = (struct cause_claim){.cause = cause, .side = side, .share = share};
    va_list ap;
    va_start(ap, format);
    vsnprintf(c->evidence, sizeof c->evidence, format, ap);
    va_end(ap);
}

bool element_right_bits(const struct oracle *oracle, enum dtype d, uint64_t bits, int64_t i)
{
    struct reference r = reference_make(d, oracle->value[i], oracle->tail[i], oracle->bound[i]);
    switch (reference_judge(&r, d, bits)) {
    case JUDGEMENT_RIGHT:
        return true;
    case JUDGEMENT_NUMBER:
        return fabs(reference_error(&r, d, bits)) <= oracle->bound[i];
    default:
        return false;
    }
}

bool element_right(const struct oracle *oracle, const struct tensor *t, int64_t i)
{
    return element_right_bits(oracle, t->dtype, tensor_bits(t, i), i);
}

static enum err suspect_init(struct suspect *s, const struct diagnose_input *in,
                             const struct tensor *t, char side, struct finding_out *o,
                             struct errinfo *e)
{
    *s = (struct suspect){.in = in, .t = t, .side = side, .count = t->count, .first = -1, .o = o,
                          .words = {side == '=' ? "differing" : "wrong",
                                    side == '=' ? "equal" : "right"}};
    s->bad = calloc((size_t)t->count + 1, 1);
    if (!s->bad)
        return err_set(e, ERR_NOMEM, "out of memory while looking for the cause in %s",
                       o->name);
    for (int64_t i = 0; i < t->count; i++) {
        if (element_right(in->oracle, t, i))
            continue;
        s->bad[i] = 1;
        s->last = i;
        if (!s->n_bad++)
            s->first = i;
    }
    return ERR_OK;
}

bool suspect_askable(const struct suspect *s)
{
    int64_t all = s->count;
    if (s->in->place)
        return false;
    for (int i = 0; i < s->in->plan->n_tensor; i++) {
        if (s->in->plan->tensor[i].reference)
            return false;
        all += s->in->input[i] ? s->in->input[i]->count : 0;
    }
    return all <= INT64_C(1) << 19;
}

typedef void detector(struct suspect *s);

/* Bit and class evidence first, since it is certain; then values; then places, which say least.
 */
static detector *const detectors[] = {
    diagnose_unwritten, diagnose_fresh_memory, diagnose_origin,
    diagnose_classes, diagnose_flush, diagnose_flushed,
    diagnose_dropped, diagnose_formula, diagnose_carry,
    diagnose_moved, diagnose_models_bits, diagnose_zeros,
    diagnose_codes, diagnose_packing, diagnose_bytes,
    diagnose_readings, diagnose_exchanged, diagnose_table,
    diagnose_reciprocal, diagnose_rows, diagnose_blocks,
    diagnose_whatif, diagnose_entry, diagnose_coarse,
    diagnose_rounding, diagnose_bracket, diagnose_inputs,
    diagnose_factor, diagnose_reordered, diagnose_low_bits,
    diagnose_models_errors, diagnose_smooth, diagnose_slope,
    diagnose_affine, diagnose_limits, diagnose_neighbours,
    diagnose_noise, diagnose_places,
};

/* What two sides without a reference can show. */
static detector *const apart[] = {diagnose_streams, diagnose_moved, diagnose_places};

/* Says of the claims from `first` on how much was looked at. */
static void claims_limit(struct finding_out *o, int first, int64_t looked)
{
    for (int i = first; i < o->n_claim; i++) {
        size_t used = strlen(o->claim[i].evidence), size = sizeof o->claim[i].evidence;
        snprintf(o->claim[i].evidence + used, size - used, " (looked at %lld of %lld elements)",
                 (long long)looked, (long long)o->stats.a.count);
    }
}

static void suspect_ask(struct suspect *s, detector *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int before = s->o->n_claim;
        list[i](s);
        if (s->in->place && s->o->n_claim > before && list[i] != diagnose_places &&
            list[i] != diagnose_unwritten)
            claims_limit(s->o, before, s->count);
        /* What explains nearly everything leaves nothing for the others to say. */
        if (s->o->n_claim > before && s->o->claim[before].share > 0.95)
            break;
    }
}

static void suspect_explain(struct suspect *s)
{
    int start = s->o->n_claim;
    suspect_ask(s, detectors, sizeof detectors / sizeof *detectors);
    if (s->o->n_claim == start)
        claim_add(s->o, CAUSE_UNEXPLAINED, s->side, 0,
                  "%lld of %lld elements %sare wrong and no known pattern fits",
                  (long long)s->n_bad, (long long)s->count,
                  s->in->place ? "that were looked at " : "");
}

static int by_share(const void *x, const void *y)
{
    const struct cause_claim *a = x, *b = y;
    return (a->share < b->share) - (a->share > b->share);
}

/* What repeats of this very side showed is certain, and stands before what its values suggest. */
static void claim_repeats(const struct diagnose_input *in, char side, struct finding_out *o)
{
    const struct finding *f = in->finding;
    const struct record_case *c = !f ? NULL : side == 'A' ? &f->a : &f->b;
    if (c && c->unstable && !f->unordered && !strcmp(c->unstable_tensor, o->name))
        claim_add(o, CAUSE_RACE, side, 1,
                  "the same kernel on the same inputs gave other bits in %lld elements when it "
                  "ran %d times%s; the largest change is %.3g",
                  (long long)c->unstable, c->repeats,
                  c->instructions ? ", with blocks and threads in other orders" : "",
                  c->noise_largest);
    if (c && c->stale && !strcmp(c->stale_tensor, o->name))
        claim_add(o, CAUSE_UNINITIALISED, side, 1,
                  "%lld elements change with what the output's memory held before, and with "
                  "nothing else",
                  (long long)c->stale);
}

static enum err explain_side(const struct diagnose_input *in, const struct tensor *t, char side,
                             struct finding_out *o, struct errinfo *e)
{
    struct suspect s;
    TRY(suspect_init(&s, in, t, side, o, e));
    int before = o->n_claim;
    claim_repeats(in, side, o);
    int start = o->n_claim;
    if (s.n_bad)
        suspect_explain(&s);
    else if (start == before) /* wrong only outside its own elements */
        claim_add(o, CAUSE_LOCALISED, side, 1, "bytes outside the output were overwritten");
    qsort(o->claim + start, (size_t)(o->n_claim - start), sizeof *o->claim, by_share);
    free(s.bad);
    return ERR_OK;
}

/* No reference: A's numbers stand for it, without a bound. */
static enum err explain_apart(const struct diagnose_input *in, struct finding_out *o,
                              struct errinfo *e)
{
    struct oracle oracle = {0};
    struct diagnose_input pair = *in;
    struct suspect s = {0};
    claim_repeats(in, 'A', o);
    claim_repeats(in, 'B', o);
    if (o->verdict != VERDICT_DIFFERENT || o->n_claim)
        return ERR_OK;
    enum err err = oracle_init(&oracle, in->a->count, e);
    for (int64_t i = 0; !err && i < in->a->count; i++)
        oracle.value[i] = tensor_value(in->a, i);
    pair.oracle = &oracle;
    if (!err)
        err = suspect_init(&s, &pair, in->b, '=', o, e);
    if (!err && s.n_bad)
        suspect_ask(&s, apart, sizeof apart / sizeof *apart);
    qsort(o->claim, (size_t)o->n_claim, sizeof *o->claim, by_share);
    free(s.bad);
    oracle_release(&oracle);
    return err;
}

bool diagnose_wanted(const struct finding_out *o)
{
    return o->verdict != VERDICT_SAME && o->verdict != VERDICT_MISTRUSTED;
}

enum err diagnose_output(const struct diagnose_input *in, struct finding_out *o,
                         struct errinfo *e)
{
    o->n_claim = 0;
    if (!in->oracle->value)
        return in->b ? explain_apart(in, o, e) : ERR_OK;
    bool both = o->verdict == VERDICT_BOTH_WRONG;
    if (o->verdict == VERDICT_EQUIVALENT || o->verdict == VERDICT_DISTINGUISHABLE) {
        if (in->b)
            diagnose_pair(in, o);
        if (in->place)
            claims_limit(o, 0, in->a->count);
        return ERR_OK;
    }
    if (o->verdict == VERDICT_A_WRONG || both)
        TRY(explain_side(in, in->a, 'A', o, e));
    if (in->b && (o->verdict == VERDICT_B_WRONG || both))
        TRY(explain_side(in, in->b, 'B', o, e));
    return ERR_OK;
}
