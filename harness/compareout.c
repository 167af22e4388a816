/* SPDX-License-Identifier: Apache-2.0 */
#include "compareout.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gap.h"
#include "verdict.h"

static void fill_element(struct finding_element *x, const struct tensor *a,
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

void compareout_elements(struct finding_out *o, const struct tensor *a, const struct tensor *b,
                         const struct oracle *oracle)
{
    const struct output_stats *s = &o->stats;
    bool wrong_a = s->a.first_wrong >= 0, wrong_b = b && s->b.first_wrong >= 0;
    int64_t worst, first;
    if (wrong_a || wrong_b || !b) {
        bool use_b = wrong_b && (!wrong_a || !(s->a.worst_bound >= s->b.worst_bound));
        worst = use_b ? s->b.worst_index : s->a.worst_index;
        first = use_b ? s->b.first_wrong : s->a.first_wrong;
    } else {
        worst = s->pair.worst_index;
        first = s->pair.first_index;
    }
    fill_element(&o->worst, a, b, oracle, worst);
    fill_element(&o->first, a, b, oracle, first);
}

enum err compareout_draw(const struct tensor *a, const struct tensor *b, const struct oracle *oracle,
                         bool sequence, struct finding_out *o, struct errinfo *e)
{
    o->charts = malloc(sizeof *o->charts);
    if (!o->charts)
        return err_set(e, ERR_NOMEM, "no memory for the plots");
    return charts_make(a, b, oracle, sequence, o->charts, e);
}

/* Both sides right by their bounds, but farther from each other than the user allows? */
static bool beyond_limits(const struct limits *l, const struct gap *g,
                          const struct output_stats *s, const char **ret_rule)
{
    const struct limit_rule *broken = gap_broken(g, l);
    double used = fmax(s->a.worst_bound, s->b.worst_bound);
    for (int i = 0; i < l->n && !broken; i++)
        if (l->rule[i].term[0].kind == LIMIT_BOUND && !(used <= l->rule[i].term[0].value))
            broken = &l->rule[i];
    *ret_rule = broken ? broken->text : NULL;
    return broken != NULL;
}

enum err compareout_limits(const struct limits *l, const struct tensor *a, const struct tensor *b,
                           struct finding_out *o, struct errinfo *e)
{
    const char *rule;
    struct gap g;
    if (!l || !l->n || !b || verdict_fails(o->verdict, false) || o->verdict == VERDICT_SAME ||
        o->verdict == VERDICT_KNOWN)
        return ERR_OK;
    TRY(gap_init(&g, e));
    size_t width = (size_t)dtype_info(a->dtype)->bytes;
    for (int64_t at = 0; at < a->count; at += GAP_PIECE) {
        int64_t n = a->count - at < GAP_PIECE ? a->count - at : GAP_PIECE;
        const struct gap_where where = {n, &at};
        gap_add(&g, a->dtype, (const char *)a->data + (size_t)at * width,
                (const char *)b->data + (size_t)at * width, n, &where, l);
    }
    if (beyond_limits(l, &g, &o->stats, &rule)) {
        char text[sizeof o->reason];
        snprintf(text, sizeof text, "%s", o->reason);
        o->verdict = VERDICT_DIFFERENT;
        snprintf(o->reason, sizeof o->reason, "beyond your limit %.60s: %.400s", rule, text);
    }
    gap_release(&g);
    return ERR_OK;
}
