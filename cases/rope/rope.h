/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_ROPE_H
#define GPUPARITY_CASES_ROPE_H

#include "../../harness/case.h"
#include "../roundoff.h"
#include "../wide.h"

/* Private to the family.
 *
 *   rope.c   parameters, plan, positions and frequencies, oracle
 *   bound.c  the reference of a turned pair and how far a device may be off
 *   model.c  ways in which a device may really compute */

/* A case, decoded. */
struct rope {
    bool neox;
    enum dtype dtype;
    int64_t tokens, heads, d;
    struct case_mode mode;
};

void rope_decode(const struct case_id *id, struct rope *ret_rope);

enum { ROPE_X, ROPE_POSITION, ROPE_FREQUENCY, ROPE_Y };

/* Where pair i of row `row` (token and head) lies in x and y. */
struct rope_pair {
    int64_t first, second;
};

struct rope_pair rope_place(const struct rope *r, int64_t row, int64_t i);

/* The angle as the family defines it: the product rounded to f32. */
float rope_angle(int64_t position, double frequency);

/* The sine and cosine of an angle, as wide numbers with their absolute errors. */
struct rope_turn {
    struct wide sine, cosine;
    double sine_error, cosine_error;
};

struct rope_turn rope_turn_make(float angle);

/* a cos - b sin; for the second of a pair: (b, -a). */
struct element rope_output(const struct rope *r, const struct rope_turn *t, double a, double b);

/* --- model.c ---------------------------------------------------------------------------------
 */

extern const struct case_model rope_models[]; /* ends with a NULL name */

bool rope_model(const struct case_id *id, const struct case_plan *plan,
                const struct tensor *const *input, int which, int model, int64_t n,
                const int64_t *index, uint64_t *ret_bits);

#endif
