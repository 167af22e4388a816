/* SPDX-License-Identifier: Apache-2.0 */
#include "gemm.h"
#include "model.h"

#include <stdio.h>
#include <string.h>

#include "../plan.h"

/* C = alpha op(A) op(B) + beta C, row-major. Products and sums are f32 (i8: i32). alpha is
 * always multiplied, so 0 * NaN is NaN; with beta = 0 the old C is never read, so it may hold
 * NaN. */

enum { TILE = 16, GRID_MAX = 65535 };

enum { DTYPE, M, N, K, TA, TB, ALPHA, BETA, ACC, SPLIT, BATCH, PAD };

static const char *const dtype_words[] = {"f32", "f16", "bf16", "i8", "tf32", NULL};
static const char *const acc_words[] = {"f32", "f16", NULL};

static const struct param gemm_params[] = {
    [DTYPE] = {"dtype", "format of A, B and C (C of i8: i32; of tf32: f32)", PARAM_WORD, 0, 0,
               dtype_words, "f32", false},
    [M] = {"m", "rows of C", PARAM_INT, 1, GRID_MAX *TILE, NULL, "64", false},
    [N] = {"n", "columns of C", PARAM_INT, 1, GRID_MAX *TILE, NULL, "64", false},
    [K] = {"k", "length of the sums", PARAM_INT, 0, 1 << 22, NULL, "64", false},
    [TA] = {"ta", "1: A is stored transposed", PARAM_INT, 0, 1, NULL, "0", true},
    [TB] = {"tb", "1: B is stored transposed", PARAM_INT, 0, 1, NULL, "0", true},
    [ALPHA] = {"alpha", "factor of the product", PARAM_REAL, -3.4e38, 3.4e38, NULL, "1", true},
    [BETA] = {"beta", "factor of the old C", PARAM_REAL, -3.4e38, 3.4e38, NULL, "0", true},
    [ACC] = {"acc", "what mma keeps sums in (i8: always i32)", PARAM_WORD, 0, 0, acc_words,
             "f32", true},
    [SPLIT] = {"split", "splitk, splitk16: ranges of k", PARAM_INT, 1, 64, NULL, "4", true},
    [BATCH] = {"batch", "independent products", PARAM_INT, 1, 1023, NULL, "1", true},
    [PAD] = {"pad", "unused elements after each stored row of A, B", PARAM_INT, 0, 64, NULL,
             "0", true},
    {NULL},
};

enum { SPLIT_STANDARD = 4 };

/* A variant and what else the family has to know of it. `dtypes` has a bit for each word. */
enum { D_F32 = 1, D_F16 = 2, D_BF16 = 4, D_I8 = 8, D_TF32 = 16, D_PLAIN = 15 };

static const struct variant gemm_variants[] = {
#define VARIANT(name, summary, source, hidden, unordered, sums, dtypes, tile)                  \
    {name, summary, source, hidden, unordered},
#include "variants.def"
#undef VARIANT
    {NULL, NULL, NULL, false, false},
};

static const struct trait {
    enum gemm_sums sums;
    unsigned dtypes;
    int tile; /* of C, square, a block */
} traits[] = {
#define VARIANT(name, summary, source, hidden, unordered, sums, dtypes, tile)                  \
    {GEMM_##sums, dtypes, tile},
#include "variants.def"
#undef VARIANT
};

static const struct trait *trait_of(const struct case_id *id)
{
    return &traits[id->variant - gemm_variants];
}

static bool is_split(enum gemm_sums sums)
{
    return sums == GEMM_ATOMIC || sums == GEMM_NARROW;
}

void gemm_decode(const struct case_id *id, struct gemm *ret_gemm)
{
    enum dtype in = dtype_find(dtype_words[id->value[DTYPE].i]);
    enum gemm_sums sums = trait_of(id)->sums;
    bool f16_sums = sums == GEMM_MATRIX && id->value[ACC].i == 1;
    *ret_gemm = (struct gemm){
        .in = in,
        .out = in == DTYPE_I8     ? DTYPE_I32
               : in == DTYPE_TF32 ? DTYPE_F32
                                  : in,
        .acc = in == DTYPE_I8 ? DTYPE_I32
               : f16_sums     ? DTYPE_F16
                              : DTYPE_F32,
        .m = id->value[M].i,
        .n = id->value[N].i,
        .k = id->value[K].i,
        .batch = id->value[BATCH].i,
        .pad = id->value[PAD].i,
        .ta = id->value[TA].i,
        .tb = id->value[TB].i,
        .alpha = (float)id->value[ALPHA].r,
        .beta = (float)id->value[BETA].r,
        .sums = sums,
        .split = is_split(sums) ? id->value[SPLIT].i : 1,
        .flush = id->mode.flush,
        .reorder = id->mode.approximate,
    };
}

static enum err dtype_check(const struct case_id *id, struct errinfo *e)
{
    unsigned dtypes = trait_of(id)->dtypes;
    int64_t asked = id->value[DTYPE].i;
    char valid[64] = "";
    if (dtypes >> asked & 1)
        return ERR_OK;
    for (int i = 0; dtype_words[i]; i++)
        if (dtypes >> i & 1)
            snprintf(valid + strlen(valid), sizeof valid - strlen(valid), "%s%s",
                     *valid ? ", " : "", dtype_words[i]);
    return err_set(e, ERR_USAGE, "gemm/%s has no dtype=%s; it takes %s", id->variant->name,
                   dtype_words[asked], valid);
}

static enum err size_check(const struct gemm *g, struct errinfo *e)
{
    const int64_t most = (int64_t)1 << 33;
    long long m = g->m, n = g->n, k = g->k, b = g->batch;
    int64_t mn = g->m * g->n * g->split;
    if (mn > most / b || (m + g->pad) * (k + g->pad) > most / b ||
        (k + g->pad) * (n + g->pad) > most / b)
        return err_set(e, ERR_USAGE,
                       "m=%lld,n=%lld,k=%lld,batch=%lld: a tensor would have more than 2^33 "
                       "elements; make m*n, m*k or k*n smaller",
                       m, n, k, b);
    if (g->in == DTYPE_I8 && k > 131071)
        return err_set(
            e, ERR_USAGE,
            "dtype=i8 with k=%lld: sums of k products up to 2^14 may not fit in i32; "
            "k is at most 131071",
            k);
    if (g->acc == DTYPE_F16 && k > 2048)
        return err_set(
            e, ERR_USAGE,
            "acc=f16 with k=%lld: f16 sums of so many terms have no useful bound; k is "
            "at most 2048",
            k);
    return ERR_OK;
}

static enum err gemm_check(const struct case_id *id, const struct gemm *g, struct errinfo *e)
{
    TRY(dtype_check(id, e));
    TRY(size_check(g, e));
    if (g->in == DTYPE_I8 && (g->alpha != 1 || g->beta != 0))
        return err_set(e, ERR_USAGE,
                       "dtype=i8 with alpha=%g,beta=%g: integers take only alpha=1,beta=0",
                       id->value[ALPHA].r, id->value[BETA].r);
    if (!is_split(g->sums) && id->value[SPLIT].i != SPLIT_STANDARD)
        return err_set(e, ERR_USAGE,
                       "split=%lld with gemm/%s: only gemm/splitk and gemm/splitk16 take split",
                       (long long)id->value[SPLIT].i, id->variant->name);
    if (id->value[ACC].i && (g->sums != GEMM_MATRIX || g->in != DTYPE_F16))
        return err_set(e, ERR_USAGE,
                       "acc=f16 with gemm/%s,dtype=%s: only gemm/mma,dtype=f16 has it",
                       id->variant->name, dtype_words[id->value[DTYPE].i]);
    return ERR_OK;
}

/* --- tensors ---------------------------------------------------------------------------------
 */

/* Rank 2, or 3 with the batch in front. `axis` counts within the matrix. */
static struct case_tensor matrix(const char *name, enum tensor_role role, enum dtype d,
                                 int64_t batch, int64_t rows, int64_t columns, int axis)
{
    struct case_tensor t = {.role = role, .dtype = d};
    snprintf(t.name, sizeof t.name, "%s", name);
    if (batch > 1)
        t.dim[t.rank++] = batch;
    t.axis = t.rank + axis;
    t.dim[t.rank++] = rows;
    t.dim[t.rank++] = columns;
    return t;
}

/* One-hot rows of A pick rows of B, which must be distinguishable. The old C need not cancel or
 * pick anything. */
static enum dist other_dist(enum dist d)
{
    return d == DIST_ONEHOT || d == DIST_CANCEL ? DIST_NORMAL : d;
}

static void plan_tensors(const struct case_id *id, const struct gemm *g, struct case_plan *p)
{
    enum tensor_role role = g->beta != 0 ? TENSOR_INOUT : TENSOR_OUT;
    p->tensor[GEMM_A] = matrix("a", TENSOR_IN, g->in, g->batch, g->ta ? g->k : g->m,
                               (g->ta ? g->m : g->k) + g->pad, g->ta ? 0 : 1);
    p->tensor[GEMM_B] = matrix("b", TENSOR_IN, g->in, g->batch, g->tb ? g->n : g->k,
                               (g->tb ? g->k : g->n) + g->pad, g->tb ? 1 : 0);
    p->tensor[GEMM_C] = matrix("c", role, g->out, g->batch, g->m, g->n, 1);
    p->tensor[GEMM_A].dist = id->dist;
    p->tensor[GEMM_B].dist = id->dist == DIST_ONEHOT ? DIST_NORMAL : id->dist;
    p->tensor[GEMM_C].dist = other_dist(id->dist);
    p->n_tensor = GEMM_C + 1;
}

/* --- launches --------------------------------------------------------------------------------
 */

/* What all kernels begin with: operands, the tensor summed into, sizes and strides. */
static struct case_launch launch_product(const struct case_id *id, const struct gemm *g,
                                         int into)
{
    int tile = trait_of(id)->tile;
    struct case_launch l = {
        .grid = {plan_blocks(g->n, tile), plan_blocks(g->m, tile), (uint32_t)(g->batch * g->split)},
        .block = {16, 16, 1}};
    if (g->sums == GEMM_MATRIX)
        l.block[0] = 32, l.block[1] = 1;
    snprintf(l.entry, sizeof l.entry, "%s_%s%s", id->variant->name, dtype_info(g->in)->name,
             g->acc == DTYPE_F16 ? "_f16" : "");
    push_tensor(&l, GEMM_A);
    push_tensor(&l, GEMM_B);
    push_tensor(&l, into);
    push_i32(&l, g->m);
    push_i32(&l, g->n);
    push_i32(&l, g->k);
    push_i64(&l, g->ta ? 1 : g->k + g->pad);
    push_i64(&l, g->ta ? g->m + g->pad : 1);
    push_i64(&l, gemm_at_a(g, 1, 0, 0));
    push_i64(&l, g->tb ? 1 : g->n + g->pad);
    push_i64(&l, g->tb ? g->k + g->pad : 1);
    push_i64(&l, gemm_at_b(g, 1, 0, 0));
    return l;
}

static void plan_plain(const struct case_id *id, const struct gemm *g, struct case_plan *p)
{
    struct case_launch *l = &p->launch[p->n_launch++];
    *l = launch_product(id, g, GEMM_C);
    push_f32(l, g->alpha);
    push_f32(l, g->beta);
}

static struct case_launch launch_finish(const struct case_id *id, const struct gemm *g)
{
    int64_t count = g->batch * g->m * g->n;
    struct case_launch l = {.grid = {plan_blocks(count, 256), 1, 1}, .block = {256, 1, 1}};
    snprintf(l.entry, sizeof l.entry, "%s_finish_%s", id->variant->name,
             dtype_info(g->in)->name);
    push_tensor(&l, GEMM_SUM);
    push_tensor(&l, GEMM_C);
    push_i64(&l, count);
    if (g->sums == GEMM_NARROW)
        push_i32(&l, g->split);
    push_f32(&l, g->alpha);
    push_f32(&l, g->beta);
    return l;
}

/* With atomics, C itself takes the sums where nothing is left to do with them. */
static void plan_split(const struct case_id *id, const struct gemm *g, struct case_plan *p)
{
    bool plain = g->in == DTYPE_I8 || (g->in == DTYPE_F32 && g->alpha == 1 && g->beta == 0);
    bool narrow = g->sums == GEMM_NARROW;
    struct case_tensor *sum = &p->tensor[GEMM_SUM];
    if (narrow)
        *sum = matrix("part", TENSOR_OUT, g->out, g->split * g->batch, g->m, g->n, 1);
    else if (!plain)
        *sum = matrix("sum", TENSOR_OUT, DTYPE_F32, g->batch, g->m, g->n, 1);
    p->n_tensor += !plain;
    p->tensor[plain ? GEMM_C : GEMM_SUM].zeroed = !narrow;

    struct case_launch *l = &p->launch[p->n_launch++];
    *l = launch_product(id, g, plain ? GEMM_C : GEMM_SUM);
    push_i32(l, g->split);
    push_i32(l, (g->k + g->split - 1) / g->split);
    if (narrow)
        push_i32(l, g->batch);
    if (!plain)
        p->launch[p->n_launch++] = launch_finish(id, g);
}

static enum err gemm_plan(const struct case_id *id, struct case_plan *ret_plan,
                          struct errinfo *e)
{
    struct gemm g;
    struct case_plan p;
    memset(&p, 0, sizeof p);
    gemm_decode(id, &g);
    TRY(gemm_check(id, &g, e));
    plan_tensors(id, &g, &p);
    if (is_split(g.sums))
        plan_split(id, &g, &p);
    else
        plan_plain(id, &g, &p);
    *ret_plan = p;
    return ERR_OK;
}

/* --- the order of sums -----------------------------------------------------------------------
 */

/* For masks (fill.h) B is all ones: the products are A's elements. */
static bool gemm_fill(const struct case_id *id, const struct case_plan *plan, int i,
                  struct case_span span, struct tensor *t)
{
    (void)plan;
    if (id->dist != DIST_MASK || i != GEMM_B)
        return false;
    for (int64_t k = span.from; k < span.to; k++)
        tensor_set_bits(t, k, dtype_round(t->dtype, 1));
    return true;
}

/* One row of A a pair, one column of B. */
static enum err gemm_summation(const struct case_id *id, struct case_sum *ret_sum,
                               struct errinfo *e)
{
    struct case_sum s = {.id = *id, .output = GEMM_C, .stride = 1, .factor = 1};
    s.leaves = id->value[K].i;
    if (dtype_find(dtype_words[id->value[DTYPE].i]) == DTYPE_I8)
        return err_set(e, ERR_USAGE, "dtype=i8: sums of integers are exact in any order");
    if (s.leaves < 2 || s.leaves > CASE_SUM_LEAVES_MAX)
        return err_set(e, ERR_USAGE, "k=%lld: an order has 2 to %d terms", (long long)s.leaves,
                       CASE_SUM_LEAVES_MAX);
    s.id.dist = DIST_MASK;
    s.id.value[M].i = s.leaves * (s.leaves - 1) / 2;
    s.id.value[N].i = s.id.value[BATCH].i = 1;
    s.id.value[ALPHA].r = 1;
    s.id.value[BETA].r = 0;
    *ret_sum = s;
    return ERR_OK;
}

/* --- suites ----------------------------------------------------------------------------------
 */

static const struct suite_row gemm_suites[] = {
#define SUITE(tags, id) {tags, id},
#include "suites.def"
#undef SUITE
    {NULL, NULL},
};

/* Rows of A, and C; any element of B. */
static bool needs(const struct case_id *id, const struct case_plan *p, int which, int i,
                  struct case_span span, struct case_span *ret_need)
{
    struct gemm g;
    (void)p;
    gemm_decode(id, &g);
    struct case_span row = {span.from / g.n, (span.to - 1) / g.n + 1};
    *ret_need = i == GEMM_C ? span
                            : (struct case_span){gemm_at_a(&g, 0, row.from, 0),
                                                 gemm_at_a(&g, 0, row.to, 0)};
    return which == GEMM_C && (i == GEMM_C || (i == GEMM_A && !g.ta && g.batch == 1));
}

const struct family family_gemm = {
    .name = "gemm",
    .summary = "C = alpha op(A) op(B) + beta C",
    .params = gemm_params,
    .variants = gemm_variants,
    .suites = gemm_suites,
    .plan = gemm_plan,
    .oracle = gemm_oracle,
    .needs = needs,
    .models = gemm_models,
    .model = gemm_model,
    .fill = gemm_fill,
    .summation = gemm_summation,
};
