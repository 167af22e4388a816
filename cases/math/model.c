/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include <float.h>
#include <math.h>

enum change {
#define MODEL(name, cause, right, change, function) CHANGE_##change,
#include "model.def"
#undef MODEL
};

const struct case_model math_models[] = {
#define MODEL(name, cause, right, change, function) {name, CAUSE_##cause, right, false},
#include "model.def"
#undef MODEL
    {NULL, CAUSE_UNEXPLAINED, false, false},
};

static const enum function of_model[] = {
#define MODEL(name, cause, right, change, function) FUNCTION_##function,
#include "model.def"
#undef MODEL
};

/* Numbers are doubles that hold f32 values. */

static double nearest(enum function f, double x, double y)
{
    double error;
    struct wide v = exact_value(f, x, y, &error);
    return isfinite(v.hi) ? dtype_value(DTYPE_F32, dtype_round_sum(DTYPE_F32, v.hi, v.lo))
                          : v.hi;
}

static double f32(double x)
{
    return (double)(float)x;
}

static double round_to(enum dtype d, double x)
{
    return isfinite(x) ? dtype_value(d, dtype_round(d, x)) : x;
}

static double reduced(double x)
{
    float turns = rintf((float)x * 0.159154943f);
    return (double)fmaf(-turns, 6.28318531f, (float)x);
}

static double flushed(double x)
{
    return fabs(x) < (double)FLT_MIN ? copysign(0, x) : x;
}

static double parts_play(enum change c, double x, double y)
{
    switch (c) {
    case CHANGE_PRODUCT:
        return nearest(FUNCTION_EXP2, f32(x * (double)1.44269504f), 0);
    case CHANGE_LOG_BASE:
        return f32(nearest(FUNCTION_LOG2, x, 0) * (double)0.693147181f);
    case CHANGE_LOG2_BASE:
        return f32(nearest(FUNCTION_LOG, x, 0) * (double)1.44269504f);
    case CHANGE_SIN_REDUCED:
        return nearest(FUNCTION_SIN, reduced(x), 0);
    case CHANGE_COS_REDUCED:
        return nearest(FUNCTION_COS, reduced(x), 0);
    case CHANGE_TANH_EXP:
        return f32(1 - f32(2 / f32(nearest(FUNCTION_EXP, f32(2 * x), 0) + 1)));
    case CHANGE_ROOT:
        return f32(1 / nearest(FUNCTION_SQRT, x, 0));
    case CHANGE_RSQRT_TIMES:
        return f32(x * nearest(FUNCTION_RSQRT, x, 0));
    case CHANGE_RECIPROCAL:
        return f32(x * f32(1 / y));
    default:
        return nearest(FUNCTION_EXP2, f32(y * nearest(FUNCTION_LOG2, x, 0)), 0);
    }
}

static double play(enum function f, enum change c, double x, double y)
{
    switch (c) {
    case CHANGE_NEAREST:
        return nearest(f, x, y);
    case CHANGE_SHORT:
        return dtype_value(DTYPE_F32, dtype_round(DTYPE_F32, nearest(f, x, y)) & 0xffffe000u);
    case CHANGE_RESULT_F16:
    case CHANGE_RESULT_BF16:
        return round_to(c == CHANGE_RESULT_F16 ? DTYPE_F16 : DTYPE_BF16, nearest(f, x, y));
    case CHANGE_INPUT_F16:
    case CHANGE_INPUT_BF16: {
        enum dtype d = c == CHANGE_INPUT_F16 ? DTYPE_F16 : DTYPE_BF16;
        return nearest(f, round_to(d, x), round_to(d, y));
    }
    case CHANGE_FLUSHED:
        return flushed(nearest(f, flushed(x), flushed(y)));
    default:
        return parts_play(c, x, y);
    }
}

bool math_model(const struct case_id *id, const struct case_plan *plan,
                const struct tensor *const *input, int which, int model, int64_t n,
                const int64_t *index, uint64_t *ret_bits)
{
    enum function f = math_function_of(id);
    if (of_model[model] != FUNCTION_COUNT_ && of_model[model] != f)
        return false;
    for (int64_t k = 0; k < n; k++) {
        double x = tensor_value(input[0], index[k]);
        double y = plan->n_tensor > 2 ? tensor_value(input[1], index[k]) : 0;
        ret_bits[k] = dtype_round(plan->tensor[which].dtype, play(f, (enum change)model, x, y));
    }
    return true;
}
