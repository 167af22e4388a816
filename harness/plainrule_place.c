/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose.h"
#include "plainrule.h"
#include "tensor.h"

/* Where the elements are: for each axis which coordinates occur, and how they can be said in
 * few words. A place is believed when it is small and chance would not have put all elements
 * there: n elements in a part f of the tensor are worth n log2(1/f) bits, less what it takes to
 * say which part. */

enum { PERIOD_MAX = 1024, AXIS_MAX = 1 << 16 /* longer ones: only from where to where */ };
#define PART_MOST 0.5
#define BITS_LEAST 24

struct axis {
    int64_t dim, looked, hit, from, to; /* coordinates looked at; where something differs */
    int64_t period, low, high;          /* hit are low..high modulo period; 0: no period */
    double part, cost;                  /* of the coordinates; bits to say which */
    uint8_t *mark;                      /* owned, a coordinate: 1 looked at, 2 differs */
};

static void mark_axis(const struct plainseen *s, int64_t step, struct axis *a)
{
    const struct gap_sample *m = s->sample;
    bool everywhere = s->all || plainseen_whole(s);
    if (everywhere)
        memset(a->mark, 1, (size_t)a->dim);
    for (int64_t i = 0; i < m->window * m->windows && !everywhere && !s->turned; i++) {
        int64_t index = gap_sample_start(m, i / m->window) + i % m->window;
        if (plainseen_slot(s, index) >= 0)
            a->mark[index / step % a->dim] |= 1;
    }
    for (int64_t i = 0; i < s->n; i++)
        a->mark[s->x[i].index / step % a->dim] = 3;
}

/* The smallest period of 2 and more in which the coordinates that differ are one range of at
 * most half, and every such coordinate that was looked at differs. */
static void find_period(struct axis *a)
{
    for (int64_t p = 2; p <= PERIOD_MAX && 2 * p <= a->to - a->from + 2; p++) {
        int64_t low = p, high = -1, n = 0, have = 0;
        bool hit[PERIOD_MAX] = {false};
        for (int64_t c = a->from; c <= a->to && 2 * n <= p; c++)
            if ((a->mark[c] & 2) && !hit[c % p]) {
                hit[c % p] = true;
                low = c % p < low ? c % p : low;
                high = c % p > high ? c % p : high;
                n++;
            }
        if (n != high - low + 1 || 2 * n > p)
            continue;
        for (int64_t c = a->from; c <= a->to; c++)
            have += (a->mark[c] & 1) && c % p >= low && c % p <= high;
        if (10 * a->hit < 6 * have)
            continue;
        a->period = p;
        a->low = low;
        a->high = high;
        return;
    }
}

static void measure_axis(struct axis *a)
{
    a->from = -1;
    for (int64_t c = 0; c < a->dim; c++) {
        a->looked += a->mark[c] & 1;
        if (!(a->mark[c] & 2))
            continue;
        a->hit++;
        a->from = a->from < 0 ? c : a->from;
        a->to = c;
    }
    bool range = a->hit == a->to - a->from + 1;
    if (!range)
        find_period(a);
    double n = (double)a->looked, hit = (double)a->hit;
    double spread = 0;
    for (int64_t c = a->from; c <= a->to; c++)
        spread += a->mark[c] & 1;
    if (a->period)
        hit = fmax(1, n * (double)(a->high - a->low + 1) / (double)a->period);
    a->cost = range || a->period ? 2 * log2(n + 1)
                                 : fmin(hit, n - hit) * log2(n * 2.72 / fmin(hit, n - hit + 1));
    a->part = hit / n;
    if (!range && !a->period &&
        (spread / n < 0.75 * a->part || spread <= 2 * hit)) { /* a range with holes */
        a->part = spread / n;
        a->cost = 2 * log2(n + 1);
        a->hit = a->to - a->from + 1;
    }
    if (a->part >= 1)
        a->cost = 0;
}

/* A range that runs from the first to the last. */
static void measure_long(const struct plainseen *s, int64_t step, struct axis *a)
{
    a->from = a->dim;
    for (int64_t i = 0; i < s->n; i++) {
        int64_t c = s->x[i].index / step % a->dim;
        a->from = c < a->from ? c : a->from;
        a->to = c > a->to ? c : a->to;
    }
    a->hit = a->to - a->from + 1;
    a->part = (double)a->hit / (double)a->dim;
    a->cost = a->part < 1 ? 2 * log2((double)a->dim) : 0;
}

static enum err axis_make(const struct plainseen *s, int64_t step, int64_t dim, struct axis *a)
{
    if (dim > AXIS_MAX) {
        *a = (struct axis){.dim = dim};
        measure_long(s, step, a);
        return ERR_OK;
    }
    *a = (struct axis){.dim = dim, .mark = calloc((size_t)dim + 1, 1)};
    if (!a->mark)
        return ERR_NOMEM;
    mark_axis(s, step, a);
    measure_axis(a);
    return ERR_OK;
}

static size_t put(char *text, size_t used, size_t size, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static size_t put(char *text, size_t used, size_t size, const char *format, ...)
{
    va_list ap;
    if (used >= size)
        return used;
    va_start(ap, format);
    int n = vsnprintf(text + used, size - used, format, ap);
    va_end(ap);
    return used + (size_t)n;
}

static size_t put_axis(const struct axis *a, char *text, size_t used, size_t size)
{
    if (a->period && a->high == a->low)
        return put(text, used, size, "%" PRId64 " mod %" PRId64, a->low, a->period);
    if (a->period)
        return put(text, used, size, "%" PRId64 "..%" PRId64 " mod %" PRId64, a->low, a->high,
                   a->period);
    if (a->hit == a->to - a->from + 1)
        return a->from == a->to
                   ? put(text, used, size, "%" PRId64, a->from)
                   : put(text, used, size, "%" PRId64 "..%" PRId64, a->from, a->to);
    return put(text, used, size, "%" PRId64 " of %" PRId64 " in %" PRId64 "..%" PRId64, a->hit,
               a->dim, a->from, a->to);
}

/* A range that goes to the end and begins at a multiple of a power of two that the dimension is
 * none of. */
static void put_tail(const struct axis *a, int axis, char *text, size_t size)
{
    int64_t step = a->from & -a->from;
    if (*text || a->period || a->to != a->dim - 1 || a->from < 8 || step < 8 ||
        a->dim % step == 0 || a->hit != a->to - a->from + 1)
        return;
    snprintf(text, size, ": the remainder of dimension %d behind a multiple of %" PRId64, axis,
             step);
}

struct place {
    double part, bits;
    char words[160], tail[100];
};

static bool place_axes(const struct plainseen *s, struct place *p)
{
    struct axis axis[TENSOR_RANK_MAX] = {{0}};
    enum err err = ERR_OK;
    double cost = 0;
    *p = (struct place){.part = 1};
    for (int i = 0; i < s->rank && !err; i++)
        err = axis_make(s, s->stride[i], s->dim[i], &axis[i]);
    size_t used = put(p->words, 0, sizeof p->words, "[");
    for (int i = 0; i < s->rank && !err; i++) {
        p->part *= axis[i].part;
        cost += axis[i].cost;
        used = put(p->words, used, sizeof p->words, i ? "," : "");
        used = put_axis(&axis[i], p->words, used, sizeof p->words);
        put_tail(&axis[i], i, p->tail, sizeof p->tail);
    }
    put(p->words, used, sizeof p->words, "]");
    p->bits = p->part < 1 ? (double)s->n * -log2(p->part) - cost : 0;
    for (int i = 0; i < s->rank; i++)
        free(axis[i].mark);
    return !err;
}

/* One dimension, or all of them row after row, modulo a number. */
static void place_period(const struct plainseen *s, struct place *p)
{
    *p = (struct place){.part = 1};
    for (int64_t m = 2; m <= PERIOD_MAX && m * 4 <= s->count; m += m < 64 ? 1 : m / 4) {
        bool hit[PERIOD_MAX] = {false};
        int64_t n = 0, low = -1, high = 0;
        for (int64_t i = 0; i < s->n && 2 * n <= m; i++) {
            n += !hit[s->x[i].index % m];
            hit[s->x[i].index % m] = true;
        }
        for (int64_t r = 0; r < m; r++)
            if (hit[r]) {
                low = low < 0 ? r : low;
                high = r;
            }
        n = high - low + 1;
        double part = (double)n / (double)m;
        if (2 * n > m || part >= p->part)
            continue;
        p->part = part;
        p->bits = (double)s->n * -log2(part) - 3 * log2(PERIOD_MAX);
        if (n == 1)
            snprintf(p->words, sizeof p->words, "%" PRId64 " modulo %" PRId64, low, m);
        else
            snprintf(p->words, sizeof p->words, "%" PRId64 "..%" PRId64 " modulo %" PRId64, low,
                     high, m);
    }
}

/* Elements at a fixed distance, however large. */
static void place_stride(const struct plainseen *s, struct place *p)
{
    int64_t step = 0;
    for (int64_t i = 1; i < s->n && step != 1; i++) {
        int64_t a = s->x[i].index - s->x[0].index;
        for (int64_t rest; step; step = rest)
            rest = a % step, a = step;
        step = a;
    }
    if (step <= PERIOD_MAX || s->n < RULE_MANY || 1.0 / (double)step >= p->part)
        return;
    p->part = 1.0 / (double)step;
    p->bits = (double)s->n * log2((double)step) - 2 * log2((double)s->count);
    snprintf(p->words, sizeof p->words, "%" PRId64 " modulo %" PRId64, s->x[0].index % step,
             step);
}

bool plainrule_place(struct plainseen *s)
{
    char words[96];
    struct place box, period;
    if (!s->rank || s->n < 4 || (!s->all && s->turned) || !place_axes(s, &box))
        return false;
    place_period(s, &period);
    place_stride(s, &period);
    plainseen_words(s, words);
    if (box.bits >= BITS_LEAST && box.part <= PART_MOST && box.part <= 1.5 * period.part) {
        claim_add(s->o, CAUSE_LOCALISED, '=', 1, "all %s lie in %s, %.2g %% of the tensor%s",
                  words, box.words, 100 * box.part, box.tail);
        return true;
    }
    if (period.bits < BITS_LEAST || s->n < RULE_MANY)
        return false;
    claim_add(s->o, CAUSE_LOCALISED, '=', 1,
              "all %s are %s in row-major order, %.2g %% of the tensor", words, period.words,
              100 * period.part);
    return true;
}
