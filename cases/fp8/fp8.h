/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_FP8_H
#define GPUPARITY_CASES_FP8_H

#include "../../harness/case.h"
#include "../roundoff.h"

/* Private to the family.
 *
 *   fp8.c    parameters, plan, inputs, oracle
 *   bound.c  scales and codes and what of them is free
 *   model.c  ways in which a device may really compute */

enum fp8_group { FP8_TENSOR, FP8_TOKEN, FP8_BLOCK };

/* A case, decoded. x is [rows][d]; a group is everything, a row, or `width` elements of one. */
struct fp8 {
    bool back; /* dequantizes */
    bool cast; /* no scale */
    enum dtype dtype, to;
    enum fp8_group group;
    int64_t rows, d, width;
    struct case_mode mode;
};

void fp8_decode(const struct case_id *id, struct fp8 *ret_fp8);

/* Places of the tensors in the plan. */
enum { FP8_X, FP8_CODE, FP8_SCALE }; /* quantize; cast: no scale */
enum { FP8_CODE_IN, FP8_SCALE_IN, FP8_Y };

/* Groups, and where they lie: as if x were lines of `length` elements, each cut into groups. */
int64_t fp8_length(const struct fp8 *f);
int64_t fp8_width(const struct fp8 *f);
int64_t fp8_groups(const struct fp8 *f);
int64_t fp8_group_of(const struct fp8 *f, int64_t i); /* of element i */

/* --- bound.c ---------------------------------------------------------------------------------
 */

/* Scale of a group whose absmax, NaN left out, is `most`. */
struct element fp8_scale(const struct fp8 *f, double most);

/* The code of x under that scale, as the number it stands for. */
struct element fp8_code(const struct fp8 *f, double x, const struct element *scale);

/* The number that the format has for the f32 quotient q: clamped, nearest even. */
double fp8_number(enum dtype to, double q);

/* --- model.c ---------------------------------------------------------------------------------
 */

extern const struct case_model fp8_models[]; /* ends with a NULL name */

bool fp8_model(const struct case_id *id, const struct case_plan *plan,
               const struct tensor *const *input, int which, int model, int64_t n,
               const int64_t *index, uint64_t *ret_bits);

#endif
