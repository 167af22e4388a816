/* SPDX-License-Identifier: Apache-2.0 */
#include "casefile.h"

#include <string.h>

#include "exprway.h"

/* Candidates of how a case file's formula is really computed: exprway.def. */

/* Names as the rows have them, which may be left out. */
#define WAY(words, cause, right, ...) {words, CAUSE_##cause, right, false},
const struct case_model casefile_models[] = {
#include "exprway.def"
    {NULL, CAUSE_UNEXPLAINED, false, false},
};
#undef WAY

#define WAY(words, cause, right, ...) {.fuse = EXPR_FUSE_FIRST, WAY_FORMATS, __VA_ARGS__},
#define WAY_FORMATS                                                                            \
    .sum = DTYPE_COUNT_, .term = DTYPE_COUNT_, .step = DTYPE_COUNT_, .last = DTYPE_COUNT_
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const struct expr_way ways[] = {
#include "exprway.def"
};
#pragma GCC diagnostic pop
#undef WAY
#undef WAY_FORMATS

/* Formats that `compute` has anyway are no change. */
static bool narrower(enum dtype d, enum dtype compute)
{
    return d == DTYPE_COUNT_ || dtype_info(d)->fraction < dtype_info(compute)->fraction;
}

static bool way_applies(const struct expr_way *w, const struct expr *x, enum dtype compute)
{
    bool sums = w->order != EXPR_FORWARD || w->lost || w->multiple ||
                w->sum != DTYPE_COUNT_ || w->term != DTYPE_COUNT_;
    return dtype_info(compute)->kind == DTYPE_KIND_FLOAT && narrower(w->sum, compute) &&
           narrower(w->term, compute) && narrower(w->step, compute) &&
           narrower(w->last, compute) && (!sums || expr_has_sum(x)) &&
           (!(w->function_bits || w->turns) || expr_uses_functions(x));
}

bool casefile_model(const struct case_id *id, const struct case_plan *plan,
                    const struct tensor *const *input, int which, int model, int64_t n,
                    const int64_t *index, uint64_t *ret_bits)
{
    const struct casefile *f = id->family->file;
    const struct casefile_tensor *c = &f->tensor[which];
    const struct case_tensor *t = &plan->tensor[which];
    struct expr_way w = ways[model];
    long double param[CASE_PARAM_MAX];
    struct expr_env v = {.value = param, .tensor = input};
    w.compute = casefile_compute(f, t->dtype);
    if (!c->formula.count || !way_applies(&w, &c->formula, w.compute) ||
        casefile_formula_env(id, plan, which, param, &v, NULL))
        return false;
    for (int64_t k = 0; k < n; k++) {
        double y;
        casefile_formula_at(t, &c->formula, index[k], &v);
        if (expr_way_value(&c->formula, &w, &v, &y, NULL))
            return false;
        ret_bits[k] = dtype_round(t->dtype, y);
    }
    return true;
}
