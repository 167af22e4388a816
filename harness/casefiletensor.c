/* SPDX-License-Identifier: Apache-2.0 */
#include "casefile.h"

#include <string.h>

static enum err role_read(struct casefile *f, struct casefile_tensor *t,
                          const struct yamlnode *n, struct errinfo *e)
{
    static const char *const roles[] = {"in", "out", "inout", "reference"};
    int i = 0;
    if (!n)
        return yamltree_fail(&f->tree, t->node, e,
                             "%s has no role: in, out, inout or reference", t->node->key);
    TRY(casefile_want(f, n, YAML_TEXT, "a role", e));
    while (i < 4 && strcmp(roles[i], n->text))
        i++;
    if (i == 4)
        return yamltree_fail(&f->tree, n, e,
                             "no role '%.40s'; there are: in, out, inout, reference", n->text);
    t->reference = i == 3;
    t->role = i == 0 ? TENSOR_IN : i == 2 ? TENSOR_INOUT : TENSOR_OUT;
    return ERR_OK;
}

static enum err shape_read(struct casefile *f, struct casefile_tensor *t,
                           const struct yamlnode *n, struct errinfo *e)
{
    if (!n)
        return yamltree_fail(&f->tree, t->node, e, "%s has no shape: shape: [n]", t->node->key);
    const struct yamlnode *at = n->kind == YAML_LIST ? n->first : n;
    if (n->kind == YAML_LIST && n->count > TENSOR_RANK_MAX)
        return yamltree_fail(&f->tree, n, e, "at most %d dimensions", TENSOR_RANK_MAX);
    for (; at; at = n->kind == YAML_LIST ? at->next : NULL) {
        t->dim_node[t->rank] = at;
        TRY(casefile_expr(f, at, false, &t->dim[t->rank], e));
        t->rank++;
    }
    return ERR_OK;
}

static enum err fill_read(struct casefile *f, struct casefile_tensor *t,
                          const struct yamlnode *n, struct errinfo *e)
{
    TRY(casefile_want(f, n, YAML_TEXT, "fill", e));
    if (t->role == TENSOR_OUT) {
        if (strcmp(n->text, "zero"))
            return yamltree_fail(&f->tree, n, e,
                                 "an output starts as a pattern that shows what was never "
                                 "written; `fill: zero` is for kernels that add into it");
        t->zeroed = true;
        return ERR_OK;
    }
    if (!strcmp(n->text, "dist"))
        return ERR_OK;
    t->dist = dist_find(n->text);
    t->dist_given = true;
    if (t->dist < DIST_COUNT_)
        return ERR_OK;
    const char *names[DIST_COUNT_];
    for (int i = 0; i < DIST_COUNT_; i++)
        names[i] = dist_name((enum dist)i);
    char hint[NEAREST_HINT_MAX];
    return yamltree_fail(&f->tree, n, e,
                         "no distribution '%.40s'%s; `dist` is the one that the id names",
                         n->text, nearest_hint(n->text, names, DIST_COUNT_, hint));
}

static enum err axis_read(struct casefile *f, struct casefile_tensor *t,
                          const struct yamlnode *n, struct errinfo *e)
{
    TRY(casefile_want(f, n, YAML_TEXT, "axis", e));
    if (n->text[0] < '0' || n->text[0] > '9' || n->text[1] || n->text[0] - '0' >= t->rank)
        return yamltree_fail(&f->tree, n, e, "axis is a dimension of %s: 0 to %d", t->node->key,
                             t->rank - 1);
    t->axis = n->text[0] - '0';
    return ERR_OK;
}

static enum err of_read(struct casefile *f, struct casefile_tensor *t, const struct yamlnode *n,
                        struct errinfo *e)
{
    if (!n || n->kind != YAML_TEXT)
        return yamltree_fail(&f->tree, n ? n : t->node, e,
                             "a reference says of which output: of: y");
    t->of = casefile_tensor_find(f, n->text);
    if (t->of < 0 || f->tensor[t->of].role == TENSOR_IN || f->tensor[t->of].reference)
        return yamltree_fail(&f->tree, n, e, "'%.40s' is no output that stands above %s", n->text,
                             t->node->key);
    if (f->tensor[t->of].answer >= 0)
        return yamltree_fail(&f->tree, n, e, "%s has a reference already", n->text);
    f->tensor[t->of].answer = (int)(t - f->tensor);
    return ERR_OK;
}

static enum err tensor_options_read(struct casefile *f, struct casefile_tensor *t,
                                    const struct yamlnode *n, struct errinfo *e)
{
    const struct yamlnode *fill = yamlnode_get(n, "fill"), *file = yamlnode_get(n, "file");
    const struct yamlnode *axis = yamlnode_get(n, "axis"), *of = yamlnode_get(n, "of");
    t->axis = t->rank ? t->rank - 1 : 0;
    if (axis)
        TRY(axis_read(f, t, axis, e));
    if (fill && file)
        return yamltree_fail(&f->tree, file, e, "%s is filled by a file or a distribution, not both",
                             n->key);
    if (fill)
        TRY(fill_read(f, t, fill, e));
    if (file && t->role == TENSOR_OUT)
        return yamltree_fail(&f->tree, file, e, "an output is not read from a file; its right "
                             "answer may be: reference: {files: {%s: ...}}", n->key);
    if (file)
        TRY(casefile_data(f, file, &t->data, e));
    if (t->reference)
        return of_read(f, t, of, e);
    if (of)
        return yamltree_fail(&f->tree, of, e, "only a reference says of which output it is");
    return ERR_OK;
}

enum err casefile_tensor(struct casefile *f, const struct yamlnode *n, struct errinfo *e)
{
    static const char *const keys[] = {"role", "dtype", "shape", "fill",
                                       "file", "axis",  "of",    NULL};
    struct yamlnode at = {.line = n->key_line, .column = n->key_column};
    if (f->n_tensor == CASE_TENSOR_MAX)
        return yamltree_fail(&f->tree, n, e, "more than %d tensors", CASE_TENSOR_MAX);
    TRY(casefile_name(f, &at, n->key, TENSOR_NAME_MAX, e));
    if (family_param_find(&f->family, n->key) >= 0)
        return yamltree_fail(&f->tree, &at, e, "%s is a parameter's name, too", n->key);
    TRY(casefile_want(f, n, YAML_MAP, "a tensor", e));
    TRY(casefile_keys(f, n, keys, e));
    struct casefile_tensor *t = &f->tensor[f->n_tensor++];
    t->node = n;
    t->of = t->answer = -1;
    const struct yamlnode *dtype = yamlnode_get(n, "dtype");
    if (!dtype || dtype->kind != YAML_TEXT)
        return yamltree_fail(&f->tree, dtype ? dtype : n, e, "%s has no format: dtype: f32",
                             n->key);
    TRY(role_read(f, t, yamlnode_get(n, "role"), e));
    TRY(casefile_dtype(f, dtype, dtype->text, &t->dtype, e));
    TRY(shape_read(f, t, yamlnode_get(n, "shape"), e));
    return tensor_options_read(f, t, n, e);
}
