/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_REFERENCE_H
#define GPUPARITY_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "dtype.h"

/* What is right for one element, given its wide reference value + tail and its bound.
 *
 * A reference is a NUMBER when it rounds to a finite element, an OVERFLOW when it is finite
 * itself but rounds to Inf (or, in formats without Inf, to NaN), else NAN or INF. Right is:
 *
 * - for NUMBER: a finite element within the bound. Also the overflow value (Inf of that sign;
 *   NaN in formats without Inf), if the number that would follow the largest finite one lies
 *   within the bound: then a result inside the bound could have been rounded to it.
 * - for OVERFLOW: that overflow value; also a finite element within the bound (the largest,
 *   say, where a device rounds toward zero).
 * - for NAN: any NaN.
 * - for INF: that Inf; any NaN in formats without Inf.
 *
 * With a bound of INFINITY the element is not judged: everything is right. */
enum reference_kind { REFERENCE_NUMBER, REFERENCE_OVERFLOW, REFERENCE_NAN, REFERENCE_INF };

struct reference {
    double value, tail, bound;
    uint64_t rounded; /* value + tail rounded once to the format */
    enum reference_kind kind;
};

struct reference reference_make(enum dtype d, double value, double tail, double bound);

enum judgement {
    JUDGEMENT_RIGHT,     /* right without looking at an error; or not judged */
    JUDGEMENT_NUMBER,    /* finite against NUMBER: the error and the bound decide */
    JUDGEMENT_NAN_WRONG, /* NaN where a number or Inf is right, or a number where NaN is */
    JUDGEMENT_INF_WRONG  /* Inf where finite is right, the other Inf, or finite where Inf is */
};
enum judgement reference_judge(const struct reference *r, enum dtype d, uint64_t bits);

/* bits - value - tail for finite ones, within 2^-51 of itself; Inf where a double cannot hold
 * it. */
double reference_error(const struct reference *r, enum dtype d, uint64_t bits);

#endif
