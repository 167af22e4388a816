/* SPDX-License-Identifier: Apache-2.0 */
#include "case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "pages.h"

#define FAMILY(name) extern const struct family family_##name;
#include "families.def"
#undef FAMILY

const struct family *const case_families[] = {
#define FAMILY(name) &family_##name,
#include "families.def"
#undef FAMILY
    NULL,
};

const struct family *family_find(const char *name)
{
    for (int i = 0; case_families[i]; i++)
        if (!strcmp(case_families[i]->name, name))
            return case_families[i];
    return NULL;
}

const struct variant *variant_find(const struct family *f, const char *name)
{
    for (const struct variant *v = f->variants; v->name; v++)
        if (!strcmp(v->name, name))
            return v;
    return NULL;
}

int family_param_count(const struct family *f)
{
    int n = 0;
    while (f->params[n].name)
        n++;
    return n;
}

int family_param_find(const struct family *f, const char *name)
{
    for (int i = 0; f->params[i].name; i++)
        if (!strcmp(f->params[i].name, name))
            return i;
    return -1;
}

static bool in_spans(const struct case_tensor *t)
{
    return !t->whole && case_tensor_count(t) > CASE_WINDOW;
}

/* The next piece of a walk through the input. */
static struct case_span piece_at(const struct case_tensor *t, int64_t from)
{
    int64_t count = case_tensor_count(t), left = count - from;
    return (struct case_span){from, in_spans(t) && left > CASE_WINDOW ? from + CASE_WINDOW : count};
}

void case_input_part(const struct case_id *id, const struct case_plan *plan, int i,
                     struct case_span span, struct tensor *t)
{
    const struct case_tensor *x = &plan->tensor[i];
    char stream[TENSOR_NAME_MAX + 64];
    snprintf(stream, sizeof stream, "%s/%s", id->family->name, x->name);
    if (!in_spans(x))
        span = (struct case_span){0, t->count};
    if (!id->family->fill || !id->family->fill(id, plan, i, span, t))
        fill_span(t, rng_key_make(id->seed, stream), x->dist, x->axis, span.from, span.to);
}

enum err case_input(const struct case_id *id, const struct case_plan *plan, int i,
                    struct tensor *ret_tensor, struct errinfo *e)
{
    const struct case_tensor *t = &plan->tensor[i];
    struct tensor made;
    enum err code = tensor_init(&made, t->dtype, t->rank, t->dim, e);
    if (code)
        return err_context(e, code, "input %s", t->name);
    case_input_part(id, plan, i, (struct case_span){0, made.count}, &made);
    *ret_tensor = made;
    return ERR_OK;
}

struct case_span case_needs(const struct case_id *id, const struct case_plan *plan, int which,
                            int i, struct case_span span)
{
    const struct case_tensor *t = &plan->tensor[i];
    struct case_span all = {0, case_tensor_count(t)}, need;
    if (!in_spans(t) || !id->family->needs ||
        !id->family->needs(id, plan, which, i, span, &need))
        return all;
    need.from = need.from > 0 ? need.from : 0;
    need.to = need.to < all.to ? need.to : all.to;
    return need;
}

/* Piece by piece: of a large input never more is there. */
static enum err input_digest(const struct case_id *id, const struct case_plan *plan, int i,
                             char ret_hex[33], struct errinfo *e)
{
    const struct case_tensor *x = &plan->tensor[i];
    struct tensor_digester *d;
    struct tensor t;
    size_t width = (size_t)dtype_info(x->dtype)->bytes;
    enum err err = tensor_reserve(&t, x->dtype, x->rank, x->dim, e);
    if (err)
        return err_context(e, err, "input %s", x->name);
    err = tensor_digest_begin(&t, &d, e);
    struct case_span s = {0, 0};
    while (!err && s.to < t.count) {
        s = piece_at(x, s.to);
        case_input_part(id, plan, i, s, &t);
        tensor_digest_add(d, (const char *)t.data + (size_t)s.from * width,
                          (size_t)(s.to - s.from) * width);
        tensor_drop(&t, s.from, s.to);
    }
    if (!err)
        tensor_digest_end(d, ret_hex);
    tensor_release(&t);
    return err;
}

enum err case_input_digest(const struct case_id *id, const struct case_plan *plan,
                           char *ret_hex, struct errinfo *e)
{
    char all[CASE_TENSOR_MAX][33];
    size_t n = 0;
    for (int i = 0; i < plan->n_tensor; i++)
        if (plan->tensor[i].role != TENSOR_OUT)
            TRY(input_digest(id, plan, i, all[n++], e));
    XXH128_hash_t hash = XXH3_128bits(all, n * sizeof all[0]);
    snprintf(ret_hex, 33, "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
    return ERR_OK;
}

int64_t case_tensor_count(const struct case_tensor *t)
{
    int64_t count = 1;
    for (int i = 0; i < t->rank; i++)
        count *= t->dim[i];
    return count;
}

enum err case_oracle(const struct case_id *id, const struct case_plan *plan,
                     const struct tensor *const *input, int which, int threads,
                     struct oracle *ret_oracle, struct errinfo *e)
{
    struct oracle o = {0};
    const struct case_tensor *t = &plan->tensor[which];
    struct case_span all = {0, case_tensor_count(t)};
    if (!id->family->oracle)
        return err_set(e, ERR_MISSING, "%s has no reference", id->family->name);
    if (!t->open) {
        TRY(oracle_init(&o, all.to, e));
        enum err err = id->family->oracle(id, plan, input, which, all, threads, &o, e);
        if (err) {
            oracle_release(&o);
            return err;
        }
    }
    *ret_oracle = o;
    return ERR_OK;
}

/* --- the columns of a reference -------------------------------------------------------------- */

enum { COLUMNS = 6 };

static void columns_of(const struct oracle *o, double *ret_column[COLUMNS])
{
    double *const column[COLUMNS] = {o->value, o->tail, o->error, o->bound, o->drop, o->scale};
    memcpy(ret_column, column, sizeof column);
}

static size_t column_bytes(int64_t count)
{
    return (count > 0 ? (size_t)count : 1) * sizeof(double);
}

enum err oracle_init(struct oracle *o, int64_t count, struct errinfo *e)
{
    struct oracle made = {.count = count, .reserved = count > CASE_WINDOW};
    double **const column[COLUMNS] = {&made.value, &made.tail, &made.error,
                                      &made.bound, &made.drop, &made.scale};
    size_t bytes = column_bytes(count);
    bool fine = count <= PTRDIFF_MAX / (int64_t)sizeof(double);
    for (int i = 0; i < COLUMNS && fine; i++) {
        *column[i] = made.reserved ? pages_take(bytes) : calloc(1, bytes);
        fine = *column[i] != NULL;
    }
    if (fine) {
        *o = made;
        return ERR_OK;
    }
    oracle_release(&made);
    return err_set(e, ERR_NOMEM, "no %s for the reference of %lld elements",
                   count > CASE_WINDOW ? "address space" : "memory", (long long)count);
}

void oracle_drop(struct oracle *o, int64_t from, int64_t to)
{
    double *column[COLUMNS];
    columns_of(o, column);
    for (int i = 0; i < COLUMNS; i++)
        if (o->reserved)
            pages_drop(column[i], (size_t)from * sizeof(double), (size_t)to * sizeof(double));
        else
            memset(column[i] + from, 0, (size_t)(to - from) * sizeof(double));
}

void oracle_release(struct oracle *o)
{
    double *column[COLUMNS];
    columns_of(o, column);
    for (int i = 0; i < COLUMNS; i++)
        if (o->reserved)
            pages_release(column[i], column_bytes(o->count));
        else
            free(column[i]);
    memset(o, 0, sizeof *o);
}
