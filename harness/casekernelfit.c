/* SPDX-License-Identifier: Apache-2.0 */
#include "casekernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Does what a compiler made of `name` in C++ begin like this: _Z4nameiPf? */
static bool mangled(const char *symbol, const char *name)
{
    char head[300];
    int n = snprintf(head, sizeof head, "_Z%zu%s", strlen(name), name);
    return !strncmp(symbol, head, (size_t)n);
}

static const struct kernel_layout *layout_find(const struct kernel_list *l, const char *name)
{
    const struct kernel_layout *found = NULL;
    if (!name[0])
        return l->count == 1 ? l->kernel : NULL;
    for (int i = 0; i < l->count; i++)
        if (!strcmp(l->kernel[i].name, name))
            return &l->kernel[i];
    for (int i = 0; i < l->count; i++)
        if (mangled(l->kernel[i].name, name)) {
            if (found)
                return NULL;
            found = &l->kernel[i];
        }
    return found;
}

static enum err no_kernel(const struct kernel_list *l, const char *name, struct errinfo *e)
{
    char all[280] = "";
    for (int i = 0; i < l->count && strlen(all) < 200; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%.70s", i ? ", " : "",
                 l->kernel[i].name);
    if (!name[0])
        return err_set(e, ERR_USAGE, "the code has %d kernels: name one: %s", l->count, all);
    return err_set(e, ERR_USAGE,
                   "the code has no kernel %.100s, it has: %s; a kernel needs extern \"C\", or a "
                   "name that is there once",
                   name, all);
}

static int arg_bytes(const struct case_arg *a)
{
    switch (a->kind) {
    case CASE_ARG_TENSOR:
    case CASE_ARG_I64:
        return 8;
    case CASE_ARG_I32:
    case CASE_ARG_F32:
        return 4;
    case CASE_ARG_BITS:
        break;
    }
    return a->bytes;
}

static enum err sizes_compare(const struct case_id *id, const struct kernel_layout *k,
                              const struct case_launch *l, int index, struct errinfo *e)
{
    const struct casefile_kernel *c = &id->family->file->kernel[index];
    for (int i = 0; i < l->n_arg && i < KERNEL_ARG_MAX; i++) {
        if ((uint32_t)arg_bytes(&l->arg[i]) == k->size[i])
            continue;
        return err_set(e, ERR_USAGE,
                       "argument %d of %.80s has %u bytes, '%.60s' of the case file has %d", i + 1,
                       k->name, k->size[i], i < c->n_arg ? c->arg[i].node->text : "null",
                       arg_bytes(&l->arg[i]));
    }
    return ERR_OK;
}

/* Triton adds pointers to scratch memory behind the kernel's own arguments. */
static enum err hidden_add(const struct casekernel_triton *t, const struct kernel_layout *k,
                           struct case_launch *l, struct errinfo *e)
{
    enum { HIDDEN_MAX = 2 };
    if (!t->there || l->n_arg >= k->n_arg || k->n_arg - l->n_arg > HIDDEN_MAX)
        return ERR_OK;
    if (t->scratch)
        return err_set(e, ERR_USAGE,
                       "%.80s wants %llu bytes of scratch memory, which gpuparity does not give",
                       k->name, (unsigned long long)t->scratch);
    while (l->n_arg < k->n_arg && l->n_arg < CASE_ARG_MAX)
        l->arg[l->n_arg++] = (struct case_arg){.kind = CASE_ARG_BITS, .bytes = 8};
    return ERR_OK;
}

static enum err block_settle(const struct casekernel_triton *t, const struct kernel_layout *k,
                             struct case_launch *l, struct errinfo *e)
{
    if (!l->block[0] && t->there) {
        l->block[0] = t->threads;
        l->block[1] = l->block[2] = 1;
        l->shared = t->shared;
    }
    if (!l->block[0])
        return err_set(e, ERR_USAGE, "kernel %.80s has no block in the case file: block: [256]",
                       l->entry);
    if (k && k->threads && l->block[0] * l->block[1] * l->block[2] > k->threads)
        return err_set(e, ERR_USAGE, "a block of %u threads: the code of %.80s allows %u",
                       l->block[0] * l->block[1] * l->block[2], k->name, k->threads);
    return ERR_OK;
}

static enum err launch_fit(const struct case_id *id, const struct kernel_list *l,
                           const struct casekernel_triton *triton, struct case_launch *launch,
                           int index, struct errinfo *e)
{
    if (!launch->entry[0] && triton->there)
        snprintf(launch->entry, sizeof launch->entry, "%s", triton->name);
    if (!l->count)
        return block_settle(triton, NULL, launch, e);
    const struct kernel_layout *k = layout_find(l, launch->entry);
    if (!k)
        return no_kernel(l, launch->entry, e);
    snprintf(launch->entry, sizeof launch->entry, "%s", k->name);
    int given = launch->n_arg;
    TRY(hidden_add(triton, k, launch, e));
    if (launch->n_arg != k->n_arg)
        return err_set(e, ERR_USAGE, "kernel %.80s takes %d arguments, the case file gives %d",
                       k->name, k->n_arg, given);
    TRY(sizes_compare(id, k, launch, index, e));
    return block_settle(triton, k, launch, e);
}

enum err casekernel_fit(const struct case_id *id, const struct kernel_list *l,
                        const struct casekernel_triton *triton, struct case_plan *plan,
                        struct errinfo *e)
{
    const struct casefile *f = id->family->file;
    for (int i = 0; i < plan->n_launch; i++) {
        enum err err = launch_fit(id, l, triton, &plan->launch[i], i, e);
        if (err)
            return yamltree_context(&f->tree, f->kernel[i].node, e, err);
    }
    return ERR_OK;
}

/* --- before anything runs --------------------------------------------------------------------
 */

/* The binary that was looked at last: cases of a suite mostly share one. */
struct checked {
    const struct family *family;
    struct casekernel kernel;
    struct code code;
    struct kernel_list list;
    struct casekernel_triton triton;
};

static void checked_release(struct checked *c)
{
    code_release(&c->code);
    kernel_list_release(&c->list);
    memset(c, 0, sizeof *c);
}

static enum err checked_take(struct checked *c, const struct case_id *id, const struct backend *b,
                             const struct casekernel *k, const char *arch, bool real,
                             struct errinfo *e)
{
    struct backend_error words = {0};
    if (c->family == id->family && !memcmp(&c->kernel, k, sizeof *k))
        return ERR_OK;
    checked_release(c);
    TRY(casekernel_binary(id, b, k, &c->code, &c->triton, e));
    if (b->kernels(c->code.bytes, c->code.size, &c->list, &words) && !real)
        return err_set(e, ERR_USAGE, "%.400s", words.text);
    if (c->list.arch[0] && !b->runs(arch, c->list.arch))
        return err_set(e, ERR_USAGE, "the code is for %s, this device is %s", c->list.arch, arch);
    c->family = id->family;
    memcpy(&c->kernel, k, sizeof *k);
    return ERR_OK;
}

static enum err case_check(struct checked *c, const struct case_id *id, const struct backend *b,
                           const struct casekernel *k, const char *arch, bool real,
                           struct errinfo *e)
{
    struct case_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return err_set(e, ERR_NOMEM, "out of memory");
    enum err err = checked_take(c, id, b, k, arch, real, e);
    if (!err)
        err = id->family->plan(id, plan, e);
    if (!err)
        err = casekernel_fit(id, &c->list, &c->triton, plan, e);
    free(plan);
    return err ? err_context(e, err, "%.200s: binary for %s", k->path, b->name) : ERR_OK;
}

/* Can it be read? What is in it, its compiler says. */
static enum err source_check(const struct case_id *id, const struct casekernel *k,
                             struct errinfo *e)
{
    struct include_set s;
    TRY(casekernel_source(id, k, &s, e));
    include_release(&s);
    return ERR_OK;
}

enum err casekernel_check(const struct caselist *list, const struct backend *b, const char *arch,
                          bool real, struct errinfo *e)
{
    struct checked c = {0};
    enum err err = ERR_OK;
    for (int64_t i = 0; i < list->count && !err; i++) {
        const struct case_id *id = &list->id[i];
        struct casekernel k;
        if (!id->family->file || id->family->file->library)
            continue;
        err = casekernel_describe(id, b, &k, e);
        if (!err)
            err = k.binary ? case_check(&c, id, b, &k, arch, real, e) : source_check(id, &k, e);
    }
    checked_release(&c);
    return err;
}
