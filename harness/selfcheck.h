/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_SELFCHECK_H
#define GPUPARITY_SELFCHECK_H

#include <stdio.h>

#include "../backends/backend.h"
#include "record.h"

/* Is the simulated GPU the card? Both have run the same code objects on the same inputs; whatever
 * bit differs is a fault of the simulator (or of the card), never rounding. Which instruction it
 * hangs on is told by counting: a kind of instruction that only cases with differences have is
 * suspect, one that equal cases have too is mostly cleared. */

enum { SELFCHECK_CLASSES_MAX = 256, SELFCHECK_CLASS_NAME = 80 };

struct selfcheck {
    struct record *record; /* borrowed */
    int card, simulated;   /* its runs */
    const struct backend *backend;
    int64_t equal, differ, untested;
    int n_class;
    struct selfcheck_class {
        char name[SELFCHECK_CLASS_NAME];
        int64_t equal, differ; /* cases that have it */
    } class[SELFCHECK_CLASSES_MAX];
};

/* Compares all cases and writes what differs, kind by kind, to `out`; the counts come back. */
enum err selfcheck_report(struct selfcheck *s, FILE *out, struct errinfo *e);

#endif
