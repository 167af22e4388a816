/* SPDX-License-Identifier: Apache-2.0 */
#include "gap_part.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gap_sum.h"

void gap_piece_init(struct gap_piece *p, struct gap *g, enum dtype d,
                    const struct gap_where *where, const struct limits *l)
{
    p->g = g;
    p->f = gap_shape_make(d);
    p->where = where;
    p->limits = NULL;
    for (int i = 0; l && i < l->n; i++)
        if (limit_of_elements(&l->rule[i]))
            p->limits = l;
    memset(p->near, 0, sizeof p->near);
    p->has_cells = false;
    p->waiting = 0;
}

static int64_t index_at(const struct gap_piece *p, int64_t at)
{
    return p->where->start[at / p->where->run] + at % p->where->run;
}

static int64_t index_of(const struct gap_piece *p, const struct gap_part *t, int i)
{
    return index_at(p, t->place ? t->place[i] : t->at + i);
}

/* The first that differs from `i` on; n if none. */
static int next(const struct gap_part *t, int i)
{
    for (; t->mask && i < t->n; i = (i | 63) + 1) {
        uint64_t left = t->mask[i / 64] >> i % 64;
        if (left)
            return i + __builtin_ctzll(left);
    }
    return i < t->n ? i : t->n;
}

static int last(const struct gap_part *t)
{
    int word = (t->n - 1) / 64;
    while (t->mask && !t->mask[word])
        word--;
    return t->mask ? 64 * word + 63 - __builtin_clzll(t->mask[word]) : t->n - 1;
}

/* --- elements --- */

static void note_different(struct gap *g, int64_t index, uint64_t a, uint64_t b)
{
    gap_note_first(&g->first, index, a, b);
    if (index > g->last)
        g->last = index;
    if (g->n_place < GAP_PLACES)
        g->place[g->n_place] = (struct gap_element){index, {a, b}};
    g->n_place++;
}

static void note_beyond(struct gap *g, int64_t index, uint64_t a, uint64_t b)
{
    g->beyond++;
    gap_note_first(&g->first_beyond, index, a, b);
}

static double relative_of(double x, double y)
{
    double larger = fmax(fabs(x), fabs(y));
    return larger > 0 ? fabs(y - x) / larger : 0;
}

/* Do the limits allow this pair of finite numbers? */
static bool allowed(const struct gap_piece *p, uint64_t a, uint64_t b, uint64_t far)
{
    double x = dtype_value(p->f.d, a), y = dtype_value(p->f.d, b);
    double absolute = p->f.is_float ? fabs(y - x) : (double)far;
    double relative = relative_of(x, y);
    if (relative > p->g->worst_relative)
        p->g->worst_relative = relative;
    return limits_allow(p->limits, far, absolute, relative);
}

void gap_strange_add(struct gap_piece *p, uint64_t a, uint64_t b, int64_t at)
{
    struct gap *g = p->g;
    bool nan_a = dtype_is_nan(p->f.d, a), nan_b = dtype_is_nan(p->f.d, b);
    int64_t index = index_at(p, at);
    gap_strip_values(&p->f, &a, 1, &g->values[0]);
    gap_strip_values(&p->f, &b, 1, &g->values[1]);
    if (nan_a && nan_b) {
        g->nan_both++;
        g->bits_equal++;
        return;
    }
    note_different(g, index, a, b);
    g->nan_differs += nan_a != nan_b;
    g->inf_differs += nan_a == nan_b;
    gap_note_first(&g->first_class, index, a, b);
    if (p->limits)
        note_beyond(g, index, a, b);
}

/* --- distances into cells and sums --- */

static uint64_t magnitude(const struct gap_piece *p, const struct gap_strip *s, int i)
{
    const struct gap_distances *d = &p->d;
    uint32_t below = s->far < GAP_NEAR ? (uint32_t)(d->near[i] >> 31) : (uint32_t)d->below[i];
    return s->near ? ((uint32_t)d->near[i] ^ below) - below : (uint64_t)d->far[i];
}

static void count_near(struct gap_piece *p, int n)
{
    uint32_t *const table[GAP_TABLES] = {p->near[0] + GAP_NEAR, p->near[1] + GAP_NEAR,
                                         p->near[2] + GAP_NEAR, p->near[3] + GAP_NEAR};
    const int32_t *d = p->d.near;
    int i = 0;
    for (; i + GAP_TABLES <= n; i += GAP_TABLES)
        for (int t = 0; t < GAP_TABLES; t++)
            table[t][d[i + t]]++;
    for (; i < n; i++)
        table[0][d[i]]++;
}

static void count_cells(struct gap_piece *p, int n)
{
    const uint16_t *cell = p->cells.cell;
    int i = 0;
    if (!p->has_cells)
        memset(p->cell, 0, sizeof p->cell);
    p->has_cells = true;
    gap_strip_cells(&p->d, n, &p->cells);
    p->g->sum += p->cells.sum;
    gap_square_add(&p->g->square, p->cells.square);
    for (; i + 2 <= n; i += 2) {
        p->cell[0][cell[i]]++;
        p->cell[1][cell[i + 1]]++;
    }
    for (; i < n; i++)
        p->cell[0][cell[i]]++;
}

static void count_far(struct gap_piece *p, int n)
{
    struct gap *g = p->g;
    struct gap_square square = g->square;
    unsigned __int128 up = 0, down = 0;
    for (int i = 0; i < n; i++) {
        uint64_t far = (uint64_t)p->d.far[i], below = (uint64_t)p->d.below[i];
        unsigned __int128 x = (unsigned __int128)far * far;
        up += far & ~below;
        down += far & below;
        square.low += x;
        square.high += square.low < x;
    }
    for (int i = 0; i < n; i++)
        g->cell[gap_cell(p->d.below[i], (uint64_t)p->d.far[i])]++;
    g->sum += (__int128)(up - down);
    g->square = square;
}

void gap_piece_end(struct gap_piece *p)
{
    struct gap *g = p->g;
    for (int i = 1; i < 2 * GAP_NEAR; i++) {
        uint64_t n = 0, d = (uint64_t)abs(i - GAP_NEAR);
        for (int t = 0; t < GAP_TABLES; t++)
            n += p->near[t][i];
        if (!n)
            continue;
        g->cell[GAP_SIDE + i - GAP_NEAR] += n;
        g->sum += (int64_t)n * (i - GAP_NEAR);
        gap_square_add(&g->square, n * d * d);
    }
    for (int i = 0; p->has_cells && i < GAP_CELLS_32; i++)
        g->cell[GAP_SIDE - GAP_CELLS_32 / 2 + i] += p->cell[0][i] + p->cell[1][i];
}

/* --- parts --- */

/* The differing elements of a part: places, and what the limits say. */
static void part_places(struct gap_piece *p, const struct gap_part *t,
                        const struct gap_strip *s)
{
    struct gap *g = p->g;
    const struct limits *l = p->limits;
    bool judge =
        l && (limits_have(l, LIMIT_REL) || !limits_allow(l, s->far, s->absolute, INFINITY));
    if (!judge && g->n_place >= GAP_PLACES) { /* then only the ends can change */
        int i = next(t, 0);
        int64_t end = index_of(p, t, last(t));
        g->n_place += t->differ;
        gap_note_first(&g->first, index_of(p, t, i), gap_bits_at(&p->f, t->a, i),
                       gap_bits_at(&p->f, t->b, i));
        g->last = end > g->last ? end : g->last;
        return;
    }
    for (int i = next(t, 0); i < t->n; i = next(t, i + 1)) {
        int64_t index = index_of(p, t, i);
        uint64_t far = magnitude(p, s, i);
        uint64_t a = gap_bits_at(&p->f, t->a, i), b = gap_bits_at(&p->f, t->b, i);
        note_different(g, index, a, b);
        if (judge && !allowed(p, a, b, far))
            note_beyond(g, index, a, b);
    }
}

static void part_worst(struct gap_piece *p, const struct gap_part *t, const struct gap_strip *s)
{
    struct gap *g = p->g;
    int i = next(t, 0);
    if (g->worst.index >= 0 && (s->far < g->worst_ulp || (s->far == g->worst_ulp &&
                                                          g->worst.index <= index_of(p, t, i))))
        return;
    while (magnitude(p, s, i) != s->far)
        i = next(t, i + 1);
    const struct gap_element x = {index_of(p, t, i),
                                  {gap_bits_at(&p->f, t->a, i), gap_bits_at(&p->f, t->b, i)}};
    gap_note_worst(g, s->far, &x);
}

static void part_commit(struct gap_piece *p, const struct gap_part *t,
                        const struct gap_strip *s)
{
    struct gap *g = p->g;
    g->finite += t->n;
    g->bits_equal += t->n - t->differ;
    g->lowest = -(__int128)s->down < g->lowest ? -(__int128)s->down : g->lowest;
    g->highest = s->up > g->highest ? s->up : g->highest;
    g->worst_absolute = s->absolute > g->worst_absolute ? s->absolute : g->worst_absolute;
    g->zero_sign += s->marks.zero_sign;
    for (int side = 0; side < 2; side++) {
        g->smaller[side] += s->marks.smaller[side];
        g->flushed[side] += s->marks.flushed[side];
        g->values[side] += s->values[side];
    }
    if (s->near && s->far < GAP_NEAR)
        count_near(p, t->n);
    else if (s->near)
        count_cells(p, t->n);
    else
        count_far(p, t->n);
    part_places(p, t, s);
    part_worst(p, t, s);
}

void gap_part_add(struct gap_piece *p, const struct gap_part *t)
{
    struct gap_strip s;
    double known = p->limits ? -1 : p->g->worst_absolute;
    gap_strip_scan(&p->f, t->a, t->b, t->n, known, &p->d, &s);
    part_commit(p, t, &s);
}
