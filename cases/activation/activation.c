/* SPDX-License-Identifier: Apache-2.0 */
#include "activation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Activations of transformer blocks, alone or times a second half. */

enum { DTYPE, ROWS, D };

static const char *const dtype_words[] = {"f32", "f16", "bf16", NULL};

static const struct param params[] = {
    [DTYPE] = {"dtype", "format of x and y", PARAM_WORD, 0, 0, dtype_words, "f32", false},
    [ROWS] = {"rows", "rows", PARAM_INT, 1, 65535, NULL, "16", false},
    [D] = {"d", "length of a row of y", PARAM_INT, 1, 1 << 20, NULL, "256", false},
    {NULL},
};

static const struct variant variants[] = {
#define VARIANT(name, summary, hidden, kind, mul)                                              \
    {#name, summary, "activation.cu", hidden, false},
#include "variants.def"
#undef VARIANT
    {NULL, NULL, NULL, false, false},
};

static const struct {
    enum activation_kind kind;
    bool mul;
} kinds[] = {
#define VARIANT(name, summary, hidden, kind, mul) {ACTIVATION_##kind, mul},
#include "variants.def"
#undef VARIANT
};

void activation_decode(const struct case_id *id, struct activation *ret_activation)
{
    const union param_value *v = id->value;
    *ret_activation = (struct activation){.kind = kinds[id->variant - variants].kind,
                                          .mul = kinds[id->variant - variants].mul,
                                          .dtype = dtype_find(dtype_words[v[DTYPE].i]),
                                          .rows = v[ROWS].i,
                                          .d = v[D].i,
                                          .mode = id->mode};
}

int64_t activation_place(const struct activation *a, int64_t i)
{
    return a->mul ? i / a->d * 2 * a->d + i % a->d : i;
}

static struct case_tensor matrix(const char *name, enum tensor_role role,
                                 const struct activation *a, int64_t width, enum dist dist)
{
    struct case_tensor t = {.role = role,
                            .dtype = a->dtype,
                            .rank = 2,
                            .dim = {a->rows, width},
                            .dist = dist,
                            .axis = 1};
    snprintf(t.name, sizeof t.name, "%s", name);
    return t;
}

static enum err plan(const struct case_id *id, struct case_plan *ret_plan, struct errinfo *e)
{
    struct activation a;
    activation_decode(id, &a);
    int64_t n = a.rows * a.d, width = a.mul ? 2 * a.d : a.d;
    if (n > ((int64_t)1 << 29))
        return err_set(
            e, ERR_USAGE,
            "rows=%lld,d=%lld: y would have more than 2^29 elements; make one smaller",
            (long long)a.rows, (long long)a.d);
    struct case_plan p = {.n_tensor = 2, .n_launch = 1};
    struct case_launch *l = &p.launch[0];
    p.tensor[ACTIVATION_X] = matrix("x", TENSOR_IN, &a, width, id->dist);
    p.tensor[ACTIVATION_Y] = matrix("y", TENSOR_OUT, &a, a.d, DIST_ZERO);
    *l = (struct case_launch){.grid = {(uint32_t)((n + 255) / 256), 1, 1},
                              .block = {256, 1, 1},
                              .n_arg = 4,
                              .arg = {{.kind = CASE_ARG_TENSOR, .tensor = ACTIVATION_X},
                                      {.kind = CASE_ARG_TENSOR, .tensor = ACTIVATION_Y},
                                      {.kind = CASE_ARG_I32, .i = a.d},
                                      {.kind = CASE_ARG_I32, .i = n}}};
    snprintf(l->entry, sizeof l->entry, "%s_%s", id->variant->name, dtype_info(a.dtype)->name);
    *ret_plan = p;
    return ERR_OK;
}

static struct element element_of(const struct activation *a, const struct tensor *x, int64_t i)
{
    int64_t at = activation_place(a, i);
    return activation_output(a, tensor_value(x, at),
                             a->mul ? tensor_value(x, at + a->d) : 1);
}

/* The smallest fault to catch: exp, tanh or erf of 11 bits, or the element of the next column.
 */
static enum err oracle(const struct case_id *id, const struct case_plan *p,
                       const struct tensor *const *input, int which, struct case_span span,
                       int threads, struct oracle *o, struct errinfo *e)
{
    struct activation a;
    const struct tensor *x = input[ACTIVATION_X];
    (void)p, (void)which, (void)threads, (void)e;
    activation_decode(id, &a);
    double before = span.from ? element_of(&a, x, span.from - 1).value : 0;
    for (int64_t i = span.from; i < span.to; i++) {
        struct element y = element_of(&a, x, i);
        double last = i ? fabs(y.value - before) : 0;
        before = y.value;
        if (isfinite(last) && y.drop > 0)
            y.drop = fmax(y.drop, last);
        element_put(o, i, &y);
    }
    return ERR_OK;
}

/* The element before too: it is the smallest fault. */
static bool needs(const struct case_id *id, const struct case_plan *p, int which, int i,
                  struct case_span span, struct case_span *ret_need)
{
    struct activation a;
    (void)p, (void)which, (void)i;
    activation_decode(id, &a);
    span.from -= span.from > 0;
    *ret_need = a.mul ? case_rows(span, a.d, 2 * a.d) : span;
    return true;
}

static const struct suite_row suites[] = {
#define SUITE(tags, id) {tags, id},
#include "suites.def"
#undef SUITE
    {NULL, NULL},
};

const struct family family_activation = {
    .name = "activation",
    .summary = "gelu and silu, alone or times a second half",
    .params = params,
    .variants = variants,
    .suites = suites,
    .functions = true,
    .plan = plan,
    .oracle = oracle,
    .needs = needs,
    .models = activation_models,
    .model = activation_model,
};
