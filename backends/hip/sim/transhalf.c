/* SPDX-License-Identifier: Apache-2.0 */
#include "trans.h"

#include <math.h>
#include <string.h>

#include "../../sim/fp.h"
#include "rules.h"

/* The f16 forms keep subnormals, as kernels are started with. */
static const struct fp_env nearest = {.rules = &hip_rules, .round = FP_RNE};

static uint32_t through_f32(uint32_t (*f)(uint32_t), uint32_t x)
{
    uint32_t wide = (uint32_t)fp_convert(&nearest, FP_F32, FP_F16, x);
    return (uint32_t)fp_convert(&nearest, FP_F16, FP_F32, f(wide));
}

uint32_t trans_rcp_f16(uint32_t x)
{
    return through_f32(trans_rcp_f32, x);
}

uint32_t trans_rsq_f16(uint32_t x)
{
    return through_f32(trans_rsq_f32, x);
}

uint32_t trans_sqrt_f16(uint32_t x)
{
    return through_f32(trans_sqrt_f32, x);
}

/* Correctly rounded: a double leaves 42 bits, and the test goes through all operands. */
static uint32_t through_f64(double (*f)(double), uint32_t x)
{
    uint64_t bits = fp_convert(&nearest, FP_F64, FP_F16, x);
    double value;
    memcpy(&value, &bits, sizeof value);
    value = f(value);
    memcpy(&bits, &value, sizeof bits);
    return (uint32_t)fp_convert(&nearest, FP_F16, FP_F64, bits);
}

uint32_t trans_exp_f16(uint32_t x)
{
    return fp_is_nan(FP_F16, x) ? (uint32_t)fp_quiet(FP_F16, x) : through_f64(exp2, x);
}

uint32_t trans_log_f16(uint32_t x)
{
    x &= 0xffff;
    if (fp_is_nan(FP_F16, x))
        return (uint32_t)fp_quiet(FP_F16, x);
    if (x > 0x8000)
        return 0xfe00;
    return through_f64(log2, x);
}
