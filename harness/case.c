/* SPDX-License-Identifier: Apache-2.0 */
#include "case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

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

enum err case_input(const struct case_id *id, const struct case_plan *plan, int i,
                    struct tensor *ret_tensor, struct errinfo *e)
{
    const struct case_tensor *t = &plan->tensor[i];
    char stream[TENSOR_NAME_MAX + 64];
    snprintf(stream, sizeof stream, "%s/%s", id->family->name, t->name);

    struct tensor made;
    enum err code = tensor_init(&made, t->dtype, t->rank, t->dim, e);
    if (code)
        return err_context(e, code, "input %s", t->name);
    if (!id->family->fill || !id->family->fill(id, plan, i, &made))
        fill_tensor(&made, rng_key_make(id->seed, stream), t->dist, t->axis);
    *ret_tensor = made;
    return ERR_OK;
}

enum err case_input_digest(const struct case_id *id, const struct case_plan *plan,
                           char *ret_hex, struct errinfo *e)
{
    char all[CASE_TENSOR_MAX][33];
    size_t n = 0;
    for (int i = 0; i < plan->n_tensor; i++) {
        if (plan->tensor[i].role == TENSOR_OUT)
            continue;
        struct tensor t;
        TRY(case_input(id, plan, i, &t, e));
        tensor_digest(&t, all[n++]);
        tensor_release(&t);
    }
    XXH128_hash_t hash = XXH3_128bits(all, n * sizeof all[0]);
    snprintf(ret_hex, 33, "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
    return ERR_OK;
}

enum err oracle_init(struct oracle *o, int64_t count, struct errinfo *e)
{
    enum { COLUMNS = 6 };
    double *column[COLUMNS];
    size_t n = count > 0 ? (size_t)count : 1;
    for (int i = 0; i < COLUMNS; i++) {
        column[i] = calloc(n, sizeof *column[i]);
        if (column[i])
            continue;
        while (i--)
            free(column[i]);
        return err_set(e, ERR_NOMEM, "no memory for the reference of %lld elements",
                       (long long)count);
    }
    *o = (struct oracle){count,     column[0], column[1], column[2],
                         column[3], column[4], column[5]};
    return ERR_OK;
}

void oracle_release(struct oracle *o)
{
    free(o->value);
    free(o->tail);
    free(o->error);
    free(o->bound);
    free(o->drop);
    free(o->scale);
    memset(o, 0, sizeof *o);
}
