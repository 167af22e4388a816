/* SPDX-License-Identifier: Apache-2.0 */
#include "places.h"

#include <stdlib.h>
#include <string.h>

enum err places_init(struct places *p, int64_t count, int64_t columns, struct errinfo *e)
{
    *p = (struct places){.count = count, .columns = columns > 0 ? columns : 1, .first = -1};
    p->rows = count / p->columns;
    p->last = p->row_first = p->row_last = p->unwritten.first = p->unwritten.last = -1;
    p->by_column = calloc((size_t)p->columns, sizeof *p->by_column);
    return p->by_column ? ERR_OK
                        : err_set(e, ERR_NOMEM, "no memory to count by %lld columns",
                                  (long long)p->columns);
}

void places_release(struct places *p)
{
    free(p->by_column);
    memset(p, 0, sizeof *p);
}

void places_add(struct places *p, int64_t index, bool unwritten)
{
    int64_t row = index / p->columns;
    p->first = p->n++ ? p->first : index;
    p->last = index;
    p->bad_rows += row != p->row_last;
    p->row_first = p->row_first < 0 ? row : p->row_first;
    p->row_last = row;
    p->by_class[row % PLACES_CLASSES]++;
    p->by_column[index % p->columns]++;
    if (!unwritten)
        return;
    p->unwritten.first = p->unwritten.n++ ? p->unwritten.first : index;
    p->unwritten.last = index;
}
