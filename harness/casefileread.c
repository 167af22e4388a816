/* SPDX-License-Identifier: Apache-2.0 */
#include "casefile.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
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
    char all[260] = "";
    int count = 0;
    for (; keys[count]; count++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", count ? ", " : "",
                 keys[count]);
    for (const struct yamlnode *n = map->first; n; n = n->next) {
        int i = 0;
        while (i < count && strcmp(keys[i], n->key))
            i++;
        if (i < count)
            continue;
        const char *near = nearest_name(n->key, keys, count);
        struct yamlnode at = {.line = n->key_line, .column = n->key_column};
        if (strchr(n->key, ')') || strchr(n->key, '('))
            return yamltree_fail(&f->tree, &at, e,
                                 "'%.40s' is what a comma cut off: within { } and [ ] an "
                                 "expression with a comma stands in quotes: \"ceildiv(n, 256)\"",
                                 n->key);
        return yamltree_fail(&f->tree, &at, e, "no key is called '%.40s' here; %s%s%sthere are: %s",
                             n->key, near ? "did you mean '" : "", near ? near : "",
                             near ? "'? " : "", all);
    }
    return ERR_OK;
}

/* A name that expressions, ids and records can hold. */
static enum err name_check(const struct casefile *f, const struct yamlnode *n,
                           const char *name, size_t room, struct errinfo *e)
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
        const char *near = nearest_name(word, names, DTYPE_COUNT_);
        return yamltree_fail(&f->tree, n, e,
                             "'%.40s' is no format%s%s%s: write f32, f16, bf16, i32, ..., or "
                             "the name of a parameter with such values",
                             word, near ? "; did you mean '" : "", near ? near : "",
                             near ? "'?" : "");
    }
    for (const char *const *w = f->params[row].words; *w; w++)
        if (dtype_find(*w) == DTYPE_COUNT_)
            return yamltree_fail(&f->tree, n, e, "the parameter %s can be '%s', which is no format",
                                 word, *w);
    ret_dtype->param = row;
    return ERR_OK;
}

/* --- parameters ------------------------------------------------------------------------------
 */

static bool reads_whole(const char *text)
{
    const char *at = text + (*text == '-');
    return *at && !at[strspn(at, "0123456789")];
}

static bool reads_real(const char *text, double *ret_value)
{
    char *end;
    *ret_value = strtod(text, &end);
    return end != text && !*end && isfinite(*ret_value) && strchr("-.0123456789", *text);
}

static enum err bound_read(const struct casefile *f, const struct param *p,
                           const struct yamlnode *n, double *ret_value, struct errinfo *e)
{
    TRY(casefile_want(f, n, YAML_TEXT, "an end of a range", e));
    if (!reads_real(n->text, ret_value) ||
        (p->kind == PARAM_INT && (!reads_whole(n->text) || fabs(*ret_value) > 0x1p53)))
        return yamltree_fail(&f->tree, n, e, "'%.40s' is no %s number", n->text,
                             p->kind == PARAM_INT ? "whole" : "finite");
    return ERR_OK;
}

static enum err range_read(const struct casefile *f, struct param *p, const struct yamlnode *n,
                           struct errinfo *e)
{
    if (n->kind != YAML_LIST || n->count != 2)
        return yamltree_fail(&f->tree, n, e, "a range is two numbers: [1, 4096]");
    TRY(bound_read(f, p, n->first, &p->minimum, e));
    TRY(bound_read(f, p, n->first->next, &p->maximum, e));
    if (p->minimum > p->maximum)
        return yamltree_fail(&f->tree, n, e, "a range begins with its smaller end");
    return ERR_OK;
}

static enum err words_read(struct casefile *f, int row, const struct yamlnode *n,
                           struct errinfo *e)
{
    TRY(casefile_want(f, n, YAML_LIST, "the values of a parameter", e));
    if (n->count < 1 || n->count > CASEFILE_WORDS_MAX)
        return yamltree_fail(&f->tree, n, e, "a parameter has 1 to %d values, not %d",
                             CASEFILE_WORDS_MAX, n->count);
    int count = 0;
    for (const struct yamlnode *w = n->first; w; w = w->next) {
        TRY(casefile_want(f, w, YAML_TEXT, "a value", e));
        if (w->text[strspn(w->text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                    "0123456789_.+-")] ||
            strlen(w->text) > 40)
            return yamltree_fail(&f->tree, w, e,
                                 "'%.40s' cannot be a value: letters, digits and _ . + - only",
                                 w->text);
        f->words[row][count++] = w->text;
    }
    f->params[row].kind = PARAM_WORD;
    f->params[row].words = f->words[row];
    return ERR_OK;
}

/* The standard value says what kind of parameter it is: 100, 0.5, or one of the words. */
static enum err standard_read(struct casefile *f, int row, const struct yamlnode *n,
                              struct errinfo *e)
{
    struct param *p = &f->params[row];
    double value;
    TRY(casefile_want(f, n, YAML_TEXT, "the standard value", e));
    p->standard = n->text;
    if (p->words) {
        for (const char *const *w = p->words; *w; w++)
            if (!strcmp(*w, n->text))
                return ERR_OK;
        return yamltree_fail(&f->tree, n, e, "'%.40s' is not one of the values of %s", n->text,
                             p->name);
    }
    if (!reads_real(n->text, &value))
        return yamltree_fail(&f->tree, n, e,
                             "'%.40s' is no number; a parameter with words as values is a list: "
                             "%s: [f32, f16]",
                             n->text, p->name);
    p->kind = reads_whole(n->text) ? PARAM_INT : PARAM_REAL;
    p->minimum = p->kind == PARAM_INT ? 1 : -1e30;
    p->maximum = p->kind == PARAM_INT ? INT32_MAX : 1e30;
    if (p->kind == PARAM_INT && value < 1)
        p->minimum = value;
    return ERR_OK;
}

static enum err param_map_read(struct casefile *f, int row, const struct yamlnode *n,
                               struct errinfo *e)
{
    static const char *const keys[] = {"standard", "range", "words", "format", "summary", NULL};
    struct param *p = &f->params[row];
    const struct yamlnode *words = yamlnode_get(n, "words"), *range = yamlnode_get(n, "range");
    const struct yamlnode *standard = yamlnode_get(n, "standard");
    const struct yamlnode *format = yamlnode_get(n, "format");
    const struct yamlnode *summary = yamlnode_get(n, "summary");
    TRY(casefile_keys(f, n, keys, e));
    if (words)
        TRY(words_read(f, row, words, e));
    if (!standard && !words)
        return yamltree_fail(&f->tree, n, e, "the parameter %s needs a standard value", p->name);
    TRY(standard_read(f, row, standard ? standard : words->first, e));
    if (range && p->words)
        return yamltree_fail(&f->tree, range, e, "words have no range");
    if (range)
        TRY(range_read(f, p, range, e));
    if (format && (format->kind != YAML_TEXT || p->kind != PARAM_REAL ||
                   (strcmp(format->text, "f64") && strcmp(format->text, "f32"))))
        return yamltree_fail(&f->tree, format, e,
                             "only a parameter that is no whole number has a format, f32 or f64");
    f->f64[row] = format && !strcmp(format->text, "f64");
    if (summary)
        TRY(casefile_want(f, summary, YAML_TEXT, "a summary", e));
    p->summary = summary ? summary->text : "";
    double value = strtod(p->standard, NULL);
    if (!p->words && (value < p->minimum || value > p->maximum))
        return yamltree_fail(&f->tree, standard, e, "the standard value is outside its range");
    return ERR_OK;
}

static enum err param_read(struct casefile *f, const struct yamlnode *n, struct errinfo *e)
{
    static const char common[] = " dist seed mode ";
    char word[80];
    int row = f->n_param;
    struct yamlnode at = {.line = n->key_line, .column = n->key_column};
    if (row == CASE_PARAM_MAX - 1)
        return yamltree_fail(&f->tree, n, e, "more than %d parameters", CASE_PARAM_MAX - 1);
    TRY(name_check(f, &at, n->key, EXPR_NAME_MAX, e));
    snprintf(word, sizeof word, " %s ", n->key);
    if (strstr(common, word))
        return yamltree_fail(&f->tree, &at, e, "every case has the parameter %s already",
                             n->key);
    f->params[row].name = n->key;
    f->params[row].summary = "";
    f->n_param++;
    if (n->kind == YAML_MAP)
        return param_map_read(f, row, n, e);
    if (n->kind == YAML_TEXT)
        return standard_read(f, row, n, e);
    TRY(words_read(f, row, n, e));
    return standard_read(f, row, n->first, e);
}

/* --- tensors ---------------------------------------------------------------------------------
 */

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
    const char *near = nearest_name(n->text, names, DIST_COUNT_);
    return yamltree_fail(&f->tree, n, e,
                         "no distribution '%.40s'%s%s%s; `dist` is the one that the id names",
                         n->text, near ? "; did you mean '" : "", near ? near : "",
                         near ? "'?" : "");
}

static enum err axis_read(struct casefile *f, struct casefile_tensor *t,
                          const struct yamlnode *n, struct errinfo *e)
{
    TRY(casefile_want(f, n, YAML_TEXT, "axis", e));
    if (!reads_whole(n->text) || strlen(n->text) > 1 || atoi(n->text) >= t->rank)
        return yamltree_fail(&f->tree, n, e, "axis is a dimension of %s: 0 to %d", t->node->key,
                             t->rank - 1);
    t->axis = atoi(n->text);
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

static enum err tensor_read(struct casefile *f, const struct yamlnode *n, struct errinfo *e)
{
    static const char *const keys[] = {"role", "dtype", "shape", "fill",
                                       "file", "axis",  "of",    NULL};
    struct yamlnode at = {.line = n->key_line, .column = n->key_column};
    if (f->n_tensor == CASE_TENSOR_MAX)
        return yamltree_fail(&f->tree, n, e, "more than %d tensors", CASE_TENSOR_MAX);
    TRY(name_check(f, &at, n->key, TENSOR_NAME_MAX, e));
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
        TRY(name_check(f, name, name->text, TENSOR_NAME_MAX, e));
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
    *family = (struct family){.name = family->name,
                              .summary = family->summary,
                              .path = f->path,
                              .file = f,
                              .params = f->params,
                              .variants = f->variants,
                              .suites = f->suites,
                              .plan = casefile_plan,
                              .oracle = casefile_oracle,
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
    TRY(members_read(f, "parameters", param_read, e));
    TRY(casefile_read_like(f, e));
    TRY(members_read(f, "tensors", tensor_read, e));
    TRY(modes_read(f, yamlnode_get(root, "modes"), e));
    TRY(suites_read(f, yamlnode_get(root, "suites"), e));
    TRY(casefile_read_kernels(f, e));
    return casefile_read_answers(f, e);
}
