/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_DPP_H
#define GPUPARITY_HIP_SIM_DPP_H

#include "exec.h"

/* Data parallel primitives: src0 of a vector instruction comes from another lane. */

/* The lane that lane `lane` reads, or -1 if the pattern names none. */
int dpp_source(const struct inst *i, int lane);

/* Permutes `row`. A lane whose source is absent or disabled gets 0; whether it is written at
 * all says dpp_write_mask. */
void dpp_move(const struct wave *w, const struct inst *i, uint32_t *row);

/* EXEC without lanes that row and bank masks exclude or that have no valid source. */
uint32_t dpp_write_mask(const struct wave *w, const struct inst *i);

#endif
