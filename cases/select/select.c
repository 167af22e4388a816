/* SPDX-License-Identifier: Apache-2.0 */
#include "select.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../plan.h"

/* The largest elements of rows. Every result is defined to the bit:
 *
 *   order   NaN before +Inf before ... -Inf
 *   equals  NaN and NaN, +0 and -0 too: the lower index first, as PyTorch's argmax has it (its topk
 *           leaves the order of equals open, and so do its GPU kernels) */

enum { DTYPE, ROWS, D, K };

static const char *const dtype_words[] = {"f32", "f16", "bf16", NULL};

static const struct param params[] = {
    [DTYPE] = {"dtype", "format of x", PARAM_WORD, 0, 0, dtype_words, "f32", false},
    [ROWS] = {"rows", "rows", PARAM_INT, 1, 65535, NULL, "16", false},
    [D] = {"d", "length of a row", PARAM_INT, 1, 1 << 20, NULL, "256", false},
    [K] = {"k", "topk: how many", PARAM_INT, 1, 4096, NULL, "1", true},
    {NULL},
};

static const struct variant variants[] = {
#define VARIANT(name, summary, hidden, one) {#name, summary, "select.cu", hidden, false},
#include "variants.def"
#undef VARIANT
    {NULL, NULL, NULL, false, false},
};

static const bool gives_one[] = {
#define VARIANT(name, summary, hidden, one) one,
#include "variants.def"
#undef VARIANT
};

void select_decode(const struct case_id *id, struct select *ret_select)
{
    const union param_value *v = id->value;
    *ret_select = (struct select){.one = gives_one[id->variant - variants],
                                  .dtype = dtype_find(dtype_words[v[DTYPE].i]),
                                  .rows = v[ROWS].i,
                                  .d = v[D].i,
                                  .k = v[K].i};
}

bool select_is_index(const struct select *s, int which)
{
    return which == (s->one ? 1 : 2);
}

/* --- plan ------------------------------------------------------------------------------------
 */

static enum err check(const struct case_id *id, const struct select *s, struct errinfo *e)
{
    if (s->k > s->d)
        return err_set(e, ERR_USAGE, "k=%lld: a row has only d=%lld elements", (long long)s->k,
                       (long long)s->d);
    if (s->one && s->k != 1)
        return err_set(e, ERR_USAGE, "select/%s gives one index: k=%lld is for topk",
                       id->variant->name, (long long)s->k);
    if (s->rows > ((int64_t)1 << 30) / s->d)
        return err_set(
            e, ERR_USAGE,
            "rows=%lld,d=%lld: x would have more than 2^30 elements; make one smaller",
            (long long)s->rows, (long long)s->d);
    if (id->mode.flush || id->mode.approximate)
        return err_set(e, ERR_USAGE,
                       "flushed subnormals are equals, or not: take select in the modes default "
                       "and strict");
    return ERR_OK;
}

static enum err plan(const struct case_id *id, struct case_plan *ret_plan, struct errinfo *e)
{
    struct select s;
    struct case_plan p;
    struct case_launch *l = &p.launch[0];
    memset(&p, 0, sizeof p);
    select_decode(id, &s);
    TRY(check(id, &s, e));
    p.n_launch = 1;
    *l = (struct case_launch){.grid = {(uint32_t)s.rows, 1, 1}, .block = {256, 1, 1}};
    snprintf(l->entry, sizeof l->entry, "%s_%s", id->variant->name, dtype_info(s.dtype)->name);
    plan_argument(&p, "x", TENSOR_IN, s.dtype, s.rows, s.d, id->dist);
    if (!s.one)
        plan_argument(&p, "value", TENSOR_OUT, s.dtype, s.rows, s.k, DIST_ZERO);
    plan_argument(&p, "index", TENSOR_OUT, DTYPE_I32, s.rows, s.k, DIST_ZERO);
    push_i32(l, s.d);
    if (!s.one)
        push_i32(l, s.k);
    *ret_plan = p;
    return ERR_OK;
}

/* --- reference -------------------------------------------------------------------------------
 *
 * The rule made into one number a place: sort by class, value, index. */

static int by_rule(const void *a, const void *b, void *order)
{
    const struct picked *x = a, *y = b;
    const struct order *o = order;
    int nan = isnan(y->value) - isnan(x->value);
    if (nan)
        return o->numbers ? -nan : nan;
    if (x->value != y->value && !isnan(x->value))
        return (x->value > y->value) == o->least ? 1 : -1;
    return (x->at > y->at) == o->last ? -1 : 1;
}

void select_sort(struct picked *x, int64_t n, const struct order *o)
{
    qsort_r(x, (size_t)n, sizeof *x, by_rule, (void *)(uintptr_t)o);
}

static struct element element_of(const struct select *s, int which, const struct picked *p)
{
    struct element y = element_exact(select_is_index(s, which) ? (double)p->at : p->value);
    y.drop = select_is_index(s, which) ? 1 : isfinite(p->value) ? fabs(p->value) : 0;
    return y;
}

static enum err oracle(const struct case_id *id, const struct case_plan *p,
                       const struct tensor *const *input, int which, struct case_span span,
                       int threads, struct oracle *o, struct errinfo *e)
{
    struct select s;
    const struct order rule = {.last = false};
    (void)p, (void)threads;
    select_decode(id, &s);
    struct picked *row = calloc((size_t)s.d, sizeof *row);
    if (!row)
        return err_set(e, ERR_NOMEM, "no memory for a row of %lld", (long long)s.d);
    for (int64_t r = span.from / s.k; r * s.k < span.to; r++) {
        for (int64_t i = 0; i < s.d; i++)
            row[i] = (struct picked){tensor_value(input[SELECT_X], r * s.d + i), i};
        select_sort(row, s.d, &rule);
        struct case_span in = case_row(span, r, s.k);
        for (int64_t j = in.from; j < in.to; j++) {
            struct element y = element_of(&s, which, &row[j]);
            element_put(o, r * s.k + j, &y);
        }
    }
    free(row);
    return ERR_OK;
}

static bool needs(const struct case_id *id, const struct case_plan *p, int which, int i,
                  struct case_span span, struct case_span *ret_need)
{
    (void)id, (void)i;
    *ret_need = case_rows(span, p->tensor[which].dim[1], p->tensor[SELECT_X].dim[1]);
    return true;
}

static const struct suite_row suites[] = {
#define SUITE(tags, id) {tags, id},
#include "suites.def"
#undef SUITE
    {NULL, NULL},
};

const struct family family_select = {
    .name = "select",
    .summary = "the largest elements of rows and where they are",
    .params = params,
    .variants = variants,
    .suites = suites,
    .plan = plan,
    .oracle = oracle,
    .needs = needs,
    .models = select_models,
    .model = select_model,
};
