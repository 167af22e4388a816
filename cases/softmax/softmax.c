/* SPDX-License-Identifier: Apache-2.0 */
#include "softmax.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../plan.h"

/* Softmax and log-softmax of rows, and cross-entropy. */

enum { DTYPE, ROWS, D, SMOOTH };

static const char *const dtype_words[] = {"f32", "f16", "bf16", NULL};

static const struct param params[] = {
    [DTYPE] = {"dtype", "format of x and y; losses are f32", PARAM_WORD, 0, 0, dtype_words,
               "f32", false},
    [ROWS] = {"rows", "rows", PARAM_INT, 1, 65535, NULL, "16", false},
    [D] = {"d", "length of a row", PARAM_INT, 1, 1 << 20, NULL, "256", false},
    [SMOOTH] = {"smooth", "cross: share of the loss spread over all columns", PARAM_REAL, 0, 1,
                NULL, "0.1", true},
    {NULL},
};

static const struct variant variants[] = {
#define VARIANT(name, summary, hidden, kind) {#name, summary, "softmax.cu", hidden, false},
#include "variants.def"
#undef VARIANT
    {NULL, NULL, NULL, false, false},
};

static const enum softmax_kind kinds[] = {
#define VARIANT(name, summary, hidden, kind) SOFTMAX_##kind,
#include "variants.def"
#undef VARIANT
};

void softmax_decode(const struct case_id *id, struct softmax *ret_softmax)
{
    const union param_value *v = id->value;
    *ret_softmax = (struct softmax){.kind = kinds[id->variant - variants],
                                    .dtype = dtype_find(dtype_words[v[DTYPE].i]),
                                    .rows = v[ROWS].i,
                                    .d = v[D].i,
                                    .keep = (float)(1 - v[SMOOTH].r),
                                    .share = (float)v[SMOOTH].r,
                                    .mode = id->mode};
}

static enum err check(const struct case_id *id, const struct softmax *s, struct errinfo *e)
{
    if (s->kind != SOFTMAX_CROSS && fabs(id->value[SMOOTH].r - 0.1) > 1e-12)
        return err_set(e, ERR_USAGE, "smooth is for softmax/cross only");
    if (s->rows > ((int64_t)1 << 30) / s->d)
        return err_set(
            e, ERR_USAGE,
            "rows=%lld,d=%lld: a tensor would have more than 2^30 elements; make one smaller",
            (long long)s->rows, (long long)s->d);
    return ERR_OK;
}

static enum err softmax_plan(const struct case_id *id, struct case_plan *ret_plan,
                             struct errinfo *e)
{
    struct softmax s;
    struct case_plan p;
    struct case_launch *l = &p.launch[0];
    memset(&p, 0, sizeof p);
    softmax_decode(id, &s);
    TRY(check(id, &s, e));
    p.n_launch = 1;
    *l = (struct case_launch){.grid = {(uint32_t)s.rows, 1, 1}, .block = {256, 1, 1}};
    snprintf(l->entry, sizeof l->entry, "%s_%s", id->variant->name, dtype_info(s.dtype)->name);
    plan_argument(&p, "x", TENSOR_IN, s.dtype, s.rows, s.d, id->dist);
    if (s.kind == SOFTMAX_CROSS) {
        plan_argument(&p, "target", TENSOR_IN, DTYPE_I32, s.rows, 0, DIST_ZERO);
        plan_argument(&p, "loss", TENSOR_OUT, DTYPE_F32, s.rows, 0, DIST_ZERO);
    } else {
        plan_argument(&p, "y", TENSOR_OUT, s.dtype, s.rows, s.d, DIST_ZERO);
    }
    push_i32(l, s.d);
    if (s.kind == SOFTMAX_CROSS) {
        push_f32(l, s.keep);
        push_f32(l, s.share);
    }
    *ret_plan = p;
    return ERR_OK;
}

/* Row 2 of dist=special has no weight at all. */
static void masked_fill(struct tensor *x, struct case_span span)
{
    int64_t d = x->dim[1];
    for (int64_t i = 2 * d > span.from ? 2 * d : span.from; i < 3 * d && i < span.to; i++)
        tensor_set_bits(x, i, dtype_round(x->dtype, -INFINITY));
}

/* Labels are any column; each eighth row has none (-100). */
static bool softmax_fill(const struct case_id *id, const struct case_plan *plan, int i,
                  struct case_span span, struct tensor *t)
{
    struct rng_key key = rng_key_make(id->seed, "softmax/target");
    int64_t d = plan->tensor[SOFTMAX_X].dim[1];
    if (i == SOFTMAX_X && id->dist == DIST_SPECIAL) {
        fill_span(t, rng_key_make(id->seed, "softmax/x/special"), DIST_SPECIAL, 1, span.from,
                  span.to);
        masked_fill(t, span);
        return true;
    }
    if (i != SOFTMAX_TARGET)
        return false;
    for (int64_t row = span.from; row < span.to; row++) {
        int64_t label = (int64_t)(rng_bits(key, (uint64_t)row, 0) % (uint64_t)d);
        tensor_set_bits(t, row, dtype_round(DTYPE_I32, row % 8 == 6 ? -100 : (double)label));
    }
    return true;
}

static bool needs(const struct case_id *id, const struct case_plan *p, int which, int i,
                  struct case_span span, struct case_span *ret_need)
{
    int64_t d = p->tensor[SOFTMAX_X].dim[1];
    bool losses = p->tensor[which].rank == 1;
    (void)id;
    *ret_need = i == SOFTMAX_X ? case_rows(span, losses ? 1 : d, d) : span;
    return true;
}

static const struct suite_row suites[] = {
#define SUITE(tags, id) {tags, id},
#include "suites.def"
#undef SUITE
    {NULL, NULL},
};

const struct family family_softmax = {
    .name = "softmax",
    .summary = "softmax and log-softmax of rows, cross-entropy",
    .params = params,
    .variants = variants,
    .suites = suites,
    .functions = true,
    .plan = softmax_plan,
    .oracle = softmax_oracle,
    .needs = needs,
    .models = softmax_models,
    .model = softmax_model,
    .fill = softmax_fill,
};
