/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce.h"

#include <stdio.h>
#include <string.h>

#include "../plan.h"

/* Sums of n terms in the orders that libraries use, and what is made of them. */

enum { DTYPE, ROWS, N, OP, CARRY };

static const char *const dtype_words[] = {"f32", "f16", "bf16", NULL};
static const char *const op_words[] = {"sum", "mean", "norm", NULL};
static const char *const carry_words[] = {"f32", "hop", NULL};

static const struct param params[] = {
    [DTYPE] = {"dtype", "format of x and y; sums are f32", PARAM_WORD, 0, 0, dtype_words, "f32",
               false},
    [ROWS] = {"rows", "independent sums (all-reduce: elements of a rank's buffer)", PARAM_INT,
              1, 1 << 26, NULL, "16", false},
    [N] = {"n", "terms of a sum (all-reduce: ranks)", PARAM_INT, 1, 1 << 24, NULL, "1000",
           false},
    [OP] = {"op", "what is made of the sum: sum, mean, norm (root of the sum of squares)",
            PARAM_WORD, 0, 0, op_words, "sum", true},
    [CARRY] = {"carry", "all-reduce: partial sums travel in f32, or hop: in the format",
               PARAM_WORD, 0, 0, carry_words, "f32", true},
    {NULL},
};

static const struct variant variants[] = {
#define VARIANT(name, summary, source, hidden, unordered, order)                               \
    {#name, summary, #source ".cu", hidden, unordered},
#include "variants.def"
#undef VARIANT
    {NULL, NULL, NULL, false, false},
};

static const enum reduce_order orders[] = {
#define VARIANT(name, summary, source, hidden, unordered, order) REDUCE_##order,
#include "variants.def"
#undef VARIANT
};

void reduce_decode(const struct case_id *id, struct reduce *ret_reduce)
{
    const union param_value *v = id->value;
    *ret_reduce = (struct reduce){.order = orders[id->variant - variants],
                                  .op = (enum reduce_op)v[OP].i,
                                  .dtype = dtype_find(dtype_words[v[DTYPE].i]),
                                  .rows = v[ROWS].i,
                                  .n = v[N].i,
                                  .hop = v[CARRY].i,
                                  .mode = id->mode};
}

int64_t reduce_ring_first(const struct reduce *r, int64_t row)
{
    int64_t owner = row / ((r->rows + r->n - 1) / r->n);
    return r->order == REDUCE_RING && owner + 1 < r->n ? owner + 1 : 0;
}

static enum err reduce_check(const struct case_id *id, const struct reduce *r,
                             struct errinfo *e)
{
    const char *variant = id->variant->name;
    if (r->rows > ((int64_t)1 << 31) / r->n)
        return err_set(e, ERR_USAGE,
                       "rows=%lld,n=%lld: x would have more than 2^31 elements; make one "
                       "smaller",
                       (long long)r->rows, (long long)r->n);
    if (r->order == REDUCE_ATOMIC && r->rows > 65535)
        return err_set(e, ERR_USAGE, "rows=%lld: reduce/%s takes at most 65535 sums",
                       (long long)r->rows, variant);
    if (reduce_is_all(r) && r->n > REDUCE_RANKS)
        return err_set(e, ERR_USAGE, "n=%lld: reduce/%s takes at most %d ranks",
                       (long long)r->n, variant, REDUCE_RANKS);
    if (reduce_is_all(r) && r->op == REDUCE_NORM)
        return err_set(e, ERR_USAGE, "op=norm: reduce/%s takes op=sum and op=mean", variant);
    if (reduce_is_spread(r) && r->op != REDUCE_SUM)
        return err_set(e, ERR_USAGE,
                       "op=%s: reduce/%s always gives mean and variance; leave op out",
                       op_words[r->op], variant);
    if (!reduce_is_all(r) && r->hop)
        return err_set(e, ERR_USAGE, "carry=hop: only reduce/ring, pairs and flat have it");
    return ERR_OK;
}

static struct case_tensor tensor(const char *name, enum tensor_role role, enum dtype d,
                                 int64_t rows)
{
    struct case_tensor t = {.role = role, .dtype = d, .rank = 1, .dim = {rows}};
    snprintf(t.name, sizeof t.name, "%s", name);
    return t;
}

static void plan_tensors(const struct case_id *id, const struct reduce *r, struct case_plan *p)
{
    bool all = reduce_is_all(r);
    p->tensor[REDUCE_X] =
        (struct case_tensor){.name = "x",
                             .role = TENSOR_IN,
                             .dtype = r->dtype,
                             .rank = 2,
                             .dim = {all ? r->n : r->rows, all ? r->rows : r->n},
                             .dist = id->dist,
                             .axis = all ? 0 : 1};
    p->n_tensor = 2;
    if (reduce_is_spread(r)) {
        p->tensor[REDUCE_Y] = tensor("mean", TENSOR_OUT, DTYPE_F32, r->rows);
        p->tensor[REDUCE_VAR] = tensor("var", TENSOR_OUT, DTYPE_F32, r->rows);
        p->n_tensor++;
        return;
    }
    p->tensor[REDUCE_Y] = tensor("y", TENSOR_OUT, r->dtype, r->rows);
    if (r->order == REDUCE_ATOMIC) {
        p->tensor[REDUCE_SUMS] = tensor("sums", TENSOR_OUT, DTYPE_F32, r->rows);
        p->tensor[REDUCE_SUMS].zeroed = true;
        p->n_tensor++;
    }
}

/* --- launches --------------------------------------------------------------------------------
 */

static struct case_launch *launch(const struct case_id *id, const struct reduce *r,
                                  struct case_plan *p, const char *part, int64_t blocks,
                                  uint32_t threads)
{
    struct case_launch *l = &p->launch[p->n_launch++];
    *l = (struct case_launch){.grid = {(uint32_t)blocks, 1, 1}, .block = {threads, 1, 1}};
    snprintf(l->entry, sizeof l->entry, "%s%s_%s", id->variant->name, part,
             dtype_info(r->dtype)->name);
    return l;
}

static void push_steps(struct case_launch *l, const struct reduce *r)
{
    push_i32(l, r->n);
    push_i64(l, reduce_at(r, 1, 0));
    push_i64(l, reduce_at(r, 0, 1));
    push_i32(l, r->op);
}

static void plan_atomic(const struct case_id *id, const struct reduce *r, struct case_plan *p)
{
    int64_t chunks = (r->n + REDUCE_CHUNK - 1) / REDUCE_CHUNK;
    struct case_launch *l = launch(id, r, p, "", chunks, 256);
    l->grid[1] = (uint32_t)r->rows;
    push_tensor(l, REDUCE_X);
    push_tensor(l, REDUCE_SUMS);
    push_steps(l, r);
    l = launch(id, r, p, "_finish", (r->rows + 255) / 256, 256);
    push_tensor(l, REDUCE_SUMS);
    push_tensor(l, REDUCE_Y);
    push_i32(l, r->rows);
    push_i32(l, r->n);
    push_i32(l, r->op);
}

static void plan_sum(const struct case_id *id, const struct reduce *r, struct case_plan *p)
{
    uint32_t threads = r->order == REDUCE_SERIAL ? 64 : r->order == REDUCE_WARP ? 32 : 256;
    int64_t each = r->order == REDUCE_SERIAL ? 64 : reduce_is_all(r) ? 256 : 1;
    struct case_launch *l = launch(id, r, p, "", (r->rows + each - 1) / each, threads);
    push_tensor(l, REDUCE_X);
    push_tensor(l, REDUCE_Y);
    push_i32(l, r->rows);
    push_steps(l, r);
    if (reduce_is_all(r))
        push_i32(l, r->hop);
}

static void plan_spread(const struct case_id *id, const struct reduce *r, struct case_plan *p)
{
    struct case_launch *l = launch(id, r, p, "", r->rows, 32);
    push_tensor(l, REDUCE_X);
    push_tensor(l, REDUCE_Y);
    push_tensor(l, REDUCE_VAR);
    push_i32(l, r->n);
}

static enum err reduce_plan(const struct case_id *id, struct case_plan *ret_plan,
                            struct errinfo *e)
{
    struct reduce r;
    struct case_plan p;
    memset(&p, 0, sizeof p);
    reduce_decode(id, &r);
    TRY(reduce_check(id, &r, e));
    plan_tensors(id, &r, &p);
    if (reduce_is_spread(&r))
        plan_spread(id, &r, &p);
    else if (r.order == REDUCE_ATOMIC)
        plan_atomic(id, &r, &p);
    else
        plan_sum(id, &r, &p);
    *ret_plan = p;
    return ERR_OK;
}

/* A row of x a pair. In a ring a row's place decides who begins: all pairs are in the first
 * chunk, that of rank 0. */
static enum err reduce_summation(const struct case_id *id, struct case_sum *ret_sum,
                                 struct errinfo *e)
{
    struct reduce r;
    reduce_decode(id, &r);
    struct case_sum s = {.id = *id, .leaves = r.n, .output = REDUCE_Y, .stride = 1};
    s.factor = r.op == REDUCE_MEAN ? (double)r.n : 1;
    if (reduce_is_spread(&r) || r.op == REDUCE_NORM)
        return err_set(
            e, ERR_USAGE,
            "reduce/%s%s: squares have no sign to probe with; take op=sum or mean of "
            "another variant",
            id->variant->name, r.op == REDUCE_NORM ? ",op=norm" : "");
    if (r.n < 2 || r.n > CASE_SUM_LEAVES_MAX)
        return err_set(e, ERR_USAGE, "n=%lld: an order has 2 to %d terms", (long long)r.n,
                       CASE_SUM_LEAVES_MAX);
    s.id.dist = DIST_MASK;
    s.id.value[ROWS].i = r.n * (r.n - 1) / 2 * (r.order == REDUCE_RING ? r.n : 1);
    *ret_sum = s;
    return ERR_OK;
}

/* Whole rows, where they lie one after the other. */
static bool needs(const struct case_id *id, const struct case_plan *p, int which, int i,
                  struct case_span span, struct case_span *ret_need)
{
    struct reduce r;
    (void)p, (void)which, (void)i;
    reduce_decode(id, &r);
    *ret_need = case_rows(span, 1, r.n);
    return !reduce_is_all(&r);
}

static const struct suite_row suites[] = {
#define SUITE(tags, id) {tags, id},
#include "suites.def"
#undef SUITE
    {NULL, NULL},
};

const struct family family_reduce = {
    .name = "reduce",
    .summary = "sums, means, norms and variances, all-reduce orders",
    .params = params,
    .variants = variants,
    .suites = suites,
    .plan = reduce_plan,
    .oracle = reduce_oracle,
    .needs = needs,
    .models = reduce_models,
    .model = reduce_model,
    .summation = reduce_summation,
};
