/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_ANSWER_H
#define GPUPARITY_ANSWER_H

#include "inputs.h"
#include "record.h"

/* The answers to a case's output: what each side gave, and what is right. */

/* One side's outputs, borrowed: in memory, or as record_list_outs gives them. */
struct answer_side {
    const char *path; /* of the record, for messages */
    const struct record_out *out;
    int n_out;
    struct record *record; /* NULL: in memory */
    int run;
    int64_t at; /* of the case */
};

/* One output of both sides and its reference, of which a window is there at a time. */
struct answers {
    const struct case_id *id;
    const struct case_plan *plan;
    const struct case_tensor *want;
    struct inputs *inputs; /* borrowed */
    const char *text;      /* the id, for messages */
    int which, threads;
    bool judged; /* there is a reference */
    struct answer_part {
        const struct answer_side *side;        /* NULL: B of one side alone */
        int out;                               /* place in its list */
        const struct tensor *t;                /* what it gave; the window is there */
        struct tensor own;                     /* where it is read to from a record */
        struct tensor made[CASE_TENSOR_MAX];   /* what its kernels made as reference */
        int made_out[CASE_TENSOR_MAX];         /* its places in the list */
        struct case_span made_loaded[CASE_TENSOR_MAX];
        const struct tensor *input[CASE_TENSOR_MAX]; /* by plan tensor */
        struct tensor_digester *digester;
        int64_t digested;
    } part[2];
    bool recorded; /* kernels made the reference: each side has its own */
    struct oracle right, other;
    struct case_span loaded;
};

/* ERR_FORMAT when an output is missing or has another shape or format, or
 * when a kernel left of its reference something unwritten; ERR_NOMEM. `b` may be NULL. What is
 * borrowed must stay until answers_close. */
enum err answers_open(struct answers *x, const struct case_id *id, const char *text,
                      const struct case_plan *plan, int which, int threads,
                      struct inputs *inputs, const struct answer_side *a,
                      const struct answer_side *b, struct errinfo *e);

/* From now on the elements of the span, and they alone, are there: of both sides, and of the
 * reference (`right`). What of the inputs is there then may be anything. Where kernels make the reference, what B's differs from A's adds to the error
 * and the bound: no side is called wrong by more than the two references agree on. */
enum err answers_load(struct answers *x, struct case_span span, struct errinfo *e);

/* From now on those inputs are there that the elements of the spans depend on; for A, what its
 * kernels made as reference too. */
enum err answers_inputs(struct answers *x, int n, const struct case_span *span, struct errinfo *e);

/* After all elements were loaded once, in order: ERR_FORMAT when their bytes are not those that
 * were recorded. */
enum err answers_check(struct answers *x, struct errinfo *e);

void answers_close(struct answers *x); /* accepts a zeroed struct */

const struct tensor *answers_a(const struct answers *x);
const struct tensor *answers_b(const struct answers *x);     /* NULL: one-sided */
const struct oracle *answers_right(const struct answers *x); /* NULL: not judged */

/* Without a reference: how many elements of the span are further apart than the limits allow. */
int64_t answer_beyond(const struct tensor *a, const struct tensor *b, const struct case_limit *l,
                      struct case_span span);

#endif
