/* SPDX-License-Identifier: Apache-2.0 */
#include "trig.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "../../sim/fp.h"
#include "rules.h"

static const struct fp_env nearest = {.rules = &hip_rules, .round = FP_RNE};
static const double two_pi = 0x1.921fb54442d18p2;

static double value_of(uint32_t u)
{
    union {
        uint64_t u;
        double f;
    } v = {.u = fp_convert(&nearest, FP_F64, FP_F32, u)};
    return v.f;
}

static uint32_t single_of(double f)
{
    union {
        double f;
        uint64_t u;
    } v = {.f = f};
    return (uint32_t)fp_convert(&nearest, FP_F32, FP_F64, v.u);
}

/* Infinity has no angle. */
static bool special(uint32_t u, uint32_t *ret)
{
    if ((u & 0x7fffffff) < 0x7f800000)
        return false;
    *ret = (u & 0x7fffff) ? u | 0x400000 : 0xffc00000;
    return true;
}

/* The fraction of a turn is exact. The quarter and half turns come out exact by themselves. */
uint32_t trig_sin_f32(uint32_t x)
{
    uint32_t r;
    if (special(x, &r))
        return r;
    double turns = value_of(x);
    if (fabs(turns) > 256)
        return 0;
    double f = turns - rint(turns);
    if (fabs(f) == 0.5 || f == 0)
        return x & 0x80000000;
    return single_of(sin(two_pi * f));
}

uint32_t trig_cos_f32(uint32_t x)
{
    uint32_t r;
    if (special(x, &r))
        return r;
    double turns = value_of(x);
    if (fabs(turns) > 256)
        return 0x3f800000;
    double f = turns - rint(turns);
    if (fabs(f) == 0.25)
        return 0;
    return single_of(cos(two_pi * f));
}

static uint32_t through_single(uint32_t h, uint32_t (*fn)(uint32_t))
{
    uint32_t x = (uint32_t)fp_convert(&nearest, FP_F32, FP_F16, h);
    return (uint32_t)fp_convert(&nearest, FP_F16, FP_F32, fn(x));
}

uint32_t trig_sin_f16(uint32_t x)
{
    return through_single(x, trig_sin_f32);
}

uint32_t trig_cos_f16(uint32_t x)
{
    return through_single(x, trig_cos_f32);
}

uint64_t trig_rcp_f64(uint64_t x)
{
    return fp_div(&nearest, FP_F64, 0x3ff0000000000000, x);
}

uint64_t trig_rsq_f64(uint64_t x)
{
    return fp_div(&nearest, FP_F64, 0x3ff0000000000000, fp_sqrt(&nearest, FP_F64, x));
}

uint64_t trig_sqrt_f64(uint64_t x)
{
    return fp_sqrt(&nearest, FP_F64, x);
}

/* Bounds: AMD's HIP mathematics table for __sinf and __cosf, the ISA manual for the f64 seeds.
 */
const char *trig_mark(const char *instruction)
{
    static const struct {
        const char *name, *mark;
    } marks[] = {
        {"v_sin_f32", "v_sin_f32: 18 ulp"},
        {"v_cos_f32", "v_cos_f32: 4 ulp"},
        {"v_sin_f16", "v_sin_f16: bound not documented"},
        {"v_cos_f16", "v_cos_f16: bound not documented"},
        {"v_rcp_f64", "v_rcp_f64: 2^29 ulp"},
        {"v_rsq_f64", "v_rsq_f64: 2^29 ulp"},
        {"v_sqrt_f64", "v_sqrt_f64: 2^29 ulp"},
    };
    for (size_t n = 0; n < sizeof marks / sizeof *marks; n++)
        if (strcmp(marks[n].name, instruction) == 0)
            return marks[n].mark;
    return NULL;
}
