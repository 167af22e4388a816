/* SPDX-License-Identifier: Apache-2.0 */
#include "convert.h"

#include <math.h>

/* Other ways of converting. */

enum way { WAY_CUT, WAY_AWAY, WAY_FLUSH, WAY_NEAREST };

const struct case_model convert_models[] = {
    [WAY_CUT] = {"rounded toward zero", CAUSE_ROUNDING, false},
    [WAY_AWAY] = {"ties away from zero", CAUSE_ROUNDING, false},
    [WAY_FLUSH] = {"subnormal results become zero", CAUSE_FLUSH, false},
    [WAY_NEAREST] = {"the nearest integer instead of the one toward zero", CAUSE_ROUNDING,
                     false},
    {NULL, CAUSE_UNEXPLAINED, false},
};

/* Of a finite x, for a float format: the number of that format toward zero. */
static uint64_t cut_bits(enum dtype to, double x)
{
    uint64_t bits = dtype_round(to, x);
    return fabs(dtype_value(to, bits)) > fabs(x) ? bits - 1 : bits;
}

static uint64_t away_bits(enum dtype to, double x)
{
    uint64_t low = cut_bits(to, x);
    double below = fabs(dtype_value(to, low)), above = fabs(dtype_value(to, low + 1));
    return isfinite(above) && fabs(x) - below == above - fabs(x) ? low + 1 : dtype_round(to, x);
}

static uint64_t way_bits(enum dtype to, enum way way, double x)
{
    bool integer = dtype_info(to)->kind == DTYPE_KIND_INT;
    uint64_t plain = convert_bits(to, x);
    if (!isfinite(x))
        return plain;
    switch (way) {
    case WAY_CUT:
        return integer ? dtype_round(to, trunc(x)) : cut_bits(to, x);
    case WAY_AWAY:
        return integer ? dtype_round(to, round(x)) : away_bits(to, x);
    case WAY_FLUSH:
        return dtype_is_subnormal(to, plain) ? dtype_round(to, copysign(0, x)) : plain;
    default:
        return dtype_round(to, x);
    }
}

bool convert_model(const struct case_id *id, const struct case_plan *plan,
                   const struct tensor *const *input, int which, int model, int64_t n,
                   const int64_t *index, uint64_t *ret_bits)
{
    (void)plan;
    (void)which;
    enum dtype to = convert_to(id);
    bool integer = dtype_info(to)->kind == DTYPE_KIND_INT;
    if ((integer && model == WAY_FLUSH) || (to == DTYPE_I32) != (model == WAY_NEAREST))
        return false;
    for (int64_t k = 0; k < n; k++)
        ret_bits[k] = way_bits(to, (enum way)model, tensor_value(input[0], index[k]));
    return true;
}
