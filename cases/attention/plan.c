/* SPDX-License-Identifier: Apache-2.0 */
#include "attention.h"

#include <stdio.h>
#include <string.h>

#include "../plan.h"

enum { TILE = ATTENTION_TILE };

/* --- tensors ---------------------------------------------------------------------------------
 */

static void tensor_set(struct case_tensor *t, const char *name, enum tensor_role role,
                       enum dtype d, int rank, const int64_t *dim, enum dist dist)
{
    *t = (struct case_tensor){
        .role = role, .dtype = d, .rank = rank, .dist = dist, .axis = rank - 1};
    t->whole = role == TENSOR_IN; /* any row of O may look at any key */
    snprintf(t->name, sizeof t->name, "%s", name);
    memcpy(t->dim, dim, (size_t)rank * sizeof *dim);
}

/* One-hot rows are for V: each key shows where it goes; so are ties, which as scores would
 * leave one key all the weight, as would heavy tails in both Q and K. */
static enum dist dist_keys(enum dist d)
{
    return d == DIST_ONEHOT || d == DIST_TIES ? DIST_NORMAL : d;
}

static enum dist dist_queries(enum dist d)
{
    return d == DIST_LOGNORMAL ? DIST_NORMAL : dist_keys(d);
}

/* V need not cancel. */
static enum dist dist_values(enum dist d)
{
    return d == DIST_CANCEL ? DIST_NORMAL : d;
}

/* Sequences one behind the other. */
static void plan_packed(const struct case_id *id, const struct attention *a,
                        struct case_plan *p)
{
    const int64_t q[3] = {attention_start(a, false, a->batch), a->heads, a->d};
    const int64_t k[3] = {attention_start(a, true, a->batch), a->kv_heads, a->d};
    const int64_t starts = a->batch + 1;
    struct case_tensor *t = p->tensor;
    tensor_set(&t[ATTENTION_Q], "q", TENSOR_IN, a->dtype, 3, q, dist_queries(id->dist));
    tensor_set(&t[ATTENTION_K], "k", TENSOR_IN, a->dtype, 3, k, dist_keys(id->dist));
    tensor_set(&t[ATTENTION_V], "v", TENSOR_IN, a->dtype, 3, k, dist_values(id->dist));
    tensor_set(&t[ATTENTION_O], "o", TENSOR_OUT, a->dtype, 3, q, id->dist);
    tensor_set(&t[ATTENTION_LSE], "lse", TENSOR_OUT, DTYPE_F32, 2, q, id->dist);
    tensor_set(&t[ATTENTION_STARTS_Q], "starts_q", TENSOR_IN, DTYPE_I32, 1, &starts,
               DIST_UNIFORM);
    tensor_set(&t[ATTENTION_STARTS_K], "starts_k", TENSOR_IN, DTYPE_I32, 1, &starts,
               DIST_UNIFORM);
}

static void plan_whole(const struct case_id *id, const struct attention *a,
                         struct case_plan *p)
{
    const int64_t q[4] = {a->batch, a->heads, a->queries, a->d};
    int64_t k[4] = {a->batch, a->kv_heads, a->keys, a->d};
    const int64_t part[5] = {a->split, a->batch, a->heads, a->queries, a->d};
    const int64_t table[2] = {a->batch, a->pages};
    if (a->page) {
        k[0] = a->batch * a->pages;
        k[2] = a->page;
    }
    const int64_t s[4] = {a->batch, a->heads, a->queries, a->keys};
    struct case_tensor *t = p->tensor;
    tensor_set(&t[ATTENTION_Q], "q", TENSOR_IN, a->dtype, 4, q, dist_queries(id->dist));
    tensor_set(&t[ATTENTION_K], "k", TENSOR_IN, a->dtype, 4, k, dist_keys(id->dist));
    tensor_set(&t[ATTENTION_V], "v", TENSOR_IN, a->dtype, 4, k, dist_values(id->dist));
    tensor_set(&t[ATTENTION_O], "o", TENSOR_OUT, a->dtype, 4, q, id->dist);
    tensor_set(&t[ATTENTION_LSE], "lse", TENSOR_OUT, DTYPE_F32, 3, q, id->dist);
    if (a->kind == ATTENTION_STEPS) {
        tensor_set(&t[ATTENTION_S], "s", TENSOR_OUT, DTYPE_F32, 4, s, id->dist);
        tensor_set(&t[ATTENTION_P], "p", TENSOR_OUT, DTYPE_F32, 4, s, id->dist);
    } else if (a->kind == ATTENTION_DROPOUT) {
        tensor_set(&t[ATTENTION_KEEP], "keep", TENSOR_OUT, DTYPE_U8, 4, s, id->dist);
        tensor_set(&t[ATTENTION_P], "p", TENSOR_OUT, DTYPE_F32, 4, s, id->dist);
    } else if (a->kind == ATTENTION_SPLIT) {
        tensor_set(&t[ATTENTION_PART], "part", TENSOR_OUT, DTYPE_F32, 5, part, id->dist);
        tensor_set(&t[ATTENTION_PART_LSE], "part_lse", TENSOR_OUT, DTYPE_F32, 4, part,
                   id->dist);
    }
    if (a->page)
        tensor_set(&t[attention_table(a)], "table", TENSOR_IN, DTYPE_I32, 2, table,
                   DIST_UNIFORM);
}

static void plan_tensors(const struct case_id *id, const struct attention *a,
                         struct case_plan *p)
{
    (a->kind == ATTENTION_VARLEN ? plan_packed : plan_whole)(id, a, p);
    int slopes = attention_slopes(a);
    p->n_tensor = slopes + a->alibi;
    if (a->alibi)
        tensor_set(&p->tensor[slopes], "slopes", TENSOR_IN, DTYPE_F32, 1, &a->heads,
                   DIST_POSITIVE);
}

/* The forward pass's inputs and dO; everything on the way to the gradients is an output. */
static void plan_gradients(const struct case_id *id, const struct attention *a,
                           struct case_plan *p)
{
    const int64_t q[4] = {a->batch, a->heads, a->queries, a->d};
    const int64_t k[4] = {a->batch, a->kv_heads, a->keys, a->d};
    const int64_t s[4] = {a->batch, a->heads, a->queries, a->keys};
    struct case_tensor *t = p->tensor;
    enum dist keys = dist_keys(id->dist), values = dist_values(id->dist);
    tensor_set(&t[ATTENTION_Q], "q", TENSOR_IN, a->dtype, 4, q, dist_queries(id->dist));
    tensor_set(&t[ATTENTION_K], "k", TENSOR_IN, a->dtype, 4, k, keys);
    tensor_set(&t[ATTENTION_V], "v", TENSOR_IN, a->dtype, 4, k, values);
    tensor_set(&t[ATTENTION_DO], "do", TENSOR_IN, a->dtype, 4, q, keys);
    tensor_set(&t[ATTENTION_LSE], "lse", TENSOR_OUT, DTYPE_F32, 3, q, keys);
    tensor_set(&t[ATTENTION_DP], "dp", TENSOR_OUT, DTYPE_F32, 4, s, keys);
    tensor_set(&t[ATTENTION_P], "p", TENSOR_OUT, DTYPE_F32, 4, s, keys);
    tensor_set(&t[ATTENTION_DS], "ds", TENSOR_OUT, DTYPE_F32, 4, s, keys);
    tensor_set(&t[ATTENTION_DQ], "dq", TENSOR_OUT, a->dtype, 4, q, keys);
    tensor_set(&t[ATTENTION_DK], "dk", TENSOR_OUT, a->dtype, 4, k, keys);
    tensor_set(&t[ATTENTION_DV], "dv", TENSOR_OUT, a->dtype, 4, k, keys);
    if (attention_drops(a))
        tensor_set(&t[ATTENTION_DROPBACK_KEEP], "keep", TENSOR_OUT, DTYPE_U8, 4, s, keys);
    p->n_tensor = ATTENTION_DV + 1 + attention_drops(a);
}

/* --- launches --------------------------------------------------------------------------------
 */

/* Without slopes: a null pointer. */
static void push_slopes(struct case_launch *l, const struct attention *a)
{
    if (a->alibi)
        push_tensor(l, attention_slopes(a));
    else
        push_i64(l, 0);
}

static void push_sizes(struct case_launch *l, const struct attention *a)
{
    push_i32(l, a->heads);
    push_i32(l, a->kv_heads);
    push_i32(l, a->queries);
    push_i32(l, a->keys);
    push_i32(l, a->d);
    push_i32(l, a->first);
    push_i32(l, a->last);
}

static void push_shape(struct case_launch *l, const struct attention *a)
{
    push_sizes(l, a);
    push_i32(l, a->diagonal);
    push_f32(l, a->scale);
    push_f32(l, a->softcap);
}

static struct case_launch *launch_add(struct case_plan *p, const struct attention *a,
                                      const char *name, int64_t x, int64_t y)
{
    struct case_launch *l = &p->launch[p->n_launch++];
    *l = (struct case_launch){
        .grid = {plan_blocks(x, TILE), plan_blocks(y, TILE), (uint32_t)(a->batch * a->heads)},
        .block = {TILE, TILE, 1}};
    snprintf(l->entry, sizeof l->entry, "%s_%s", name, dtype_info(a->dtype)->name);
    return l;
}

static void plan_steps(const struct attention *a, struct case_plan *p)
{
    struct case_launch *l = launch_add(p, a, "scores", a->keys, a->queries);
    push_tensor(l, ATTENTION_Q);
    push_tensor(l, ATTENTION_K);
    push_slopes(l, a);
    push_tensor(l, ATTENTION_S);
    push_shape(l, a);

    l = launch_add(p, a, "softmax", 1, 1);
    snprintf(l->entry, sizeof l->entry, "softmax");
    l->grid[0] = plan_blocks(a->queries, 64);
    l->block[0] = 64;
    l->block[1] = 1;
    push_tensor(l, ATTENTION_S);
    push_tensor(l, ATTENTION_P);
    push_tensor(l, ATTENTION_LSE);
    push_shape(l, a);

    l = launch_add(p, a, "values", a->d, a->queries);
    push_tensor(l, ATTENTION_P);
    push_tensor(l, ATTENTION_V);
    push_tensor(l, ATTENTION_O);
    push_shape(l, a);
}

static void plan_flash(const struct case_id *id, const struct attention *a, struct case_plan *p)
{
    struct case_launch *l = launch_add(p, a, id->variant->name, 1, a->queries);
    snprintf(l->entry, sizeof l->entry, "%s_%s_%d", id->variant->name,
             dtype_info(a->dtype)->name, a->d > 64 ? 128 : 64);
    push_tensor(l, ATTENTION_Q);
    push_tensor(l, ATTENTION_K);
    push_tensor(l, ATTENTION_V);
    push_slopes(l, a);
    push_tensor(l, ATTENTION_O);
    push_tensor(l, ATTENTION_LSE);
    push_shape(l, a);
    if (a->kind == ATTENTION_MMA) { /* one warp */
        l->block[0] = 32;
        l->block[1] = 1;
    }
    if (a->kind != ATTENTION_VARLEN)
        return;
    push_tensor(l, ATTENTION_STARTS_Q);
    push_tensor(l, ATTENTION_STARTS_K);
    push_i32(l, a->bottom);
}

/* Without pages: a null pointer. */
static void push_table(struct case_launch *l, const struct attention *a)
{
    if (a->page)
        push_tensor(l, attention_table(a));
    else
        push_i64(l, 0);
}

static void plan_split(const struct case_id *id, const struct attention *a, struct case_plan *p)
{
    int64_t rows = a->batch * a->heads * a->queries;
    struct case_launch *l = launch_add(p, a, id->variant->name, 1, a->queries);
    snprintf(l->entry, sizeof l->entry, "%s_%s_%d", id->variant->name,
             dtype_info(a->dtype)->name, a->d > 64 ? 128 : 64);
    l->grid[0] = (uint32_t)a->split;
    push_tensor(l, ATTENTION_Q);
    push_tensor(l, ATTENTION_K);
    push_tensor(l, ATTENTION_V);
    push_slopes(l, a);
    push_table(l, a);
    push_tensor(l, ATTENTION_PART);
    push_tensor(l, ATTENTION_PART_LSE);
    push_shape(l, a);
    push_i32(l, a->page);
    push_i32(l, a->pages);
    push_i32(l, a->chunk);
    push_i64(l, rows);

    char name[48];
    snprintf(name, sizeof name, "%s_merge", id->variant->name);
    l = launch_add(p, a, name, a->d, a->queries);
    push_tensor(l, ATTENTION_PART);
    push_tensor(l, ATTENTION_PART_LSE);
    push_tensor(l, ATTENTION_O);
    push_tensor(l, ATTENTION_LSE);
    push_shape(l, a);
    push_i32(l, a->split);
    push_i64(l, rows);
}

static void push_gradient_shape(struct case_launch *l, const struct attention *a)
{
    push_sizes(l, a);
    push_f32(l, a->scale);
}

static void push_tensors(struct case_launch *l, int n, const int *tensor)
{
    for (int i = 0; i < n; i++)
        push_tensor(l, tensor[i]);
}

static void launch_rows(struct case_launch *l, const struct attention *a)
{
    l->grid[0] = plan_blocks(a->queries, 64);
    l->grid[1] = 1;
    l->block[0] = 64;
    l->block[1] = 1;
}

static void plan_keep(const struct case_id *id, const struct attention *a, struct case_plan *p,
                      int tensor)
{
    int64_t count = a->batch * a->heads * a->queries * a->keys;
    struct case_launch *l = launch_add(p, a, "keep", 1, 1);
    snprintf(l->entry, sizeof l->entry, "%s_keep", id->variant->name);
    launch_rows(l, a);
    l->grid[0] = plan_blocks(count, (int64_t)16 * 64);
    l->grid[2] = 1;
    push_tensor(l, tensor);
    push_i64(l, count);
    push_i32(l, (int32_t)(uint32_t)a->seed);
    push_i32(l, (int32_t)(uint32_t)(a->seed >> 32));
    push_i32(l, a->rounds);
    push_i32(l, dropout_limit(a));
}

/* Without dropout: a null pointer. */
static void push_keep(struct case_launch *l, const struct attention *a)
{
    if (attention_drops(a))
        push_tensor(l, ATTENTION_DROPBACK_KEEP);
    else
        push_i64(l, 0);
    push_f32(l, attention_drops(a) ? dropout_factor(a) : 1);
}

static void plan_backward(const struct case_id *id, const struct attention *a,
                          struct case_plan *p)
{
    static const int weights[] = {ATTENTION_Q, ATTENTION_K, ATTENTION_P, ATTENTION_LSE};
    static const int dp[] = {ATTENTION_DO, ATTENTION_V, ATTENTION_DP};
    static const int ds[] = {ATTENTION_P, ATTENTION_DP, ATTENTION_DS};
    static const int dq[] = {ATTENTION_DS, ATTENTION_K, ATTENTION_DQ};
    static const int dkv[] = {ATTENTION_P,  ATTENTION_DS, ATTENTION_Q,
                              ATTENTION_DO, ATTENTION_DK, ATTENTION_DV};
    char name[48];
    int first = attention_drops(a);
    if (first)
        plan_keep(id, a, p, ATTENTION_DROPBACK_KEEP);
    launch_rows(launch_add(p, a, "weights", 1, 1), a);
    push_tensors(&p->launch[first], 4, weights);
    push_tensors(launch_add(p, a, "dp", a->keys, a->queries), 3, dp);
    struct case_launch *l = launch_add(p, a, "ds", 1, 1);
    snprintf(l->entry, sizeof l->entry, "%s_ds", id->variant->name);
    launch_rows(l, a);
    push_tensors(l, 3, ds);
    push_tensors(launch_add(p, a, "dq", a->d, a->queries), 3, dq);
    snprintf(name, sizeof name, "%s_dkv", id->variant->name);
    l = launch_add(p, a, name, a->d, a->keys);
    l->grid[2] = (uint32_t)(a->batch * a->kv_heads);
    push_tensors(l, 6, dkv);
    for (int i = first; i < p->n_launch; i++)
        push_gradient_shape(&p->launch[i], a);
    push_keep(&p->launch[first + 1], a);
    push_keep(l, a);
}

static void plan_dropout(const struct case_id *id, const struct attention *a,
                         struct case_plan *p)
{
    static const int weights[] = {ATTENTION_Q, ATTENTION_K, ATTENTION_P, ATTENTION_LSE};
    static const int drop[] = {ATTENTION_P, ATTENTION_KEEP, ATTENTION_V, ATTENTION_O};
    struct case_launch *l = launch_add(p, a, "weights", 1, 1);
    launch_rows(l, a);
    push_tensors(l, 4, weights);
    push_gradient_shape(l, a);

    plan_keep(id, a, p, ATTENTION_KEEP);
    l = launch_add(p, a, "drop", a->d, a->queries);
    push_tensors(l, 4, drop);
    push_gradient_shape(l, a);
    push_f32(l, dropout_factor(a));
}

void attention_plan_make(const struct case_id *id, const struct attention *a,
                         struct case_plan *p)
{
    if (attention_has_gradients(a)) {
        plan_gradients(id, a, p);
        plan_backward(id, a, p);
        return;
    }
    plan_tensors(id, a, p);
    if (a->kind == ATTENTION_SPLIT)
        plan_split(id, a, p);
    else if (attention_tiled(a))
        plan_flash(id, a, p);
    else if (a->kind == ATTENTION_DROPOUT)
        plan_dropout(id, a, p);
    else
        plan_steps(a, p);
}
