/* SPDX-License-Identifier: Apache-2.0 */
#include "casefile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- reference: ------------------------------------------------------------------------------
 */

/* y[i,j]: the names of the output's indices go to `index`; what is left of the key is "y". */
static enum err key_split(struct casefile *f, struct yamlnode *n, char name[EXPR_NAME_MAX],
                          char text[EXPR_INDEX_MAX][EXPR_NAME_MAX], int *ret_count,
                          struct errinfo *e)
{
    const char *at = strchr(n->key, '[');
    struct yamlnode where = {.line = n->key_line, .column = n->key_column};
    *ret_count = 0;
    snprintf(name, EXPR_NAME_MAX, "%.*s", at ? (int)(at - n->key) : 31, n->key);
    n->key = name;
    while (at && at[1] && *at != ']') {
        at += 1 + strspn(at + 1, " ");
        size_t size = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        if (!size || size >= EXPR_NAME_MAX || *ret_count == TENSOR_RANK_MAX)
            return yamltree_fail(&f->tree, &where, e, "the indices of an output are names: y[i,j]");
        snprintf(text[(*ret_count)++], EXPR_NAME_MAX, "%.*s", (int)size, at);
        at += size + strspn(at + size, " ");
        if (*at != ',' && *at != ']')
            return yamltree_fail(&f->tree, &where, e, "the indices of an output are names: y[i,j]");
    }
    return ERR_OK;
}

/* The output that a key of `reference:` or `limits:` names. */
static enum err output_find(struct casefile *f, const struct yamlnode *n,
                            struct casefile_tensor **ret_tensor, struct errinfo *e)
{
    struct yamlnode at = {.line = n->key_line, .column = n->key_column};
    const char *names[CASE_TENSOR_MAX];
    int count = 0;
    for (int i = 0; i < f->n_tensor; i++)
        if (f->tensor[i].role != TENSOR_IN && !f->tensor[i].reference)
            names[count++] = f->tensor[i].node->key;
    int i = casefile_tensor_find(f, n->key);
    if (i >= 0 && f->tensor[i].role != TENSOR_IN && !f->tensor[i].reference) {
        *ret_tensor = &f->tensor[i];
        return ERR_OK;
    }
    char hint[NEAREST_HINT_MAX];
    return yamltree_fail(&f->tree, &at, e, "'%.40s' is no output%s", n->key,
                         nearest_hint(n->key, names, count, hint));
}

static enum err answer_once(const struct casefile *f, const struct casefile_tensor *t,
                            const struct yamlnode *n, struct errinfo *e)
{
    if (t->answer < 0 && !t->formula.count && !t->answer_data.path)
        return ERR_OK;
    return yamltree_fail(&f->tree, n, e, "%s has a reference already", t->node->key);
}

static enum err one_formula_read(struct casefile *f, const struct yamlnode *n, struct errinfo *e)
{
    struct casefile_tensor *t;
    struct yamlnode plain = *n;
    char name[EXPR_NAME_MAX], text[EXPR_INDEX_MAX][EXPR_NAME_MAX];
    const char *index[EXPR_INDEX_MAX];
    int count = 0;
    TRY(key_split(f, &plain, name, text, &count, e));
    for (int i = 0; i < count; i++)
        index[i] = text[i];
    TRY(output_find(f, &plain, &t, e));
    TRY(answer_once(f, t, n, e));
    if (count && count != t->rank)
        return yamltree_fail(&f->tree, n, e, "%s has %d dimensions, not %d", name, t->rank, count);
    return casefile_formula(f, n, true, true, count, index, &t->formula, e);
}

static enum err formula_read(struct casefile *f, const struct yamlnode *map, struct errinfo *e)
{
    TRY(casefile_want(f, map, YAML_MAP, "formula", e));
    for (const struct yamlnode *n = map->first; n; n = n->next)
        TRY(one_formula_read(f, n, e));
    return ERR_OK;
}

static enum err files_read(struct casefile *f, const struct yamlnode *map, struct errinfo *e)
{
    TRY(casefile_want(f, map, YAML_MAP, "files", e));
    for (const struct yamlnode *n = map->first; n; n = n->next) {
        struct casefile_tensor *t;
        TRY(output_find(f, n, &t, e));
        TRY(answer_once(f, t, n, e));
        TRY(casefile_want(f, n, YAML_TEXT, "the file of a reference", e));
        TRY(casefile_data(f, n, &t->answer_data, e));
    }
    return ERR_OK;
}

static enum err compute_read(struct casefile *f, const struct yamlnode *n, struct errinfo *e)
{
    if (n->kind == YAML_TEXT)
        f->compute = dtype_find(n->text);
    if (n->kind != YAML_TEXT || f->compute == DTYPE_COUNT_ ||
        dtype_info(f->compute)->kind == DTYPE_KIND_CODE)
        return yamltree_fail(&f->tree, n, e,
                             "compute is the format a kernel computes in: f32, f64, f16, i32");
    return ERR_OK;
}

/* One of two words; nothing leaves *ret_second as it is. */
static enum err choice_read(const struct casefile *f, const struct yamlnode *n, const char *first,
                            const char *second, bool *ret_second, struct errinfo *e)
{
    if (!n)
        return ERR_OK;
    if (n->kind != YAML_TEXT || (strcmp(n->text, first) && strcmp(n->text, second)))
        return yamltree_fail(&f->tree, n, e, "%s is %s or %s", n->key, first, second);
    *ret_second = !strcmp(n->text, second);
    return ERR_OK;
}

static enum err reference_read(struct casefile *f, const struct yamlnode *n, struct errinfo *e)
{
    static const char *const keys[] = {"formula", "kernels", "files",   "compute",
                                       "matrix",  "functions", NULL};
    TRY(casefile_want(f, n, YAML_MAP, "reference", e));
    TRY(casefile_keys(f, n, keys, e));
    TRY(choice_read(f, yamlnode_get(n, "matrix"), "false", "true", &f->matrix, e));
    TRY(choice_read(f, yamlnode_get(n, "functions"), "library", "hardware", &f->hardware, e));
    if (yamlnode_get(n, "compute"))
        TRY(compute_read(f, yamlnode_get(n, "compute"), e));
    if (yamlnode_get(n, "formula"))
        TRY(formula_read(f, yamlnode_get(n, "formula"), e));
    if (yamlnode_get(n, "files"))
        TRY(files_read(f, yamlnode_get(n, "files"), e));
    return ERR_OK;
}

/* --- limits: ---------------------------------------------------------------------------------
 */

static enum err number_read(const struct casefile *f, const struct yamlnode *n,
                            double *ret_value, struct errinfo *e)
{
    char *end = NULL;
    double v = n->kind == YAML_TEXT ? strtod(n->text, &end) : NAN;
    if (!(v >= 0) || isinf(v) || end == n->text || *end)
        return yamltree_fail(&f->tree, n, e, "a limit is a number, 0 or more");
    *ret_value = v;
    return ERR_OK;
}

static enum err limit_read(struct casefile *f, const struct yamlnode *n, struct errinfo *e)
{
    static const char *const keys[] = {"ulp", "abs", "rel", "reason", NULL};
    struct casefile_tensor *t;
    TRY(output_find(f, n, &t, e));
    TRY(casefile_want(f, n, YAML_MAP, "a limit", e));
    TRY(casefile_keys(f, n, keys, e));
    double *const to[] = {&t->limit.ulp, &t->limit.abs, &t->limit.rel};
    int given = 0;
    for (int i = 0; i < 3; i++)
        if (yamlnode_get(n, keys[i])) {
            TRY(number_read(f, yamlnode_get(n, keys[i]), to[i], e));
            given++;
        }
    const struct yamlnode *reason = yamlnode_get(n, "reason");
    if (!reason || reason->kind != YAML_TEXT || !reason->text[0])
        return yamltree_fail(&f->tree, n, e, "a limit without its reason: reason: why a right "
                             "device may be off by so much");
    if (!given)
        return yamltree_fail(&f->tree, n, e, "a limit says how much: ulp, abs or rel");
    t->limit.reason = reason->text;
    return ERR_OK;
}

enum err casefile_read_answers(struct casefile *f, struct errinfo *e)
{
    const struct yamlnode *root = f->tree.root;
    const struct yamlnode *reference = yamlnode_get(root, "reference");
    const struct yamlnode *limits = yamlnode_get(root, "limits");
    f->compute = DTYPE_COUNT_;
    for (int i = 0; i < f->n_side; i++) /* nobody knows how a binary was compiled */
        f->hardware |= f->side[i].binary != NULL;
    if (reference)
        TRY(reference_read(f, reference, e));
    if (limits) {
        TRY(casefile_want(f, limits, YAML_MAP, "limits", e));
        for (const struct yamlnode *n = limits->first; n; n = n->next)
            TRY(limit_read(f, n, e));
    }
    for (int i = 0; i < f->n_tensor; i++) {
        const struct casefile_tensor *t = &f->tensor[i];
        f->family.functions |= expr_uses_functions(&t->formula);
        if ((t->answer >= 0 || t->answer_data.path) && !t->limit.reason)
            return yamltree_fail(&f->tree, t->node, e,
                                 "how far may a right device be from the reference of %s? "
                                 "limits: {%s: {ulp: 4, reason: ...}}",
                                 t->node->key, t->node->key);
    }
    return ERR_OK;
}
