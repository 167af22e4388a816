/* SPDX-License-Identifier: Apache-2.0 */
#include "casefile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

enum err casefile_param(struct casefile *f, const struct yamlnode *n, struct errinfo *e)
{
    static const char common[] = " dist seed mode ";
    char word[80];
    int row = f->n_param;
    struct yamlnode at = {.line = n->key_line, .column = n->key_column};
    if (row == CASE_PARAM_MAX - 1)
        return yamltree_fail(&f->tree, n, e, "more than %d parameters", CASE_PARAM_MAX - 1);
    TRY(casefile_name(f, &at, n->key, EXPR_NAME_MAX, e));
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
