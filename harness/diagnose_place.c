/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose.h"

#include <math.h>
#include <stdlib.h>

#include "poison.h"

/* Evidence in where the wrong elements are. A tensor counts as rows x columns, columns being
 * its last dimension. */

struct map {
    int64_t rows, columns;
    int64_t bad_rows, bad_columns; /* lines with a bad element */
    int64_t row_first, row_last, column_first, column_last;
    int64_t *by_row, *by_column; /* owned: bad elements a line */
};

static bool map_init(struct map *m, const struct suspect *s)
{
    *m = (struct map){.row_first = -1, .column_first = -1};
    m->columns = s->t->rank ? s->t->dim[s->t->rank - 1] : 1;
    m->rows = s->count / m->columns;
    m->by_row = calloc((size_t)m->rows + 1, sizeof *m->by_row);
    m->by_column = calloc((size_t)m->columns + 1, sizeof *m->by_column);
    if (!m->by_row || !m->by_column)
        return false;
    for (int64_t i = s->first; i <= s->last; i++)
        if (s->bad[i]) {
            m->by_row[i / m->columns]++;
            m->by_column[i % m->columns]++;
        }
    return true;
}

static void map_release(struct map *m)
{
    free(m->by_row);
    free(m->by_column);
}

static int64_t count_lines(const int64_t *by, int64_t n, int64_t *ret_first, int64_t *ret_last)
{
    int64_t lines = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!by[i])
            continue;
        *ret_last = i;
        if (!lines++)
            *ret_first = i;
    }
    return lines;
}

/* Could a limit of indices lie at `start`, with `after` lines from there on? Limits of 2^12 and more
 * are nobody's tile; smaller ones are told from a remainder by being followed by more lines than
 * a tile has (the numbers are choices). */
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
static bool claim_overflow(struct suspect *s, const struct map *m)
{
    int64_t after = s->count - s->first;
    if (s->n_bad < after * 9 / 10 || s->first == 0)
        return false;
    int64_t row = s->first / m->columns;
    bool by_row = s->first % m->columns == 0 && is_limit(row, m->rows - row);
    if (!by_row && !is_limit(s->first, after))
        return false;
    claim_add(s->o, CAUSE_OVERFLOW, s->side, 1,
              "%s up to %s %lld = 2^%d, %s from there on (%lld of %lld elements)", s->words[1],
              by_row ? "row" : "element", (long long)(by_row ? row : s->first),
              log2_of(by_row ? row : s->first), s->words[0], (long long)s->n_bad, (long long)after);
    return true;
}

/* A period p such that bad elements lie in few of the p classes of a line number. */
static int64_t find_period(const int64_t *by, int64_t n, int64_t n_bad, int64_t *ret_class)
{
    static const int64_t periods[] = {64, 32, 16, 8, 4, 2};
    for (size_t x = 0; x < sizeof periods / sizeof *periods; x++) {
        int64_t p = periods[x], in_class[64] = {0}, best = 0;
        if (n < 2 * p)
            continue;
        for (int64_t i = 0; i < n; i++)
            in_class[i % p] += by[i];
        for (int64_t c = 1; c < p; c++)
            best = in_class[c] > in_class[best] ? c : best;
        *ret_class = best;
        if (in_class[best] * 10 >= n_bad * 9)
            return p;
    }
    return 0;
}

static bool claim_period(struct suspect *s, const struct map *m)
{
    int64_t class_row = 0, class_column = 0;
    int64_t column =
        m->bad_columns > 1 ? find_period(m->by_column, m->columns, s->n_bad, &class_column) : 0;
    int64_t row = m->bad_rows > 1 ? find_period(m->by_row, m->rows, s->n_bad, &class_row) : 0;
    if (!column && !row)
        return false;
    bool c = column != 0;
    claim_add(s->o, CAUSE_LOCALISED, s->side, 0.9,
              "%lld %s elements lie in %ss %lld, %lld, %lld, ...: every %lldth; the rest is %s",
              (long long)s->n_bad, s->words[0], c ? "column" : "row",
              (long long)(c ? class_column : class_row),
              (long long)(c ? class_column + column : class_row + row),
              (long long)(c ? class_column + 2 * column : class_row + 2 * row),
              (long long)(c ? column : row), s->words[1]);
    return true;
}

static bool claim_box(struct suspect *s, const struct map *m)
{
    int64_t height = m->row_last - m->row_first + 1,
            width = m->column_last - m->column_first + 1;
    bool part = height < m->rows || width < m->columns;
    if (!part || s->n_bad * 4 < height * width)
        return false;
    claim_add(s->o, CAUSE_LOCALISED, s->side, 0.9,
              "the %s elements fill rows %lld..%lld, columns %lld..%lld of %lld x %lld; all "
              "others are %s",
              s->words[0],
              (long long)m->row_first, (long long)m->row_last, (long long)m->column_first,
              (long long)m->column_last, (long long)m->rows, (long long)m->columns, s->words[1]);
    return true;
}

void diagnose_places(struct suspect *s)
{
    struct map m;
    if (s->n_bad * 20 > s->count * 19 || !map_init(&m, s)) {
        return;
    }
    m.bad_rows = count_lines(m.by_row, m.rows, &m.row_first, &m.row_last);
    m.bad_columns = count_lines(m.by_column, m.columns, &m.column_first, &m.column_last);
    if (!claim_overflow(s, &m) && !claim_box(s, &m) && !claim_period(s, &m) &&
        s->n_bad * 2 < s->count)
        claim_add(
            s->o, CAUSE_LOCALISED, s->side, 0.6,
            "%lld of %lld elements are %s, scattered over %lld rows and %lld columns; the "
            "others are %s",
            (long long)s->n_bad, (long long)s->count, s->words[0], (long long)m.bad_rows,
            (long long)m.bad_columns, s->words[1]);
    map_release(&m);
}

/* --- elements that nobody wrote --------------------------------------------------------------
 */

/* The end of the tensor is missing: from a limit on, or so many elements as a counter of k bits
 * does not see (the count modulo 2^k was done). */
static bool claim_unwritten_end(struct suspect *s, int64_t first, int64_t n)
{
    int64_t columns = s->t->rank ? s->t->dim[s->t->rank - 1] : 1, rows = s->count / columns;
    bool limit = is_limit(first, n) ||
                 (first % columns == 0 && is_limit(first / columns, rows - first / columns));
    int64_t power = n & -n;
    if (limit)
        claim_add(s->o, CAUSE_OVERFLOW, s->side, (double)n / (double)s->n_bad,
                  "every element from index %lld on, a power of two in elements or rows, was "
                  "never written",
                  (long long)first);
    else if (power >= 4096 && s->count % 256 && first < power)
        claim_add(s->o, CAUSE_OVERFLOW, s->side, (double)n / (double)s->n_bad,
                  "only %lld elements were written, which is %lld modulo 2^%d: the count lost "
                  "its high bits",
                  (long long)first, (long long)s->count, log2_of(power));
    return limit || (power >= 4096 && s->count % 256 && first < power);
}

void diagnose_unwritten(struct suspect *s)
{
    int64_t n = 0, first = -1, last = -1;
    /* One byte can be the pattern by chance; stats knows better. */
    const struct side_stats *side = s->side == 'A' ? &s->o->stats.a : &s->o->stats.b;
    if (!side->unwritten)
        return;
    for (int64_t i = 0; i < s->count; i++) {
        if (!suspect_unwritten(s, i))
            continue;
        last = i;
        first = n++ ? first : i;
    }
    if (!n || (first + n == s->count && claim_unwritten_end(s, first, n)))
        return;
    claim_add(s->o, CAUSE_LOCALISED, s->side, (double)n / (double)s->n_bad,
              "%lld of %lld elements were never written, first at index %lld, last at %lld",
              (long long)n, (long long)s->count, (long long)first, (long long)last);
}

bool suspect_unwritten(const struct suspect *s, int64_t i)
{
    const struct side_stats *side = s->side == 'A' ? &s->o->stats.a : &s->o->stats.b;
    return side->unwritten && s->bad[i] &&
           tensor_bits(s->t, i) == poison_bits(s->t->dtype);
}
