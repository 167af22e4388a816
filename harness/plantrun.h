/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_PLANTRUN_H
#define GPUPARITY_PLANTRUN_H

#include <stdio.h>

#include "compare.h"
#include "plant.h"
#include "trial.h"

/* The instrument's test of itself: every row of plant.def goes through the whole pipeline:
 * kernels run, results are judged, a cause is named. */

struct plant_seen {
    const struct plant *plant; /* NULL: no fault */
    bool ran;    /* else `reason` says why not */
    bool caught; /* not called SAME; a defect also fails the run */
    enum verdict verdict;
    enum cause named;  /* CAUSE_COUNT_: none */
    char metric[64];   /* what gave it away: "outside the bound by 1.2e+03" */
    char smallest[64]; /* the weakest step that is still caught; "" for kernels */
    char reason[768];
};

struct plantrun {
    const struct device_choice *device; /* two, settled */
    struct trial trial;
    int threads;
    FILE *out; /* the table, row by row; NULL: none */

    int planted, missed, misnamed, untested;
    int reported;       /* of those planted: as in public reports */
    int clean, accused; /* pairs without a fault; those of which a fault was said */
    int named_as[CAUSE_COUNT_][CAUSE_COUNT_ + 1]; /* planted cause, named cause */
    struct trial_codes codes;                     /* owned */
};

/* Runs one plant. */
enum err plantrun_one(struct plantrun *r, const struct plant *p, struct plant_seen *ret_seen,
                      struct errinfo *e);

/* One case without a fault. Sets ret_accused where it fails the run or a cause of the tier "defect"
 * is named; ret_seen says which. */
enum err plantrun_clean(struct plantrun *r, const char *id, int seed, bool *ret_accused,
                        struct plant_seen *ret_seen, struct errinfo *e);

/* All of them, with a table and the confusion matrix; then those without a fault. */
enum err plantrun_all(struct plantrun *r, struct errinfo *e);

void plantrun_release(struct plantrun *r); /* accepts a zeroed struct */

#endif
