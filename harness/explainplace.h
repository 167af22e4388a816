/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_EXPLAINPLACE_H
#define GPUPARITY_EXPLAINPLACE_H

#include "diverge.h"
#include "explain.h"

/* Where the unchanged sides part, operation by operation: of one element that differs. */
struct explain_place {
    bool found;
    bool stored[EXPLAIN_SIDES]; /* a thread that stores the element was seen */
    bool unwritten;             /* where it is not: the memory is as it was before the case ran */
    char reason[400];           /* why not found */
    const struct finding_out *out;
    int64_t element;
    struct optrace trace[EXPLAIN_SIDES]; /* owned */
    struct diverge diverge;              /* points into the traces */
};

/* After explain_search, where both devices are simulated. */
enum err explain_place(struct explain *x, struct explain_place *ret_place, struct errinfo *e);
void explain_place_release(struct explain_place *p); /* accepts a zeroed struct */

#endif
