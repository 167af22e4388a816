/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The computations of bitsandbytes: blockwise quantization, and optimizers whose state is kept
 * in quantized blocks. One code book goes to both vendors as an input. */

static const char *const dtype_words[] = {"f32", "f16", "bf16", NULL};
static const char *const book_words[] = {"dynamic", "udynamic", "linear", "ulinear",
                                         "nf4",     "fp4",      NULL};

static const struct param params[] = {
    [P_DTYPE] = {"dtype", "format of x, y, parameters and gradients", PARAM_WORD, 0, 0,
                 dtype_words, "f32", false},
    [P_BOOK] = {"book", "code book", PARAM_WORD, 0, 0, book_words, "dynamic", true},
    [P_N] = {"n", "elements", PARAM_INT, 1, 1 << 26, NULL, "4096", false},
    [P_BLOCK] = {"block", "elements that share a scale", PARAM_INT, 32, 4096, NULL, "256",
                 true},
    [P_STEP] = {"step", "number of the (first) step, from 1", PARAM_INT, 1, 1000000, NULL, "7",
                true},
    [P_STEPS] = {"steps", "8-bit: so many steps, each from its own state; adam8run: one run",
                 PARAM_INT, 1, 64, NULL, "1", true},
    [P_LR] = {"lr", "learning rate", PARAM_REAL, 0, 1, NULL, "0.001", true},
    [P_BETA1] = {"beta1", "decay of the first moment", PARAM_REAL, 0, 0.9999, NULL, "0.9",
                 true},
    [P_BETA2] = {"beta2", "decay of the second", PARAM_REAL, 0, 0.99999, NULL, "0.999", true},
    [P_BETA3] = {"beta3", "ademamix: decay of the slow moment", PARAM_REAL, 0, 0.99999, NULL,
                 "0.9999", true},
    [P_ALPHA] = {"alpha", "ademamix: weight of the slow moment", PARAM_REAL, 0, 100, NULL, "5",
                 true},
    [P_EPS] = {"eps", "added to the root", PARAM_REAL, 1e-12, 1, NULL, "1e-8", true},
    [P_WD] = {"wd", "weight decay", PARAM_REAL, 0, 1, NULL, "0", true},
    [P_GNORM] = {"gnorm", "factor of the gradients", PARAM_REAL, 1e-6, 1e6, NULL, "1", true},
    [P_MAX_UNORM] = {"unorm", "lamb32, lars32: the update's norm is at most this share of pnorm",
                     PARAM_REAL, 1e-6, 1e6, NULL, "0.1", true},
    [P_PNORM] = {"pnorm", "lamb32, lars32: norm of the parameters, as the caller gives it",
                 PARAM_REAL, 1e-6, 1e9, NULL, "30", true},
    [P_M] = {"m", "int8, gemm4: rows of a", PARAM_INT, 1, 65535, NULL, "32", true},
    [P_K] = {"k", "int8, gemv4, gemm4: length of the sums", PARAM_INT, 1, 1 << 20, NULL, "256", true},
    [P_THRESHOLD] = {"threshold", "int8: elements of a of at least this size are left out",
                     PARAM_REAL, 0, 65504, NULL, "0", true},
    {NULL},
};

#define STEP_PARAMS                                                                            \
    (1u << P_DTYPE | 1u << P_N | 1u << P_STEP | 1u << P_LR | 1u << P_BETA1 | 1u << P_BETA2 |   \
     1u << P_BETA3 | 1u << P_ALPHA | 1u << P_EPS | 1u << P_WD | 1u << P_GNORM)

static const unsigned group_params[] = {
    [GROUP_STEP8] = STEP_PARAMS | 1u << P_STEPS,
    [GROUP_RUN8] = STEP_PARAMS | 1u << P_STEPS,
    [GROUP_STEP32] = STEP_PARAMS,
    [GROUP_CLIP32] = STEP_PARAMS | 1u << P_MAX_UNORM | 1u << P_PNORM,
    [GROUP_INT8] = 1u << P_M | 1u << P_N | 1u << P_K | 1u << P_THRESHOLD,
    [GROUP_GEMV4] = 1u << P_DTYPE | 1u << P_BOOK | 1u << P_N | 1u << P_K | 1u << P_BLOCK,
    [GROUP_GEMM4] = 1u << P_DTYPE | 1u << P_BOOK | 1u << P_M | 1u << P_N | 1u << P_K |
                    1u << P_BLOCK,
    [GROUP_QUANTIZE] = 1u << P_DTYPE | 1u << P_BOOK | 1u << P_N | 1u << P_BLOCK,
    [GROUP_DEQUANTIZE] = 1u << P_DTYPE | 1u << P_BOOK | 1u << P_N | 1u << P_BLOCK,
};

/* variant.def: name, summary, source, hidden, group, rule */
static const struct variant variants[] = {
#define VARIANT(name, summary, source, hidden, group, rule)                                    \
    {name, summary, source, hidden, GROUP_##group == GROUP_CLIP32},
#include "variant.def"
#undef VARIANT
    {NULL, NULL, NULL, false, false},
};

static const struct trait traits[] = {
#define VARIANT(name, summary, source, hidden, group, rule) {GROUP_##group, RULE_##rule},
#include "variant.def"
#undef VARIANT
};

const struct trait *trait_of(const struct case_id *id)
{
    return &traits[id->variant - variants];
}

enum dtype dtype_of(const struct case_id *id)
{
    return dtype_find(dtype_words[id->value[P_DTYPE].i]);
}

enum book_kind book_of(const struct case_id *id)
{
    return (enum book_kind)id->value[P_BOOK].i;
}

/* --- the family ------------------------------------------------------------------------------
 */

static bool is_standard(const struct param *p, const union param_value *v)
{
    if (p->kind == PARAM_REAL)
        return v->r == strtod(p->standard, NULL);
    if (p->kind == PARAM_INT)
        return v->i == strtoll(p->standard, NULL, 10);
    return !strcmp(p->words[v->i], p->standard);
}

static enum err params_check(const struct case_id *id, struct errinfo *e)
{
    unsigned taken = group_params[trait_of(id)->group];
    char list[160] = "";
    for (int i = 0; params[i].name; i++)
        if (taken >> i & 1)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? ", " : "",
                     params[i].name);
    for (int i = 0; params[i].name; i++)
        if (!(taken >> i & 1) && !is_standard(&params[i], &id->value[i]))
            return err_set(e, ERR_USAGE, "optim8bit/%s has no use for %s; it takes %s",
                           id->variant->name, params[i].name, list);
    return ERR_OK;
}

/* What a group does. */
struct work {
    enum err (*plan)(const struct case_id *, struct case_plan *, struct errinfo *);
    enum err (*oracle)(const struct case_id *, const struct case_plan *,
                       const struct tensor *const *, int, struct case_span, struct oracle *,
                       struct errinfo *);
    bool (*fill)(const struct case_id *, const struct case_plan *, int, struct case_span,
                 struct tensor *);
    bool (*needs)(const struct case_id *, const struct case_plan *, int, int, struct case_span,
                  struct case_span *);
};

static const struct work works[] = {
    [GROUP_QUANTIZE] = {quantize_plan, quantize_oracle, quantize_fill, quantize_needs},
    [GROUP_DEQUANTIZE] = {quantize_plan, quantize_oracle, quantize_fill, quantize_needs},
    [GROUP_STEP8] = {optimizer_plan, optimizer_oracle, optimizer_fill, optimizer_needs},
    [GROUP_RUN8] = {optimizer_plan, optimizer_oracle, optimizer_fill, optimizer_needs},
    [GROUP_STEP32] = {optimizer_plan, optimizer_oracle, optimizer_fill, optimizer_needs},
    [GROUP_CLIP32] = {optimizer_plan, optimizer_oracle, optimizer_fill, optimizer_needs},
    [GROUP_INT8] = {int8_plan, int8_oracle, int8_fill, NULL},
    [GROUP_GEMV4] = {gemv4_plan, gemv4_oracle, gemv4_fill, NULL},
    [GROUP_GEMM4] = {gemv4_plan, gemv4_oracle, gemv4_fill, NULL},
};

static const struct work *work_of(const struct case_id *id)
{
    return &works[trait_of(id)->group];
}

static enum err family_plan(const struct case_id *id, struct case_plan *ret_plan,
                            struct errinfo *e)
{
    struct case_plan p;
    memset(&p, 0, sizeof p);
    TRY(params_check(id, e));
    TRY(work_of(id)->plan(id, &p, e));
    *ret_plan = p;
    return ERR_OK;
}

static enum err family_oracle(const struct case_id *id, const struct case_plan *plan,
                              const struct tensor *const *input, int which,
                              struct case_span span, int threads, struct oracle *o,
                              struct errinfo *e)
{
    (void)threads;
    return work_of(id)->oracle(id, plan, input, which, span, o, e);
}

static bool family_fill(const struct case_id *id, const struct case_plan *plan, int i,
                  struct case_span span, struct tensor *t)
{
    return work_of(id)->fill(id, plan, i, span, t);
}

static bool family_needs(const struct case_id *id, const struct case_plan *plan, int which, int i,
                         struct case_span span, struct case_span *ret_need)
{
    const struct work *w = work_of(id);
    return w->needs && w->needs(id, plan, which, i, span, ret_need);
}

static const struct suite_row suites[] = {
#define SUITE(tags, id) {tags, id},
#include "suites.def"
#undef SUITE
    {NULL, NULL},
};

const struct family family_optim8bit = {
    .name = "optim8bit",
    .summary = "blockwise quantization and 8-bit optimizers",
    .params = params,
    .variants = variants,
    .suites = suites,
    .plan = family_plan,
    .oracle = family_oracle,
    .needs = family_needs,
    .models = optim8bit_models,
    .model = optim8bit_model,
    .fill = family_fill,
};
