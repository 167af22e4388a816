/* SPDX-License-Identifier: Apache-2.0 */
#include "scan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Inclusive prefix sums of rows. */

enum { DTYPE, ROWS, D };

static const char *const dtype_words[] = {"f32", "f16", "bf16", "i32", NULL};

static const struct param params[] = {
    [DTYPE] = {"dtype", "format of x and y", PARAM_WORD, 0, 0, dtype_words, "f32", false},
    [ROWS] = {"rows", "rows", PARAM_INT, 1, 65535, NULL, "4", false},
    [D] = {"d", "length of a row", PARAM_INT, 1, 1 << 24, NULL, "1000", false},
    {NULL},
};

static const struct variant variants[] = {
#define VARIANT(name, summary, hidden, tiles) {#name, summary, "scan.cu", hidden, false},
#include "variants.def"
#undef VARIANT
    {NULL, NULL, NULL, false, false},
};

static const bool in_tiles[] = {
#define VARIANT(name, summary, hidden, tiles) tiles,
#include "variants.def"
#undef VARIANT
};

void scan_decode(const struct case_id *id, struct scan *ret_scan)
{
    const union param_value *v = id->value;
    *ret_scan = (struct scan){.tiles = in_tiles[id->variant - variants],
                              .dtype = dtype_find(dtype_words[v[DTYPE].i]),
                              .rows = v[ROWS].i,
                              .d = v[D].i,
                              .mode = id->mode};
}

static struct case_tensor matrix(const char *name, enum tensor_role role, const struct scan *s,
                                 enum dist dist)
{
    struct case_tensor t = {.role = role,
                            .dtype = s->dtype,
                            .rank = 2,
                            .dim = {s->rows, s->d},
                            .dist = dist,
                            .axis = 1};
    snprintf(t.name, sizeof t.name, "%s", name);
    return t;
}

static enum err plan(const struct case_id *id, struct case_plan *ret_plan, struct errinfo *e)
{
    struct scan s;
    struct case_plan p = {.n_tensor = 2, .n_launch = 1};
    struct case_launch *l = &p.launch[0];
    scan_decode(id, &s);
    if (s.rows > ((int64_t)1 << 30) / s.d)
        return err_set(
            e, ERR_USAGE,
            "rows=%lld,d=%lld: x would have more than 2^30 elements; make one smaller",
            (long long)s.rows, (long long)s.d);
    p.tensor[SCAN_X] = matrix("x", TENSOR_IN, &s, id->dist);
    p.tensor[SCAN_Y] = matrix("y", TENSOR_OUT, &s, DIST_ZERO);
    *l = (struct case_launch){.grid = {(uint32_t)s.rows, 1, 1},
                              .block = {256, 1, 1},
                              .n_arg = 3,
                              .arg = {{.kind = CASE_ARG_TENSOR, .tensor = SCAN_X},
                                      {.kind = CASE_ARG_TENSOR, .tensor = SCAN_Y},
                                      {.kind = CASE_ARG_I32, .i = s.d}}};
    snprintf(l->entry, sizeof l->entry, "%s_%s", id->variant->name, dtype_info(s.dtype)->name);
    *ret_plan = p;
    return ERR_OK;
}

/* --- reference -------------------------------------------------------------------------------
 *
 * How far a right device may be from the exact sum of the first i + 1 terms. A term goes through at
 * most D additions:
 *   chunk     c = ceil(d / 256) in its chunk, 8 by doubling, then up to c again in a later one
 *   doubling  8 in its tile, then up to ceil(d / 256) sums of tiles
 * Each rounds once and may lose f0 (roundoff.h), the terms themselves too where they are flushed:
 * E = gamma(D) sum |x| + D f0 + (i + 1) f0, and y is rounded to its format. Where all terms so far
 * are multiples of one power of two and their magnitudes add up to 2^24 of it or less, every order
 * is exact in f32: E = 0. i32 is exact modulo 2^32.
 *
 * NaN, Inf: a row stays NaN from its first NaN, or its first pair of Inf and -Inf, on; else Inf
 * from its first Inf on. Sums of magnitudes that may overflow are not judged. The smallest fault
 * to catch is one lost term of mean size. */

static double depth(const struct scan *s)
{
    double chunk = ceil((double)s->d / SCAN_THREADS);
    return s->tiles ? 8 + chunk : 2 * chunk + 8;
}

struct prefix {
    struct wide sum;
    struct grid grid;
    double special; /* of NaN and Inf, as they add up; 0 before there are any */
    int64_t n;
};

static struct element element_of(const struct scan *s, const struct prefix *p, double x)
{
    double size = p->grid.size, least = roundoff_least(&s->mode), n = (double)p->n;
    if (!isfinite(p->special))
        return s->mode.approximate ? element_open(0) : element_exact(p->special);
    bool exact = grid_exact(&p->grid);
    double off = exact ? 0 : roundoff_gamma(depth(s)) * size + (depth(s) + n) * least;
    double error = exact ? 0 : n * 0x1p-104 * size + 0x1p-900;
    struct element y = element_make(s->dtype, p->sum.hi, p->sum.lo, error, off);
    if (exact && size < dtype_max(s->dtype))
        y = element_exact(
            dtype_value(s->dtype, dtype_round_sum(s->dtype, p->sum.hi, p->sum.lo)));
    y.scale = size;
    y.drop = fmin(fabs(x), size / n);
    if (size > 0x1p126)
        return element_open(p->sum.hi);
    return y;
}

/* The sum up to where the last call stopped: rows may be longer than a span. */
static void prefix_note(struct oracle *o, int64_t at, const struct prefix *p)
{
    const double note[] = {p->sum.hi,           p->sum.lo,    p->grid.some,
                           p->grid.least, p->grid.size, p->special};
    o->noted = at;
    memcpy(o->note, note, sizeof note);
}

/* Where to start in that row to have the sum right at span.from. */
static int64_t prefix_start(const struct scan *s, const struct oracle *o, int64_t row,
                            struct case_span span, struct prefix *p)
{
    const double *x = o->note;
    *p = (struct prefix){.n = 0};
    if (o->noted != span.from || span.from <= row * s->d)
        return row * s->d;
    *p = (struct prefix){.sum = {x[0], x[1]},
                         .grid = {x[2] != 0, (int)x[3], x[4]},
                         .special = x[5],
                         .n = span.from - row * s->d};
    return span.from;
}

static void row_fill(const struct scan *s, const struct tensor *x, int64_t row,
                     struct case_span span, struct oracle *o)
{
    struct prefix p;
    int64_t end = (row + 1) * s->d < span.to ? (row + 1) * s->d : span.to;
    for (int64_t i = prefix_start(s, o, row, span, &p); i < end; i++) {
        double v = tensor_value(x, i);
        p.n++;
        if (isfinite(v)) {
            p.sum = wide_add(p.sum, wide_of(v));
            grid_add(&p.grid, v);
        } else {
            p.special += v;
        }
        if (i < span.from)
            continue;
        struct element y = element_of(s, &p, v);
        element_put(o, i, &y);
    }
    prefix_note(o, end, &p);
}

static void row_fill_i32(const struct scan *s, const struct tensor *x, int64_t row,
                         struct case_span span, struct oracle *o)
{
    struct prefix p; /* counts in sum.hi */
    int64_t end = (row + 1) * s->d < span.to ? (row + 1) * s->d : span.to;
    int64_t start = prefix_start(s, o, row, span, &p);
    uint32_t sum = (uint32_t)p.sum.hi;
    for (int64_t i = start; i < end; i++) {
        sum += (uint32_t)tensor_bits(x, i);
        if (i < span.from)
            continue;
        struct element y = element_exact((double)(int32_t)sum);
        y.drop = fabs(tensor_value(x, i));
        element_put(o, i, &y);
    }
    p.sum.hi = sum;
    prefix_note(o, end, &p);
}

static enum err oracle(const struct case_id *id, const struct case_plan *p,
                       const struct tensor *const *input, int which, struct case_span span,
                       int threads, struct oracle *o, struct errinfo *e)
{
    struct scan s;
    (void)p, (void)which, (void)threads, (void)e;
    scan_decode(id, &s);
    for (int64_t row = span.from / s.d; row * s.d < span.to; row++)
        (s.dtype == DTYPE_I32 ? row_fill_i32 : row_fill)(&s, input[SCAN_X], row, span, o);
    return ERR_OK;
}

static bool needs(const struct case_id *id, const struct case_plan *p, int which, int i,
                  struct case_span span, struct case_span *ret_need)
{
    int64_t d = p->tensor[SCAN_X].dim[1];
    (void)id, (void)which, (void)i;
    *ret_need = case_rows(span, d, d);
    return true;
}

static const struct suite_row suites[] = {
#define SUITE(tags, id) {tags, id},
#include "suites.def"
#undef SUITE
    {NULL, NULL},
};

const struct family family_scan = {
    .name = "scan",
    .summary = "prefix sums of rows",
    .params = params,
    .variants = variants,
    .suites = suites,
    .plan = plan,
    .oracle = oracle,
    .needs = needs,
    .models = scan_models,
    .model = scan_model,
};
