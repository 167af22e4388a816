/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_MINIMIZE_H
#define GPUPARITY_MINIMIZE_H

#include "compare.h"
#include "explainplace.h"
#include "trial.h"

/* The smallest case that still fails, or differs, in the same way: same verdict, same primary
 * cause, same side, same kind of evidence (likeness.h). First the shape (every whole-number
 * parameter), then the distribution, then the values of the inputs, which no id says any more.
 *
 * DISTINGUISHABLE is about many elements. When its shape is as small as it gets, what is kept
 * from there on is that both sides are right and part in the same kind of operation, which two
 * simulated devices tell (explainplace.h), or else that their bits differ. */

enum minimize_keep { MINIMIZE_FINDING, MINIMIZE_OPERATION, MINIMIZE_BITS };

struct minimize {
    const struct device_choice *device; /* two, settled */
    struct trial trial;
    int threads;
    int limit; /* how often the pair may be run; 0: 600 */

    struct case_id id; /* the start; then the smallest */
    struct case_plan plan;
    struct tensor input[CASE_TENSOR_MAX]; /* owned; made at the end, zeroed where an OUT is */
    bool changed_values;                  /* input is not what the id makes */
    struct worker_result result[2];       /* owned: of the smallest */
    struct finding finding;               /* owned: of the smallest */
    enum minimize_keep keep;
    enum diverge_kind operation; /* MINIMIZE_OPERATION */
    struct {                     /* not MINIMIZE_FINDING: the smallest that has the verdict */
        char id[CASEID_TEXT_MAX];
        enum verdict verdict;
        char reason[768], cause[400];
    } many;
    char name[2][32];                     /* of the devices */
    int64_t start_elements, elements;     /* of all inputs and outputs */
    int64_t nonzero;                      /* input elements that are not zero */
    int runs;
    struct trial_codes codes; /* owned */
};

/* `m` has device, trial, threads, limit and id; the rest is filled. Where the sides agree there
 * is nothing to shrink: the finding says SAME. A case that could not run keeps UNTESTED, and one
 * that does not build is left as it is. */
enum err minimize_search(struct minimize *m, struct errinfo *e);
void minimize_release(struct minimize *m); /* accepts a zeroed struct */

#endif
