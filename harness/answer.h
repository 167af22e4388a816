/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_ANSWER_H
#define GPUPARITY_ANSWER_H

#include "case.h"
#include "record.h"

/* The answers to a case's output: what each side gave, and what is right. */

/* One side's outputs, borrowed. */
struct answer_side {
    const char *path; /* of the record, for messages */
    const struct record_out *out;
    int n_out;
};

/* The side's tensor for `want`. ERR_FORMAT when it is missing, or has another shape or format. */
enum err answer_given(const struct answer_side *side, const char *id,
                      const struct case_tensor *want, const struct tensor **ret_tensor,
                      struct errinfo *e);

/* The reference of output `which`, zeroed when there is none. `input` is by plan tensor; where
 * kernels make the reference (case_tensor.reference) A's takes its place there, and what B's
 * differs from it adds to the error and the bound: no side is called wrong by more than the two
 * references agree on. `b` may be NULL. `text` is the id for messages. */
enum err answer_right(const struct case_id *id, const char *text, const struct case_plan *plan,
                      const struct answer_side *a, const struct answer_side *b, int which,
                      int threads, const struct tensor **input, struct oracle *ret_oracle,
                      struct errinfo *e);

/* Without a reference: how many elements are further apart than the limits allow; -1 without
 * limits. `b` NULL: 0. */
int64_t answer_beyond(const struct tensor *a, const struct tensor *b, const struct case_limit *l);

#endif
