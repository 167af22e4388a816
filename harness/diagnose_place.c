/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose.h"

#include <math.h>

#include "poison.h"

/* Evidence in where the wrong elements are: of an excerpt, from what was counted over all of
 * the output. */

struct map {
    const struct places *p;
    struct places own;
};

static bool map_init(struct map *m, const struct suspect *s)
{
    int64_t columns = s->t->rank ? s->t->dim[s->t->rank - 1] : 1;
    *m = (struct map){.p = s->in->places[s->side != 'A']};
    if (!s->in->place) {
        if (places_init(&m->own, s->count, columns, NULL))
            return false;
        for (int64_t i = s->first; i <= s->last; i++)
            if (s->bad[i])
                places_add(&m->own, i, suspect_unwritten(s, i));
        m->p = &m->own;
    }
    return m->p != NULL;
}

static void map_release(struct map *m)
{
    places_release(&m->own);
}

/* Could a limit of indices lie at `start`, with `after` lines from there on? Limits of 2^12 and
 * more are nobody's tile; smaller ones are told from a remainder by being followed by more
 * lines than a tile has (the numbers are choices). */
static bool is_limit(int64_t start, int64_t after)
{
    bool power = start > 0 && !(start & (start - 1));
    return power && (start >= 4096 || (start >= 256 && after > 256));
}

static int log2_of(int64_t x)
{
    return 63 - __builtin_clzll((unsigned long long)x);
}

/* Wrong from a power-of-two element or row on, right before it. */
static bool claim_overflow(struct suspect *s, const struct places *p)
{
    int64_t after = p->count - p->first;
    if (p->n < after * 9 / 10 || p->first == 0)
        return false;
    int64_t row = p->first / p->columns;
    bool by_row = p->first % p->columns == 0 && is_limit(row, p->rows - row);
    if (!by_row && !is_limit(p->first, after))
        return false;
    claim_add(s->o, CAUSE_OVERFLOW, s->side, 1,
              "%s up to %s %lld = 2^%d, %s from there on (%lld of %lld elements)", s->words[1],
              by_row ? "row" : "element", (long long)(by_row ? row : p->first),
              log2_of(by_row ? row : p->first), s->words[0], (long long)p->n, (long long)after);
    return true;
}

/* A stretch of neighbouring lines that comes back: `width` of every `every`, from `first` on.
 */
struct period {
    int64_t every, width, first;
};

/* Bad elements in lines first, first + 1, ... of every p, in one turn. */
static int64_t in_stretch(const int64_t *in_class, int64_t p, int64_t first, int64_t width)
{
    int64_t sum = 0;
    for (int64_t c = first; c < first + width; c++)
        sum += in_class[c % p];
    return sum;
}

/* The narrowest stretch, of the longest period, that holds nine in ten of the bad elements; at
 * most half of a period, and a quarter of it bad or more. Two dozen elements do not lie so by
 * chance. */
static bool find_period(const int64_t by[PLACES_CLASSES], int64_t lines, const struct places *m,
                        struct period *ret)
{
    for (int64_t p = 64; p >= 2 && lines > 0; p /= 2) {
        int64_t in_class[PLACES_CLASSES] = {0};
        if (lines < 2 * p)
            continue;
        for (int64_t i = 0; i < PLACES_CLASSES; i++)
            in_class[i % p] += by[i];
        for (int64_t width = 1; width <= p / 2; width++)
            for (int64_t first = 0; first < p; first++)
                if (in_stretch(in_class, p, first, width) * 10 >= m->n * 9 &&
                    (width == 1 || (m->n >= 24 && m->n * 4 * p >= m->count * width))) {
                    *ret = (struct period){p, width, first};
                    return true;
                }
    }
    return false;
}

static bool claim_period(struct suspect *s, const struct places *p)
{
    struct period at;
    bool column = p->column.bad > 1 && find_period(p->column.by_class, p->columns, p, &at);
    bool row = !column && p->row.bad > 1 && find_period(p->row.by_class, p->rows, p, &at);
    const char *line = column ? "column" : "row";
    if (!column && !row)
        return false;
    if (at.width == 1)
        claim_add(
            s->o, CAUSE_LOCALISED, s->side, 0.9,
            "%lld %s elements lie in %ss %lld, %lld, %lld, ...: every %lldth; the rest is "
            "%s",
            (long long)p->n, s->words[0], line, (long long)at.first,
            (long long)(at.first + at.every), (long long)(at.first + 2 * at.every),
            (long long)at.every, s->words[1]);
    else
        claim_add(
            s->o, CAUSE_LOCALISED, s->side, 0.9,
            "%lld %s elements lie in %ss %lld to %lld of every %lld (modulo %lld); the rest "
            "is %s",
            (long long)p->n, s->words[0], line, (long long)at.first,
            (long long)((at.first + at.width - 1) % at.every), (long long)at.every,
            (long long)at.every, s->words[1]);
    return true;
}

/* Elements outside of the box that chance would leave out: were the bad ones scattered over the
 * whole, it would be (1 - n/count) to the power of `outside`. */
static bool by_chance(const struct places *p, int64_t outside)
{
    double density = (double)p->n / (double)p->count;
    return (double)outside * log1p(-density) > log(1e-6);
}

static bool claim_box(struct suspect *s, const struct places *p)
{
    int64_t height = p->row.last - p->row.first + 1,
            width = p->column.last - p->column.first + 1;
    if (p->n * 4 < height * width || by_chance(p, p->count - height * width))
        return false;
    claim_add(s->o, CAUSE_LOCALISED, s->side, 0.9,
              "the %s elements %s rows %lld..%lld, columns %lld..%lld of %lld x %lld; all "
              "others are %s",
              s->words[0], p->n * 10 >= height * width * 9 ? "fill" : "lie in",
              (long long)p->row.first, (long long)p->row.last, (long long)p->column.first,
              (long long)p->column.last, (long long)p->rows, (long long)p->columns,
              s->words[1]);
    return true;
}

void diagnose_places(struct suspect *s)
{
    struct map m;
    if (!map_init(&m, s))
        return;
    const struct places *p = m.p;
    if (p->n && p->n * 20 <= p->count * 19 && !claim_overflow(s, p) && !claim_box(s, p) &&
        !claim_period(s, p) && p->n * 8 < p->count)
        claim_add(
            s->o, CAUSE_LOCALISED, s->side, 0.6,
            "%lld of %lld elements are %s, scattered over %lld rows and %lld columns; the "
            "others are %s",
            (long long)p->n, (long long)p->count, s->words[0], (long long)p->row.bad,
            (long long)p->column.bad, s->words[1]);
    map_release(&m);
}

/* --- elements that nobody wrote --------------------------------------------------------------
 */

/* The end of the tensor is missing: from a limit on, or so many elements as a counter of k bits
 * does not see (the count modulo 2^k was done). */
static bool claim_unwritten_end(struct suspect *s, const struct places *p)
{
    int64_t first = p->unwritten.first, n = p->unwritten.n, columns = p->columns;
    bool limit = is_limit(first, n) ||
                 (first % columns == 0 && is_limit(first / columns, p->rows - first / columns));
    int64_t power = n & -n;
    if (limit)
        claim_add(s->o, CAUSE_OVERFLOW, s->side, (double)n / (double)p->n,
                  "every element from index %lld on, a power of two in elements or rows, was "
                  "never written",
                  (long long)first);
    else if (power >= 4096 && p->count % 256 && first < power)
        claim_add(s->o, CAUSE_OVERFLOW, s->side, (double)n / (double)p->n,
                  "only %lld elements were written, which is %lld modulo 2^%d: the count lost "
                  "its high bits",
                  (long long)first, (long long)p->count, log2_of(power));
    return limit || (power >= 4096 && p->count % 256 && first < power);
}

void diagnose_unwritten(struct suspect *s)
{
    struct map m;
    /* One byte can be the pattern by chance; stats knows better. */
    const struct side_stats *side = s->side == 'A' ? &s->o->stats.a : &s->o->stats.b;
    if (!side->unwritten || !map_init(&m, s))
        return;
    const struct places *p = m.p;
    bool end = p->unwritten.first + p->unwritten.n == p->count;
    if (p->unwritten.n && !(end && claim_unwritten_end(s, p)))
        claim_add(s->o, CAUSE_LOCALISED, s->side, (double)p->unwritten.n / (double)p->n,
                  "%lld of %lld elements were never written, first at index %lld, last at %lld",
                  (long long)p->unwritten.n, (long long)p->count, (long long)p->unwritten.first,
                  (long long)p->unwritten.last);
    map_release(&m);
}

bool suspect_unwritten(const struct suspect *s, int64_t i)
{
    const struct side_stats *side = s->side == 'A' ? &s->o->stats.a : &s->o->stats.b;
    return side->unwritten && s->bad[i] && tensor_bits(s->t, i) == poison_bits(s->t->dtype);
}
