/* SPDX-License-Identifier: Apache-2.0 */
#include "fused.h"

#include <stdio.h>
#include <string.h>

#include "../plan.h"

/* One step of AdamW, or of LAMB (You et al., ICLR 2020), on one tensor, state and all in f32.
 */

enum { N, T, LR, BETA1, BETA2, EPS, WD };

/* eps: far above what underflow can do to the root of v. */
static const struct param params[] = {
    [N] = {"n", "parameters", PARAM_INT, 1, 1 << 24, NULL, "2500", false},
    [T] = {"t", "number of this step", PARAM_INT, 1, 1000000, NULL, "10", false},
    [LR] = {"lr", "learning rate", PARAM_REAL, 1e-8, 10, NULL, "0.01", true},
    [BETA1] = {"beta1", "decay of the first moment", PARAM_REAL, 0, 0.9999, NULL, "0.9", true},
    [BETA2] = {"beta2", "decay of the second moment", PARAM_REAL, 0, 0.99999, NULL, "0.999",
               true},
    [EPS] = {"eps", "added to the root", PARAM_REAL, 1e-12, 1, NULL, "1e-08", true},
    [WD] = {"wd", "weight decay", PARAM_REAL, 0, 10, NULL, "0.01", true},
    {NULL},
};

static const struct variant variants[] = {
#define VARIANT(name, summary, hidden, lamb) {#name, summary, "fused.cu", hidden, false},
#include "variants.def"
#undef VARIANT
    {NULL, NULL, NULL, false, false},
};

static const bool is_lamb[] = {
#define VARIANT(name, summary, hidden, lamb) lamb,
#include "variants.def"
#undef VARIANT
};

/* By multiplications alone: the same everywhere. */
static double power(double x, int64_t n)
{
    double y = 1;
    for (; n; n /= 2, x *= x)
        y *= n % 2 ? x : 1;
    return y;
}

void fused_decode(const struct case_id *id, struct fused *ret_fused)
{
    const union param_value *x = id->value;
    float b1 = (float)x[BETA1].r, b2 = (float)x[BETA2].r;
    *ret_fused = (struct fused){.lamb = is_lamb[id->variant - variants],
                                .n = x[N].i,
                                .t = x[T].i,
                                .b1 = b1,
                                .a1 = 1 - b1,
                                .b2 = b2,
                                .a2 = 1 - b2,
                                .c1 = (float)(1 - power((double)b1, x[T].i)),
                                .c2 = (float)(1 - power((double)b2, x[T].i)),
                                .eps = (float)x[EPS].r,
                                .wd = (float)x[WD].r,
                                .lr = (float)x[LR].r,
                                .mode = id->mode};
}

static void plan_vector(struct case_plan *p, const char *name, enum tensor_role role, int64_t n,
                        enum dist dist)
{
    plan_tensor(p, name, role, DTYPE_F32, 1, &n, dist);
}

static struct case_launch *launch(const struct case_id *id, struct case_plan *p,
                                  const char *part, int64_t blocks)
{
    struct case_launch *l = &p->launch[p->n_launch++];
    *l = (struct case_launch){.grid = {(uint32_t)blocks, 1, 1}, .block = {256, 1, 1}};
    snprintf(l->entry, sizeof l->entry, "%s_%s", id->variant->name, part);
    return l;
}

static void plan_moments(const struct case_id *id, const struct fused *s, struct case_plan *p)
{
    struct case_launch *l = launch(id, p, "moments", (s->n + 255) / 256);
    for (int i = FUSED_P; i <= FUSED_U; i++)
        push_tensor(l, i);
    push_i32(l, s->n);
    const float constants[] = {s->b1, s->a1, s->b2, s->a2, s->c1, s->c2, s->eps, s->wd};
    for (int i = 0; i < 8; i++)
        push_f32(l, constants[i]);
}

static void plan_norms(const struct case_id *id, const struct fused *s, struct case_plan *p)
{
    struct case_launch *l = launch(id, p, "squares", fused_blocks(s));
    push_tensor(l, FUSED_P);
    push_tensor(l, FUSED_U);
    push_tensor(l, FUSED_PART);
    push_i32(l, s->n);
    l = launch(id, p, "norms", 1);
    push_tensor(l, FUSED_PART);
    push_tensor(l, FUSED_NORMS);
    push_i32(l, fused_blocks(s));
}

static enum err fused_plan(const struct case_id *id, struct case_plan *ret_plan,
                           struct errinfo *e)
{
    struct fused s;
    struct case_plan p;
    (void)e;
    memset(&p, 0, sizeof p);
    fused_decode(id, &s);
    enum dist state = id->dist == DIST_SUBNORMAL ? DIST_SUBNORMAL : DIST_NORMAL;
    plan_vector(&p, "p", TENSOR_INOUT, s.n, DIST_NORMAL);
    plan_vector(&p, "g", TENSOR_IN, s.n, id->dist);
    plan_vector(&p, "m", TENSOR_INOUT, s.n, state);
    plan_vector(&p, "v", TENSOR_INOUT, s.n, state);
    plan_vector(&p, "u", TENSOR_OUT, s.n, id->dist);
    plan_moments(id, &s, &p);
    if (s.lamb) {
        plan_vector(&p, "part", TENSOR_OUT, 2 * fused_blocks(&s), id->dist);
        plan_vector(&p, "norms", TENSOR_OUT, 2, id->dist);
        plan_norms(id, &s, &p);
    }
    struct case_launch *l = launch(id, &p, "apply", (s.n + 255) / 256);
    push_tensor(l, FUSED_P);
    push_tensor(l, FUSED_U);
    push_tensor(l, s.lamb ? FUSED_NORMS : FUSED_U);
    push_i32(l, s.n);
    push_f32(l, s.lr);
    push_i32(l, s.lamb);
    *ret_plan = p;
    return ERR_OK;
}

/* v is a mean of squares: not negative. */
static bool fused_fill(const struct case_id *id, const struct case_plan *plan, int i,
                  struct case_span span, struct tensor *t)
{
    if (i != FUSED_V)
        return false;
    struct rng_key key = rng_key_make(id->seed, "fused/v");
    for (int64_t k = span.from; k < span.to; k++)
        tensor_set_bits(
            t, k, fill_bits(key, plan->tensor[i].dist, DTYPE_F32, t->count, k) & 0x7fffffffu);
    return true;
}

/* LAMB's norms are of all elements. */
static bool needs(const struct case_id *id, const struct case_plan *p, int which, int i,
                  struct case_span span, struct case_span *ret_need)
{
    struct fused s;
    (void)p, (void)which, (void)i;
    fused_decode(id, &s);
    *ret_need = span;
    return !s.lamb;
}

static const struct suite_row suites[] = {
#define SUITE(tags, id) {tags, id},
#include "suites.def"
#undef SUITE
    {NULL, NULL},
};

const struct family family_fused = {
    .name = "fused",
    .summary = "fused AdamW and LAMB steps in f32",
    .params = params,
    .variants = variants,
    .suites = suites,
    .plan = fused_plan,
    .oracle = fused_oracle,
    .needs = needs,
    .models = fused_models,
    .model = fused_model,
    .fill = fused_fill,
};
