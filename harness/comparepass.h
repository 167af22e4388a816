/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_COMPAREPASS_H
#define GPUPARITY_COMPAREPASS_H

#include "answer.h"
#include "finding.h"
#include "gap.h"
#include "limit.h"
#include "places.h"

/* The one pass over an output, window by window: all that is counted. */

struct comparepass {
    const struct limits *limits; /* NULL or none: no gap is measured */
    bool charts;
    uint64_t poison;
    struct gap gap; /* of the whole output, where there are limits and two sides */
    struct places places[2]; /* of an output of more than CASE_WINDOW elements: where A and B are
                                wrong; without a reference, where B differs from A */
};

/* Fills o->stats, o->beyond, o->drift and o->charts, p->gap and p->places. ERR_FORMAT for a damaged output. */
enum err comparepass_run(struct comparepass *p, struct answers *x, struct finding_out *o,
                         struct errinfo *e);
void comparepass_release(struct comparepass *p);

#endif
