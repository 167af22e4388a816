/* SPDX-License-Identifier: Apache-2.0 */
#include "gap_sum.h"

#include <math.h>
#include <stdlib.h>

void gap_square_add(struct gap_square *s, unsigned __int128 x)
{
    s->low += x;
    s->high += s->low < x;
}

void gap_note_first(struct gap_element *first, int64_t index, uint64_t a, uint64_t b)
{
    if (first->index < 0 || index < first->index)
        *first = (struct gap_element){index, {a, b}};
}

void gap_note_worst(struct gap *g, uint64_t far, const struct gap_element *x)
{
    if (g->worst.index >= 0 &&
        (far < g->worst_ulp || (far == g->worst_ulp && x->index > g->worst.index)))
        return;
    g->worst_ulp = far;
    g->worst = *x;
}

double gap_cell_value(int cell)
{
    int m = cell < GAP_SIDE ? GAP_SIDE - cell : cell - GAP_SIDE;
    double x = m;
    if (m >= GAP_NEAR) {
        int e = (m - GAP_NEAR) / GAP_BINADE + 7, part = (m - GAP_NEAR) % GAP_BINADE;
        x = ldexp(GAP_BINADE + part + 0.5, e - 6);
    }
    return cell < GAP_SIDE ? -x : x;
}

enum err gap_init(struct gap *g, struct errinfo *e)
{
    const struct gap_element none = {.index = -1};
    *g = (struct gap){
        .first = none, .first_class = none, .first_beyond = none, .worst = none, .last = -1};
    g->cell = calloc(GAP_CELLS, sizeof *g->cell);
    g->place = malloc(GAP_PLACES * sizeof *g->place);
    if (g->cell && g->place)
        return ERR_OK;
    gap_release(g);
    return err_set(e, ERR_NOMEM, "no memory for a comparison");
}

void gap_release(struct gap *g)
{
    free(g->cell);
    free(g->place);
    g->cell = NULL;
    g->place = NULL;
}

static void merge_first(struct gap_element *x, const struct gap_element *other)
{
    if (other->index >= 0)
        gap_note_first(x, other->index, other->bits[0], other->bits[1]);
}

static void merge_counts(struct gap *g, const struct gap *o)
{
    g->count += o->count;
    g->bits_equal += o->bits_equal;
    g->finite += o->finite;
    g->nan_differs += o->nan_differs;
    g->inf_differs += o->inf_differs;
    g->nan_both += o->nan_both;
    g->zero_sign += o->zero_sign;
    g->beyond += o->beyond;
    for (int side = 0; side < 2; side++) {
        g->flushed[side] += o->flushed[side];
        g->smaller[side] += o->smaller[side];
        g->bits[side] |= o->bits[side];
        g->values[side] += o->values[side];
    }
    for (int i = 0; i < GAP_CELLS; i++)
        g->cell[i] += o->cell[i];
}

void gap_merge(struct gap *g, const struct gap *o)
{
    merge_counts(g, o);
    merge_first(&g->first, &o->first);
    merge_first(&g->first_class, &o->first_class);
    merge_first(&g->first_beyond, &o->first_beyond);
    g->last = o->last > g->last ? o->last : g->last;
    if (o->worst.index >= 0)
        gap_note_worst(g, o->worst_ulp, &o->worst);
    g->worst_absolute = fmax(g->worst_absolute, o->worst_absolute);
    g->worst_relative = fmax(g->worst_relative, o->worst_relative);
    g->sum += o->sum;
    g->lowest = o->lowest < g->lowest ? o->lowest : g->lowest;
    g->highest = o->highest > g->highest ? o->highest : g->highest;
    g->square.high += o->square.high;
    gap_square_add(&g->square, o->square.low);
    for (int64_t i = 0; i < o->n_place && o->n_place <= GAP_PLACES; i++)
        if (g->n_place + i < GAP_PLACES)
            g->place[g->n_place + i] = o->place[i];
    g->n_place += o->n_place;
}

static enum err make_sample(const struct gap *g, struct sample *ret_sample, struct errinfo *e)
{
    struct sample s = {.x = malloc(GAP_CELLS * sizeof *s.x),
                       .upto = malloc(GAP_CELLS * sizeof *s.upto)};
    if (!s.x || !s.upto) {
        sample_release(&s);
        return err_set(e, ERR_NOMEM, "no memory for a distribution");
    }
    for (int i = 0; i < GAP_CELLS; i++)
        if (g->cell[i]) {
            s.total += (int64_t)g->cell[i];
            s.x[s.n] = gap_cell_value(i);
            s.upto[s.n++] = s.total;
        }
    *ret_sample = s;
    return ERR_OK;
}

enum err gap_pair(const struct gap *g, struct pair_stats *ret_pair, struct errinfo *e)
{
    struct sample s;
    TRY(make_sample(g, &s, e));
    struct moments m = {.count = g->finite,
                        .sum = (double)g->sum,
                        .square = ldexp((double)g->square.high, 128) + (double)g->square.low,
                        .minimum = (double)g->lowest,
                        .maximum = (double)g->highest};
    struct pair_stats p = {.count = g->count,
                           .bits_equal = g->bits_equal,
                           .nan_differs = g->nan_differs,
                           .inf_differs = g->inf_differs,
                           .worst_index = g->first_class.index >= 0 ? g->first_class.index
                                                                    : g->worst.index,
                           .first_index = g->first.index,
                           .worst_ulp = g->worst_ulp,
                           .worst_absolute = g->worst_absolute,
                           .ks = NAN,
                           .ks_p = NAN,
                           .wasserstein = NAN};
    distribution_make(&m, &s, &p.ulp);
    sample_release(&s);
    *ret_pair = p;
    return ERR_OK;
}

static bool keeps(const struct gap *g, const struct limit_rule *r)
{
    double most = r->term[0].value;
    switch (r->term[0].kind) {
    case LIMIT_SHARE:
        return (double)(g->count - g->bits_equal) <= most * (double)g->count;
    case LIMIT_MEAN:
        return fabs((double)g->sum) <= most * (double)g->finite;
    case LIMIT_BOUND:
        return true;
    default:
        return !g->beyond;
    }
}

const struct limit_rule *gap_broken(const struct gap *g, const struct limits *l)
{
    for (int i = 0; i < l->n; i++)
        if (!keeps(g, &l->rule[i]))
            return &l->rule[i];
    return NULL;
}
