/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose.h"

#include <math.h>

/* Running sums: an element's error is all later elements' error, to the end of the row. A carry
 * that a block handed on and another one missed shows as one constant from a place on. */

struct carry {
    int64_t columns, rows;
    int64_t rows_hit, explained; /* rows with such an end; wrong elements in them */
    int64_t first, at_first;     /* where the first one begins; rows that begin there as well */
    double offset;               /* of the first one */
};

static double error_at(const struct suspect *s, int64_t i)
{
    return (tensor_value(s->t, i) - s->in->oracle->value[i]) - s->in->oracle->tail[i];
}

/* Within what both elements may err. */
static bool same_error(const struct suspect *s, int64_t i, int64_t j)
{
    return fabs(error_at(s, i) - error_at(s, j)) <=
           s->in->oracle->bound[i] + s->in->oracle->bound[j];
}

/* Do the right values move there, so that a constant is no accident? */
static bool moves(const struct suspect *s, int64_t from, int64_t end)
{
    const struct oracle *o = s->in->oracle;
    int64_t n = 0;
    for (int64_t i = from + 1; i < end; i++)
        n += fabs(o->value[i] - o->value[i - 1]) > 2 * (o->bound[i] + o->bound[i - 1]);
    return 2 * n > end - from;
}

/* The row's wrong elements are its end, from `start` on, in steps of constants. */
static void row_look(const struct suspect *s, struct carry *c, int64_t row)
{
    int64_t from = row * c->columns, end = from + c->columns, start = from, steps = 0, bad = 0;
    while (start < end && !s->bad[start])
        start++;
    if (start == from || end - start < 8)
        return;
    for (int64_t i = start; i < end; i++) {
        bad += s->bad[i];
        steps += i > start && !same_error(s, i, i - 1);
    }
    if (bad * 10 < (end - start) * 9 || steps * 32 > end - start || !moves(s, start, end))
        return;
    c->explained += bad;
    if (!c->rows_hit++) {
        c->first = start - from;
        c->offset = error_at(s, start);
    }
    c->at_first += start - from == c->first;
}

/* The same kernel in other orders gave the same bits. */
static bool is_stable(const struct suspect *s)
{
    const struct finding *f = s->in->finding;
    const struct record_case *c = !f ? NULL : s->side == 'A' ? &f->a : &f->b;
    return c && c->repeats > 1 && !c->unstable;
}

void diagnose_carry(struct suspect *s)
{
    struct carry c = {.columns = s->t->rank ? s->t->dim[s->t->rank - 1] : 1};
    c.rows = s->count / c.columns;
    for (int64_t row = s->first / c.columns; row <= s->last / c.columns; row++)
        row_look(s, &c, row);
    if (!c.rows_hit || c.explained * 10 < s->n_bad * 9)
        return;
    /* Every row at the same place is a rule; some rows, or the only one, may be chance. */
    bool rule = is_stable(s) || (c.rows > 1 && c.at_first == c.rows);
    claim_add(
        s->o, rule ? CAUSE_LOCALISED : CAUSE_RACE, s->side, 0.97,
        "%lld of %lld rows are off by one constant from a place to their end, the first by "
        "%.6g from index %lld on: a carry was lost%s",
        (long long)c.rows_hit, (long long)c.rows, c.offset, (long long)c.first,
        rule ? ", in every run" : "; whether each time, --repeat 8 shows");
}
