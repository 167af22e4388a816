/* SPDX-License-Identifier: Apache-2.0 */
#include "gap.h"

#include <math.h>
#include <string.h>

#include "gap_sample.h"
#include "gap_strip.h"
#include "gap_sum.h"
#include "ulp.h"

enum { TABLES = 4, SPARSE = 16 };

struct piece {
    struct gap *g;
    struct gap_shape f;
    const struct gap_where *where;
    const struct limits *limits; /* NULL: none for elements */
    uint32_t near[TABLES][2 * GAP_NEAR];
    union gap_distances d;
    const int *place; /* of the elements of a strip in it; NULL: one after the other */
};

/* Of element `i` of the strip that begins at `at`. */
static int64_t index_of(const struct piece *p, int64_t at, int i)
{
    at += p->place ? p->place[i] : i;
    return p->where->start[at / p->where->run] + at % p->where->run;
}

static uint64_t bits_at(const struct gap_shape *f, const void *data, int64_t i)
{
    switch (f->width) {
    case 8:
        return ((const uint8_t *)data)[i];
    case 16:
        return ((const uint16_t *)data)[i];
    case 32:
        return ((const uint32_t *)data)[i];
    default:
        return ((const uint64_t *)data)[i];
    }
}

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
static bool allowed(const struct piece *p, uint64_t a, uint64_t b, uint64_t far)
{
    double x = dtype_value(p->f.d, a), y = dtype_value(p->f.d, b);
    double absolute = p->f.is_float ? fabs(y - x) : (double)far;
    double relative = relative_of(x, y);
    if (relative > p->g->worst_relative)
        p->g->worst_relative = relative;
    return limits_allow(p->limits, far, absolute, relative);
}

static void element_finite(struct piece *p, uint64_t a, uint64_t b, int64_t index)
{
    struct gap *g = p->g;
    __int128 d = (__int128)ulp_position(p->f.d, b) - ulp_position(p->f.d, a);
    uint64_t far = (uint64_t)(d < 0 ? -d : d);
    g->finite++;
    g->sum += d;
    g->lowest = d < g->lowest ? d : g->lowest;
    g->highest = d > g->highest ? d : g->highest;
    gap_square_add(&g->square, (unsigned __int128)far * far);
    g->cell[gap_cell(d < 0, far)]++;
    if (a == b)
        return;
    gap_note_worst(g, far, &(struct gap_element){index, {a, b}});
    double gap =
        p->f.is_float ? fabs(dtype_value(p->f.d, b) - dtype_value(p->f.d, a)) : (double)far;
    g->worst_absolute = gap > g->worst_absolute ? gap : g->worst_absolute;
    if (p->f.is_float) {
        struct gap_marks m = {0};
        gap_strip_marks(&p->f, a, b, &m);
        for (int side = 0; side < 2; side++) {
            g->smaller[side] += m.smaller[side];
            g->flushed[side] += m.flushed[side];
        }
        g->zero_sign += m.zero_sign;
    }
    if (p->limits && !allowed(p, a, b, far))
        note_beyond(g, index, a, b);
}

static void element_add(struct piece *p, const void *a, const void *b, int64_t at)
{
    struct gap *g = p->g;
    uint64_t x = bits_at(&p->f, a, at), y = bits_at(&p->f, b, at);
    bool nan_x = dtype_is_nan(p->f.d, x), nan_y = dtype_is_nan(p->f.d, y);
    bool inf = dtype_is_inf(p->f.d, x) || dtype_is_inf(p->f.d, y);
    bool class_differs = nan_x != nan_y || (inf && x != y && !nan_x);
    int64_t index = index_of(p, at, 0);
    g->nan_both += nan_x && nan_y;
    g->bits_equal += x == y || (nan_x && nan_y);
    if (x != y && !(nan_x && nan_y))
        note_different(g, index, x, y);
    if (class_differs) {
        g->nan_differs += nan_x != nan_y;
        g->inf_differs += nan_x == nan_y;
        gap_note_first(&g->first_class, index, x, y);
        if (p->limits)
            note_beyond(g, index, x, y);
    } else if (!nan_x && !inf) {
        element_finite(p, x, y, index);
    }
}

static int64_t distance(const struct piece *p, const struct gap_strip *s, int i)
{
    return s->near ? p->d.near[i] : p->d.far[i];
}

static uint64_t magnitude(int64_t d)
{
    return d < 0 ? 0 - (uint64_t)d : (uint64_t)d;
}

/* The distances of a strip into cells, and large ones into the sums. */
static void strip_count(struct piece *p, const struct gap_strip *s, int n)
{
    struct gap *g = p->g;
    if (s->near && s->far < GAP_NEAR) {
        for (int i = 0; i < n; i++)
            p->near[i % TABLES][p->d.near[i] + GAP_NEAR]++;
        return;
    }
    for (int i = 0; i < n; i++) {
        int64_t d = distance(p, s, i);
        uint64_t far = magnitude(d);
        if (far < GAP_NEAR) {
            p->near[i % TABLES][d + GAP_NEAR]++;
            continue;
        }
        g->sum += d;
        gap_square_add(&g->square, (unsigned __int128)far * far);
        g->cell[gap_cell(d < 0, far)]++;
    }
}

/* The small distances of a piece into the cells and sums. */
static void near_commit(struct piece *p)
{
    struct gap *g = p->g;
    for (int i = 1; i < 2 * GAP_NEAR; i++) {
        uint64_t n = 0, d = magnitude(i - GAP_NEAR);
        for (int t = 0; t < TABLES; t++)
            n += p->near[t][i];
        g->cell[GAP_SIDE + i - GAP_NEAR] += n;
        g->sum += (int64_t)n * (i - GAP_NEAR);
        gap_square_add(&g->square, n * d * d);
    }
}

/* The differing elements of a strip: places, and what the limits say. */
static void strip_places(struct piece *p, const struct gap_strip *s, const void *a,
                         const void *b, int64_t at, int n)
{
    struct gap *g = p->g;
    const struct limits *l = p->limits;
    bool judge =
        l && (limits_have(l, LIMIT_REL) || !limits_allow(l, s->far, s->absolute, INFINITY));
    if (!judge && g->n_place >= GAP_PLACES) { /* then only the ends can change */
        int first = gap_strip_unequal(&p->f, a, b, 0, n), last = n - 1;
        while (bits_at(&p->f, a, last) == bits_at(&p->f, b, last))
            last--;
        g->n_place += n - s->equal;
        gap_note_first(&g->first, index_of(p, at, first), bits_at(&p->f, a, first),
                       bits_at(&p->f, b, first));
        int64_t to = index_of(p, at, last);
        g->last = to > g->last ? to : g->last;
        return;
    }
    for (int i = gap_strip_unequal(&p->f, a, b, 0, n); i < n;
         i = gap_strip_unequal(&p->f, a, b, i + 1, n)) {
        int64_t index = index_of(p, at, i);
        uint64_t far = magnitude(distance(p, s, i));
        uint64_t x = bits_at(&p->f, a, i), y = bits_at(&p->f, b, i);
        note_different(g, index, x, y);
        if (judge && !allowed(p, x, y, far))
            note_beyond(g, index, x, y);
    }
}

static void strip_worst(struct piece *p, const struct gap_strip *s, const void *a,
                        const void *b, int64_t at, int n)
{
    if (p->g->worst.index >= 0 && s->far < p->g->worst_ulp)
        return;
    for (int i = gap_strip_unequal(&p->f, a, b, 0, n); i < n;
         i = gap_strip_unequal(&p->f, a, b, i + 1, n)) {
        uint64_t far = magnitude(distance(p, s, i));
        if (far == s->far) {
            const struct gap_element x = {index_of(p, at, i),
                                          {bits_at(&p->f, a, i), bits_at(&p->f, b, i)}};
            gap_note_worst(p->g, far, &x);
            return;
        }
    }
}

static void strip_commit(struct piece *p, const struct gap_strip *s, const void *a,
                         const void *b, int64_t at, int n)
{
    struct gap *g = p->g;
    g->finite += n;
    g->bits_equal += s->equal;
    g->lowest = s->low < g->lowest ? s->low : g->lowest;
    g->highest = s->high > g->highest ? s->high : g->highest;
    g->worst_absolute = s->absolute > g->worst_absolute ? s->absolute : g->worst_absolute;
    g->zero_sign += s->marks.zero_sign;
    for (int side = 0; side < 2; side++) {
        g->smaller[side] += s->marks.smaller[side];
        g->flushed[side] += s->marks.flushed[side];
        g->values[side] += s->values[side];
    }
    strip_count(p, s, n);
    if (s->equal < n) {
        strip_places(p, s, a, b, at, n);
        strip_worst(p, s, a, b, at, n);
    }
}

/* Few elements differ, and all are finite: those are put side by side, and are a strip of their
 * own. False when a distance leaves 64 bits. */
static bool strip_sparse(struct piece *p, const char *a, const char *b, int64_t at, int n,
                         int differ)
{
    struct gap *g = p->g;
    size_t size = (size_t)p->f.width / 8;
    uint64_t x[GAP_STRIP / SPARSE], y[GAP_STRIP / SPARSE];
    int place[GAP_STRIP / SPARSE], k = 0;
    for (int i = gap_strip_unequal(&p->f, a, b, 0, n); i < n;
         i = gap_strip_unequal(&p->f, a, b, i + 1, n)) {
        memcpy((char *)x + (size_t)k * size, a + (size_t)i * size, size);
        memcpy((char *)y + (size_t)k * size, b + (size_t)i * size, size);
        place[k++] = i;
    }
    struct gap_strip s = {0};
    if (!gap_strip_scan(&p->f, x, y, k, &p->d, &s))
        return false;
    p->place = place;
    strip_commit(p, &s, x, y, at, k);
    p->place = NULL;
    g->finite += n - differ;
    g->bits_equal += n - differ;
    g->cell[GAP_SIDE] += (uint64_t)(n - differ);
    return true;
}

static void strip_add(struct piece *p, const char *a, const char *b, int64_t at, int n)
{
    struct gap *g = p->g;
    size_t size = (size_t)p->f.width / 8;
    bool same = !memcmp(a, b, size * (size_t)n);
    bool odd = gap_strip_special(&p->f, a, n, &g->bits[0]);
    if (same) {
        g->bits[1] |= g->bits[0];
    } else {
        odd |= gap_strip_special(&p->f, b, n, &g->bits[1]);
    }
    if (same && !odd) {
        g->finite += n;
        g->bits_equal += n;
        g->cell[GAP_SIDE] += (uint64_t)n;
        return;
    }
    int differ = odd ? n : gap_strip_count(&p->f, a, b, n);
    if (SPARSE * differ <= n && strip_sparse(p, a, b, at, n, differ))
        return;
    struct gap_strip s = {0};
    if (!odd && gap_strip_scan(&p->f, a, b, n, &p->d, &s)) {
        strip_commit(p, &s, a, b, at, n);
        return;
    }
    gap_strip_values(&p->f, a, n, &g->values[0]);
    gap_strip_values(&p->f, b, n, &g->values[1]);
    const char *from_a = a - (size_t)at * size, *from_b = b - (size_t)at * size;
    for (int64_t i = at; i < at + n; i++)
        element_add(p, from_a, from_b, i);
}

void gap_add(struct gap *g, enum dtype d, const void *a, const void *b, int64_t n,
             const struct gap_where *where, const struct limits *l)
{
    bool judge = false;
    for (int i = 0; l && i < l->n; i++)
        judge = judge || limit_of_elements(&l->rule[i]);
    struct piece p = {
        .g = g, .f = gap_shape_make(d), .where = where, .limits = judge ? l : NULL};
    size_t size = (size_t)p.f.width / 8;
    for (int64_t at = 0; at < n; at += GAP_STRIP)
        strip_add(&p, (const char *)a + (size_t)at * size, (const char *)b + (size_t)at * size,
                  at, n - at < GAP_STRIP ? (int)(n - at) : GAP_STRIP);
    near_commit(&p);
    g->count += n;
    if (g->sample)
        gap_sample_take(g->sample, where, a, b, n);
}
