/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_PLACES_H
#define GPUPARITY_PLACES_H

#include <stdbool.h>

#include "case.h"

/* Where in an output some elements are: wrong ones, say. The output counts as rows x columns,
 * columns being its last dimension. Counted in order, in 1 MiB at most. */

enum { PLACES_CLASSES = 64, PLACES_COLUMNS = 1 << 20 };

struct places {
    int64_t count, rows, columns; /* of the output */
    int64_t n, first, last;       /* of the elements; -1: none */
    struct {
        int64_t bad; /* lines that hold one; of more than PLACES_COLUMNS columns at most so many */
        int64_t first, last;
        int64_t by_class[PLACES_CLASSES]; /* elements by the line's number modulo 64 */
    } row, column;
    bool *met; /* owned: columns that hold one; NULL: there are more than PLACES_COLUMNS */
    struct {
        int64_t n, first, last;
    } unwritten; /* those of them that were never written */
};

/* ERR_NOMEM. */
enum err places_init(struct places *p, int64_t count, int64_t columns, struct errinfo *e);
void places_release(struct places *p); /* accepts a zeroed struct */

/* Indices ascend. */
void places_add(struct places *p, int64_t index, bool unwritten);

#endif
