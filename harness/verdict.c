/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const double verdict_ks_effect = 0.1;
const double verdict_ks_p = 1e-6;
const double verdict_bias_effect = 0.1;
const double verdict_bias_sigmas = 6;
const double verdict_codes_effect = 0.1;
const int64_t verdict_minimum = 64;

/* "[3,17]" */
static const char *coordinate_text(const struct finding_out *o, const struct finding_element *x,
                                   char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s[", o->name);
    for (int i = 0; i < o->rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, i ? "," : "",
                                 x->coordinate[i]);
    if (used < size)
        snprintf(text + used, size - used, "]");
    return text;
}

static bool guard_hit(const struct record_case *c, const struct finding_out *o)
{
    return (c->guard_before || c->guard_after) && !strcmp(c->guard_tensor, o->name);
}

/* Did repeats of this side differ in this output, other than the kernel declares? */
static bool differs_from_itself(const struct finding *f, const struct record_case *c,
                                const struct finding_out *o)
{
    return c->unstable && !f->unordered && !strcmp(c->unstable_tensor, o->name);
}

static bool reads_stale(const struct record_case *c, const struct finding_out *o)
{
    return c->stale && !strcmp(c->stale_tensor, o->name);
}

static bool side_wrong(const struct finding *f, const struct side_stats *s,
                       const struct record_case *c, const struct finding_out *o)
{
    return s->nan_wrong || s->inf_wrong || s->over_bound || s->unwritten ||
           guard_hit(c, o) || differs_from_itself(f, c, o) || reads_stale(c, o);
}

/* Adds "A: ..." for a side that is wrong: the first kind that applies says it, the rest counts.
 */
static void reason_wrong(const struct finding *f, char *text, size_t size, char side,
                         const struct side_stats *s, const struct record_case *c,
                         const struct finding_out *o)
{
    char where[96];
    const struct finding_element *w = &o->worst;
    size_t used = strlen(text);
    int room = (int)(size - used);
    if (room < 2)
        return;
    if (differs_from_itself(f, c, o)) {
        snprintf(text + used, (size_t)room,
                 "%c differs from itself: %" PRId64
                 " elements changed in %d runs, those of %s by up to %.3g. ",
                 side, c->unstable, c->repeats, o->name, c->noise_largest);
    } else if (reads_stale(c, o)) {
        snprintf(text + used, (size_t)room,
                 "%c depends on what memory held before: %" PRId64
                 " elements changed with it, most of them in %s. ",
                 side, c->stale, o->name);
    } else if (guard_hit(c, o)) {
        snprintf(text + used, (size_t)room,
                 "%c overwrote %" PRId64 " bytes before and %" PRId64 " behind %s. ", side,
                 c->guard_before, c->guard_after, o->name);
    } else if (s->unwritten) {
        snprintf(text + used, (size_t)room,
                 "%c never wrote %" PRId64 " of %" PRId64
                 " elements of %s, first at index %" PRId64 ". ",
                 side, s->unwritten, s->count, o->name, s->first_wrong);
    } else if (s->nan_wrong || s->inf_wrong) {
        snprintf(text + used, (size_t)room,
                 "%c has %" PRId64 " wrong NaN and %" PRId64 " wrong Inf of %" PRId64
                 " elements of %s, first at index %" PRId64 ". ",
                 side, s->nan_wrong, s->inf_wrong, s->count, o->name, s->first_wrong);
    } else {
        snprintf(text + used, (size_t)room,
                 "%c: %" PRId64 " of %" PRId64
                 " elements of %s are outside the bound, the worst "
                 "by a factor of %.3g: %s is %.9g, exact %.9g +- %.2g. ",
                 side, s->over_bound, s->count, o->name, s->worst_bound,
                 coordinate_text(o, w, where, sizeof where),
                 side == 'A' ? w->value_a : w->value_b, w->value + w->tail, w->bound);
    }
}

static void judge_wrong(const struct finding *f, struct finding_out *o, bool a, bool b)
{
    o->verdict = a && b ? VERDICT_BOTH_WRONG : a ? VERDICT_A_WRONG : VERDICT_B_WRONG;
    o->reason[0] = 0;
    if (a)
        reason_wrong(f, o->reason, sizeof o->reason, 'A', &o->stats.a, &f->a, o);
    if (b)
        reason_wrong(f, o->reason, sizeof o->reason, 'B', &o->stats.b, &f->b, o);
    size_t n = strlen(o->reason);
    if (n && o->reason[n - 1] == ' ')
        o->reason[n - 1] = 0;
}

/* Why the case could not have caught a fault, or NULL. */
static const char *no_power(const struct output_stats *s)
{
    if (s->a.count == 0)
        return "the output has no elements";
    if (!s->has_reference)
        return NULL;
    if (s->a.unjudged == s->a.count)
        return "no element of the reference can be judged";
    if (s->power > 0)
        return NULL;
    return s->reference_constant
               ? "the right answer is one constant: anything that writes it passes"
               : "losing a whole term would stay inside the bound everywhere";
}

static bool distributions_differ(const struct output_stats *s)
{
    const struct distribution *a = &s->a.ulp, *b = &s->b.ulp;
    if (!s->has_reference || a->count < verdict_minimum || b->count < verdict_minimum)
        return false;
    if (s->pair.ks >= verdict_ks_effect && s->pair.ks_p < verdict_ks_p)
        return true;
    double pooled = sqrt((a->rms * a->rms + b->rms * b->rms) / 2);
    double error = pooled * sqrt(1.0 / (double)a->count + 1.0 / (double)b->count);
    double bias = fabs(a->mean - b->mean);
    return bias > verdict_bias_effect * pooled && bias > verdict_bias_sigmas * error;
}

static bool codes_differ(const struct finding_out *o)
{
    const struct codes_stats *c = &o->codes;
    return o->stats.has_reference && c->count >= verdict_minimum &&
           c->cramer >= verdict_codes_effect && c->chi2_p < verdict_ks_p;
}

/* Two sides that differ, and nobody knows what is right. */
static void judge_unknown(struct finding_out *o)
{
    const struct output_stats *s = &o->stats;
    char more[120] = "", inside[220];
    bool within = o->beyond == 0;
    if (o->beyond > 0)
        snprintf(more, sizeof more, ", %" PRId64 " of them beyond the limits", o->beyond);
    snprintf(inside, sizeof inside, "that is inside the limits (%s); ", o->limit);
    o->verdict = within ? VERDICT_WITHIN_LIMITS : VERDICT_DIFFERENT;
    snprintf(o->reason, sizeof o->reason,
             "%" PRId64 " of %" PRId64 " elements of %s differ, by at most %" PRIu64
             " ULP%s; %sno reference says which side is right",
             s->pair.count - s->pair.bits_equal, s->pair.count, o->name, s->pair.worst_ulp, more,
             within ? inside : "");
}

static void judge_pair(struct finding_out *o)
{
    const struct output_stats *s = &o->stats;
    if (!s->has_reference && s->pair.bits_equal != s->pair.count) {
        judge_unknown(o);
    } else if (s->pair.bits_equal == s->pair.count) {
        o->verdict = VERDICT_SAME;
        snprintf(o->reason, sizeof o->reason, "all %" PRId64 " elements of %s are bit-equal",
                 s->pair.count, o->name);
    } else if (distributions_differ(s)) {
        o->verdict = VERDICT_DISTINGUISHABLE;
        snprintf(o->reason, sizeof o->reason,
                 "both sides are inside their bounds, but err differently in %s: mean error A "
                 "%+.3g, B %+.3g ULP; KS distance %.2f (p = %.1g)",
                 o->name, s->a.ulp.mean, s->b.ulp.mean, s->pair.ks, s->pair.ks_p);
    } else if (codes_differ(o)) {
        o->verdict = VERDICT_DISTINGUISHABLE;
        snprintf(o->reason, sizeof o->reason,
                 "both sides are inside their bounds, but use the codes of %s differently: %" PRId64
                 " of %" PRId64 " differ, the histograms by Cramer's V = %.2f (p = %.1g)",
                 o->name, o->codes.flips, o->codes.count, o->codes.cramer, o->codes.chi2_p);
    } else {
        o->verdict = VERDICT_EQUIVALENT;
        snprintf(o->reason, sizeof o->reason,
                 "%" PRId64 " of %" PRId64 " elements of %s differ, by at most %" PRIu64
                 " ULP; of their bounds A uses %.3g and B %.3g",
                 s->pair.count - s->pair.bits_equal, s->pair.count, o->name, s->pair.worst_ulp,
                 s->a.worst_bound, s->b.worst_bound);
    }
}

static void judge_single(struct finding_out *o)
{
    const struct side_stats *s = &o->stats.a;
    if (!o->stats.has_reference) {
        o->verdict = VERDICT_MISTRUSTED;
        snprintf(o->reason, sizeof o->reason,
                 "%s has no reference: only a comparison of two sides can show a fault", o->name);
        return;
    }
    bool exact = s->correctly_rounded == s->count;
    o->verdict = exact ? VERDICT_SAME : VERDICT_EQUIVALENT;
    if (exact)
        snprintf(o->reason, sizeof o->reason,
                 "all %" PRId64 " elements of %s are correctly rounded", s->count, o->name);
    else
        snprintf(
            o->reason, sizeof o->reason,
            "every element of %s is inside its bound, of which at most %.3g is used; %" PRId64
            " of %" PRId64 " are correctly rounded",
            o->name, s->worst_bound, s->correctly_rounded, s->count);
}

static double noise_multiple(const struct record_case *c, const struct finding_out *o)
{
    double off = o->stats.pair.worst_absolute;
    return off > 0 ? off / c->noise_largest : 0;
}

/* What repeats of a side that is right say: its noise, and the sides' difference as a multiple.
 */
static void add_noise(const struct finding *f, struct finding_out *o)
{
    size_t used = strlen(o->reason);
    char *text = o->reason + used;
    size_t room = sizeof o->reason - used;
    const struct record_case *a = &f->a, *b = f->one_sided ? a : &f->b;
    bool noisy_a = a->unstable && !strcmp(a->unstable_tensor, o->name);
    bool noisy_b = b->unstable && !strcmp(b->unstable_tensor, o->name);
    const struct record_case *c = noisy_b && b->noise_largest > a->noise_largest ? b : a;
    if (!noisy_a && !noisy_b) {
        /* Two runs may be for another reason: see caserun_unwritten. */
        if (a->repeats > 2 && b->repeats > 2 && !a->unstable && !b->unstable)
            snprintf(text, room, "; %d runs gave the same bits", a->repeats);
        return;
    }
    if (f->one_sided)
        snprintf(text, room, "; its %d runs differ by up to %.3g (RMS %.2g)", c->repeats,
                 c->noise_largest, c->noise_rms);
    else
        snprintf(text, room,
                 "; runs of %s differ by up to %.3g (RMS %.2g), the sides by %.3g: %.2g times "
                 "that",
                 noisy_a && noisy_b ? "either side" : noisy_a ? "A" : "B", c->noise_largest,
                 c->noise_rms, o->stats.pair.worst_absolute, noise_multiple(c, o));
}

void verdict_output(const struct finding *f, struct finding_out *o)
{
    bool a = side_wrong(f, &o->stats.a, &f->a, o);
    bool b = !f->one_sided && side_wrong(f, &o->stats.b, &f->b, o);
    if (a || b) {
        judge_wrong(f, o, a, b);
        return;
    }
    const char *why = no_power(&o->stats);
    if (why) {
        o->verdict = VERDICT_MISTRUSTED;
        snprintf(o->reason, sizeof o->reason, "%s of %s could not have shown a fault: %s",
                 f->one_sided ? "this check" : "this comparison", o->name, why);
        return;
    }
    if (f->one_sided)
        judge_single(o);
    else
        judge_pair(o);
    add_noise(f, o);
}

/* "B crashed: killed by signal 11" for a side that has no result. */
static bool side_missing(const struct record_case *c, char side, char *text, size_t size)
{
    if (c->status == RECORD_OK)
        return false;
    size_t used = strlen(text);
    if (used + 1 < size)
        snprintf(text + used, size - used, "%s%c %s: %s", used ? "; " : "", side,
                 record_status_name(c->status), c->reason);
    return true;
}

static bool judge_status(struct finding *f)
{
    f->reason[0] = 0;
    bool a = side_missing(&f->a, 'A', f->reason, sizeof f->reason);
    bool b = !f->one_sided && side_missing(&f->b, 'B', f->reason, sizeof f->reason);
    if (!a && !b)
        return false;
    bool broken = (a && f->a.status != RECORD_SKIPPED) || (b && f->b.status != RECORD_SKIPPED);
    f->verdict = broken ? VERDICT_BROKEN : VERDICT_UNTESTED;
    return true;
}

void verdict_case(struct finding *f)
{
    if (judge_status(f))
        return;
    const struct finding_out *worst = NULL;
    bool a = false, b = false;
    for (int i = 0; i < f->n_out; i++) {
        const struct finding_out *o = &f->out[i];
        a = a || o->verdict == VERDICT_A_WRONG || o->verdict == VERDICT_BOTH_WRONG;
        b = b || o->verdict == VERDICT_B_WRONG || o->verdict == VERDICT_BOTH_WRONG;
        if (!worst || o->verdict > worst->verdict)
            worst = o;
    }
    f->verdict = a && b ? VERDICT_BOTH_WRONG : worst ? worst->verdict : VERDICT_MISTRUSTED;
    snprintf(f->reason, sizeof f->reason, "%s",
             worst ? worst->reason : "the case has no outputs: nothing was compared");
}
