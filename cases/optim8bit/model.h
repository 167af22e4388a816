/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_OPTIM8BIT_MODEL_H
#define GPUPARITY_CASES_OPTIM8BIT_MODEL_H

#include "walk.h"

/* Ways of computing, for diagnose: model.def. */
enum way {
    WAY_PLAIN,
    WAY_DIVIDE,
    WAY_LOW,
    WAY_HIGH,
    WAY_TIE_UP,
    WAY_TIE_DOWN,
    WAY_CUT,
    WAY_ABOVE,
    WAY_TABLE,
    WAY_HALF,
    WAY_DOUBLE,
    WAY_SWAP,
    WAY_SIGNED,
    WAY_LINEAR,
    WAY_LONG,
    WAY_NIBBLES,
    WAY_ROUNDED,
    WAY_FUSED,
    WAY_UNFUSED,
    WAY_SCALES,
    WAY_BOOK2,
    WAY_NO_SIGN,
    WAY_NO_BIAS,
    WAY_DECAY_FIRST,
    WAY_NO_DECAY,
    WAY_UNCLIPPED,
    WAY_WRAPPED,
    WAY_NEXT_ROW,
    WAY_NEXT_COLUMN,
    WAY_LAST_ROW,
    WAY_POWER,
    WAY_LANES,
    WAY_LANES_FUSED,
    WAY_WIDE,
    WAY_LOST
};

/* family.models, family.model */
extern const struct case_model optim8bit_models[];
bool optim8bit_model(const struct case_id *id, const struct case_plan *plan,
                     const struct tensor *const *input, int which, int model, int64_t n,
                     const int64_t *index, uint64_t *ret_bits);

/* The same for a way of optimizer steps. */
bool step_model(const struct case_id *id, const struct case_plan *plan,
                const struct tensor *const *input, int which, enum way way, int64_t n,
                const int64_t *index, uint64_t *ret_bits);

/* Of LLM.int8 and the 4-bit GEMV. */
bool int8_model(const struct case_id *id, const struct case_plan *plan,
                const struct tensor *const *input, int which, enum way way, int64_t n,
                const int64_t *index, uint64_t *ret_bits);
bool gemv4_model(const struct case_id *id, const struct tensor *const *input, enum way way,
                 int64_t n, const int64_t *index, uint64_t *ret_bits);

#endif
