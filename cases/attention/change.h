/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_ATTENTION_CHANGE_H
#define GPUPARITY_CASES_ATTENTION_CHANGE_H

#include "attention.h"

/* In what a model (model.def) differs from the case as it is declared. */
enum change {
#define MODEL(name, cause, right, change) CHANGE_##change,
#include "model.def"
#undef MODEL
    CHANGE_COUNT_
};

/* Applies the change to the case, as far as it is one of parameters; false if the case has none. */
bool attention_change(struct attention *a, enum change change);

#endif
