/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_REPRO_H
#define GPUPARITY_REPRO_H

#include <stdio.h>

#include "finding.h"

/* One case as a program of its own: a single .cu file that nvcc and hipcc build, with the
 * kernel, the inputs as hexadecimal bits and what must come out. It needs nothing of gpuparity.
 * It prints every element that is not as expected and ends with status 1 if there is one. */
struct repro {
    const struct case_id *id;
    const struct case_plan *plan;
    const struct tensor *input; /* by plan tensor; unused where it is an OUT */
    const struct finding *finding;
    const char *note;       /* said instead of the finding's cause; NULL: the cause */
    const char *name[2]; /* of the devices */
    int n_out[2];
    const struct record_out *out[2]; /* what either side gave */
};

/* ERR_USAGE when neither side gave results to expect. */
enum err repro_write(FILE *out, const struct repro *r, struct errinfo *e);

#endif
