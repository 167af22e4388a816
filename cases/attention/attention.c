/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* O = softmax(scale Q K^T) V and the log-sum-exp of each row. A row that sees no key gives O =
 * 0 and -Inf. Keys that a row does not see are never read by naive; flash may multiply them by
 * 0. */

enum { TILE = ATTENTION_TILE, GRID_MAX = 65535 };

enum {
    DTYPE,
    BATCH,
    HEADS,
    KV_HEADS,
    QUERIES,
    KEYS,
    D,
    MASK,
    WINDOW,
    SCALE,
    SOFTCAP,
    ALIBI,
    SPLIT,
    PAGE
};
enum { MASK_NONE, MASK_CAUSAL, MASK_BOTTOM };

static const char *const dtype_words[] = {"f32", "f16", "bf16", NULL};
static const char *const mask_words[] = {"none", "causal", "bottom", NULL};

static const struct param params[] = {
    [DTYPE] = {"dtype", "format of Q, K, V and O", PARAM_WORD, 0, 0, dtype_words, "f32", false},
    [BATCH] = {"batch", "sequences", PARAM_INT, 1, 1024, NULL, "1", true},
    [HEADS] = {"heads", "query heads", PARAM_INT, 1, 256, NULL, "2", true},
    [KV_HEADS] = {"kvheads", "heads of K and V, shared in groups; 0: as many as query heads",
                  PARAM_INT, 0, 256, NULL, "0", true},
    [QUERIES] = {"queries", "rows of Q", PARAM_INT, 1, 1 << 16, NULL, "64", false},
    [KEYS] = {"keys", "rows of K and V", PARAM_INT, 1, 1 << 16, NULL, "64", false},
    [D] = {"d", "length of a head's vectors", PARAM_INT, 1, 128, NULL, "64", false},
    [MASK] = {"mask", "none; causal from the top left; causal to the bottom right", PARAM_WORD,
              0, 0, mask_words, "none", true},
    [WINDOW] = {"window", "keys a row sees, back from the diagonal; 0: all", PARAM_INT, 0,
                1 << 16, NULL, "0", true},
    [SCALE] = {"scale", "factor of the scores; 0: 1/sqrt(d)", PARAM_REAL, 0, 1e6, NULL, "0",
               true},
    [SOFTCAP] = {"softcap", "scores t become c tanh(t/c); 0: they stay", PARAM_REAL, 0, 1e6,
                 NULL, "0", true},
    [ALIBI] = {"alibi", "1: a bias that falls with the distance from the diagonal", PARAM_INT,
               0, 1, NULL, "0", true},
    [SPLIT] = {"split", "split: ranges of keys", PARAM_INT, 1, 64, NULL, "4", true},
    [PAGE] = {"page", "split: keys a page of K and V, found through a table; 0: no pages",
              PARAM_INT, 0, 1024, NULL, "0", true},
    {NULL},
};

static const struct variant variants[] = {
#define VARIANT(name, summary, hidden, kind) {#name, summary, "attention.cu", hidden, false},
#include "variants.def"
#undef VARIANT
    {NULL, NULL, NULL, false, false},
};

static const enum attention_kind kinds[] = {
#define VARIANT(name, summary, hidden, kind) ATTENTION_##kind,
#include "variants.def"
#undef VARIANT
};

enum { SPLIT_STANDARD = 4 };

void attention_decode(const struct case_id *id, struct attention *ret_attention)
{
    const union param_value *v = id->value;
    struct attention a = {.dtype = dtype_find(dtype_words[v[DTYPE].i]),
                          .batch = v[BATCH].i,
                          .heads = v[HEADS].i,
                          .kv_heads = v[KV_HEADS].i ? v[KV_HEADS].i : v[HEADS].i,
                          .queries = v[QUERIES].i,
                          .keys = v[KEYS].i,
                          .d = v[D].i,
                          .diagonal = v[KEYS].i - v[QUERIES].i,
                          .scale = (float)v[SCALE].r,
                          .softcap = (float)v[SOFTCAP].r,
                          .alibi = v[ALIBI].i,
                          .kind = kinds[id->variant - variants],
                          .page = v[PAGE].i,
                          .high = v[KEYS].i,
                          .mode = id->mode};
    int64_t shift = v[MASK].i == MASK_BOTTOM ? a.diagonal : 0;
    a.last = v[MASK].i == MASK_NONE ? ATTENTION_OPEN : shift + 1;
    a.first = v[WINDOW].i ? shift + 1 - v[WINDOW].i : -ATTENTION_OPEN;
    if (a.scale == 0)
        a.scale = (float)(1 / sqrt((double)a.d));
    a.out = a.dtype;
    a.split = a.kind == ATTENTION_SPLIT ? v[SPLIT].i : 1;
    a.chunk = (a.keys + a.split - 1) / a.split;
    a.pages = a.page ? (a.keys + a.page - 1) / a.page : 0;
    *ret_attention = a;
}

void attention_visible(const struct attention *a, int64_t i, int64_t *ret_from, int64_t *ret_to)
{
    *ret_from = i + a->first > a->low ? i + a->first : a->low;
    *ret_to = i + a->last < a->high ? i + a->last : a->high;
}

int attention_table(const struct attention *a)
{
    return a->kind == ATTENTION_FLASH ? ATTENTION_LSE + 1 : ATTENTION_P + 1;
}

int attention_slopes(const struct attention *a)
{
    return attention_table(a) + (a->page > 0);
}

int64_t attention_key_row(const struct attention *a, const struct tensor *const *input,
                          int64_t b, int64_t head, int64_t key)
{
    if (!a->page)
        return (b * a->kv_heads + head) * a->keys + key;
    int64_t page =
        (int64_t)tensor_bits(input[attention_table(a)], b * a->pages + key / a->page);
    return (page * a->kv_heads + head) * a->page + key % a->page;
}

static enum err attention_check(const struct case_id *id, const struct attention *a,
                                struct errinfo *e)
{
    const int64_t most = (int64_t)1 << 30;
    int64_t planes = a->batch * a->heads;
    if (a->heads % a->kv_heads)
        return err_set(e, ERR_USAGE,
                       "heads=%lld,kvheads=%lld: kvheads must divide heads (or be 0)",
                       (long long)a->heads, (long long)a->kv_heads);
    if (id->value[WINDOW].i && id->value[MASK].i == MASK_NONE)
        return err_set(e, ERR_USAGE,
                       "window=%lld with mask=none: a window needs mask=causal or mask=bottom",
                       (long long)id->value[WINDOW].i);
    if (a->kind != ATTENTION_SPLIT && (a->page || id->value[SPLIT].i != SPLIT_STANDARD))
        return err_set(
            e, ERR_USAGE,
            "split=%lld,page=%lld with attention/%s: only attention/split takes them",
            (long long)id->value[SPLIT].i, (long long)a->page, id->variant->name);
    if (a->page && id->dist == DIST_SPECIAL)
        return err_set(
            e, ERR_USAGE,
            "page=%lld with dist=special: special values are placed by key, which pages "
            "hide; leave one out",
            (long long)a->page);
    if (planes > GRID_MAX || a->queries * a->keys > most / planes ||
        (a->queries + a->keys) * a->d > most / planes)
        return err_set(e, ERR_USAGE,
                       "batch*heads=%lld,queries=%lld,keys=%lld,d=%lld: batch*heads is at most "
                       "65535 and a tensor at most 2^30 elements",
                       (long long)planes, (long long)a->queries, (long long)a->keys,
                       (long long)a->d);
    if (id->variant->hidden && (a->d > 64 || a->dtype == DTYPE_F16))
        return err_set(e, ERR_USAGE, "attention/%s takes d up to 64, dtype=f32 and dtype=bf16",
                       id->variant->name);
    return ERR_OK;
}

/* --- tensors ---------------------------------------------------------------------------------
 */

static void tensor_set(struct case_tensor *t, const char *name, enum tensor_role role,
                       enum dtype d, int rank, const int64_t *dim, enum dist dist)
{
    *t = (struct case_tensor){
        .role = role, .dtype = d, .rank = rank, .dist = dist, .axis = rank - 1};
    snprintf(t->name, sizeof t->name, "%s", name);
    memcpy(t->dim, dim, (size_t)rank * sizeof *dim);
}

/* One-hot rows are for V: each key shows where it goes. V need not cancel. */
static enum dist dist_keys(enum dist d)
{
    return d == DIST_ONEHOT ? DIST_NORMAL : d;
}

static enum dist dist_values(enum dist d)
{
    return d == DIST_CANCEL ? DIST_NORMAL : d;
}

static void plan_tensors(const struct case_id *id, const struct attention *a,
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
    tensor_set(&t[ATTENTION_Q], "q", TENSOR_IN, a->dtype, 4, q, dist_keys(id->dist));
    tensor_set(&t[ATTENTION_K], "k", TENSOR_IN, a->dtype, 4, k, dist_keys(id->dist));
    tensor_set(&t[ATTENTION_V], "v", TENSOR_IN, a->dtype, 4, k, dist_values(id->dist));
    tensor_set(&t[ATTENTION_O], "o", TENSOR_OUT, a->dtype, 4, q, id->dist);
    tensor_set(&t[ATTENTION_LSE], "lse", TENSOR_OUT, DTYPE_F32, 3, q, id->dist);
    if (a->kind == ATTENTION_STEPS) {
        tensor_set(&t[ATTENTION_S], "s", TENSOR_OUT, DTYPE_F32, 4, s, id->dist);
        tensor_set(&t[ATTENTION_P], "p", TENSOR_OUT, DTYPE_F32, 4, s, id->dist);
    } else if (a->kind == ATTENTION_SPLIT) {
        tensor_set(&t[ATTENTION_PART], "part", TENSOR_OUT, DTYPE_F32, 5, part, id->dist);
        tensor_set(&t[ATTENTION_PART_LSE], "part_lse", TENSOR_OUT, DTYPE_F32, 4, part,
                   id->dist);
    }
    if (a->page)
        tensor_set(&t[attention_table(a)], "table", TENSOR_IN, DTYPE_I32, 2, table,
                   DIST_UNIFORM);
    p->n_tensor = attention_slopes(a) + a->alibi;
    if (a->alibi)
        tensor_set(&t[attention_slopes(a)], "slopes", TENSOR_IN, DTYPE_F32, 1, q + 1,
                   DIST_POSITIVE);
}

/* Slopes of heads fall geometrically to 2^-8, rounded to f32; square roots are exact to the
 * last bit everywhere. */
static void slopes_fill(struct tensor *t)
{
    for (int64_t h = 0; h < t->count; h++) {
        int64_t steps = 8 * 64 * (h + 1) / t->count; /* of 2^(-1/64) */
        double slope = 1, root = 0.5;
        for (int64_t bit = 64; bit; bit /= 2, root = sqrt(root))
            for (; steps >= bit; steps -= bit)
                slope *= root;
        tensor_set_bits(t, h, dtype_round(DTYPE_F32, slope));
    }
}

/* Pages in random order. */
static void table_fill(const struct case_id *id, struct tensor *t)
{
    struct rng_key key = rng_key_make(id->seed, "attention/table");
    for (int64_t i = 0; i < t->count; i++) {
        int64_t j = (int64_t)(rng_bits(key, (uint64_t)i, 0) % (uint64_t)(i + 1));
        tensor_set_bits(t, i, tensor_bits(t, j));
        tensor_set_bits(t, j, (uint64_t)i);
    }
}

static void special_set(struct tensor *t, int64_t plane, int64_t row, int64_t column, double x)
{
    int64_t rows = t->dim[2], columns = t->dim[3];
    if (row >= 0 && row < rows)
        tensor_set_bits(t, (plane * rows + row) * columns + column % columns,
                        dtype_round(t->dtype, x));
}

/* dist=special: a special value nearly anywhere in K would reach every row, so they stand where
 * some rows see them and some do not. Queries 3, 5, 7 of each eight hold NaN, the largest
 * number and only zeros; the keys two thirds down hold Inf in K and V, the last ones NaN. */
static void special_fill(const struct case_id *id, const char *name, struct tensor *t)
{
    char stream[64];
    snprintf(stream, sizeof stream, "attention/%s/special", name);
    fill_tensor(t, rng_key_make(id->seed, stream), DIST_NORMAL, 3);
    int64_t planes = t->dim[0] * t->dim[1], rows = t->dim[2];
    double large = fmin(dtype_max(t->dtype), 0x1p60);
    for (int64_t z = 0; z < planes; z++) {
        if (*name != 'q') {
            special_set(t, z, rows * 2 / 3, 1, INFINITY);
            special_set(t, z, rows - 1, 2, (double)NAN);
            continue;
        }
        for (int64_t i = 3; i < rows; i += 8) {
            special_set(t, z, i, 0, (double)NAN);
            special_set(t, z, i + 2, 0, large);
            for (int64_t c = 0; c < t->dim[3]; c++)
                special_set(t, z, i + 4, c, 0);
        }
    }
}

static bool attention_fill(const struct case_id *id, const struct case_plan *plan, int i,
                           struct tensor *t)
{
    const struct case_tensor *x = &plan->tensor[i];
    if (!strcmp(x->name, "slopes"))
        slopes_fill(t);
    else if (!strcmp(x->name, "table"))
        table_fill(id, t);
    else if (x->dist == DIST_SPECIAL)
        special_fill(id, x->name, t);
    else
        return false;
    return true;
}

/* --- launches --------------------------------------------------------------------------------
 */

static uint32_t blocks(int64_t n, int64_t size)
{
    return (uint32_t)((n + size - 1) / size);
}

static void push_tensor(struct case_launch *l, int tensor)
{
    l->arg[l->n_arg++] = (struct case_arg){.kind = CASE_ARG_TENSOR, .tensor = tensor};
}

static void push_i32(struct case_launch *l, int64_t i)
{
    l->arg[l->n_arg++] = (struct case_arg){.kind = CASE_ARG_I32, .i = i};
}

static void push_i64(struct case_launch *l, int64_t i)
{
    l->arg[l->n_arg++] = (struct case_arg){.kind = CASE_ARG_I64, .i = i};
}

static void push_f32(struct case_launch *l, float f)
{
    l->arg[l->n_arg++] = (struct case_arg){.kind = CASE_ARG_F32, .f = f};
}

/* Without slopes: a null pointer. */
static void push_slopes(struct case_launch *l, const struct attention *a)
{
    if (a->alibi)
        push_tensor(l, attention_slopes(a));
    else
        push_i64(l, 0);
}

static void push_shape(struct case_launch *l, const struct attention *a)
{
    push_i32(l, a->heads);
    push_i32(l, a->kv_heads);
    push_i32(l, a->queries);
    push_i32(l, a->keys);
    push_i32(l, a->d);
    push_i32(l, a->first);
    push_i32(l, a->last);
    push_i32(l, a->diagonal);
    push_f32(l, a->scale);
    push_f32(l, a->softcap);
}

static struct case_launch *launch_add(struct case_plan *p, const struct attention *a,
                                      const char *name, int64_t x, int64_t y)
{
    struct case_launch *l = &p->launch[p->n_launch++];
    *l = (struct case_launch){
        .grid = {blocks(x, TILE), blocks(y, TILE), (uint32_t)(a->batch * a->heads)},
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
    l->grid[0] = blocks(a->queries, 64);
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

static enum err attention_plan(const struct case_id *id, struct case_plan *ret_plan,
                               struct errinfo *e)
{
    struct attention a;
    struct case_plan p;
    memset(&p, 0, sizeof p);
    attention_decode(id, &a);
    TRY(attention_check(id, &a, e));
    plan_tensors(id, &a, &p);
    if (a.kind == ATTENTION_SPLIT)
        plan_split(id, &a, &p);
    else if (a.kind == ATTENTION_FLASH)
        plan_flash(id, &a, &p);
    else
        plan_steps(&a, &p);
    *ret_plan = p;
    return ERR_OK;
}

static const struct suite_row suites[] = {
#define SUITE(tags, id) {tags, id},
#include "suites.def"
#undef SUITE
    {NULL, NULL},
};

const struct family family_attention = {
    .name = "attention",
    .summary = "O = softmax(scale Q K^T) V",
    .params = params,
    .variants = variants,
    .suites = suites,
    .plan = attention_plan,
    .oracle = attention_oracle,
    .models = attention_models,
    .model = attention_model,
    .fill = attention_fill,
};
