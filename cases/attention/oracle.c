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

/* Column c of plane `plane` of V; `v` takes the visible values. Are there NaN or Inf among the
 * others? */
static bool column_read(const struct attention *a, const struct tensor *values, int64_t plane,
                        int64_t c, const struct row *r, double *v)
{
    bool special = false;
    for (int64_t j = 0; j < a->keys; j++) {
        double x = tensor_value(values, (plane * a->keys + j) * a->d + c);
        bool visible = j >= r->from && j < r->from + r->n;
        if (visible)
            v[j - r->from] = x;
        special |= !visible && !isfinite(x);
    }
    return special;
}

static void output_row(const struct attention *a, const struct tensor *values, int64_t z,
                       int64_t i, const struct row *r, double *v, struct oracle *o)
{
    int64_t plane = z / a->heads * a->kv_heads + z % a->heads / (a->heads / a->kv_heads);
    for (int64_t c = 0; c < a->d; c++) {
        bool hidden = column_read(a, values, plane, c, r, v);
        struct element x = attention_output(a, r, v);
        if (hidden && r->n && !isnan(x.value))
            x.bound = INFINITY;
        oracle_put(o, (z * a->queries + i) * a->d + c, &x);
    }
}

static void keys_row(const struct attention *a, int which, int64_t at, const struct row *r,
                     struct oracle *o)
{
    for (int64_t j = 0; j < a->keys; j++) {
        struct element x =
            which == ATTENTION_S ? attention_score(a, r, j) : attention_weight(a, r, j);
        oracle_put(o, at * a->keys + j, &x);
    }
}

static void any_row(const struct attention *a, const struct tensor *const *input, int which,
                    int64_t at, struct row *r, double *v, struct oracle *o)
{
    int64_t z = at / a->queries, i = at % a->queries;
    row_make(a, input, z, i, r);
    if (which == ATTENTION_O) {
        output_row(a, input[ATTENTION_V], z, i, r, v, o);
    } else if (which == ATTENTION_LSE) {
        struct element x = attention_lse(a, r);
        oracle_put(o, at, &x);
    } else {
        keys_row(a, which, at, r, o);
    }
}

static int64_t row_length(const struct attention *a, int which)
{
    return which == ATTENTION_O ? a->d : which == ATTENTION_LSE ? 1 : a->keys;
}

enum err attention_oracle(const struct case_id *id, const struct case_plan *plan,
                          const struct tensor *const *input, int which, int threads,
                          struct oracle *ret_oracle, struct errinfo *e)
{
    (void)plan, (void)threads;
    struct attention a;
    struct row r;
    struct oracle o;
    attention_decode(id, &a);
    int64_t rows = a.batch * a.heads * a.queries;
    double *v = calloc((size_t)a.keys, sizeof *v);
    if (!v)
        return err_set(e, ERR_NOMEM, "no memory for a column of %lld keys", (long long)a.keys);
    enum err code = row_init(&r, a.keys, e);
    if (!code && (code = oracle_init(&o, rows * row_length(&a, which), e)))
        row_release(&r);
    if (code) {
        free(v);
        return code;
    }
    for (int64_t at = 0; at < rows; at++)
        any_row(&a, input, which, at, &r, v, &o);
    row_release(&r);
    free(v);
    *ret_oracle = o;
    return ERR_OK;
}
