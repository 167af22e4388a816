/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose.h"

#include <math.h>
#include <stdlib.h>

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

static bool is_boundary(int64_t x)
{
    return x >= 4096 && !(x & (x - 1));
}

/* Wrong from a power-of-two element or row on, right before it. */
static bool claim_overflow(struct suspect *s, const struct map *m)
{
    int64_t after = s->count - s->first;
    if (s->n_bad < after * 9 / 10 || s->first == 0)
        return false;
    int64_t row = s->first / m->columns;
    bool by_row = s->first % m->columns == 0 && is_boundary(row);
    if (!by_row && !is_boundary(s->first))
        return false;
    claim_add(s->o, CAUSE_OVERFLOW, s->side, 1,
              "right up to %s %lld = 2^%d, wrong from there on (%lld of %lld elements)",
              by_row ? "row" : "element", (long long)(by_row ? row : s->first),
              63 - __builtin_clzll((unsigned long long)(by_row ? row : s->first)),
              (long long)s->n_bad, (long long)after);
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
              "%lld wrong elements lie in %ss %lld, %lld, %lld, ...: every %lldth; the rest is "
              "right",
              (long long)s->n_bad, c ? "column" : "row",
              (long long)(c ? class_column : class_row),
              (long long)(c ? class_column + column : class_row + row),
              (long long)(c ? class_column + 2 * column : class_row + 2 * row),
              (long long)(c ? column : row));
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
              "the wrong elements fill rows %lld..%lld, columns %lld..%lld of %lld x %lld; all "
              "others are right",
              (long long)m->row_first, (long long)m->row_last, (long long)m->column_first,
              (long long)m->column_last, (long long)m->rows, (long long)m->columns);
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
            "%lld of %lld elements are wrong, scattered over %lld rows and %lld columns; the "
            "others are right",
            (long long)s->n_bad, (long long)s->count, (long long)m.bad_rows,
            (long long)m.bad_columns);
    map_release(&m);
}

/* --- right values in the wrong place ---------------------------------------------------------
 */

static bool fits_at(const struct suspect *s, int64_t element, int64_t other)
{
    const struct oracle *o = s->in->oracle;
    double got = tensor_value(s->t, element);
    double bound = fmax(o->bound[element], o->bound[other]);
    return fabs((got - o->value[other]) - o->tail[other]) <= bound;
}

/* Where element (i, j) would have come from. */
enum move { MOVE_TRANSPOSED, MOVE_ROW, MOVE_COLUMN, MOVE_TILE, MOVE_COUNT };

static int64_t moved(enum move move, int64_t i, int64_t j, int64_t rows, int64_t columns)
{
    switch (move) {
    case MOVE_TRANSPOSED:
        return rows == columns ? j * columns + i : (j * rows + i) % (rows * columns);
    case MOVE_ROW:
        return (i + 1) % rows * columns + j;
    case MOVE_COLUMN:
        return i * columns + (j + 1) % columns;
    default:
        return i % 16 * columns + j % 16;
    }
}

void diagnose_moved(struct suspect *s)
{
    static const char *const words[] = {"the transposed place", "the next row",
                                        "the next column", "the first 16 x 16 tile"};
    if (s->t->rank != 2 || s->n_bad < 4 || suspect_neighbours(s))
        return;
    int64_t rows = s->t->dim[0], columns = s->t->dim[1];
    for (int m = 0; m < MOVE_COUNT; m++) {
        int64_t hits = 0;
        for (int64_t i = s->first; i <= s->last; i++)
            hits += s->bad[i] &&
                    fits_at(s, i, moved((enum move)m, i / columns, i % columns, rows, columns));
        if (hits * 10 < s->n_bad * 9)
            continue;
        claim_add(s->o, m == MOVE_TILE ? CAUSE_LOCALISED : CAUSE_MASK, s->side,
                  (double)hits / (double)s->n_bad,
                  "%lld of %lld wrong elements are what %s should hold", (long long)hits,
                  (long long)s->n_bad, words[m]);
        return;
    }
}
