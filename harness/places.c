/* SPDX-License-Identifier: Apache-2.0 */
#include "places.h"

#include <stdlib.h>
#include <string.h>

enum err places_init(struct places *p, int64_t count, int64_t columns, struct errinfo *e)
{
    *p = (struct places){.count = count, .columns = columns > 0 ? columns : 1, .first = -1};
    p->rows = count / p->columns;
    p->last = p->unwritten.first = p->unwritten.last = -1;
    p->row.first = p->row.last = p->column.first = p->column.last = -1;
    if (p->columns > PLACES_COLUMNS)
        return ERR_OK;
    p->met = calloc((size_t)p->columns, sizeof *p->met);
    return p->met ? ERR_OK
                  : err_set(e, ERR_NOMEM, "no memory to count by %lld columns",
                            (long long)p->columns);
}

void places_release(struct places *p)
{
    free(p->met);
    memset(p, 0, sizeof *p);
}

void places_add(struct places *p, int64_t index, bool unwritten)
{
    int64_t row = index / p->columns, column = index % p->columns;
    p->first = p->n++ ? p->first : index;
    p->last = index;
    p->row.bad += row != p->row.last;
    p->row.first = p->row.first < 0 ? row : p->row.first;
    p->row.last = row;
    p->row.by_class[row % PLACES_CLASSES]++;
    p->column.bad += p->met ? !p->met[column] : p->column.bad < p->columns;
    p->column.first = p->column.first < 0 || column < p->column.first ? column : p->column.first;
    p->column.last = column > p->column.last ? column : p->column.last;
    p->column.by_class[column % PLACES_CLASSES]++;
    if (p->met)
        p->met[column] = true;
    if (!unwritten)
        return;
    p->unwritten.first = p->unwritten.n++ ? p->unwritten.first : index;
    p->unwritten.last = index;
}
