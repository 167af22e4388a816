/* SPDX-License-Identifier: Apache-2.0 */
#include "norm.h"

#include <stdio.h>
#include <string.h>

#include "../plan.h"

/* RMS norm and layer norm of rows, with or without a residual that is added first. */

enum { DTYPE, ROWS, D, EPS, ADD };

static const char *const dtype_words[] = {"f32", "f16", "bf16", NULL};

/* eps: far above what underflow can do to the mean of squares, see bound.c. */
static const struct param params[] = {
    [DTYPE] = {"dtype", "format of all tensors", PARAM_WORD, 0, 0, dtype_words, "f32", false},
    [ROWS] = {"rows", "rows, each normalised alone", PARAM_INT, 1, 65535, NULL, "16", false},
    [D] = {"d", "length of a row", PARAM_INT, 1, 1 << 20, NULL, "256", false},
    [EPS] = {"eps", "added to the mean of squares", PARAM_REAL, 1e-12, 1e6, NULL, "1e-05",
             true},
    [ADD] = {"add", "1: a residual is added first, and the sum is stored", PARAM_INT, 0, 1,
             NULL, "0", true},
    {NULL},
};

static const struct variant variants[] = {
#define VARIANT(name, summary, hidden, kind) {#name, summary, "norm.cu", hidden, false},
#include "variants.def"
#undef VARIANT
    {NULL, NULL, NULL, false, false},
};

static const enum norm_kind kinds[] = {
#define VARIANT(name, summary, hidden, kind) NORM_##kind,
#include "variants.def"
#undef VARIANT
};

void norm_decode(const struct case_id *id, struct norm *ret_norm)
{
    const union param_value *v = id->value;
    *ret_norm = (struct norm){.kind = kinds[id->variant - variants],
                              .dtype = dtype_find(dtype_words[v[DTYPE].i]),
                              .rows = v[ROWS].i,
                              .d = v[D].i,
                              .eps = (float)v[EPS].r,
                              .add = v[ADD].i,
                              .mode = id->mode};
}

int norm_b(const struct norm *n)
{
    return n->kind == NORM_LAYER ? NORM_Y + 1 : -1;
}

int norm_r(const struct norm *n)
{
    return n->add ? NORM_Y + 1 + (n->kind == NORM_LAYER) : -1;
}

int norm_h(const struct norm *n)
{
    return n->add ? norm_r(n) + 1 : -1;
}

double norm_sum(enum dtype d, double x, double r)
{
    float sum = (float)x + (float)r;
    return dtype_value(d, dtype_round(d, (double)sum));
}

/* The residual must not hide what x is made for. */
static enum dist dist_residual(enum dist d)
{
    return d == DIST_ONEHOT || d == DIST_CANCEL || d == DIST_SPECIAL ? DIST_NORMAL : d;
}

static void plan_tensors(const struct case_id *id, const struct norm *n, struct case_plan *p)
{
    const int64_t rows[2] = {n->rows, n->d}, *one = &rows[1];
    plan_tensor(p, "x", TENSOR_IN, n->dtype, 2, rows, id->dist);
    plan_tensor(p, "w", TENSOR_IN, n->dtype, 1, one, DIST_NORMAL);
    plan_tensor(p, "y", TENSOR_OUT, n->dtype, 2, rows, id->dist);
    if (n->kind == NORM_LAYER)
        plan_tensor(p, "b", TENSOR_IN, n->dtype, 1, one, DIST_NORMAL);
    if (n->add) {
        plan_tensor(p, "r", TENSOR_IN, n->dtype, 2, rows, dist_residual(id->dist));
        plan_tensor(p, "h", TENSOR_OUT, n->dtype, 2, rows, id->dist);
    }
}

/* What a case lacks is not touched: any tensor may stand in its place. */
static void plan_kernel(const struct case_id *id, const struct norm *n, struct case_plan *p)
{
    struct case_launch *l = &p->launch[p->n_launch++];
    *l = (struct case_launch){.grid = {(uint32_t)n->rows, 1, 1}, .block = {256, 1, 1}};
    snprintf(l->entry, sizeof l->entry, "%s_%s", id->variant->name, dtype_info(n->dtype)->name);
    push_tensor(l, NORM_X);
    push_tensor(l, NORM_W);
    push_tensor(l, n->kind == NORM_LAYER ? norm_b(n) : NORM_W);
    push_tensor(l, NORM_Y);
    push_tensor(l, n->add ? norm_r(n) : NORM_X);
    push_tensor(l, n->add ? norm_h(n) : NORM_Y);
    push_i32(l, n->d);
    push_f32(l, n->eps);
    push_i32(l, n->add);
}

static enum err norm_plan(const struct case_id *id, struct case_plan *ret_plan,
                          struct errinfo *e)
{
    struct norm n;
    struct case_plan p;
    memset(&p, 0, sizeof p);
    norm_decode(id, &n);
    if (n.rows > ((int64_t)1 << 30) / n.d)
        return err_set(
            e, ERR_USAGE,
            "rows=%lld,d=%lld: a tensor would have more than 2^30 elements; make one "
            "smaller",
            (long long)n.rows, (long long)n.d);
    plan_tensors(id, &n, &p);
    plan_kernel(id, &n, &p);
    *ret_plan = p;
    return ERR_OK;
}

static bool needs(const struct case_id *id, const struct case_plan *p, int which, int i,
                  struct case_span span, struct case_span *ret_need)
{
    int64_t d = p->tensor[NORM_X].dim[1];
    (void)id, (void)which;
    *ret_need = case_rows(span, d, d);
    return p->tensor[i].rank == 2;
}

static const struct suite_row suites[] = {
#define SUITE(tags, id) {tags, id},
#include "suites.def"
#undef SUITE
    {NULL, NULL},
};

const struct family family_norm = {
    .name = "norm",
    .summary = "rows divided by their root mean square or deviation",
    .params = params,
    .variants = variants,
    .suites = suites,
    .plan = norm_plan,
    .oracle = norm_oracle,
    .needs = needs,
    .models = norm_models,
    .model = norm_model,
};
