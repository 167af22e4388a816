/* SPDX-License-Identifier: Apache-2.0 */
#include "casefile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From an id to what a device is asked for. Errors name the place in the file and are ERR_USAGE:
 * the parameters of the id do not go together. */

enum { BLOCK_MAX = 1024, SHARED_MAX = 1 << 20, GRID_MAX = 65535 };
static const int64_t bytes_max = (int64_t)1 << 34;

struct maker {
    const struct casefile *f;
    const struct case_id *id;
    int64_t whole[CASE_PARAM_MAX];
    long double real[CASE_PARAM_MAX];
    struct errinfo *e;
};

static enum err fail(const struct maker *m, const struct yamlnode *n)
{
    return yamltree_context(&m->f->tree, n, m->e, ERR_USAGE);
}

static void values_take(struct maker *m)
{
    for (int i = 0; i < m->f->n_param; i++) {
        union param_value v = m->id->value[i];
        bool real = m->f->params[i].kind == PARAM_REAL;
        m->whole[i] = real ? 0 : v.i;
        m->real[i] = !real ? (long double)v.i : m->f->f64[i] ? v.r : (float)v.r;
    }
}

static enum err size_get(const struct maker *m, const struct yamlnode *n, const struct expr *x,
                         const char *what, int64_t low, int64_t high, int64_t *ret_value)
{
    int64_t v = 0;
    if (expr_whole(x, m->whole, &v, m->e))
        return fail(m, n);
    if (v < low || v > high) {
        err_set(m->e, ERR_USAGE, "%s is %" PRId64 ", must be %" PRId64 " to %" PRId64, what, v,
                low, high);
        return fail(m, n);
    }
    *ret_value = v;
    return ERR_OK;
}

/* --- tensors ---------------------------------------------------------------------------------
 */

static enum err data_check(const struct maker *m, const struct case_tensor *t,
                           const struct casefile_data *d, bool same_dtype, int64_t count)
{
    size_t want = (size_t)count * (size_t)dtype_info(t->dtype)->bytes;
    bool shape = d->rank == t->rank && !memcmp(d->dim, t->dim, (size_t)t->rank * sizeof *t->dim);
    if (!d->described && d->size != want)
        return err_set(m->e, ERR_USAGE, "%.200s has %zu bytes, %s needs %zu", d->path, d->size,
                       t->name, want);
    if (d->described && (!shape || (same_dtype && d->dtype != t->dtype)))
        return err_set(m->e, ERR_USAGE,
                       "%.200s holds %s of %d dimensions, %s needs %s of %d%s", d->path,
                       dtype_info(d->dtype)->name, d->rank, t->name,
                       dtype_info(t->dtype)->name, t->rank,
                       d->rank == t->rank && !shape ? "; the sizes differ" : "");
    return ERR_OK;
}

static enum err tensor_plan(const struct maker *m, int i, struct case_tensor *t,
                            int64_t *total)
{
    const struct casefile_tensor *c = &m->f->tensor[i];
    snprintf(t->name, sizeof t->name, "%s", c->node->key);
    t->role = c->role;
    t->reference = c->reference;
    t->open = c->role != TENSOR_IN && c->answer < 0 && !c->formula.count && !c->answer_data.path;
    t->dtype = casefile_dtype_of(&c->dtype, m->id);
    t->rank = c->rank;
    t->dist = c->dist_given ? c->dist : m->id->dist;
    t->axis = c->axis;
    t->zeroed = c->zeroed;
    t->limit = c->limit.reason ? &c->limit : NULL;
    int64_t count = 1, room = bytes_max / dtype_info(t->dtype)->bytes;
    for (int k = 0; k < c->rank; k++) {
        TRY(size_get(m, c->dim_node[k], &c->dim[k], "a dimension", 0, bytes_max, &t->dim[k]));
        if (count && t->dim[k] > room / count) {
            err_set(m->e, ERR_USAGE, "%s would have more than %" PRId64 " bytes", t->name,
                    bytes_max);
            return fail(m, c->node);
        }
        count *= t->dim[k];
    }
    *total += count * dtype_info(t->dtype)->bytes;
    if (*total > bytes_max) {
        err_set(m->e, ERR_USAGE, "the tensors up to %s have more than %" PRId64
                " bytes together", t->name, bytes_max);
        return fail(m, c->node);
    }
    if (c->data.path && data_check(m, t, &c->data, true, count))
        return fail(m, c->node);
    if (c->answer_data.path && data_check(m, t, &c->answer_data, false, count))
        return fail(m, c->node);
    return ERR_OK;
}

/* --- launches --------------------------------------------------------------------------------
 */

static enum err number_plan(const struct maker *m, const struct casefile_arg *c,
                            struct case_arg *a)
{
    enum dtype d = casefile_dtype_of(&c->dtype, m->id);
    const struct dtype_info *info = dtype_info(d);
    a->bytes = info->bytes;
    if (info->kind == DTYPE_KIND_FLOAT) {
        const struct expr_rules rules = {.exact_div = true, .exact_sqrt = true};
        struct expr_env env = {.value = m->real};
        struct expr_real v = expr_real(&c->value, &rules, &env);
        double head = (double)v.value;
        a->bits = dtype_round_sum(d, head, (double)(v.value - head));
        return ERR_OK;
    }
    int64_t v = 0, half = info->bytes == 8 ? 0 : (int64_t)1 << (8 * info->bytes - 1);
    bool sign = info->kind == DTYPE_KIND_INT;
    int64_t low = info->bytes == 8 ? INT64_MIN : sign ? -half : 0;
    int64_t high = info->bytes == 8 ? INT64_MAX : sign ? half - 1 : 2 * half - 1;
    TRY(size_get(m, c->node, &c->value, "the argument", low, high, &v));
    a->bits = info->bytes == 8 ? (uint64_t)v : (uint64_t)v & (((uint64_t)half << 1) - 1);
    return ERR_OK;
}

static enum err arg_plan(const struct maker *m, const struct casefile_arg *c,
                         struct case_arg *a)
{
    if (c->tensor >= 0) {
        *a = (struct case_arg){.kind = CASE_ARG_TENSOR, .tensor = c->tensor};
        return ERR_OK;
    }
    *a = (struct case_arg){.kind = CASE_ARG_BITS, .bytes = 8};
    return c->tensor == -2 ? ERR_OK : number_plan(m, c, a);
}

static enum err extent_plan(const struct maker *m, const struct yamlnode *n,
                            const struct expr x[3], bool block, uint32_t ret_extent[3])
{
    static const int64_t block_max[] = {BLOCK_MAX, BLOCK_MAX, 64};
    static const int64_t grid_max[] = {INT32_MAX, GRID_MAX, GRID_MAX};
    for (int i = 0; i < 3; i++) {
        int64_t v = 1;
        if (x[i].count)
            TRY(size_get(m, n, &x[i], block ? "a side of the block" : "a side of the grid", 1,
                         block ? block_max[i] : grid_max[i], &v));
        ret_extent[i] = (uint32_t)v;
    }
    return ERR_OK;
}

static enum err launch_plan(const struct maker *m, const struct casefile_kernel *k,
                            struct case_launch *l)
{
    int64_t shared = 0;
    l->n_arg = k->n_arg;
    if (k->name && casefile_expand(m->f, m->id, k->name, l->entry, sizeof l->entry, m->e))
        return fail(m, k->node);
    if (!m->f->library)
        TRY(extent_plan(m, k->grid_node, k->grid, false, l->grid));
    if (k->block_node)
        TRY(extent_plan(m, k->block_node, k->block, true, l->block));
    if ((uint64_t)l->block[0] * l->block[1] * l->block[2] > BLOCK_MAX) {
        err_set(m->e, ERR_USAGE, "a block of %u x %u x %u threads: at most %d", l->block[0],
                l->block[1], l->block[2], BLOCK_MAX);
        return fail(m, k->block_node);
    }
    if (k->shared.count)
        TRY(size_get(m, k->shared_node, &k->shared, "the shared memory", 0, SHARED_MAX, &shared));
    l->shared = (uint32_t)shared;
    for (int i = 0; i < k->n_arg; i++)
        TRY(arg_plan(m, &k->arg[i], &l->arg[i]));
    return ERR_OK;
}

static enum err mode_check(const struct casefile *f, const struct case_id *id, struct errinfo *e)
{
    char is[64], one[64], all[200] = "";
    struct case_mode standard;
    TRY(caseid_parse_mode("default", &standard, e));
    for (int i = 0; i < f->n_mode; i++) {
        if (!memcmp(&f->mode[i], &id->mode, sizeof id->mode))
            return ERR_OK;
        caseid_print_mode(&f->mode[i], one);
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? ", " : "", one);
    }
    caseid_print_mode(&id->mode, is);
    if (f->n_mode)
        return err_set(e, ERR_USAGE, "%.200s allows the modes %s, not %s", f->path, all, is);
    for (int i = 0; i < f->n_side; i++)
        if (f->side[i].binary && memcmp(&standard, &id->mode, sizeof standard))
            return err_set(e, ERR_USAGE,
                           "mode=%s: %.200s gives a binary for %s, which is compiled already",
                           is, f->path, f->side[i].backend);
    return ERR_OK;
}

enum err casefile_plan(const struct case_id *id, struct case_plan *ret_plan, struct errinfo *e)
{
    struct errinfo own = {0};
    struct maker m = {.f = id->family->file, .id = id, .e = e ? e : &own};
    int64_t total = 0;
    values_take(&m);
    TRY(mode_check(m.f, id, m.e));
    struct case_plan *p = calloc(1, sizeof *p);
    if (!p)
        return err_set(e, ERR_NOMEM, "out of memory");
    enum err err = ERR_OK;
    if (m.f->like) {
        struct case_id like;
        err = casefile_like_plan(id, &like, p, m.e);
        memset(p->launch, 0, sizeof p->launch);
    }
    p->n_tensor = m.f->n_tensor;
    p->n_launch = m.f->n_kernel;
    for (int i = 0; i < p->n_tensor && !err && !m.f->like; i++)
        err = tensor_plan(&m, i, &p->tensor[i], &total);
    for (int i = 0; i < p->n_launch && !err; i++)
        err = launch_plan(&m, &m.f->kernel[i], &p->launch[i]);
    if (!err)
        *ret_plan = *p;
    free(p);
    return err;
}

bool casefile_fill(const struct case_id *id, const struct case_plan *plan, int i,
                  struct case_span span, struct tensor *t)
{
    const struct casefile_data *d = &id->family->file->tensor[i].data;
    (void)plan;
    if (id->family->file->like)
        return casefile_like_fill(id, i, span, t);
    if (!d->path)
        return false;
    size_t width = (size_t)dtype_info(t->dtype)->bytes, at = (size_t)span.from * width;
    memcpy((char *)t->data + at, (const char *)d->bytes + d->start + at,
           (size_t)(span.to - span.from) * width);
    return true;
}
