/* SPDX-License-Identifier: Apache-2.0 */
#include "casefile.h"

#include <stdio.h>
#include <string.h>

#include "../backends/backend.h"

/* --- what is compiled or loaded --------------------------------------------------------------
 */

static enum err side_get(struct casefile *f, const struct yamlnode *n, const char *name,
                         struct casefile_side **ret_side, struct errinfo *e)
{
    const struct backend *b = backend_find(name);
    if (b == &backend_host) {
        struct yamlnode at = {.line = n->key_line, .column = n->key_column};
        return yamltree_fail(&f->tree, &at, e, "the host runs libraries only: library: {host: FILE.so}");
    }
    if (!b) {
        struct yamlnode at = {.line = n->key_line, .column = n->key_column};
        return yamltree_fail(&f->tree, &at, e, "no side '%.40s'; there are: %s, %s", name,
                             backends[0]->name, backends[1]->name);
    }
    for (int i = 0; i < f->n_side; i++)
        if (!strcmp(f->side[i].backend, name)) {
            *ret_side = &f->side[i];
            return ERR_OK;
        }
    struct casefile_side *s = &f->side[f->n_side++]; /* no more than there are backends */
    s->backend = b->name;
    *ret_side = s;
    return ERR_OK;
}

static void side_set(struct casefile_side *s, const struct yamlnode *n, bool binary)
{
    if (binary)
        s->binary = n;
    else
        s->source = n;
}

/* source: one.cu, or source: {cuda: a.cu, hip: b.hip}; and binary: the same. */
static enum err code_read(struct casefile *f, const struct yamlnode *n, bool binary,
                          struct errinfo *e)
{
    struct casefile_side *s = NULL;
    if (n->kind == YAML_TEXT && !binary) {
        TRY(casefile_want(f, n, YAML_TEXT, "the source", e));
        for (int i = 0; backends[i]; i++) {
            TRY(side_get(f, n, backends[i]->name, &s, e));
            side_set(s, n, binary);
        }
        return ERR_OK;
    }
    TRY(casefile_want(f, n, YAML_MAP, binary ? "binary" : "source", e));
    for (const struct yamlnode *m = n->first; m; m = m->next) {
        TRY(casefile_want(f, m, YAML_TEXT, "a path", e));
        TRY(side_get(f, m, m->key, &s, e));
        side_set(s, m, binary);
    }
    return n->count ? ERR_OK
                    : yamltree_fail(&f->tree, n, e, "no side is named: %s: PATH, %s: PATH",
                                    backends[0]->name, backends[1]->name);
}

static enum err options_read(struct casefile *f, const struct yamlnode *map, struct errinfo *e)
{
    TRY(casefile_want(f, map, YAML_MAP, "options", e));
    for (const struct yamlnode *m = map->first; m; m = m->next) {
        struct casefile_side *s = NULL;
        TRY(side_get(f, m, m->key, &s, e));
        TRY(casefile_want(f, m, YAML_LIST, "a compiler's options", e));
        for (const struct yamlnode *o = m->first; o; o = o->next) {
            TRY(casefile_want(f, o, YAML_TEXT, "an option", e));
            if (s->n_option == CASEFILE_ITEMS_MAX || strchr(o->text, ' '))
                return yamltree_fail(&f->tree, o, e,
                                     "at most %d options, each without blanks",
                                     CASEFILE_ITEMS_MAX);
            s->option[s->n_option++] = o->text;
        }
    }
    return ERR_OK;
}

static enum err defines_read(struct casefile *f, const struct yamlnode *map, struct errinfo *e)
{
    TRY(casefile_want(f, map, YAML_MAP, "defines", e));
    for (const struct yamlnode *m = map->first; m; m = m->next) {
        if (m->kind != YAML_TEXT || strchr(m->text, ' '))
            return yamltree_fail(&f->tree, m, e,
                                 "the value of a define is a text without blanks: "
                                 "TYPE: \"{dtype}\"");
        if (f->n_define == CASEFILE_ITEMS_MAX)
            return yamltree_fail(&f->tree, m, e, "more than %d defines", CASEFILE_ITEMS_MAX);
        f->define[f->n_define].name = m->key;
        f->define[f->n_define++].value = m->text;
    }
    return ERR_OK;
}

static enum err include_read(struct casefile *f, const struct yamlnode *list, struct errinfo *e)
{
    TRY(casefile_want(f, list, YAML_LIST, "include", e));
    for (const struct yamlnode *n = list->first; n; n = n->next) {
        TRY(casefile_want(f, n, YAML_TEXT, "a folder", e));
        if (f->n_include == CASEFILE_ITEMS_MAX || strchr(n->text, ' '))
            return yamltree_fail(&f->tree, n, e, "at most %d folders, without blanks",
                                 CASEFILE_ITEMS_MAX);
        f->include[f->n_include++] = n->text;
    }
    return ERR_OK;
}

/* --- kernels ---------------------------------------------------------------------------------
 */

static enum err names_unknown(const struct casefile *f, const struct yamlnode *n,
                              struct errinfo *e)
{
    const char *names[CASE_TENSOR_MAX];
    for (int i = 0; i < f->n_tensor; i++)
        names[i] = f->tensor[i].node->key;
    char hint[NEAREST_HINT_MAX];
    return yamltree_fail(&f->tree, n, e,
                         "'%.60s' is no tensor%s; a number is written with its format: i32 n",
                         n->text, nearest_hint(n->text, names, f->n_tensor, hint));
}

/* A parameter that is an argument's format: floating formats all, or none. */
static enum err words_alike(const struct casefile *f, const struct yamlnode *n,
                            const struct param *p, bool *ret_real, struct errinfo *e)
{
    for (int i = 0; p->words[i]; i++) {
        bool real = dtype_info(dtype_find(p->words[i]))->kind == DTYPE_KIND_FLOAT;
        if (i && real != *ret_real)
            return yamltree_fail(&f->tree, n, e,
                                 "%s is a whole number with %s and not with %s: write it as an "
                                 "argument of one format",
                                 n->text, real ? p->words[0] : p->words[i],
                                 real ? p->words[i] : p->words[0]);
        *ret_real = real;
    }
    return ERR_OK;
}

/* "x": a tensor; "null"; "i32 n + 1": a format and a value. */
enum err casefile_arg(struct casefile *f, const struct yamlnode *n, struct casefile_arg *a,
                      struct errinfo *e)
{
    TRY(casefile_want(f, n, YAML_TEXT, "an argument", e));
    size_t word = strcspn(n->text, " ");
    a->node = n;
    if (!n->text[word]) {
        a->tensor = strcmp(n->text, "null") ? casefile_tensor_find(f, n->text) : -2;
        return a->tensor == -1 ? names_unknown(f, n, e) : ERR_OK;
    }
    char format[EXPR_NAME_MAX];
    struct yamlnode value = *n;
    snprintf(format, sizeof format, "%.*s", (int)word, n->text);
    value.text = n->text + word + 1;
    a->tensor = -1;
    TRY(casefile_dtype(f, n, format, &a->dtype, e));
    bool real = a->dtype.param < 0 && dtype_info(a->dtype.dtype)->kind == DTYPE_KIND_FLOAT;
    if (a->dtype.param >= 0)
        TRY(words_alike(f, n, &f->params[a->dtype.param], &real, e));
    return casefile_expr(f, &value, real, &a->value, e);
}

/* [a, b, c], or a alone. */
static enum err extent_read(struct casefile *f, const struct yamlnode *n, struct expr to[3],
                            struct errinfo *e)
{
    const struct yamlnode *at = n->kind == YAML_LIST ? n->first : n;
    if (n->kind == YAML_MAP || (n->kind == YAML_LIST && (n->count < 1 || n->count > 3)))
        return yamltree_fail(&f->tree, n, e, "one to three sizes: [ceildiv(n, 256), 1, 1]");
    for (int i = 0; at; at = n->kind == YAML_LIST ? at->next : NULL, i++)
        TRY(casefile_expr(f, at, false, &to[i], e));
    return ERR_OK;
}

static enum err launch_read(struct casefile *f, struct casefile_kernel *k,
                            const struct yamlnode *n, struct errinfo *e)
{
    k->grid_node = yamlnode_get(n, "grid");
    k->block_node = yamlnode_get(n, "block");
    k->shared_node = yamlnode_get(n, "shared");
    if (!k->grid_node)
        return yamltree_fail(&f->tree, n, e, "the kernel has no grid: grid: [ceildiv(n, 256)]");
    TRY(extent_read(f, k->grid_node, k->grid, e));
    if (k->block_node)
        TRY(extent_read(f, k->block_node, k->block, e));
    for (int i = 0; i < f->n_side && !k->block_node; i++)
        if (f->side[i].source)
            return yamltree_fail(&f->tree, n, e, "the kernel has no block: block: [256]");
    if (k->shared_node)
        TRY(casefile_expr(f, k->shared_node, false, &k->shared, e));
    return ERR_OK;
}

static enum err kernel_read(struct casefile *f, const struct yamlnode *n, struct errinfo *e)
{
    static const char *const keys[] = {"name", "arguments", "grid", "block", "shared", NULL};
    if (f->n_kernel == CASE_LAUNCH_MAX)
        return yamltree_fail(&f->tree, n, e, "more than %d kernels", CASE_LAUNCH_MAX);
    TRY(casefile_want(f, n, YAML_MAP, "a kernel", e));
    TRY(casefile_keys(f, n, keys, e));
    const struct yamlnode *name = yamlnode_get(n, "name"), *args = yamlnode_get(n, "arguments");
    struct casefile_kernel *k = &f->kernel[f->n_kernel++];
    k->node = n;
    if (name)
        TRY(casefile_want(f, name, YAML_TEXT, "a kernel's name", e));
    for (int i = 0; i < f->n_side && !name; i++)
        if (f->side[i].source)
            return yamltree_fail(&f->tree, n, e, "the kernel has no name");
    k->name = name ? name->text : NULL;
    if (!args)
        return yamltree_fail(&f->tree, n, e, "the kernel has no arguments: arguments: [x, y, i32 n]");
    TRY(casefile_want(f, args, YAML_LIST, "arguments", e));
    for (const struct yamlnode *a = args->first; a; a = a->next) {
        if (k->n_arg == CASE_ARG_MAX)
            return yamltree_fail(&f->tree, a, e, "more than %d arguments", CASE_ARG_MAX);
        TRY(casefile_arg(f, a, &k->arg[k->n_arg++], e));
    }
    return launch_read(f, k, n, e);
}

static enum err kernels_read(struct casefile *f, const struct yamlnode *list, struct errinfo *e)
{
    TRY(casefile_want(f, list, YAML_LIST, "kernels", e));
    for (const struct yamlnode *n = list->first; n; n = n->next)
        TRY(kernel_read(f, n, e));
    return list->count ? ERR_OK : yamltree_fail(&f->tree, list, e, "kernels without a kernel");
}

static bool kernels_use(const struct casefile *f, int from, int to, int tensor)
{
    for (int i = from; i < to; i++)
        for (int a = 0; a < f->kernel[i].n_arg; a++)
            if (f->kernel[i].arg[a].tensor == tensor)
                return true;
    return false;
}

/* Every tensor has a part to play, on the side it is meant for. */
static enum err tensors_check(const struct casefile *f, struct errinfo *e)
{
    int outputs = 0;
    for (int i = 0; i < f->n_tensor; i++) {
        const struct casefile_tensor *t = &f->tensor[i];
        bool answer = kernels_use(f, 0, f->n_reference, i);
        bool used = kernels_use(f, f->n_reference, f->n_kernel, i);
        outputs += t->role != TENSOR_IN && !t->reference;
        if (t->reference ? !answer : !used && !answer)
            return yamltree_fail(&f->tree, t->node, e, "no %s has the argument %s",
                                 t->reference ? "kernel of `reference:`" : "kernel",
                                 t->node->key);
        if (t->reference && used)
            return yamltree_fail(&f->tree, t->node, e,
                                 "%s is a reference: only kernels of `reference:` may have it",
                                 t->node->key);
        if (!t->reference && t->role != TENSOR_IN && answer)
            return yamltree_fail(&f->tree, t->node, e,
                                 "the reference's kernel runs first and may not have the output %s",
                                 t->node->key);
    }
    return outputs ? ERR_OK
                   : yamltree_fail(&f->tree, f->tree.root, e,
                                   "no tensor has the role out or inout: nothing to compare");
}

enum err casefile_read_kernels(struct casefile *f, struct errinfo *e)
{
    static const struct {
        const char *key;
        enum err (*read)(struct casefile *, const struct yamlnode *, struct errinfo *);
    } parts[] = {{"options", options_read}, {"defines", defines_read}, {"include", include_read}};
    const struct yamlnode *root = f->tree.root, *kernels = yamlnode_get(root, "kernels");
    const struct yamlnode *source = yamlnode_get(root, "source");
    const struct yamlnode *binary = yamlnode_get(root, "binary");
    const struct yamlnode *reference = yamlnode_get(root, "reference");
    if (yamlnode_get(root, "library"))
        return casefile_read_calls(f, e);
    if (yamlnode_get(root, "calls"))
        return yamltree_fail(&f->tree, yamlnode_get(root, "calls"), e,
                             "calls are of a library: library: {%s: FILE.so, %s: FILE.so}",
                             backends[0]->name, backends[1]->name);
    if (!source && !binary)
        return yamltree_fail(&f->tree, root, e,
                             "nothing to run: source: FILE.cu, binary: {%s: FILE, %s: FILE}, or "
                             "library: {%s: FILE.so, %s: FILE.so}",
                             backends[0]->name, backends[1]->name, backends[0]->name,
                             backends[1]->name);
    if (!kernels)
        return yamltree_fail(&f->tree, root, e, "no kernels: kernels: [{name: ..., ...}]");
    if (source)
        TRY(code_read(f, source, false, e));
    if (binary)
        TRY(code_read(f, binary, true, e));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (yamlnode_get(root, parts[i].key))
            TRY(parts[i].read(f, yamlnode_get(root, parts[i].key), e));
    if (reference && reference->kind == YAML_MAP && yamlnode_get(reference, "kernels"))
        TRY(kernels_read(f, yamlnode_get(reference, "kernels"), e));
    f->n_reference = f->n_kernel;
    TRY(kernels_read(f, kernels, e));
    return tensors_check(f, e);
}
