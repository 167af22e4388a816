/* SPDX-License-Identifier: Apache-2.0 */
#include "rope.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../plan.h"

/* Rotary position embedding. */

enum { DTYPE, TOKENS, HEADS, D, BASE, MOST };

static const char *const dtype_words[] = {"f32", "f16", "bf16", NULL};

static const struct param params[] = {
    [DTYPE] = {"dtype", "format of x and y", PARAM_WORD, 0, 0, dtype_words, "f32", false},
    [TOKENS] = {"tokens", "tokens, each at its own position", PARAM_INT, 1, 65535, NULL, "16",
                false},
    [HEADS] = {"heads", "heads of a token", PARAM_INT, 1, 1024, NULL, "2", false},
    [D] = {"d", "length of a head, even", PARAM_INT, 2, 4096, NULL, "64", false},
    [BASE] = {"base", "frequency i is base^(-2 i / d)", PARAM_REAL, 1, 1e9, NULL, "10000",
              true},
    [MOST] = {"most", "largest position", PARAM_INT, 0, (1 << 24) - 1, NULL, "131071", true},
    {NULL},
};

static const struct variant variants[] = {
#define VARIANT(name, summary, hidden, neox) {#name, summary, "rope.cu", hidden, false},
#include "variants.def"
#undef VARIANT
    {NULL, NULL, NULL, false, false},
};

static const bool halves[] = {
#define VARIANT(name, summary, hidden, neox) neox,
#include "variants.def"
#undef VARIANT
};

void rope_decode(const struct case_id *id, struct rope *ret_rope)
{
    const union param_value *v = id->value;
    *ret_rope = (struct rope){.neox = halves[id->variant - variants],
                              .dtype = dtype_find(dtype_words[v[DTYPE].i]),
                              .tokens = v[TOKENS].i,
                              .heads = v[HEADS].i,
                              .d = v[D].i,
                              .mode = id->mode};
}

struct rope_pair rope_place(const struct rope *r, int64_t row, int64_t i)
{
    int64_t first = row * r->d + (r->neox ? i : 2 * i);
    return (struct rope_pair){first, first + (r->neox ? r->d / 2 : 1)};
}

/* --- plan ------------------------------------------------------------------------------------
 */

static enum err check(const struct rope *r, struct errinfo *e)
{
    if (r->d % 2)
        return err_set(e, ERR_USAGE, "d=%lld: a head must be made of pairs, take an even d",
                       (long long)r->d);
    if (r->tokens * r->heads > ((int64_t)1 << 30) / r->d)
        return err_set(e, ERR_USAGE,
                       "tokens=%lld,heads=%lld,d=%lld: x would have more than 2^30 elements; "
                       "make one smaller",
                       (long long)r->tokens, (long long)r->heads, (long long)r->d);
    if (r->mode.approximate)
        return err_set(e, ERR_USAGE,
                       "nobody documents what fast sin and cos err beyond pi: take rope in the "
                       "modes default, strict or flush");
    return ERR_OK;
}

static void plan_tensors(const struct rope *r, enum dist dist, struct case_plan *p)
{
    const int64_t dim[3] = {r->tokens, r->heads, r->d};
    const int64_t half = r->d / 2;
    plan_tensor(p, "x", TENSOR_IN, r->dtype, 3, dim, dist);
    plan_tensor(p, "position", TENSOR_IN, DTYPE_I32, 1, &r->tokens, DIST_ZERO);
    plan_tensor(p, "frequency", TENSOR_IN, DTYPE_F32, 1, &half, DIST_ZERO);
    plan_tensor(p, "y", TENSOR_OUT, r->dtype, 3, dim, DIST_ZERO);
    for (int i = 0; i < p->n_tensor; i++)
        push_tensor(&p->launch[0], i);
}

static enum err plan(const struct case_id *id, struct case_plan *ret_plan, struct errinfo *e)
{
    struct rope r;
    rope_decode(id, &r);
    TRY(check(&r, e));
    int64_t n = r.tokens * r.heads * (r.d / 2);
    const int64_t numbers[3] = {r.heads, r.d, n};
    struct case_plan p;
    struct case_launch *l = &p.launch[0];
    memset(&p, 0, sizeof p);
    p.n_launch = 1;
    *l =
        (struct case_launch){.grid = {(uint32_t)((n + 255) / 256), 1, 1}, .block = {256, 1, 1}};
    snprintf(l->entry, sizeof l->entry, "%s_%s", id->variant->name, dtype_info(r.dtype)->name);
    plan_tensors(&r, id->dist, &p);
    for (int i = 0; i < 3; i++)
        push_i32(l, numbers[i]);
    *ret_plan = p;
    return ERR_OK;
}

/* --- inputs ----------------------------------------------------------------------------------
 */

/* Position 0 and the largest first, then any; sizes of all binades are as likely. */
static void positions_fill(const struct case_id *id, struct tensor *t)
{
    struct rng_key key = rng_key_make(id->seed, "rope/position");
    int64_t most = id->value[MOST].i;
    for (int64_t i = 0; i < t->count; i++) {
        int64_t shift = (int64_t)(rng_bits(key, (uint64_t)i, 1) % 4) * 4;
        int64_t drawn = (int64_t)(rng_bits(key, (uint64_t)i, 0) % (uint64_t)(most + 1)) >> shift;
        tensor_set_bits(t, i, (uint64_t)(t->count > 1 && i == 0 ? 0 : i < 2 ? most : drawn));
    }
}

/* Frequencies are far from where exp's error of 2^-90 could change their rounding. */
static void frequencies_fill(const struct case_id *id, struct tensor *t)
{
    struct wide log = wide_log(wide_of(id->value[BASE].r));
    for (int64_t i = 0; i < t->count; i++) {
        struct wide part = wide_div(wide_of((double)-i), wide_of((double)t->count));
        struct wide f = wide_exp(wide_mul(log, part));
        tensor_set_bits(t, i, dtype_round_sum(DTYPE_F32, f.hi, f.lo));
    }
}

static bool fill(const struct case_id *id, const struct case_plan *p, int i,
                  struct case_span span, struct tensor *t)
{
    (void)p, (void)span; /* those made here are small */
    if (i == ROPE_POSITION)
        positions_fill(id, t);
    else if (i == ROPE_FREQUENCY)
        frequencies_fill(id, t);
    return i != ROPE_X;
}

/* --- reference -------------------------------------------------------------------------------
 */

/* The smallest fault to catch is the next position. */
static void pair_judge(const struct rope *r, const struct rope_turn *t,
                       const struct rope_turn *next, const struct tensor *x, int64_t row,
                       int64_t i, struct oracle *o)
{
    struct rope_pair at = rope_place(r, row, i);
    double a = tensor_value(x, at.first), b = tensor_value(x, at.second);
    struct element y = rope_output(r, t, a, b), z = rope_output(r, t, b, -a);
    if (isfinite(a) && isfinite(b)) {
        y.drop = fabs(a * next->cosine.hi - b * next->sine.hi - y.value);
        z.drop = fabs(b * next->cosine.hi + a * next->sine.hi - z.value);
    }
    element_put(o, at.first, &y);
    element_put(o, at.second, &z);
}

/* Heads of that token, counted over all tokens, that have elements of the span. */
static struct case_span heads_of(const struct rope *r, int64_t token, struct case_span span)
{
    struct case_span head = {token * r->heads, (token + 1) * r->heads};
    if (head.from * r->d < span.from)
        head.from = span.from / r->d;
    if (head.to * r->d > span.to)
        head.to = (span.to + r->d - 1) / r->d;
    return head;
}

static enum err oracle(const struct case_id *id, const struct case_plan *p,
                       const struct tensor *const *input, int which, struct case_span span,
                       int threads, struct oracle *o, struct errinfo *e)
{
    struct rope r;
    (void)p, (void)which, (void)threads, (void)e;
    rope_decode(id, &r);
    int64_t size = r.heads * r.d;
    for (int64_t token = span.from / size; token * size < span.to; token++) {
        struct case_span head = heads_of(&r, token, span);
        int64_t position = (int64_t)tensor_value(input[ROPE_POSITION], token);
        for (int64_t i = 0; i < r.d / 2; i++) {
            double f = tensor_value(input[ROPE_FREQUENCY], i);
            struct rope_turn t = rope_turn_make(rope_angle(position, f));
            struct rope_turn next = rope_turn_make(rope_angle(position + 1, f));
            for (int64_t row = head.from; row < head.to; row++)
                pair_judge(&r, &t, &next, input[ROPE_X], row, i, o);
        }
    }
    return ERR_OK;
}

static bool needs(const struct case_id *id, const struct case_plan *p, int which, int i,
                  struct case_span span, struct case_span *ret_need)
{
    int64_t d = p->tensor[ROPE_X].dim[2];
    (void)id, (void)which;
    *ret_need = case_rows(span, d, d);
    return i == ROPE_X;
}

static const struct suite_row suites[] = {
#define SUITE(tags, id) {tags, id},
#include "suites.def"
#undef SUITE
    {NULL, NULL},
};

const struct family family_rope = {
    .name = "rope",
    .summary = "rotary position embedding",
    .params = params,
    .variants = variants,
    .suites = suites,
    .functions = true,
    .plan = plan,
    .oracle = oracle,
    .needs = needs,
    .models = rope_models,
    .model = rope_model,
    .fill = fill,
};
