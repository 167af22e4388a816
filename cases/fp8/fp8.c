/* SPDX-License-Identifier: Apache-2.0 */
#include "fp8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../plan.h"

/* Quantization to 8-bit floats with scales per tensor, token or block. */

enum { DTYPE, TO, GROUP, ROWS, D, WIDTH };

static const char *const dtype_words[] = {"f32", "f16", "bf16", NULL};
static const char *const to_words[] = {"e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz", NULL};
static const char *const group_words[] = {"tensor", "token", "block", NULL};

static const struct param params[] = {
    [DTYPE] = {"dtype", "format of x and y", PARAM_WORD, 0, 0, dtype_words, "f32", false},
    [TO] = {"to", "format of the codes", PARAM_WORD, 0, 0, to_words, "e4m3", false},
    [GROUP] = {"group", "what shares a scale", PARAM_WORD, 0, 0, group_words, "token", true},
    [ROWS] = {"rows", "rows (tokens)", PARAM_INT, 1, 65535, NULL, "16", false},
    [D] = {"d", "length of a row", PARAM_INT, 1, 1 << 20, NULL, "256", false},
    [WIDTH] = {"width", "group=block: elements of a row in a block", PARAM_INT, 1, 1 << 20,
               NULL, "128", true},
    {NULL},
};

static const struct variant variants[] = {
#define VARIANT(name, summary, hidden, kind, only) {#name, summary, "fp8.cu", hidden, false},
#include "variants.def"
#undef VARIANT
    {NULL, NULL, NULL, false, false},
};

enum kind { KIND_FORTH, KIND_BACK, KIND_CAST };

static const struct {
    enum kind kind;
    const char *only;
} kinds[] = {
#define VARIANT(name, summary, hidden, kind, only) {KIND_##kind, only},
#include "variants.def"
#undef VARIANT
};

void fp8_decode(const struct case_id *id, struct fp8 *ret_fp8)
{
    const union param_value *v = id->value;
    enum kind kind = kinds[id->variant - variants].kind;
    *ret_fp8 = (struct fp8){.back = kind == KIND_BACK,
                            .cast = kind == KIND_CAST,
                            .dtype = dtype_find(dtype_words[v[DTYPE].i]),
                            .to = dtype_find(to_words[v[TO].i]),
                            .group = (enum fp8_group)v[GROUP].i,
                            .rows = v[ROWS].i,
                            .d = v[D].i,
                            .width = v[WIDTH].i,
                            .mode = id->mode};
}

int64_t fp8_length(const struct fp8 *f)
{
    return f->group == FP8_TENSOR ? f->rows * f->d : f->d;
}

int64_t fp8_width(const struct fp8 *f)
{
    return f->group == FP8_BLOCK ? f->width : fp8_length(f);
}

static int64_t each(const struct fp8 *f)
{
    return (fp8_length(f) + fp8_width(f) - 1) / fp8_width(f);
}

int64_t fp8_groups(const struct fp8 *f)
{
    return f->rows * f->d / fp8_length(f) * each(f);
}

int64_t fp8_group_of(const struct fp8 *f, int64_t i)
{
    return i / fp8_length(f) * each(f) + i % fp8_length(f) / fp8_width(f);
}

/* --- plan ------------------------------------------------------------------------------------
 */

static enum err check(const struct case_id *id, const struct fp8 *f, struct errinfo *e)
{
    const char *only = kinds[id->variant - variants].only;
    if (only && strcmp(only, to_words[id->value[TO].i]))
        return err_set(e, ERR_USAGE, "fp8/%s takes to=%s only", id->variant->name, only);
    if (f->group != FP8_BLOCK && f->width != 128)
        return err_set(e, ERR_USAGE, "width=%lld has no use without group=block",
                       (long long)f->width);
    if (f->cast && f->group != FP8_TOKEN)
        return err_set(e, ERR_USAGE, "fp8/%s has no scales and no groups",
                       id->variant->name);
    if (f->rows > ((int64_t)1 << 30) / f->d)
        return err_set(
            e, ERR_USAGE,
            "rows=%lld,d=%lld: x would have more than 2^30 elements; make one smaller",
            (long long)f->rows, (long long)f->d);
    if (f->back && id->dist != DIST_NORMAL)
        return err_set(e, ERR_USAGE,
                       "fp8/dequantize takes every code in turn: dist=%s has no use",
                       dist_name(id->dist));
    return ERR_OK;
}

static void plan_tensors(const struct fp8 *f, enum dist dist, struct case_plan *p)
{
    if (f->back) {
        plan_argument(p, "code", TENSOR_IN, f->to, f->rows, f->d, DIST_NORMAL);
        plan_argument(p, "scale", TENSOR_IN, DTYPE_F32, fp8_groups(f), 0, DIST_POSITIVE);
        plan_argument(p, "y", TENSOR_OUT, f->dtype, f->rows, f->d, DIST_ZERO);
        return;
    }
    plan_argument(p, "x", TENSOR_IN, f->dtype, f->rows, f->d, dist);
    plan_argument(p, "code", TENSOR_OUT, f->to, f->rows, f->d, DIST_ZERO);
    if (!f->cast)
        plan_argument(p, "scale", TENSOR_OUT, DTYPE_F32, fp8_groups(f), 0, DIST_ZERO);
}

static enum err plan(const struct case_id *id, struct case_plan *ret_plan, struct errinfo *e)
{
    struct fp8 f;
    struct case_plan p;
    struct case_launch *l = &p.launch[0];
    memset(&p, 0, sizeof p);
    fp8_decode(id, &f);
    TRY(check(id, &f, e));
    int64_t n = f.rows * f.d, blocks = f.back || f.cast ? (n + 255) / 256 : fp8_groups(&f);
    const int64_t numbers[3] = {fp8_length(&f), fp8_width(&f), n};
    p.n_launch = 1;
    *l = (struct case_launch){.grid = {(uint32_t)blocks, 1, 1}, .block = {256, 1, 1}};
    snprintf(l->entry, sizeof l->entry, "%s_%s_%s", id->variant->name,
             dtype_info(f.dtype)->name, dtype_info(f.to)->name);
    plan_tensors(&f, id->dist, &p);
    for (int i = f.cast ? 2 : 0; i < (f.back || f.cast ? 3 : 2); i++)
        push_i32(l, numbers[i]);
    *ret_plan = p;
    return ERR_OK;
}

/* dist=special: the second row is zero, all elements of the third are equal. */
static void special_fill(const struct case_id *id, struct case_span span, struct tensor *x)
{
    int64_t d = x->dim[1];
    fill_span(x, rng_key_make(id->seed, "fp8/x/special"), DIST_SPECIAL, 1, span.from, span.to);
    for (int64_t i = d > span.from ? d : span.from; i < 3 * d && i < span.to; i++)
        tensor_set_bits(x, i, dtype_round(x->dtype, i < 2 * d ? 0 : -0.7));
}

/* cast, dist=ties: in sixes, the two signs of: the number before a midpoint of the format, the
 * midpoint, the number after it; the last midpoint is half a step beyond the largest number. */
static void ties_fill(enum dtype to, struct case_span span, struct tensor *x)
{
    uint64_t count = dtype_round(to, dtype_max(to)) + 1;
    for (int64_t i = span.from; i < span.to; i++) {
        uint64_t k = (uint64_t)i / 6 % count;
        double low = dtype_value(to, k), before = dtype_value(to, k ? k - 1 : 0);
        double high = k + 1 < count ? dtype_value(to, k + 1) : 2 * low - before;
        uint64_t sign = UINT64_C(1) << (8 * dtype_info(x->dtype)->bytes - 1);
        uint64_t bits = dtype_round(x->dtype, (low + high) / 2) + (uint64_t)(i % 3) - 1;
        tensor_set_bits(x, i, i / 3 % 2 ? bits | sign : bits);
    }
}

/* Codes: every one in turn, from another place in each row of 256. */
static bool fill(const struct case_id *id, const struct case_plan *p, int i,
                  struct case_span span, struct tensor *t)
{
    struct rng_key key = rng_key_make(id->seed, "fp8/code");
    struct fp8 f;
    fp8_decode(id, &f);
    if (i == FP8_X && f.cast && id->dist == DIST_TIES) {
        ties_fill(f.to, span, t);
        return true;
    }
    if (i == FP8_X && id->dist == DIST_SPECIAL) {
        special_fill(id, span, t);
        return true;
    }
    if (p->tensor[i].role != TENSOR_IN || strcmp(p->tensor[i].name, "code"))
        return false;
    for (int64_t k = span.from; k < span.to; k++)
        tensor_set_bits(t, k, ((uint64_t)k * 77 + rng_bits(key, (uint64_t)k / 256, 0)) & 255);
    return true;
}

/* --- reference -------------------------------------------------------------------------------
 */

/* First element of a group; the group after the last one starts behind the last element. */
static int64_t group_start(const struct fp8 *f, int64_t g)
{
    int64_t in = g % each(f) * fp8_width(f);
    return g / each(f) * fp8_length(f) + in;
}

/* The one scale of a whole tensor is noted. */
static struct element scale_of(const struct fp8 *f, const struct tensor *x, int64_t g,
                               struct oracle *o)
{
    double most = 0;
    bool noted = f->group == FP8_TENSOR && o->noted;
    for (int64_t i = group_start(f, g); !noted && i < group_start(f, g + 1); i++) {
        double v = fabs(tensor_value(x, i));
        most = v > most ? v : most;
    }
    if (noted)
        most = o->note[0];
    o->noted = 1;
    o->note[0] = most;
    return fp8_scale(f, most);
}

/* One product of two numbers that f32 holds, rounded to f32 and then to the format. */
static struct element product(const struct fp8 *f, double code, double scale)
{
    if (!isfinite(code))
        return f->mode.approximate ? element_open(0) : element_exact(code * scale);
    double y = code * scale, least = roundoff_least(&f->mode);
    struct element e = element_make(f->dtype, y, 0, 0, ROUNDOFF_U * fabs(y) + least);
    e.drop = fabs(y) / 16;
    return e;
}

static enum err oracle(const struct case_id *id, const struct case_plan *p,
                       const struct tensor *const *input, int which, struct case_span span,
                       int threads, struct oracle *o, struct errinfo *e)
{
    struct fp8 f;
    (void)p, (void)threads, (void)e;
    fp8_decode(id, &f);
    bool scales = !f.back && which == FP8_SCALE;
    struct element scale = element_exact(1);
    int64_t last = -1;
    for (int64_t i = span.from; i < span.to; i++) {
        int64_t g = scales ? i : fp8_group_of(&f, i);
        if (!f.back && !f.cast && g != last)
            scale = scale_of(&f, input[FP8_X], g, o);
        last = g;
        struct element x = f.back ? product(&f, tensor_value(input[FP8_CODE_IN], i),
                                            tensor_value(input[FP8_SCALE_IN], g))
                           : scales ? scale
                                    : fp8_code(&f, tensor_value(input[FP8_X], i), &scale);
        element_put(o, i, &x);
    }
    return ERR_OK;
}

/* Whole groups, and the next one, whose scale a model takes. */
static bool needs(const struct case_id *id, const struct case_plan *p, int which, int i,
                  struct case_span span, struct case_span *ret_need)
{
    struct fp8 f;
    (void)p;
    fp8_decode(id, &f);
    *ret_need = span;
    if (f.cast || (f.back && i == FP8_CODE_IN))
        return true;
    struct case_span g = {fp8_group_of(&f, span.from), fp8_group_of(&f, span.to - 1) + 1};
    if (!f.back && which == FP8_SCALE)
        g = span;
    g.to += g.to < fp8_groups(&f);
    *ret_need = f.back ? g : (struct case_span){group_start(&f, g.from), group_start(&f, g.to)};
    return f.group != FP8_TENSOR;
}

static const struct suite_row suites[] = {
#define SUITE(tags, id) {tags, id},
#include "suites.def"
#undef SUITE
    {NULL, NULL},
};

const struct family family_fp8 = {
    .name = "fp8",
    .summary = "quantization to 8-bit floats with shared scales",
    .params = params,
    .variants = variants,
    .suites = suites,
    .plan = plan,
    .oracle = oracle,
    .needs = needs,
    .models = fp8_models,
    .model = fp8_model,
    .fill = fill,
};
