/* SPDX-License-Identifier: Apache-2.0 */
#include "../../harness/case.h"
#include "exact.h"
#include "model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../plan.h"

/* Each vendor's f32 functions, over ranges of their arguments. */

enum { P_TABLE, P_N, P_LO, P_HI };
enum { TABLE_RANGE, TABLE_DIST };

static const char *const table_words[] = {"range", "dist", NULL};

static const struct param params[] = {
    [P_TABLE] = {"table", "arguments: all over lo to hi, or by dist", PARAM_WORD, 0, 0,
                 table_words, "range", true},
    [P_N] = {"n", "elements", PARAM_INT, 1, 1 << 26, NULL, "4096", false},
    [P_LO] = {"lo", "smallest argument, as f32", PARAM_REAL, -3.4e38, 3.4e38, NULL, "-10",
              true},
    [P_HI] = {"hi", "largest argument, as f32", PARAM_REAL, -3.4e38, 3.4e38, NULL, "10", true},
    {NULL},
};

static const struct variant variants[] = {
#define FUNCTION(name, id, arguments, cuda, hip) {name, name, "function.cu", false, false},
#include "functions.def"
#undef FUNCTION
#define FAULT(name, summary, id) {name, summary, "fault.cu", true, false},
#include "variants.def"
#undef FAULT
    {NULL, NULL, NULL, false, false},
};

static const enum function of_variant[] = {
#define FUNCTION(name, id, arguments, cuda, hip) FUNCTION_##id,
#include "functions.def"
#undef FUNCTION
#define FAULT(name, summary, id) FUNCTION_##id,
#include "variants.def"
#undef FAULT
};

static const struct {
    int arguments, cuda, hip;
} facts[] = {
#define FUNCTION(name, id, arguments, cuda, hip) {arguments, cuda, hip},
#include "functions.def"
#undef FUNCTION
};

static const struct suite_row suites[] = {
#define SUITE(tags, id) {tags, id},
#include "suites.def"
#undef SUITE
    {NULL, NULL},
};

enum function math_function_of(const struct case_id *id)
{
    return of_variant[id->variant - variants];
}

/* --- plan ------------------------------------------------------------------------------------
 */

static enum err check(const struct case_id *id, struct errinfo *e)
{
    double lo = id->value[P_LO].r, hi = id->value[P_HI].r;
    bool dist = id->value[P_TABLE].i == TABLE_DIST;
    const struct case_mode *m = &id->mode;
    if (m->flush || !m->exact_div || !m->exact_sqrt || m->approximate)
        return err_set(e, ERR_USAGE,
                       "math judges by what is documented for the modes default and strict");
    if (!dist && id->dist != DIST_NORMAL)
        return err_set(e, ERR_USAGE, "dist=%s has no use without table=dist",
                       dist_name(id->dist));
    if (!((float)lo <= (float)hi))
        return err_set(e, ERR_USAGE, "lo=%g is above hi=%g", lo, hi);
    return ERR_OK;
}

static enum err plan(const struct case_id *id, struct case_plan *ret_plan, struct errinfo *e)
{
    int64_t n = id->value[P_N].i;
    struct case_plan p = {.n_launch = 1};
    struct case_launch *l = &p.launch[0];
    TRY(check(id, e));
    *l =
        (struct case_launch){.grid = {(uint32_t)((n + 255) / 256), 1, 1}, .block = {256, 1, 1}};
    snprintf(l->entry, sizeof l->entry, "math_%s", id->variant->name);
    plan_argument(&p, "x", TENSOR_IN, DTYPE_F32, n, 0, id->dist);
    if (facts[math_function_of(id)].arguments == 2)
        plan_argument(&p, "d", TENSOR_IN, DTYPE_F32, n, 0, id->dist);
    plan_argument(&p, "y", TENSOR_OUT, DTYPE_F32, n, 0, DIST_ZERO);
    push_i32(l, n);
    *ret_plan = p;
    return ERR_OK;
}

/* --- arguments -------------------------------------------------------------------------------
 *
 * Numbers by their place in the ordered list of f32: x is a random one of the i-th of n equal
 * parts of lo to hi (both ends included), so every exponent gets its share; d is any of them.
 */

static int64_t place_of(float x)
{
    int64_t bits = (int64_t)dtype_round(DTYPE_F32, (double)x);
    return bits < 0x80000000 ? bits : 0x80000000 - bits;
}

static uint64_t bits_of(int64_t place)
{
    return (uint64_t)(place >= 0 ? place : 0x80000000 - place);
}

static bool fill(const struct case_id *id, const struct case_plan *p, int i,
                  struct case_span span, struct tensor *t)
{
    struct rng_key key = rng_key_make(id->seed, i ? "math/range/d" : "math/range/x");
    if (id->value[P_TABLE].i == TABLE_DIST)
        return false;
    (void)p;
    int64_t first = place_of((float)id->value[P_LO].r);
    int64_t count = place_of((float)id->value[P_HI].r) - first + 1;
    int64_t part = i ? count : count / t->count > 1 ? count / t->count : 1;
    for (int64_t k = span.from; k < span.to; k++) {
        int64_t from = i ? 0 : (int64_t)((__int128)count * k / t->count);
        int64_t in = (int64_t)(rng_bits(key, (uint64_t)k, 0) % (uint64_t)part);
        tensor_set_bits(t, k, bits_of(first + from + in));
    }
    return true;
}

/* --- reference -------------------------------------------------------------------------------
 *
 * What the vendors document (functions.def) is the largest distance, in ulp, from the correctly
 * rounded result; 0 means correctly rounded. Sources: NVIDIA, CUDA C++ Programming Guide,
 * appendix "Mathematical Functions", f32 table, as quoted in sycl/doc/cuda/
 * cuda-vs-opencl-math-builtin-precisions.md of github.com/intel/llvm (sinf, cosf, erff 2, powf 8
 * ulp over the full range; from extensive but not exhaustive tests, says NVIDIA, so a promise and
 * not a proof); AMD, HIP documentation, "HIP math API", f32
 * table, which gives 1 ulp to sqrtf and states ranges that AMD tested (expf -10..10, logf
 * 1e-6..1e6, sinf and cosf -pi..pi, tanhf -5..5, rsqrtf 0.01..100,
 * erff -4..4, powf -4..4 to the -2..2); but in the modes taken here
 * clang's default -fhip-fp32-correctly-rounded-divide-sqrt promises correctly rounded division
 * and square root.
 *
 * The bound is the worse of the two plus the half ulp of rounding, so that a case says which
 * stack breaks a promise that one of them makes; statistics show each one's own error. An ulp
 * is the spacing at the correctly rounded result. Results that may or may not overflow are not
 * judged. The smallest fault to catch is an approximation of 11 bits, like tanh.approx. */

static double spacing_at(double y)
{
    int e = -125;
    frexp(y, &e);
    return ldexp(1, (y == 0 || e < -125 ? -125 : e) - 24);
}

static void judge(enum function f, double x, double d, struct oracle *o, int64_t i)
{
    double error = 0, most = dtype_max(DTYPE_F32);
    struct wide v = exact_value(f, x, d, &error);
    int ulps = facts[f].cuda > facts[f].hip ? facts[f].cuda : facts[f].hip;
    o->value[i] = v.hi;
    if (!isfinite(v.hi))
        return;
    double y = dtype_value(DTYPE_F32, dtype_round_sum(DTYPE_F32, v.hi, v.lo));
    double limit = most + (ulps + 1) * spacing_at(most);
    if (fabs(v.hi) >= limit || (isinf(y) && !ulps)) {
        o->value[i] = copysign(INFINITY, v.hi);
        return;
    }
    bool open = ulps && fabs(v.hi) > most - (ulps + 1) * spacing_at(most);
    o->tail[i] = v.lo;
    o->error[i] = isinf(error) ? 0 : error;
    o->bound[i] = isinf(error) || open ? INFINITY
                                       : (ulps + 0.5) * spacing_at(isinf(y) ? most : y) + error;
    o->scale[i] = fabs(v.hi);
    o->drop[i] = 0x1p-11 * fabs(v.hi);
}

static enum err oracle(const struct case_id *id, const struct case_plan *p,
                       const struct tensor *const *input, int which, struct case_span span,
                       int threads, struct oracle *o, struct errinfo *e)
{
    enum function f = math_function_of(id);
    (void)p, (void)which, (void)threads, (void)e;
    for (int64_t i = span.from; i < span.to; i++)
        judge(f, tensor_value(input[0], i),
              facts[f].arguments == 2 ? tensor_value(input[1], i) : 0, o, i);
    return ERR_OK;
}

static bool needs(const struct case_id *id, const struct case_plan *p, int which, int i,
                  struct case_span span, struct case_span *ret_need)
{
    (void)id, (void)p, (void)which, (void)i;
    *ret_need = span;
    return true;
}

const struct family family_math = {
    .name = "math",
    .summary = "functions of each vendor's library",
    .params = params,
    .variants = variants,
    .suites = suites,
    .functions = true,
    .plan = plan,
    .oracle = oracle,
    .needs = needs,
    .models = math_models,
    .model = math_model,
    .fill = fill,
};
