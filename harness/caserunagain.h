/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASERUNAGAIN_H
#define GPUPARITY_CASERUNAGAIN_H

#include "caselibrary.h"
#include "caserun.h"

/* Private to caserun: a case under way, and what is learnt by running it again. */

/* A tensor on the device, between two guards. */
struct caserun_buffer {
    uint64_t base;    /* of the first guard */
    uint64_t address; /* of the tensor */
    size_t size;      /* of the tensor */
};

struct caserun {
    const struct caserun_place *place;
    const struct case_id *id;
    struct case_plan plan;
    struct tensor tensor[CASE_TENSOR_MAX]; /* owned; what the device starts with */
    struct caserun_buffer buffer[CASE_TENSOR_MAX];
    struct caserun_result *result;
    struct caselibrary library; /* of a case file that has one */
    unsigned char guard;        /* what lies around tensors, in every byte */
};

/* Ends the case with that status; returns false. */
bool caserun_fail(struct caserun *r, enum record_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Says what is being done, should this process die. */
void caserun_phase(struct caserun *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What the device starts with as tensor i; outputs hold the poison, or another pattern. */
enum err caserun_make(struct caserun *r, int i, bool other_poison, struct errinfo *e);

/* Memory, launches, results: once. */
bool caserun_on_device(struct caserun *r);

/* Counts the elements of the outputs that hold the poison. In a format of one byte that is only
 * a suspicion, for which the case runs again on another poison. */
bool caserun_unwritten(struct caserun *r, int64_t *ret_count);

/* Runs the case place->repeats - 1 times more and compares: c.unstable, c.stale and the noise.
 * The results given stay those of the first run. */
bool caserun_repeat(struct caserun *r);

#endif
