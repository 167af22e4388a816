/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

#include <math.h>

#include "ulp.h"

static bool has_inf(enum dtype d)
{
    return dtype_info(d)->specials == DTYPE_SPECIALS_IEEE;
}

struct reference reference_make(enum dtype d, double value, double tail, double bound)
{
    struct reference r = {.value = value, .tail = tail, .bound = bound};
    r.rounded = dtype_round_sum(d, value, tail);
    if (isnan(value))
        r.kind = REFERENCE_NAN;
    else if (isinf(value))
        r.kind = REFERENCE_INF;
    else
        r.kind = dtype_is_finite(d, r.rounded) ? REFERENCE_NUMBER : REFERENCE_OVERFLOW;
    return r;
}

/* Is this what an overflow in the reference's direction gives? */
static bool is_overflow_value(const struct reference *r, enum dtype d, uint64_t bits)
{
    if (!has_inf(d))
        return dtype_is_nan(d, bits);
    return dtype_is_inf(d, bits) && (dtype_value(d, bits) > 0) == (r->value > 0);
}

/* x - value is exact where they are near each other, and else much larger than the tail. */
static double gap(double x, const struct reference *r)
{
    return (x - r->value) - r->tail;
}

/* Could a result within the bound have been rounded to the overflow value? */
static bool overflow_is_near(const struct reference *r, enum dtype d)
{
    double top = dtype_max(d), sign = r->value < 0 ? -1 : 1;
    return sign * gap(sign * top, r) <= r->bound - ulp_size(d, top);
}

double reference_error(const struct reference *r, enum dtype d, uint64_t bits)
{
    if (d == DTYPE_I64)
        return ulp_error(d, bits, r->value, r->tail);
    return gap(dtype_value(d, bits), r);
}

static enum judgement wrong_class(enum dtype d, uint64_t bits)
{
    return dtype_is_nan(d, bits) ? JUDGEMENT_NAN_WRONG : JUDGEMENT_INF_WRONG;
}

static enum judgement judge_overflow(const struct reference *r, enum dtype d, uint64_t bits)
{
    if (is_overflow_value(r, d, bits))
        return JUDGEMENT_RIGHT;
    if (dtype_is_finite(d, bits) && fabs(reference_error(r, d, bits)) <= r->bound)
        return JUDGEMENT_RIGHT;
    return wrong_class(d, bits);
}

enum judgement reference_judge(const struct reference *r, enum dtype d, uint64_t bits)
{
    bool nan = dtype_is_nan(d, bits);
    if (r->bound == INFINITY)
        return JUDGEMENT_RIGHT;
    switch (r->kind) {
    case REFERENCE_NAN:
        return nan ? JUDGEMENT_RIGHT : JUDGEMENT_NAN_WRONG;
    case REFERENCE_INF:
        return is_overflow_value(r, d, bits) ? JUDGEMENT_RIGHT : wrong_class(d, bits);
    case REFERENCE_OVERFLOW:
        return judge_overflow(r, d, bits);
    case REFERENCE_NUMBER:
        break;
    }
    if (dtype_is_finite(d, bits))
        return JUDGEMENT_NUMBER;
    if (is_overflow_value(r, d, bits) && overflow_is_near(r, d))
        return JUDGEMENT_RIGHT;
    return wrong_class(d, bits);
}
