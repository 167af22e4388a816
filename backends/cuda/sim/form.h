/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_FORM_H
#define GPUPARITY_CUDA_SIM_FORM_H

#include "code.h"

/* Decoding: which row of form.def an instruction is. */

enum {
#define FORM(op, words, lower, exec, extra) +1
    FORM_COUNT_ = 0
#include "form.def"
#undef FORM
};

struct lowerer;

/* Lowers l->in; false with the error set. */
typedef bool lower_fn(struct lowerer *l);

struct form {
    const char *op, *words;
    lower_fn *lower;
    enum exec_id exec;
    int extra;
};
extern const struct form forms[FORM_COUNT_];

/* Row number, or -1. `ret_known` says whether the operation exists at all. */
int form_find(const struct ptx_inst *i, bool *ret_known);

/* Why an instruction that PTX has does not run here, from refuse.def; NULL if it is not there. */
const char *form_refusal(const struct ptx_inst *i);

/* Does "[.rn].f32" fit these words? */
bool form_match(const char *pattern, const struct slice *word, int n_word);

#endif
