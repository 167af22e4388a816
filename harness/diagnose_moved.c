/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Right values in the wrong place. Each guess says where an element would have come from; one
 * is named when nine in ten of the wrong elements that were written hold what that place should
 * hold, and places taken at random would not do as well. */

enum { MOVED_SAMPLE = 512, VOTES = 1024, MOVED_SEARCH_MAX = 1 << 22 };

enum guess_kind {
    GUESS_OFFSET,  /* so many elements on, round the end */
    GUESS_SWAPPED, /* axes a and a + 1 in the other order */
    GUESS_MODULO,  /* index of axis a modulo `by`; a < 0: of the element */
    GUESS_TILE,    /* both last indices modulo `by` */
    GUESS_NARROW   /* the element's index rounded to `by` significant bits */
};

struct guess {
    enum guess_kind kind;
    int axis;
    int64_t by;
    double hits, chance; /* shares of the elements looked at */
};

struct moves {
    const struct suspect *s;
    int64_t n, index[MOVED_SAMPLE]; /* wrong elements that were written */
    int64_t n_written;
};

static bool fits_at(const struct suspect *s, int64_t element, int64_t other)
{
    const struct oracle *o = s->in->oracle;
    double got = tensor_value(s->t, element);
    double bound = fmax(o->bound[element], o->bound[other]);
    return fabs((got - o->value[other]) - o->tail[other]) <= bound;
}

/* --- where an element would have come from ---------------------------------------------------
 */

static int64_t narrowed(int64_t i, int bits)
{
    int top = i ? 64 - __builtin_clzll((unsigned long long)i) : 0;
    int64_t unit = top > bits ? INT64_C(1) << (top - bits) : 1, down = i / unit * unit;
    int64_t over = 2 * (i - down), odd = down / unit & 1;
    return over > unit || (over == unit && odd) ? down + unit : down;
}

/* Elements an axis's index moves by. */
static int64_t stride_of(const struct tensor *t, int axis)
{
    int64_t stride = 1;
    for (int a = t->rank - 1; a > axis; a--)
        stride *= t->dim[a];
    return stride;
}

static int64_t swapped(const struct tensor *t, int a, int64_t i)
{
    int64_t inner = stride_of(t, a + 1), x = t->dim[a], y = t->dim[a + 1];
    int64_t block = i / (inner * x * y), at = i / inner % (x * y);
    /* Read as if it were [y][x]: element (p, q) lies where (q, p) of that would. */
    int64_t from = at % y * x + at / y;
    return (block * x * y + from) * inner + i % inner;
}

static int64_t modulo(const struct tensor *t, int axis, int64_t by, int64_t i)
{
    if (axis < 0)
        return i % by;
    int64_t stride = stride_of(t, axis), at = i / stride % t->dim[axis];
    return i + (at % by - at) * stride;
}

static int64_t guess_source(const struct guess *g, const struct tensor *t, int64_t i)
{
    switch (g->kind) {
    case GUESS_OFFSET:
        return ((i + g->by) % t->count + t->count) % t->count;
    case GUESS_SWAPPED:
        return swapped(t, g->axis, i);
    case GUESS_MODULO:
        return modulo(t, g->axis, g->by, i);
    case GUESS_TILE:
        return modulo(t, t->rank - 2, g->by, modulo(t, t->rank - 1, g->by, i));
    default:
        return narrowed(i, (int)g->by) % t->count;
    }
}

/* --- trying guesses --------------------------------------------------------------------------
 */

static bool moves_init(struct moves *m, const struct suspect *s)
{
    m->s = s;
    m->n = m->n_written = 0;
    for (int64_t i = s->first; i <= s->last; i++)
        m->n_written += s->bad[i] && !suspect_unwritten(s, i);
    int64_t step = m->n_written / MOVED_SAMPLE + 1, seen = 0;
    for (int64_t i = s->first; i <= s->last && m->n < MOVED_SAMPLE; i++)
        if (s->bad[i] && !suspect_unwritten(s, i) && seen++ % step == 0)
            m->index[m->n++] = i;
    return m->n >= 4;
}

static void guess_try(const struct moves *m, struct guess *g)
{
    int64_t hits = 0, chance = 0, count = m->s->count;
    for (int64_t x = 0; x < m->n; x++) {
        int64_t i = m->index[x], from = guess_source(g, m->s->t, i);
        hits += from != i && fits_at(m->s, i, from);
        /* A place that has nothing to do with it. */
        chance +=
            fits_at(m->s, i, (int64_t)((uint64_t)(x + 1) * 0x9e3779b97f4a7c15u >> 1) % count);
    }
    g->hits = (double)hits / (double)m->n;
    g->chance = (double)chance / (double)m->n;
}

static bool guess_holds(const struct moves *m, struct guess *g)
{
    guess_try(m, g);
    return g->hits >= 0.9 && g->chance < 0.5;
}

static bool try_axes(const struct moves *m, struct guess *g)
{
    const struct tensor *t = m->s->t;
    for (int a = 0; a + 1 < t->rank; a++) {
        *g = (struct guess){GUESS_SWAPPED, a, 0, 0, 0};
        if (t->dim[a] > 1 && t->dim[a + 1] > 1 && guess_holds(m, g))
            return true;
    }
    return false;
}

static bool try_modulo(const struct moves *m, struct guess *g)
{
    const struct tensor *t = m->s->t;
    for (int k = 3; k < 40; k++) {
        int64_t by = INT64_C(1) << k;
        for (int a = -1; a < t->rank; a++) {
            *g = (struct guess){GUESS_MODULO, a, by, 0, 0};
            if (by < (a < 0 ? t->count : t->dim[a]) && guess_holds(m, g))
                return true;
        }
        *g = (struct guess){GUESS_TILE, 0, by, 0, 0};
        if (t->rank >= 2 && by < t->dim[t->rank - 1] && by < t->dim[t->rank - 2] &&
            guess_holds(m, g))
            return true;
    }
    return false;
}

static bool try_narrow(const struct moves *m, struct guess *g)
{
    static const int bits[] = {8, 11, 24};
    for (size_t x = 0; x < sizeof bits / sizeof *bits; x++) {
        *g = (struct guess){GUESS_NARROW, 0, bits[x], 0, 0};
        if (m->s->count > INT64_C(1) << bits[x] && guess_holds(m, g))
            return true;
    }
    return false;
}

/* --- any offset: the wrong values are looked up among the right ones -------------------------
 */

struct placed {
    double value;
    int64_t index;
};

static int by_placed(const void *x, const void *y)
{
    double a = ((const struct placed *)x)->value, b = ((const struct placed *)y)->value;
    return (a > b) - (a < b);
}

static int64_t placed_lower(const struct placed *p, int64_t n, double x)
{
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (p[middle].value < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct vote {
    int64_t offset;
    int count;
};

static void vote_for(struct vote *votes, int64_t offset)
{
    uint64_t at = (uint64_t)offset * 0x9e3779b97f4a7c15u >> 32;
    for (int tries = 0; tries < 8; tries++) {
        struct vote *v = &votes[(at + (uint64_t)tries) % VOTES];
        if (v->count && v->offset != offset)
            continue;
        v->offset = offset;
        v->count++;
        return;
    }
}

/* Each element votes for the places that hold its value, unless these are many. */
static void votes_take(const struct moves *m, const struct placed *p, int64_t n,
                       struct vote *votes)
{
    const struct suspect *s = m->s;
    for (int64_t x = 0; x < m->n; x++) {
        int64_t i = m->index[x];
        double got = tensor_value(s->t, i), room = s->in->oracle->bound[i];
        if (!isfinite(got) || !isfinite(room))
            continue;
        int64_t from = placed_lower(p, n, got - room), to = from;
        while (to < n && to - from <= 4 && p[to].value <= got + room)
            to++;
        for (int64_t k = from; k < to && to - from <= 4; k++)
            vote_for(votes, ((p[k].index - i) % s->count + s->count) % s->count);
    }
}

/* The offset modulo the count as most elements see it: on, or back. */
static int64_t unwrapped(const struct moves *m, int64_t offset)
{
    int64_t on = 0;
    for (int64_t x = 0; x < m->n; x++)
        on += m->index[x] + offset < m->s->count;
    return 2 * on >= m->n ? offset : offset - m->s->count;
}

static bool try_offsets(const struct moves *m, struct guess *g)
{
    const struct suspect *s = m->s;
    if (s->count > MOVED_SEARCH_MAX)
        return false;
    struct placed *p = calloc((size_t)s->count + 1, sizeof *p);
    struct vote *votes = calloc(VOTES, sizeof *votes);
    int64_t n = 0, best = 0;
    for (int64_t i = 0; p && votes && i < s->count; i++)
        if (isfinite(s->in->oracle->value[i]))
            p[n++] = (struct placed){s->in->oracle->value[i], i};
    if (p && votes) {
        qsort(p, (size_t)n, sizeof *p, by_placed);
        votes_take(m, p, n, votes);
        for (int v = 1; v < VOTES; v++)
            best = votes[v].count > votes[best].count ? v : best;
        *g = (struct guess){GUESS_OFFSET, 0, unwrapped(m, votes[best].offset), 0, 0};
    }
    bool good = p && votes && votes[best].count && guess_holds(m, g);
    free(p);
    free(votes);
    return good;
}

/* --- what it means ---------------------------------------------------------------------------
 */

/* An index that lost its high bits. Tiles, blocks and waves have up to 1024 elements: a smaller
 * modulus is their index that was ignored, but for rows, which eight bits can count. */
static bool lost_bits(const struct guess *g, const struct tensor *t)
{
    int64_t by = g->by < 0 ? -g->by : g->by, columns = t->rank ? t->dim[t->rank - 1] : 1, rows;
    bool power = by > 0 && !(by & (by - 1));
    switch (g->kind) {
    case GUESS_NARROW:
        return true;
    case GUESS_OFFSET:
        rows = by % columns ? 0 : by / columns;
        return (power && by >= 4096) || rows == 256 || (rows >= 4096 && !(rows & (rows - 1)));
    case GUESS_MODULO:
        return by > 1024 || (by == 256 && g->axis >= 0 && g->axis < t->rank - 1);
    default:
        return false;
    }
}

static enum cause cause_of(const struct guess *g, const struct moves *m)
{
    const struct suspect *s = m->s;
    if (lost_bits(g, s->t))
        return CAUSE_OVERFLOW;
    if (g->kind == GUESS_TILE || g->kind == GUESS_MODULO)
        return CAUSE_LOCALISED;
    return s->n_bad * 2 > s->count || g->kind == GUESS_SWAPPED ? CAUSE_MASK : CAUSE_LOCALISED;
}

static void words_of(const struct guess *g, const struct tensor *t, char *text, size_t size)
{
    int64_t columns = t->rank ? t->dim[t->rank - 1] : 1;
    long long by = g->by, rows = (long long)(g->by / columns);
    if (g->kind == GUESS_SWAPPED && t->rank == 2)
        snprintf(text, size, "the transposed place");
    else if (g->kind == GUESS_SWAPPED)
        snprintf(text, size, "the place with axes %d and %d swapped", g->axis, g->axis + 1);
    else if (g->kind == GUESS_TILE)
        snprintf(text, size, "the first %lld x %lld tile", by, by);
    else if (g->kind == GUESS_NARROW)
        snprintf(text, size, "the element whose index is rounded to %lld bits", by);
    else if (g->kind == GUESS_MODULO && g->axis < 0)
        snprintf(text, size, "the element of index modulo %lld", by);
    else if (g->kind == GUESS_MODULO)
        snprintf(text, size, "the index modulo %lld in dimension %d", by, g->axis);
    else if (t->rank > 1 && g->by % columns == 0 && rows)
        snprintf(text, size, rows == 1 ? "the next row" : "the place %lld rows on", rows);
    else
        snprintf(text, size, g->by == 1 ? "the next column" : "the place %lld elements on", by);
}

static void claim_guess(const struct guess *g, const struct moves *m, struct suspect *s)
{
    char where[96];
    enum cause cause = cause_of(g, m);
    words_of(g, s->t, where, sizeof where);
    int64_t unwritten = s->n_bad - m->n_written;
    /* Written over the beginning, and so missing at the end: one fault. */
    bool both = cause == CAUSE_OVERFLOW && unwritten > 0;
    /* A part that holds another part's values: where it begins and ends may say more. */
    double part = cause == CAUSE_LOCALISED ? 0.95 : 1;
    claim_add(s->o, cause, s->side,
              both ? 1 : part * g->hits * (double)m->n_written / (double)s->n_bad,
              "%.4g %% of %lld %s elements are what %s %s%s", 100 * g->hits,
              (long long)m->n_written, s->words[0], where,
              s->side == '=' ? "holds on side A" : "should hold",
              both ? ", and others were never written" : "");
}

void diagnose_moved(struct suspect *s)
{
    struct moves *m = calloc(1, sizeof *m);
    struct guess g;
    if (m && s->n_bad >= 4 && !suspect_neighbours(s) && moves_init(m, s) &&
        (try_axes(m, &g) || try_modulo(m, &g) || try_narrow(m, &g) || try_offsets(m, &g)))
        claim_guess(&g, m, s);
    free(m);
}
