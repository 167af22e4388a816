/* SPDX-License-Identifier: Apache-2.0 */
#include "casefile.h"

#include <stdio.h>
#include <string.h>

#include "../backends/backend.h"

/* `library:` and `calls:`, C functions of shared libraries in the place of kernels. */

/* --- library: {cuda: A.so, hip: [B.so, C.so], host: D.so}
 * ---------------------------------------
 */

static enum err paths_check(const struct casefile *f, const struct yamlnode *n,
                            struct errinfo *e)
{
    if (n->kind == YAML_TEXT)
        return casefile_want(f, n, YAML_TEXT, "a library", e);
    TRY(casefile_want(f, n, YAML_LIST, "libraries", e));
    for (const struct yamlnode *p = n->first; p; p = p->next)
        TRY(casefile_want(f, p, YAML_TEXT, "a library", e));
    return n->count >= 1 && n->count <= CASEFILE_LIBRARIES_MAX
               ? ERR_OK
               : yamltree_fail(&f->tree, n, e, "a side has 1 to %d libraries",
                               CASEFILE_LIBRARIES_MAX);
}

static enum err libraries_read(struct casefile *f, const struct yamlnode *map,
                               struct errinfo *e)
{
    TRY(casefile_want(f, map, YAML_MAP, "library", e));
    for (const struct yamlnode *n = map->first; n; n = n->next) {
        const struct backend *b = backend_find(n->key);
        struct yamlnode at = {.line = n->key_line, .column = n->key_column};
        if (!b)
            return yamltree_fail(&f->tree, &at, e, "no side '%.40s'; there are: %s, %s, %s",
                                 n->key, backends[0]->name, backends[1]->name,
                                 backend_host.name);
        TRY(paths_check(f, n, e));
        f->side[f->n_side++] = (struct casefile_side){.backend = b->name, .library = n};
    }
    return map->count
               ? ERR_OK
               : yamltree_fail(&f->tree, map, e, "no side is named: %s: FILE.so, %s: FILE.so",
                               backends[0]->name, backends[1]->name);
}

/* --- arguments -------------------------------------------------------------------------------
 */

static int handle_find(const struct casefile *f, const char *name)
{
    for (int i = 0; i < f->n_handle; i++)
        if (!strcmp(f->handle[i], name))
            return i;
    return -1;
}

/* A name for what a call gives: its result, or what it writes through a pointer. */
static enum err handle_make(struct casefile *f, const struct yamlnode *n, const char *name,
                            int *ret_slot, struct errinfo *e)
{
    size_t size =
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    *ret_slot = handle_find(f, name);
    if (*ret_slot >= 0)
        return ERR_OK;
    if (!size || name[size] || casefile_tensor_find(f, name) >= 0)
        return yamltree_fail(
            &f->tree, n, e,
            "'%.40s' cannot name a handle: letters, digits and _, and no tensor", name);
    if (f->n_handle == CASEFILE_HANDLES_MAX)
        return yamltree_fail(&f->tree, n, e, "more than %d handles", CASEFILE_HANDLES_MAX);
    f->handle[f->n_handle] = name;
    *ret_slot = f->n_handle++;
    return ERR_OK;
}

/* Numbers go by value where a C function can take them so. */
static enum err value_check(const struct casefile *f, const struct yamlnode *n,
                            const struct casefile_arg *a, struct errinfo *e)
{
    enum dtype d = a->dtype.dtype;
    if (a->dtype.param >= 0 ||
        (dtype_info(d)->kind == DTYPE_KIND_FLOAT && d != DTYPE_F32 && d != DTYPE_F64))
        return yamltree_fail(
            &f->tree, n, e,
            "a function takes f32, f64 and integers by value; a pointer to such a "
            "number is &%s",
            n->text);
    return ERR_OK;
}

/* &NAME, and &f32 1.0 */
static enum err pointer_read(struct casefile *f, const struct yamlnode *n,
                             struct casefile_arg *a, struct errinfo *e)
{
    struct yamlnode pointed = *n;
    pointed.text = n->text + 1;
    a->form = CASEFILE_POINTER;
    if (strchr(n->text, ' ')) {
        TRY(casefile_arg(f, &pointed, a, e));
        a->node = n;
        return ERR_OK;
    }
    a->node = n;
    a->tensor = -2;
    a->form = CASEFILE_HANDLE_POINTER;
    return handle_make(f, n, n->text + 1, &a->slot, e);
}

/* scratch BYTES, text WORDS, words */
static enum err special_read(struct casefile *f, const struct yamlnode *n,
                             struct casefile_arg *a, struct errinfo *e)
{
    a->node = n;
    a->tensor = -2;
    if (!strcmp(n->text, "words")) {
        a->form = CASEFILE_WORDS;
        return ERR_OK;
    }
    if (!strncmp(n->text, "text ", 5)) {
        a->form = CASEFILE_TEXT;
        return ERR_OK;
    }
    struct yamlnode size = *n;
    size.text = n->text + strlen("scratch ");
    a->form = CASEFILE_SCRATCH;
    a->tensor = -1;
    a->dtype = (struct casefile_dtype){-1, DTYPE_I64};
    return casefile_expr(f, &size, false, &a->value, e);
}

static enum err call_arg_read(struct casefile *f, const struct yamlnode *n,
                              struct casefile_arg *a, struct errinfo *e)
{
    TRY(casefile_want(f, n, YAML_TEXT, "an argument", e));
    if (n->text[0] == '&')
        return pointer_read(f, n, a, e);
    if (!strcmp(n->text, "words") || !strncmp(n->text, "text ", 5) ||
        !strncmp(n->text, "scratch ", 8))
        return special_read(f, n, a, e);
    if (!strncmp(n->text, "host ", 5)) {
        struct yamlnode name = *n;
        name.text = n->text + 5;
        a->form = CASEFILE_HOST;
        TRY(casefile_arg(f, &name, a, e));
        a->node = n;
        if (a->tensor >= 0 && f->tensor[a->tensor].role == TENSOR_IN)
            return ERR_OK;
        return yamltree_fail(&f->tree, n, e, "only an input can be in the host's memory");
    }
    a->node = n;
    a->tensor = -2;
    a->slot = handle_find(f, n->text);
    if (a->slot >= 0) {
        a->form = CASEFILE_HANDLE;
        return ERR_OK;
    }
    if (!strcmp(n->text, "stream")) /* the default one */
        return ERR_OK;
    TRY(casefile_arg(f, n, a, e));
    return a->tensor == -1 ? value_check(f, n, a, e) : ERR_OK;
}

/* --- calls -----------------------------------------------------------------------------------
 */

static enum err sides_read(struct casefile *f, struct casefile_kernel *k,
                           const struct yamlnode *n, struct errinfo *e)
{
    for (const struct yamlnode *s = n->kind == YAML_LIST ? n->first : n; s;
         s = n->kind == YAML_LIST ? s->next : NULL) {
        TRY(casefile_want(f, s, YAML_TEXT, "a side", e));
        int i = 0;
        while (i < f->n_side && strcmp(f->side[i].backend, s->text))
            i++;
        if (i == f->n_side)
            return yamltree_fail(&f->tree, s, e, "library: has no side '%.40s'", s->text);
        k->sides |= 1u << i;
    }
    return ERR_OK;
}

/* returns: i32, ptr, or nothing; the values that are no failure, and what others mean. */
static enum err returns_read(struct casefile *f, struct casefile_kernel *k,
                             const struct yamlnode *n, struct errinfo *e)
{
    if (!n || n->kind != YAML_TEXT)
        return n ? yamltree_fail(&f->tree, n, e, "returns: is a format or ptr") : ERR_OK;
    if (!strcmp(n->text, "ptr")) {
        k->returns = CASEFILE_RETURNS_POINTER;
        return ERR_OK;
    }
    struct casefile_dtype d;
    TRY(casefile_dtype(f, n, n->text, &d, e));
    if (d.param >= 0 || dtype_info(d.dtype)->kind == DTYPE_KIND_FLOAT ||
        dtype_info(d.dtype)->kind == DTYPE_KIND_CODE)
        return yamltree_fail(&f->tree, n, e, "a function returns an integer or ptr");
    k->returns = CASEFILE_RETURNS_NUMBER;
    k->return_dtype = d.dtype;
    return ERR_OK;
}

static enum err meanings_check(const struct casefile *f, const struct casefile_kernel *k,
                               const struct yamlnode *n, struct errinfo *e)
{
    if (!n)
        return ERR_OK;
    TRY(casefile_want(f, n, YAML_MAP, "what values mean", e));
    if (k->returns != CASEFILE_RETURNS_NUMBER)
        return yamltree_fail(&f->tree, n, e, "the call returns no number: returns: i32");
    for (const struct yamlnode *m = n->first; m; m = m->next) {
        struct yamlnode at = {.line = m->key_line, .column = m->key_column};
        if (!m->key[0] || m->key[strspn(m->key, "-0123456789")])
            return yamltree_fail(&f->tree, &at, e, "'%.40s' is no whole number", m->key);
        TRY(casefile_want(f, m, YAML_TEXT, "a meaning", e));
    }
    return ERR_OK;
}

static enum err once_read(const struct casefile *f, struct casefile_kernel *k,
                          const struct yamlnode *n, struct errinfo *e)
{
    if (!n)
        return ERR_OK;
    k->once = n->kind == YAML_TEXT && !strcmp(n->text, "true");
    if (!k->once)
        return yamltree_fail(&f->tree, n, e, "once: true, or nothing");
    for (int i = 0; i < k->n_arg; i++)
        if (k->arg[i].tensor >= 0)
            return yamltree_fail(&f->tree, n, e,
                                 "a call that is made once cannot have tensors");
    return ERR_OK;
}

static enum err call_read(struct casefile *f, const struct yamlnode *n, struct errinfo *e)
{
    static const char *const keys[] = {"name", "arguments", "on",     "returns", "result",
                                       "once", "untested",  "failed", NULL};
    if (f->n_kernel == CASE_LAUNCH_MAX)
        return yamltree_fail(&f->tree, n, e, "more than %d calls", CASE_LAUNCH_MAX);
    TRY(casefile_want(f, n, YAML_MAP, "a call", e));
    TRY(casefile_keys(f, n, keys, e));
    struct casefile_kernel *k = &f->kernel[f->n_kernel++];
    const struct yamlnode *name = yamlnode_get(n, "name"), *args = yamlnode_get(n, "arguments");
    const struct yamlnode *on = yamlnode_get(n, "on"), *result = yamlnode_get(n, "result");
    k->node = n;
    k->result = -1;
    if (!name)
        return yamltree_fail(&f->tree, n, e, "the call has no name");
    TRY(casefile_want(f, name, YAML_TEXT, "a function's name", e));
    k->name = name->text;
    if (on)
        TRY(sides_read(f, k, on, e));
    if (args)
        TRY(casefile_want(f, args, YAML_LIST, "arguments", e));
    for (const struct yamlnode *a = args ? args->first : NULL; a; a = a->next) {
        if (k->n_arg == CASE_ARG_MAX)
            return yamltree_fail(&f->tree, a, e, "more than %d arguments", CASE_ARG_MAX);
        TRY(call_arg_read(f, a, &k->arg[k->n_arg++], e));
    }
    TRY(returns_read(f, k, yamlnode_get(n, "returns"), e));
    if (result && (result->kind != YAML_TEXT || k->returns != CASEFILE_RETURNS_POINTER))
        return yamltree_fail(&f->tree, result, e,
                             "result: names what a call with returns: ptr gives");
    if (result)
        TRY(handle_make(f, result, result->text, &k->result, e));
    k->untested = yamlnode_get(n, "untested");
    k->failed = yamlnode_get(n, "failed");
    TRY(meanings_check(f, k, k->untested, e));
    TRY(meanings_check(f, k, k->failed, e));
    return once_read(f, k, yamlnode_get(n, "once"), e);
}

bool casefile_call_on(const struct casefile *f, int call, const char *backend)
{
    unsigned sides = f->kernel[call].sides;
    for (int i = 0; i < f->n_side; i++)
        if (!strcmp(f->side[i].backend, backend))
            return !sides || sides >> i & 1;
    return false;
}

/* Every side has somebody to write each output; every tensor of the file is for something. */
static enum err tensor_check(const struct casefile *f, int tensor, int side, struct errinfo *e)
{
    const struct casefile_tensor *t = &f->tensor[tensor];
    for (int i = 0; i < f->n_kernel; i++)
        for (int a = 0; a < f->kernel[i].n_arg; a++)
            if (casefile_call_on(f, i, f->side[side].backend) &&
                f->kernel[i].arg[a].tensor == tensor)
                return ERR_OK;
    if (t->role == TENSOR_IN && f->like)
        return ERR_OK;
    return yamltree_fail(&f->tree, t->node, e, "no call on %s has the argument %s",
                         f->side[side].backend, t->node->key);
}

enum err casefile_read_calls(struct casefile *f, struct errinfo *e)
{
    static const char *const others[] = {"source",  "binary",  "kernels",
                                         "defines", "options", "include"};
    const struct yamlnode *root = f->tree.root, *calls = yamlnode_get(root, "calls");
    int outputs = 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (yamlnode_get(root, others[i]))
            return yamltree_fail(&f->tree, yamlnode_get(root, others[i]), e,
                                 "a file has %s: or library:, not both", others[i]);
    TRY(libraries_read(f, yamlnode_get(root, "library"), e));
    f->library = true;
    if (!calls)
        return yamltree_fail(&f->tree, root, e,
                             "no calls: calls: [{name: ..., arguments: [...]}]");
    TRY(casefile_want(f, calls, YAML_LIST, "calls", e));
    for (const struct yamlnode *n = calls->first; n; n = n->next)
        TRY(call_read(f, n, e));
    for (int i = 0; i < f->n_tensor; i++) {
        outputs += f->tensor[i].role != TENSOR_IN;
        if (f->tensor[i].reference)
            return yamltree_fail(
                &f->tree, f->tensor[i].node, e,
                "a library has no reference kernels: a formula, a file or like:");
        for (int s = 0; s < f->n_side; s++)
            TRY(tensor_check(f, i, s, e));
    }
    return outputs ? ERR_OK
                   : yamltree_fail(&f->tree, root, e,
                                   "no tensor has the role out or inout: nothing to compare");
}
