/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_MATH_EXACT_H
#define GPUPARITY_CASES_MATH_EXACT_H

#include "../wide.h"

enum function {
#define FUNCTION(name, id, arguments, cuda, hip) FUNCTION_##id,
#include "functions.def"
#undef FUNCTION
    FUNCTION_COUNT_
};

/* f(x), or x / y, or x^y, of f32 arguments; the exact result is within *ret_error of it. NaN, Inf and 0
 * as IEEE 754 and C's Annex F have them (rsqrt of -0 is -Inf). sin and cos beyond
 * WIDE_TURN_MAX: what the C library says, with an infinite error. */
struct wide exact_value(enum function f, double x, double y, double *ret_error);

#endif
