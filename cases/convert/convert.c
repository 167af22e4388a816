/* SPDX-License-Identifier: Apache-2.0 */
#include "convert.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* y = x in another format. Every result is defined to the bit. */

enum { X, Y };

static const char *const from_words[] = {"f64", "f32", "f16", "bf16", "i32", "u32",
                                         "i8",  "u8",  NULL};
static const char *const to_words[] = {"f32", "f16", "bf16", "i32", "i8", "f64",
                                       "u8",  "u32", "i64",  NULL};
static const char *const table_words[] = {"dist", "ties", "sweep", NULL};

static const struct param params[] = {
    [P_FROM] = {"from", "format of x", PARAM_WORD, 0, 0, from_words, "f32", false},
    [P_TO] = {"to", "format of y", PARAM_WORD, 0, 0, to_words, "f16", false},
    [P_TABLE] = {"table", "x: by dist, around ties, or over all bit patterns", PARAM_WORD, 0, 0,
                 table_words, "dist", true},
    [P_N] = {"n", "elements", PARAM_INT, 1, 1 << 26, NULL, "4096", false},
    {NULL},
};

static const struct variant variants[] = {
#define VARIANT(name, summary, source, hidden, from, to) {name, summary, source, hidden, false},
#include "variants.def"
#undef VARIANT
    {NULL, NULL, NULL, false, false},
};

static const struct {
    const char *from, *to;
} only[] = {
#define VARIANT(name, summary, source, hidden, from, to) {from, to},
#include "variants.def"
#undef VARIANT
};

static const struct {
    enum dtype from, to;
} pairs[] = {
#define PAIR(from, from_name, to, to_name) {DTYPE_##from, DTYPE_##to},
#include "pairs.def"
#undef PAIR
};

static const char pair_list[] = ""
#define PAIR(from, from_name, to, to_name) " " from_name "-" to_name
#include "pairs.def"
#undef PAIR
    ;

static const struct suite_row suites[] = {
#define SUITE(tags, id) {tags, id},
#include "suites.def"
#undef SUITE
    {NULL, NULL},
};

enum dtype convert_from(const struct case_id *id)
{
    return dtype_find(from_words[id->value[P_FROM].i]);
}

enum dtype convert_to(const struct case_id *id)
{
    return dtype_find(to_words[id->value[P_TO].i]);
}

/* --- plan ------------------------------------------------------------------------------------
 */

static enum err pair_check(const struct case_id *id, struct errinfo *e)
{
    const char *from = from_words[id->value[P_FROM].i], *to = to_words[id->value[P_TO].i];
    size_t variant = (size_t)(id->variant - variants);
    bool found = false;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        found |= pairs[i].from == convert_from(id) && pairs[i].to == convert_to(id);
    if (!found)
        return err_set(e, ERR_USAGE, "convert/%s has no from=%s,to=%s; it has%s",
                       id->variant->name, from, to, pair_list);
    if (only[variant].from &&
        (strcmp(only[variant].from, from) || strcmp(only[variant].to, to)))
        return err_set(e, ERR_USAGE, "convert/%s takes from=%s,to=%s only", id->variant->name,
                       only[variant].from, only[variant].to);
    return ERR_OK;
}

static enum err table_check(const struct case_id *id, struct errinfo *e)
{
    enum table table = (enum table)id->value[P_TABLE].i;
    if (table != TABLE_DIST && id->dist != DIST_NORMAL)
        return err_set(e, ERR_USAGE, "table=%s leaves dist=%s without use: give one of them",
                       table_words[table], dist_name(id->dist));
    enum dtype from = convert_from(id);
    bool has_ties =
        (from == DTYPE_F32 || from == DTYPE_F64) && convert_to(id) != DTYPE_F64;
    if (table == TABLE_TIES && !has_ties)
        return err_set(e, ERR_USAGE,
                       "from=%s,to=%s has no tie table: take table=sweep, which has all inputs "
                       "of 8 and 16 bits",
                       from_words[id->value[P_FROM].i], to_words[id->value[P_TO].i]);
    return ERR_OK;
}

static struct case_tensor vector(const char *name, enum tensor_role role, enum dtype d,
                                 int64_t n, enum dist dist)
{
    struct case_tensor t = {
        .role = role, .dtype = d, .rank = 1, .dim = {n}, .dist = dist, .axis = 0};
    snprintf(t.name, sizeof t.name, "%s", name);
    return t;
}

static enum err convert_plan(const struct case_id *id, struct case_plan *ret_plan,
                             struct errinfo *e)
{
    int64_t n = id->value[P_N].i;
    struct case_plan p = {.n_tensor = 2, .n_launch = 1};
    struct case_launch *l = &p.launch[0];
    TRY(pair_check(id, e));
    TRY(table_check(id, e));
    p.tensor[X] = vector("x", TENSOR_IN, convert_from(id), n, id->dist);
    p.tensor[Y] = vector("y", TENSOR_OUT, convert_to(id), n, DIST_ZERO);
    *l = (struct case_launch){.grid = {(uint32_t)((n + 255) / 256), 1, 1},
                              .block = {256, 1, 1},
                              .n_arg = 3,
                              .arg = {{.kind = CASE_ARG_TENSOR, .tensor = X},
                                      {.kind = CASE_ARG_TENSOR, .tensor = Y},
                                      {.kind = CASE_ARG_I32, .i = n}}};
    snprintf(l->entry, sizeof l->entry, "%s_%s_%s", id->variant->name,
             from_words[id->value[P_FROM].i], to_words[id->value[P_TO].i]);
    *ret_plan = p;
    return ERR_OK;
}

/* --- reference -------------------------------------------------------------------------------
 */

bool convert_truncates(enum dtype to)
{
    return to == DTYPE_I32 || to == DTYPE_U32 || to == DTYPE_I64;
}

double convert_step(enum dtype from, enum dtype to, double x)
{
    bool narrow = to == DTYPE_F16 || to == DTYPE_BF16;
    return from == DTYPE_F64 && narrow ? (double)(float)x : x;
}

uint64_t convert_bits(enum dtype to, double x)
{
    return dtype_round(to, convert_truncates(to) ? trunc(x) : x);
}

/* No rule: what 64-bit conversions (and those from f64) give for NaN and beyond the range is the
 * vendor's: NVIDIA documents 2^63 for NaN, AMD expands them in software. */
static bool open_result(enum dtype from, enum dtype to, double x)
{
    if (to == DTYPE_I64)
        return !(fabs(x) < 0x1p63);
    return from == DTYPE_F64 && to == DTYPE_I32 && isnan(x);
}

/* The distance to a neighbour of the result: the smallest fault. */
static double step_of(enum dtype to, uint64_t bits, double y)
{
    if (dtype_info(to)->kind == DTYPE_KIND_INT)
        return 1;
    double up = dtype_value(to, bits + 1);
    return fabs((isfinite(up) ? up : dtype_value(to, bits - 1)) - y);
}

/* The bound is 0: there is one right result. But in a flushing mode an f32 that is subnormal,
 * in x or before y's rounding, may count as 0, and the bound reaches there. */
static void judge(const struct case_id *id, double x, struct oracle *o, int64_t i)
{
    enum dtype from = convert_from(id), to = convert_to(id);
    uint64_t bits = convert_bits(to, convert_step(from, to, x));
    double y = dtype_value(to, bits);
    o->value[i] = y;
    if (open_result(from, to, x))
        o->bound[i] = INFINITY;
    if (!isfinite(y) || open_result(from, to, x))
        return;
    bool f32 = from != DTYPE_F64 || to != DTYPE_I32;
    o->scale[i] = fabs(y);
    o->drop[i] = x == 0 || isnan(x) ? 0 : step_of(to, bits, y);
    if (id->mode.flush && f32 && fabs(x) < (double)FLT_MIN)
        o->bound[i] = fabs(y);
}

static enum err convert_oracle(const struct case_id *id, const struct case_plan *plan,
                               const struct tensor *const *input, int which,
                               struct case_span span, int threads, struct oracle *o,
                               struct errinfo *e)
{
    (void)plan, (void)which, (void)threads, (void)e;
    for (int64_t i = span.from; i < span.to; i++)
        judge(id, tensor_value(input[X], i), o, i);
    return ERR_OK;
}

static bool convert_needs(const struct case_id *id, const struct case_plan *p, int which, int i,
                          struct case_span span, struct case_span *ret_need)
{
    (void)id, (void)p, (void)which, (void)i;
    *ret_need = span;
    return true;
}

const struct family family_convert = {
    .name = "convert",
    .summary = "numbers from one format to another",
    .params = params,
    .variants = variants,
    .suites = suites,
    .plan = convert_plan,
    .oracle = convert_oracle,
    .needs = convert_needs,
    .models = convert_models,
    .model = convert_model,
    .fill = convert_fill,
};
