/* SPDX-License-Identifier: Apache-2.0 */
#include "compareout.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ulp.h"
#include "verdict.h"

void compareout_element(struct finding_element *x, const struct tensor *a,
                        const struct tensor *b, const struct oracle *o, int64_t index)
{
    memset(x, 0, sizeof *x);
    if (index < 0)
        return;
    x->shown = true;
    x->index = index;
    for (int i = a->rank - 1; i >= 0; i--) {
        x->coordinate[i] = index % a->dim[i];
        index /= a->dim[i];
    }
    x->a = tensor_bits(a, x->index);
    x->value_a = tensor_value(a, x->index);
    if (b) {
        x->b = tensor_bits(b, x->index);
        x->value_b = tensor_value(b, x->index);
    }
    if (!o->value)
        return;
    x->value = o->value[x->index];
    x->tail = o->tail[x->index];
    x->bound = o->bound[x->index];
}

void compareout_places(const struct output_stats *s, bool one_sided, int64_t *ret_worst,
                       int64_t *ret_first)
{
    bool wrong_a = s->a.first_wrong >= 0, wrong_b = !one_sided && s->b.first_wrong >= 0;
    if (wrong_a || wrong_b || one_sided) {
        bool use_b = wrong_b && (!wrong_a || !(s->a.worst_bound >= s->b.worst_bound));
        *ret_worst = use_b ? s->b.worst_index : s->a.worst_index;
        *ret_first = use_b ? s->b.first_wrong : s->a.first_wrong;
    } else {
        *ret_worst = s->pair.worst_index;
        *ret_first = s->pair.first_index;
    }
}

void compareout_elements(struct finding_out *o, const struct tensor *a, const struct tensor *b,
                         const struct oracle *oracle)
{
    int64_t worst, first;
    compareout_places(&o->stats, !b, &worst, &first);
    compareout_element(&o->worst, a, b, oracle, worst);
    compareout_element(&o->first, a, b, oracle, first);
}

/* Both sides right by their bounds, but farther from each other than the user allows? */
static const struct limit_rule *broken_rule(const struct limits *l, const struct gap *g,
                                            const struct output_stats *s)
{
    const struct limit_rule *broken = gap_broken(g, l);
    double used = fmax(s->a.worst_bound, s->b.worst_bound);
    for (int i = 0; i < l->n && !broken; i++)
        if (l->rule[i].term[0].kind == LIMIT_BOUND && !(used <= l->rule[i].term[0].value))
            broken = &l->rule[i];
    return broken;
}

/* What the rule asks of the element in which it matters most, against what is derived for it. */
static void say_unmeetable(const struct limit_rule *r, const struct finding_out *o, char *text,
                           size_t size)
{
    const struct finding_element *x = &o->worst;
    size_t used = 0;
    double rounded = x->shown ? ulp_size(o->dtype, x->value) / 2 / x->bound : 0;
    text[0] = 0;
    if (r->term[0].kind == LIMIT_BOUND && r->term[0].value < rounded)
        snprintf(text, size,
                 "nothing in this precision is bound to keep it: the exact answer, rounded once, "
                 "may use %.3g of the worst element's bound", fmin(rounded, 1));
    if (!limit_of_elements(r))
        return;
    if (limit_is_equality(r, o->dtype, text, size))
        used = strlen(text);
    double magnitude = fmax(fabs(x->value_a), fabs(x->value_b));
    double allowed = limit_allowed(r, o->dtype, magnitude);
    if (o->stats.has_reference && x->shown && isfinite(x->bound) && 2 * x->bound > allowed)
        snprintf(text + used, size - used,
                 "%snothing that computes this in this precision is bound to keep it: right "
                 "results of the worst element may be %.3g apart, the limit allows %.3g",
                 used ? "; " : "", 2 * x->bound, allowed);
}

void compareout_gap(struct gap *g, const struct tensor *a, const struct tensor *b,
                    const struct limits *l, struct case_span window)
{
    size_t width = (size_t)dtype_info(a->dtype)->bytes;
    for (int64_t at = window.from; at < window.to; at += GAP_PIECE) {
        int64_t n = window.to - at < GAP_PIECE ? window.to - at : GAP_PIECE;
        const struct gap_where where = {n, &at};
        gap_add(g, a->dtype, (const char *)a->data + (size_t)at * width,
                (const char *)b->data + (size_t)at * width, n, &where, l);
    }
}

void compareout_limits(const struct limits *l, const struct gap *g, struct finding_out *o)
{
    if (verdict_fails(o->verdict, false) || o->verdict == VERDICT_SAME ||
        o->verdict == VERDICT_KNOWN)
        return;
    const struct limit_rule *broken = broken_rule(l, g, &o->stats);
    char text[sizeof o->reason], why[360];
    if (!broken)
        return;
    snprintf(text, sizeof text, "%s", o->reason);
    say_unmeetable(broken, o, why, sizeof why);
    o->verdict = VERDICT_DIFFERENT;
    snprintf(o->reason, sizeof o->reason, "beyond your limit %.60s%s%s%s: %.200s", broken->text,
             why[0] ? " (" : "", why, why[0] ? ")" : "", text);
}
