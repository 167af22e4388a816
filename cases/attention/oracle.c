/* SPDX-License-Identifier: Apache-2.0 */
#include "attention.h"

#include <math.h>
#include <stdlib.h>

static void oracle_put(struct oracle *o, int64_t at, const struct element *x)
{
    o->value[at] = x->value;
    o->tail[at] = x->tail;
    o->error[at] = x->error;
    o->bound[at] = x->bound;
    o->drop[at] = x->drop;
    o->scale[at] = x->scale;
}

/* Work space: a row of the whole, one of each range, one column. */
struct space {
    struct row whole, part;
    double *v;
    struct element *part_lse, *part_o; /* `split`, and `split` for each column */
};

static void space_release(struct space *s)
{
    row_release(&s->whole);
    row_release(&s->part);
    free(s->v);
    free(s->part_lse);
    free(s->part_o);
}

static enum err space_init(struct space *s, const struct attention *a, struct errinfo *e)
{
    *s = (struct space){.v = calloc((size_t)a->keys, sizeof *s->v),
                        .part_lse = calloc((size_t)a->split, sizeof *s->part_lse),
                        .part_o = calloc((size_t)(a->split * a->d), sizeof *s->part_o)};
    enum err code = ERR_OK;
    if (!s->v || !s->part_lse || !s->part_o)
        code = err_set(e, ERR_NOMEM, "no memory for a column of %lld keys", (long long)a->keys);
    if (!code)
        code = row_init(&s->whole, a->keys, e);
    if (!code)
        code = row_init(&s->part, a->keys, e);
    if (code)
        space_release(s);
    return code;
}

/* Column c of V as the query in row `at` has it; `v` takes the visible values. Are there NaN or
 * Inf among the others? */
static bool column_read(const struct attention *a, const struct tensor *const *input,
                        int64_t at, int64_t c, const struct row *r, double *v)
{
    struct attention own;
    struct query q = attention_query(a, input, at, &own);
    int64_t head = q.head / (a->heads / a->kv_heads);
    bool special = false;
    for (int64_t j = 0; j < own.keys; j++) {
        int64_t row = attention_key_row(a, input, q.b, head, j);
        double x = tensor_value(input[ATTENTION_V], row * a->d + c);
        bool visible = j >= r->from && j < r->from + r->n;
        if (visible)
            v[j - r->from] = x;
        special |= !visible && !isfinite(x);
    }
    return special;
}

/* Dropping weights is the same as dropping values; exact, as a product of two floats. */
static void column_drop(const struct attention *a, int64_t at, const struct row *r, double *v)
{
    for (int64_t j = 0; j < r->n; j++)
        v[j] =
            dropout_keeps(a, at * a->keys + r->from + j) ? v[j] * (double)dropout_factor(a) : 0;
}

/* Column c of row `at` of O. */
static struct element output_element(const struct attention *a,
                                     const struct tensor *const *input, int64_t at, int64_t c,
                                     const struct row *r, double *v)
{
    bool hidden = column_read(a, input, at, c, r, v);
    if (a->kind == ATTENTION_DROPOUT)
        column_drop(a, at, r, v);
    struct element x = attention_output(a, r, v);
    if (hidden && r->n && !isnan(x.value))
        x.bound = INFINITY;
    return x;
}

/* --- ranges ----------------------------------------------------------------------------------
 */

/* The case restricted to range r, with f32 results. */
static struct attention range_of(const struct attention *a, int64_t r)
{
    struct attention part = *a;
    part.low = r * a->chunk;
    part.high = part.low + a->chunk < a->keys ? part.low + a->chunk : a->keys;
    part.out = DTYPE_F32;
    return part;
}

/* References of the ranges that see keys, one behind the other; O's if `columns`. */
static int64_t ranges_make(const struct attention *a, const struct tensor *const *input,
                           int64_t at, bool columns, struct space *s)
{
    int64_t n = 0;
    for (int64_t r = 0; r < a->split; r++) {
        struct attention part = range_of(a, r);
        row_make(&part, input, at, &s->part);
        if (!s->part.n)
            continue;
        s->part_lse[n] = attention_lse(&part, &s->part);
        for (int64_t c = 0; columns && c < a->d; c++)
            s->part_o[c * a->split + n] = output_element(&part, input, at, c, &s->part, s->v);
        n++;
    }
    return n;
}

static void output_row(const struct attention *a, const struct tensor *const *input, int64_t at,
                       struct space *s, struct oracle *o)
{
    int64_t n = a->kind == ATTENTION_SPLIT ? ranges_make(a, input, at, true, s) : 0;
    row_make(a, input, at, &s->whole);
    for (int64_t c = 0; c < a->d; c++) {
        struct element x = output_element(a, input, at, c, &s->whole, s->v);
        if (n)
            x = attention_merged(a, &x, n, s->part_lse, s->part_o + c * a->split);
        oracle_put(o, at * a->d + c, &x);
    }
}

static void lse_row(const struct attention *a, const struct tensor *const *input, int64_t at,
                    struct space *s, struct oracle *o)
{
    row_make(a, input, at, &s->whole);
    struct element x = attention_lse(a, &s->whole);
    if (a->kind == ATTENTION_SPLIT)
        x = attention_merged_lse(a, &x, ranges_make(a, input, at, false, s), s->part_lse);
    oracle_put(o, at, &x);
}

/* Row `at` of a tensor of parts counts ranges first. */
static void part_row(const struct attention *a, const struct tensor *const *input, int which,
                     int64_t at, struct space *s, struct oracle *o)
{
    int64_t rows = a->batch * a->heads * a->queries, row = at % rows;
    struct attention part = range_of(a, at / rows);
    row_make(&part, input, row, &s->whole);
    if (which == ATTENTION_PART_LSE) {
        struct element x = attention_lse(&part, &s->whole);
        oracle_put(o, at, &x);
        return;
    }
    for (int64_t c = 0; c < a->d; c++) {
        struct element x = output_element(&part, input, row, c, &s->whole, s->v);
        oracle_put(o, at * a->d + c, &x);
    }
}

/* --- rows ------------------------------------------------------------------------------------
 */

/* A kept weight counts 1; no other number will do. */
static struct element key_element(const struct attention *a, int which, int64_t at, int64_t j,
                                  const struct row *r)
{
    if (which == ATTENTION_P)
        return attention_weight(a, r, j);
    if (!attention_drops(a))
        return attention_score(a, r, j);
    bool keep = dropout_keeps(a, at * a->keys + j);
    return (struct element){.value = keep, .bound = 0.5, .drop = 2, .scale = 1};
}

static void keys_row(const struct attention *a, const struct tensor *const *input, int which,
                     int64_t at, struct space *s, struct oracle *o)
{
    row_make(a, input, at, &s->whole);
    for (int64_t j = 0; j < a->keys; j++) {
        struct element x = key_element(a, which, at, j, &s->whole);
        oracle_put(o, at * a->keys + j, &x);
    }
}

static void any_row(const struct attention *a, const struct tensor *const *input, int which,
                    int64_t at, struct space *s, struct oracle *o)
{
    if (which == ATTENTION_O)
        output_row(a, input, at, s, o);
    else if (which == ATTENTION_LSE)
        lse_row(a, input, at, s, o);
    else if (a->kind == ATTENTION_SPLIT)
        part_row(a, input, which, at, s, o);
    else
        keys_row(a, input, which, at, s, o);
}

enum err attention_oracle(const struct case_id *id, const struct case_plan *plan,
                          const struct tensor *const *input, int which,
                          struct case_span span, int threads, struct oracle *o,
                          struct errinfo *e)
{
    (void)threads;
    struct attention a;
    struct space s;
    attention_decode(id, &a);
    const struct case_tensor *t = &plan->tensor[which];
    bool lse =
        which == ATTENTION_LSE || (a.kind == ATTENTION_SPLIT && which == ATTENTION_PART_LSE);
    int64_t columns = lse ? 1 : t->dim[t->rank - 1];
    TRY(space_init(&s, &a, e));
    for (int64_t at = span.from / columns; at * columns < span.to; at++)
        any_row(&a, input, which, at, &s, o);
    space_release(&s);
    return ERR_OK;
}
