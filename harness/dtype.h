/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_DTYPE_H
#define GPUPARITY_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

/* Element formats. Bits travel as uint64_t, right-aligned; a double appears only where
 * arithmetic is meant. Everything here is pure and the same on every platform. */
enum dtype {
#define DTYPE(id, name, kind, bytes, exponent, fraction, bias, specials) DTYPE_##id,
#include "dtype.def"
#undef DTYPE
    DTYPE_COUNT_
};

enum dtype_kind { DTYPE_KIND_FLOAT, DTYPE_KIND_INT, DTYPE_KIND_UINT, DTYPE_KIND_CODE };
enum dtype_specials {
    DTYPE_SPECIALS_IEEE,
    DTYPE_SPECIALS_FN,
    DTYPE_SPECIALS_FNUZ,
    DTYPE_SPECIALS_NONE
};

struct dtype_info {
    const char *name;
    enum dtype_kind kind;
    int bytes, exponent, fraction, bias;
    enum dtype_specials specials;
};

/* The row of dtype.def; `d` must be below DTYPE_COUNT_. */
const struct dtype_info *dtype_info(enum dtype d);

/* The format of that name, or DTYPE_COUNT_. */
enum dtype dtype_find(const char *name);

bool dtype_is_nan(enum dtype d, uint64_t bits);
bool dtype_is_inf(enum dtype d, uint64_t bits);
bool dtype_is_finite(enum dtype d, uint64_t bits);
bool dtype_is_subnormal(enum dtype d, uint64_t bits);

/* The number behind the bits: exact for every format but i64 (nearest double). NaN and Inf come
 * out as such; a CODE is its index. Unused low bits (tf32) are ignored, here and everywhere, as
 * the hardware ignores them. */
double dtype_value(enum dtype d, uint64_t bits);

/* The bits of the element nearest to `value`, ties to even, subnormals kept; overflow gives Inf
 * (FN and FNUZ: NaN, as the OCP conversion without saturation; FN keeps the sign); NaN gives the
 * quiet positive NaN of the format. INT, UINT and CODE round to nearest even and saturate; NaN
 * gives 0. */
uint64_t dtype_round(enum dtype d, double value);

/* As dtype_round for the unevaluated sum value + tail, |tail| <= ulp(value)/2: one rounding. */
uint64_t dtype_round_sum(enum dtype d, double value, double tail);

/* Largest finite value, smallest positive normal, smallest positive subnormal. FLOAT only. */
double dtype_max(enum dtype d);
double dtype_min_normal(enum dtype d);
double dtype_min_subnormal(enum dtype d);

/* Half the spacing of numbers at 1: the unit roundoff u (f32: 2^-24). FLOAT only. */
double dtype_unit(enum dtype d);

#endif
