/* SPDX-License-Identifier: Apache-2.0 */
#include "gemm.h"
#include "model.h"

#include <stdio.h>
#include <string.h>

/* C = alpha op(A) op(B) + beta C, row-major. Products and sums are f32 (i8: i32). alpha is
 * always multiplied, so 0 * NaN is NaN; with beta = 0 the old C is never read, so it may hold
 * NaN. */

enum { TILE = 16, GRID_MAX = 65535 };

enum { DTYPE, M, N, K, TA, TB, ALPHA, BETA, ACC, SPLIT };

static const char *const dtype_words[] = {"f32", "f16", "bf16", "i8", NULL};
static const char *const acc_words[] = {"f32", NULL};

static const struct param gemm_params[] = {
    [DTYPE] = {"dtype", "format of A, B and C (i8: C is i32)", PARAM_WORD, 0, 0, dtype_words,
               "f32", false},
    [M] = {"m", "rows of C", PARAM_INT, 1, GRID_MAX *TILE, NULL, "64", false},
    [N] = {"n", "columns of C", PARAM_INT, 1, GRID_MAX *TILE, NULL, "64", false},
    [K] = {"k", "length of the sums", PARAM_INT, 0, 1 << 22, NULL, "64", false},
    [TA] = {"ta", "1: A is stored transposed", PARAM_INT, 0, 1, NULL, "0", true},
    [TB] = {"tb", "1: B is stored transposed", PARAM_INT, 0, 1, NULL, "0", true},
    [ALPHA] = {"alpha", "factor of the product", PARAM_REAL, -3.4e38, 3.4e38, NULL, "1", true},
    [BETA] = {"beta", "factor of the old C", PARAM_REAL, -3.4e38, 3.4e38, NULL, "0", true},
    [ACC] = {"acc", "format of the sums (i8: i32)", PARAM_WORD, 0, 0, acc_words, "f32", true},
    [SPLIT] = {"split", "splitk: ranges of k", PARAM_INT, 1, 64, NULL, "4", true},
    {NULL},
};

enum { SPLIT_STANDARD = 4 };

static const struct variant gemm_variants[] = {
    {"naive", "one thread an element", "naive.cu", false, false},
    {"tiled", "16 x 16 tiles in shared memory", "tiled.cu", false, false},
    {"splitk", "k split over blocks, sums meet in atomics", "splitk.cu", false, true},
    {"fault_drop", "planted on HIP: last term lost", "fault.cu", true, false},
    {"fault_scale", "planted on HIP: sum times 1 + 2^-10", "fault.cu", true, false},
    {"fault_zero", "planted on HIP: zeros", "fault.cu", true, false},
    {"fault_hang", "planted on HIP: endless loop", "fault.cu", true, false},
    {"fault_oob", "planted on HIP: writes beyond C", "fault.cu", true, false},
    {"fault_unwritten", "planted on HIP: last element not written", "fault.cu", true, false},
    {NULL, NULL, NULL, false, false},
};

static bool variant_is_split(const struct variant *v)
{
    return !strcmp(v->name, "splitk");
}

void gemm_decode(const struct case_id *id, struct gemm *ret_gemm)
{
    enum dtype in = dtype_find(dtype_words[id->value[DTYPE].i]);
    bool split = variant_is_split(id->variant);
    *ret_gemm = (struct gemm){
        .in = in,
        .out = in == DTYPE_I8 ? DTYPE_I32 : in,
        .m = id->value[M].i,
        .n = id->value[N].i,
        .k = id->value[K].i,
        .ta = id->value[TA].i,
        .tb = id->value[TB].i,
        .alpha = (float)id->value[ALPHA].r,
        .beta = (float)id->value[BETA].r,
        .atomic = split,
        .split = split ? id->value[SPLIT].i : 1,
        .flush = id->mode.flush,
    };
}

static enum err gemm_check(const struct case_id *id, const struct gemm *g, struct errinfo *e)
{
    const int64_t most = (int64_t)1 << 33;
    long long m = g->m, n = g->n, k = g->k;
    if (m * n > most || m * k > most || k * n > most)
        return err_set(
            e, ERR_USAGE,
            "m=%lld,n=%lld,k=%lld: a matrix would have more than 2^33 elements; make "
            "m*n, m*k and k*n smaller",
            m, n, k);
    if (g->in == DTYPE_I8 && k > 131071)
        return err_set(
            e, ERR_USAGE,
            "dtype=i8 with k=%lld: sums of k products up to 2^14 may not fit in i32; "
            "k is at most 131071",
            k);
    if (g->in == DTYPE_I8 && (g->alpha != 1 || g->beta != 0))
        return err_set(e, ERR_USAGE,
                       "dtype=i8 with alpha=%g,beta=%g: integers take only alpha=1,beta=0",
                       id->value[ALPHA].r, id->value[BETA].r);
    if (!g->atomic && id->value[SPLIT].i != SPLIT_STANDARD)
        return err_set(e, ERR_USAGE, "split=%lld with gemm/%s: only gemm/splitk takes split",
                       (long long)id->value[SPLIT].i, id->variant->name);
    return ERR_OK;
}

/* --- tensors ---------------------------------------------------------------------------------
 */

static struct case_tensor matrix(const char *name, enum tensor_role role, enum dtype d,
                                 int64_t rows, int64_t columns)
{
    struct case_tensor t = {.role = role, .dtype = d, .rank = 2, .dim = {rows, columns}};
    snprintf(t.name, sizeof t.name, "%s", name);
    t.axis = 1;
    return t;
}

static struct case_tensor operand(const char *name, enum dtype d, enum dist dist, int64_t rows,
                                  int64_t columns, int axis)
{
    struct case_tensor t = matrix(name, TENSOR_IN, d, rows, columns);
    t.dist = dist;
    t.axis = axis;
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
    bool old = g->beta != 0;
    p->tensor[GEMM_A] =
        operand("a", g->in, id->dist, g->ta ? g->k : g->m, g->ta ? g->m : g->k, g->ta ? 0 : 1);
    p->tensor[GEMM_B] = operand("b", g->in, id->dist == DIST_ONEHOT ? DIST_NORMAL : id->dist,
                                g->tb ? g->n : g->k, g->tb ? g->k : g->n, g->tb ? 1 : 0);
    p->tensor[GEMM_C] = matrix("c", old ? TENSOR_INOUT : TENSOR_OUT, g->out, g->m, g->n);
    p->tensor[GEMM_C].dist = other_dist(id->dist);
    p->n_tensor = GEMM_C + 1;
}

/* --- launches --------------------------------------------------------------------------------
 */

static struct case_arg arg_tensor(int tensor)
{
    return (struct case_arg){.kind = CASE_ARG_TENSOR, .tensor = tensor};
}

static struct case_arg arg_i32(int64_t i)
{
    return (struct case_arg){.kind = CASE_ARG_I32, .i = i};
}

static struct case_arg arg_i64(int64_t i)
{
    return (struct case_arg){.kind = CASE_ARG_I64, .i = i};
}

static struct case_arg arg_f32(float f)
{
    return (struct case_arg){.kind = CASE_ARG_F32, .f = f};
}

static void launch_push(struct case_launch *l, struct case_arg a)
{
    l->arg[l->n_arg++] = a;
}

static uint32_t blocks(int64_t n, int64_t size)
{
    return (uint32_t)((n + size - 1) / size);
}

/* What all kernels begin with: operands, the tensor summed into, sizes and strides. */
static struct case_launch launch_product(const char *name, const struct gemm *g, int into)
{
    struct case_launch l = {.grid = {blocks(g->n, TILE), blocks(g->m, TILE), 1},
                            .block = {TILE, TILE, 1}};
    snprintf(l.entry, sizeof l.entry, "%s_%s", name, dtype_info(g->in)->name);
    launch_push(&l, arg_tensor(GEMM_A));
    launch_push(&l, arg_tensor(GEMM_B));
    launch_push(&l, arg_tensor(into));
    launch_push(&l, arg_i32(g->m));
    launch_push(&l, arg_i32(g->n));
    launch_push(&l, arg_i32(g->k));
    launch_push(&l, arg_i64(g->ta ? 1 : g->k));
    launch_push(&l, arg_i64(g->ta ? g->m : 1));
    launch_push(&l, arg_i64(g->tb ? 1 : g->n));
    launch_push(&l, arg_i64(g->tb ? g->k : 1));
    return l;
}

static void plan_plain(const struct case_id *id, const struct gemm *g, struct case_plan *p)
{
    struct case_launch *l = &p->launch[p->n_launch++];
    *l = launch_product(id->variant->name, g, GEMM_C);
    launch_push(l, arg_f32(g->alpha));
    launch_push(l, arg_f32(g->beta));
}

/* C itself takes the sums where nothing is left to do with them. */
static void plan_split(const struct gemm *g, struct case_plan *p)
{
    bool direct = g->in == DTYPE_I8 || (g->in == DTYPE_F32 && g->alpha == 1 && g->beta == 0);
    if (direct)
        p->tensor[GEMM_C].zeroed = true;
    else {
        p->tensor[GEMM_SUM] = matrix("sum", TENSOR_OUT, DTYPE_F32, g->m, g->n);
        p->tensor[GEMM_SUM].zeroed = true;
        p->n_tensor = GEMM_SUM + 1;
    }

    struct case_launch *l = &p->launch[p->n_launch++];
    *l = launch_product("splitk", g, direct ? GEMM_C : GEMM_SUM);
    l->grid[2] = (uint32_t)g->split;
    launch_push(l, arg_i32((g->k + g->split - 1) / g->split));
    if (direct)
        return;

    l = &p->launch[p->n_launch++];
    *l = (struct case_launch){.grid = {blocks(g->m * g->n, 256), 1, 1}, .block = {256, 1, 1}};
    snprintf(l->entry, sizeof l->entry, "splitk_finish_%s", dtype_info(g->in)->name);
    launch_push(l, arg_tensor(GEMM_SUM));
    launch_push(l, arg_tensor(GEMM_C));
    launch_push(l, arg_i64(g->m * g->n));
    launch_push(l, arg_f32(g->alpha));
    launch_push(l, arg_f32(g->beta));
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
    if (g.atomic)
        plan_split(&g, &p);
    else
        plan_plain(id, &g, &p);
    *ret_plan = p;
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

const struct family family_gemm = {
    .name = "gemm",
    .summary = "C = alpha op(A) op(B) + beta C",
    .params = gemm_params,
    .variants = gemm_variants,
    .suites = gemm_suites,
    .plan = gemm_plan,
    .oracle = gemm_oracle,
    .models = gemm_models,
    .model = gemm_model,
};
