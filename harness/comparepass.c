/* SPDX-License-Identifier: Apache-2.0 */
#include "comparepass.h"

#include <stdlib.h>

#include "compareout.h"
#include "diagnose.h"
#include "poison.h"

/* What is under way; all owned. */
struct counts {
    struct stats *stats;
    struct charting *charting; /* NULL: nobody draws */
    struct drift_sums drift;
    struct codes codes; /* n 0: none */
};

static bool has_limits(const struct comparepass *p, const struct answers *x)
{
    return p->limits && p->limits->n && answers_b(x);
}

static enum err counts_begin(struct counts *c, struct comparepass *p, const struct answers *x,
                             struct errinfo *e)
{
    const struct tensor *a = answers_a(x);
    const struct stats_subject subject = {.dtype = a->dtype,
                                          .count = a->count,
                                          .two_sided = answers_b(x) != NULL,
                                          .reference = x->judged,
                                          .poison = p->poison,
                                          .threads = x->threads};
    TRY(stats_begin(&subject, &c->stats, e));
    if (p->charts && x->judged)
        TRY(charts_begin(a, x->want->sequence, &c->charting, e));
    if (answers_b(x) && codes_of(a->dtype))
        TRY(codes_init(&c->codes, a->dtype, e));
    for (int s = 0; s < 2 && a->count > CASE_WINDOW; s++)
        TRY(places_init(&p->places[s], a->count, a->rank ? a->dim[a->rank - 1] : 1, e));
    return has_limits(p, x) ? gap_init(&p->gap, e) : ERR_OK;
}

static bool is_bad(const struct answers *x, int side, int64_t i)
{
    const struct tensor *a = answers_a(x), *b = answers_b(x);
    uint64_t p = tensor_bits(a, i), q = b ? tensor_bits(b, i) : p;
    if (x->judged)
        return !element_right(&x->right, side ? b : a, i);
    return p != q && !(dtype_is_nan(a->dtype, p) && dtype_is_nan(a->dtype, q));
}

/* Where the window holds elements that are wrong, which `stats` has counted. */
static void places_find(struct comparepass *p, const struct answers *x, int side,
                        struct case_span window)
{
    const struct tensor *t = side ? answers_b(x) : answers_a(x);
    for (int64_t i = window.from; i < window.to; i++)
        if (is_bad(x, side, i))
            places_add(&p->places[side], i, tensor_bits(t, i) == poison_bits(t->dtype));
}

static enum err window_add(struct counts *c, struct comparepass *p, struct answers *x,
                           struct case_span window, struct finding_out *o, struct errinfo *e)
{
    TRY(answers_load(x, window, e));
    const struct tensor *a = answers_a(x), *b = answers_b(x);
    const struct oracle *right = answers_right(x);
    const int64_t bad[2] = {stats_bad(c->stats, 0), stats_bad(c->stats, 1)};
    TRY(stats_add(c->stats, a, b, right, window, e));
    for (int64_t i = window.from; c->codes.n && i < window.to; i++)
        codes_add(&c->codes, tensor_bits(a, i), tensor_bits(b, i));
    for (int s = 0; s < 2; s++)
        if (p->places[s].count && stats_bad(c->stats, s) != bad[s])
            places_find(p, x, s, window);
    if (c->charting)
        charts_add(c->charting, a, b, right, window);
    if (right && x->want->drifts)
        drift_add(&c->drift, a, b, right, window);
    if (!right && x->want->limit)
        o->beyond += answer_beyond(a, b, x->want->limit, window);
    if (has_limits(p, x))
        compareout_gap(&p->gap, a, b, p->limits, window);
    return ERR_OK;
}

static enum err counts_end(struct counts *c, const struct answers *x, struct finding_out *o,
                           struct errinfo *e)
{
    TRY(stats_end(c->stats, &o->stats, e));
    if (x->judged && x->want->drifts)
        o->drift = drift_end(&c->drift);
    if (c->codes.n)
        codes_finish(&c->codes, &o->codes);
    if (!c->charting)
        return ERR_OK;
    o->charts = malloc(sizeof *o->charts);
    if (!o->charts)
        return err_set(e, ERR_NOMEM, "no memory for the plots");
    charts_end(c->charting, o->charts);
    return ERR_OK;
}

enum err comparepass_run(struct comparepass *p, struct answers *x, struct finding_out *o,
                         struct errinfo *e)
{
    struct counts c = {0};
    int64_t count = answers_a(x)->count;
    enum err err = counts_begin(&c, p, x, e);
    o->beyond = x->judged || !x->want->limit ? -1 : 0;
    for (int64_t from = 0; from < count && !err; from += CASE_WINDOW) {
        struct case_span window = {from, count - from < CASE_WINDOW ? count : from + CASE_WINDOW};
        err = window_add(&c, p, x, window, o, e);
    }
    if (!err)
        err = answers_check(x, e);
    if (!err)
        err = counts_end(&c, x, o, e);
    stats_close(c.stats);
    charts_close(c.charting);
    codes_release(&c.codes);
    return err;
}

void comparepass_release(struct comparepass *p)
{
    gap_release(&p->gap);
    for (int s = 0; s < 2; s++)
        places_release(&p->places[s]);
}
