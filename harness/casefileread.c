/* SPDX-License-Identifier: Apache-2.0 */
#include "casefile.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- what all parts of a file share ----------------------------------------------------------
 */

enum err casefile_want(const struct casefile *f, const struct yamlnode *n, enum yaml_kind kind,
                       const char *what, struct errinfo *e)
{
    static const char *const kinds[] = {"a text", "a list", "a map"};
    if (n->kind == kind && (kind != YAML_TEXT || n->text[0]))
        return ERR_OK;
    return yamltree_fail(&f->tree, n, e, "%s must be %s", what, kinds[kind]);
}

enum err casefile_keys(const struct casefile *f, const struct yamlnode *map,
                       const char *const *keys, struct errinfo *e)
{
    char all[320];
    int count = 0;
    while (keys[count])
        count++;
    for (const struct yamlnode *n = map->first; n; n = n->next) {
        int i = 0;
        while (i < count && strcmp(keys[i], n->key))
            i++;
        if (i < count)
            continue;
        struct yamlnode at = {.line = n->key_line, .column = n->key_column};
        if (strchr(n->key, ')') || strchr(n->key, '('))
            return yamltree_fail(&f->tree, &at, e,
                                 "'%.40s' is what a comma cut off: within { } and [ ] an "
                                 "expression with a comma stands in quotes: \"ceildiv(n, 256)\"",
                                 n->key);
        nearest_list(n->key, keys, count, all, sizeof all);
        return yamltree_fail(&f->tree, &at, e, "no key is called '%.40s' here; %s", n->key, all);
    }
    return ERR_OK;
}

enum err casefile_name(const struct casefile *f, const struct yamlnode *n, const char *name,
                       size_t room, struct errinfo *e)
{
    bool good = name[0] && !isdigit((unsigned char)name[0]) && strlen(name) < room;
    for (const char *at = name; *at && good; at++)
        good = isalnum((unsigned char)*at) || *at == '_';
    return good ? ERR_OK
                : yamltree_fail(&f->tree, n, e,
                                "'%.40s' is no name: letters, digits and _, fewer than %zu",
                                name, room);
}

enum err casefile_expr(const struct casefile *f, const struct yamlnode *n, bool real,
                       struct expr *ret_expr, struct errinfo *e)
{
    return casefile_formula(f, n, real, false, 0, NULL, ret_expr, e);
}

enum err casefile_formula(const struct casefile *f, const struct yamlnode *n, bool real,
                          bool tensors, int n_index, const char *const *index,
                          struct expr *ret_expr, struct errinfo *e)
{
    const char *value[CASE_PARAM_MAX], *tensor[CASE_TENSOR_MAX];
    int rank[CASE_TENSOR_MAX];
    struct expr_names names = {.value = value, .tensor = tensor, .rank = rank, .index = index};
    TRY(casefile_want(f, n, YAML_TEXT, real ? "a formula" : "a size", e));
    for (; names.n_value < f->n_param; names.n_value++) {
        enum param_kind kind = f->params[names.n_value].kind;
        bool usable = kind == PARAM_INT || (real && kind == PARAM_REAL);
        value[names.n_value] = usable ? f->params[names.n_value].name : "";
    }
    for (; tensors && names.n_tensor < f->n_tensor; names.n_tensor++) {
        const struct casefile_tensor *t = &f->tensor[names.n_tensor];
        tensor[names.n_tensor] = t->role == TENSOR_OUT ? "" : t->node->key;
        rank[names.n_tensor] = t->rank;
    }
    names.n_index = n_index;
    enum err err = expr_parse(n->text, real, &names, ret_expr, e);
    if (err && !n->quoted && strchr(n->text, '(') && !strchr(n->text, ')'))
        return yamltree_fail(&f->tree, n, e,
                             "'%.60s' was cut off at a comma: within { } and [ ] an expression "
                             "with a comma stands in quotes: \"ceildiv(n, 256)\"",
                             n->text);
    return err ? yamltree_context(&f->tree, n, e, ERR_FORMAT) : ERR_OK;
}

enum err casefile_dtype(const struct casefile *f, const struct yamlnode *n, const char *word,
                        struct casefile_dtype *ret_dtype, struct errinfo *e)
{
    *ret_dtype = (struct casefile_dtype){-1, dtype_find(word)};
    if (ret_dtype->dtype < DTYPE_COUNT_)
        return ERR_OK;
    int row = family_param_find(&f->family, word);
    if (row < 0 || f->params[row].kind != PARAM_WORD) {
        const char *names[DTYPE_COUNT_];
        for (int i = 0; i < DTYPE_COUNT_; i++)
            names[i] = dtype_info((enum dtype)i)->name;
        char hint[NEAREST_HINT_MAX];
        return yamltree_fail(&f->tree, n, e,
                             "'%.40s' is no format%s: write f32, f16, bf16, i32, ..., or "
                             "the name of a parameter with such values",
                             word, nearest_hint(word, names, DTYPE_COUNT_, hint));
    }
    for (const char *const *w = f->params[row].words; *w; w++)
        if (dtype_find(*w) == DTYPE_COUNT_)
            return yamltree_fail(&f->tree, n, e, "the parameter %s can be '%s', which is no format",
                                 word, *w);
    ret_dtype->param = row;
    return ERR_OK;
}

/* --- the rest of the head --------------------------------------------------------------------
 */

static enum err suite_read(struct casefile *f, const struct yamlnode *n, int *count,
                           struct errinfo *e)
{
    static const char *const tags[] = {"quick", "full", "stress", NULL};
    TRY(casefile_want(f, n, YAML_LIST, "a suite", e));
    for (const struct yamlnode *r = n->first; r; r = r->next) {
        if (*count == CASEFILE_ITEMS_MAX)
            return yamltree_fail(&f->tree, r, e, "more than %d rows of suites",
                                 CASEFILE_ITEMS_MAX);
        if (r->kind != YAML_TEXT || strlen(r->text) >= CASEFILE_TEXT_MAX - 1)
            return yamltree_fail(&f->tree, r, e, "a row of a suite is a text: \"n={1|255},seed=2\"");
        const char *tag = NULL;
        for (int i = 0; tags[i]; i++)
            if (!strcmp(tags[i], n->key))
                tag = tags[i];
        snprintf(f->suite_text[*count], CASEFILE_TEXT_MAX, "%s%s", r->text[0] ? ":" : "",
                 r->text);
        f->suites[*count] = (struct suite_row){tag, f->suite_text[*count]};
        ++*count;
    }
    return ERR_OK;
}

static enum err suites_read(struct casefile *f, const struct yamlnode *map, struct errinfo *e)
{
    static const char *const tags[] = {"quick", "full", "stress", NULL};
    int count = 0;
    if (!map) {
        f->suites[0] = (struct suite_row){"quick,full,stress", ""};
        return ERR_OK;
    }
    TRY(casefile_want(f, map, YAML_MAP, "suites", e));
    TRY(casefile_keys(f, map, tags, e));
    for (const struct yamlnode *n = map->first; n; n = n->next)
        TRY(suite_read(f, n, &count, e));
    return count ? ERR_OK : yamltree_fail(&f->tree, map, e, "suites without a row");
}

static enum err modes_read(struct casefile *f, const struct yamlnode *list, struct errinfo *e)
{
    if (!list)
        return ERR_OK;
    TRY(casefile_want(f, list, YAML_LIST, "modes", e));
    for (const struct yamlnode *n = list->first; n; n = n->next) {
        TRY(casefile_want(f, n, YAML_TEXT, "a mode", e));
        if (f->n_mode == CASEFILE_ITEMS_MAX)
            return yamltree_fail(&f->tree, n, e, "more than %d modes", CASEFILE_ITEMS_MAX);
        if (caseid_parse_mode(n->text, &f->mode[f->n_mode++], e))
            return yamltree_context(&f->tree, n, e, ERR_FORMAT);
    }
    return f->n_mode ? ERR_OK : yamltree_fail(&f->tree, list, e, "modes without a mode");
}

/* The name decides the bits of the inputs: `name`, or else that of the file. */
static enum err names_read(struct casefile *f, struct errinfo *e)
{
    const struct yamlnode *name = yamlnode_get(f->tree.root, "name");
    const struct yamlnode *summary = yamlnode_get(f->tree.root, "summary");
    struct family *family = &f->family;
    if (name) {
        TRY(casefile_want(f, name, YAML_TEXT, "the name", e));
        TRY(casefile_name(f, name, name->text, TENSOR_NAME_MAX, e));
        family->name = name->text;
    } else {
        const char *base = f->path + strlen(f->folder);
        snprintf(f->name, sizeof f->name, "%.*s", (int)strcspn(base, "."), base);
        family->name = f->name;
    }
    if (summary)
        TRY(casefile_want(f, summary, YAML_TEXT, "the summary", e));
    family->summary = summary ? summary->text : "";
    f->variants[0] = (struct variant){.name = family->name, .summary = family->summary, .source = ""};
    for (int i = 0; i < CASEFILE_CHANGES; i++) {
        f->changed[i] = f->variants[0];
        f->changed[i].source = i == CASEFILE_NO_OPTIONS ? "options=off" : "source=other";
    }
    *family = (struct family){.name = family->name,
                              .summary = family->summary,
                              .path = f->path,
                              .file = f,
                              .params = f->params,
                              .variants = f->variants,
                              .suites = f->suites,
                              .plan = casefile_plan,
                              .oracle = casefile_oracle,
                              .models = casefile_models,
                              .model = casefile_model,
                              .needs = casefile_needs,
                              .fill = casefile_fill};
    return ERR_OK;
}

static enum err members_read(struct casefile *f, const char *key,
                             enum err (*each)(struct casefile *, const struct yamlnode *,
                                              struct errinfo *),
                             struct errinfo *e)
{
    const struct yamlnode *map = yamlnode_get(f->tree.root, key);
    if (!map)
        return ERR_OK;
    TRY(casefile_want(f, map, YAML_MAP, key, e));
    for (const struct yamlnode *n = map->first; n; n = n->next)
        TRY(each(f, n, e));
    return ERR_OK;
}

enum err casefile_read(struct casefile *f, struct errinfo *e)
{
    static const char *const keys[] = {
        "name",    "summary", "source",     "binary",  "defines", "options",   "include",
        "modes",   "parameters", "tensors", "kernels", "reference", "limits", "suites",
        "library", "calls",   "like",       NULL};
    const struct yamlnode *root = f->tree.root;
    if (!root || root->kind != YAML_MAP)
        return yamltree_fail(&f->tree, root, e,
                             "a case file is a map: source, parameters, tensors, kernels, ... "
                             "(docs/kernels.md)");
    TRY(casefile_keys(f, root, keys, e));
    TRY(names_read(f, e));
    TRY(members_read(f, "parameters", casefile_param, e));
    TRY(casefile_read_like(f, e));
    TRY(members_read(f, "tensors", casefile_tensor, e));
    TRY(modes_read(f, yamlnode_get(root, "modes"), e));
    TRY(suites_read(f, yamlnode_get(root, "suites"), e));
    TRY(casefile_read_kernels(f, e));
    return casefile_read_answers(f, e);
}
