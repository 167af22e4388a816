/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_EXCERPT_H
#define GPUPARITY_EXCERPT_H

#include "answer.h"

/* Of an output of more than CASE_WINDOW elements, what diagnose looks at: parts of whole rows (or
 * of a row, where one is longer than a part), put behind one another as a tensor of fewer rows. A
 * part each is around the elements that somebody asks for, and the others are spread evenly from the
 * beginning to the end. */

enum { EXCERPT_PARTS = 16, EXCERPT_ASKED = 4 };

struct excerpt {
    struct tensor a, b; /* b is empty when one-sided */
    struct oracle right; /* no values without a reference */
    struct tensor input[CASE_TENSOR_MAX]; /* of those that lie beside the output, the same elements;
                                             else empty */
    const struct tensor *beside[CASE_TENSOR_MAX]; /* what there is of the inputs: those, and the
                                                     ones that are there whole; NULL: neither */
    int64_t *place;     /* owned: of each element, its index in the output */
    int n;
    struct case_span part[EXCERPT_PARTS]; /* ascending, apart */
};

/* `asked`: elements, or -1. Afterwards the inputs that these parts depend on are there in `x`.
 * ERR_NOMEM, and what reading says. */
enum err excerpt_make(struct answers *x, const int64_t asked[EXCERPT_ASKED],
                      struct excerpt *ret_excerpt, struct errinfo *e);
void excerpt_release(struct excerpt *p); /* accepts a zeroed struct */

#endif
