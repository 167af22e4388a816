/* SPDX-License-Identifier: Apache-2.0 */
#include "caseid.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_MAX_ = 128, COMMON_COUNT = 3, NAMES_MAX = 64 };

/* The parameters that every family has. Their values have fields of their own in struct
 * case_id; only the names are needed here. */
static const char *const common_params[COMMON_COUNT] = {"dist", "seed", "mode"};

/* Where parsing stands. */
struct cursor {
    const char *text, *at;
};

static int position(const struct cursor *c)
{
    return (int)(c->at - c->text) + 1;
}

static enum err unknown(const struct cursor *c, const char *what, const char *word,
                        const char *const *names, int count, struct errinfo *e)
{
    char advice[320];
    nearest_list(word, names, count, advice, sizeof advice);
    return err_set(e, ERR_USAGE, "no %s '%.40s' (column %d); %s", what, word, position(c),
                   advice);
}

/* The characters up to one of `stops`. The cursor stays. */
static enum err word_peek(const struct cursor *c, const char *stops, const char *what,
                          char ret_word[WORD_MAX_], struct errinfo *e)
{
    size_t n = strcspn(c->at, stops);
    if (n == 0)
        return err_set(e, ERR_USAGE, "%s is missing at column %d of '%.80s'", what, position(c),
                       c->text);
    if (n >= WORD_MAX_)
        return err_set(e, ERR_USAGE, "%s at column %d is longer than %d characters", what,
                       position(c), WORD_MAX_ - 1);
    memcpy(ret_word, c->at, n);
    ret_word[n] = 0;
    return ERR_OK;
}

static enum err family_parse(struct cursor *c, struct case_id *id, struct errinfo *e)
{
    char word[WORD_MAX_];
    TRY(word_peek(c, "/:,", "a family's name", word, e));
    id->family = family_find(word);
    if (!id->family) {
        const char *names[NAMES_MAX];
        int n = 0;
        for (; case_families[n] && n < NAMES_MAX; n++)
            names[n] = case_families[n]->name;
        return unknown(c, "family", word, names, n, e);
    }
    c->at += strlen(word);
    return ERR_OK;
}

static enum err variant_parse(struct cursor *c, struct case_id *id, struct errinfo *e)
{
    const char *names[NAMES_MAX];
    int n = 0;
    for (const struct variant *v = id->family->variants; v->name && n < NAMES_MAX; v++)
        if (!v->hidden)
            names[n++] = v->name;

    if (*c->at != '/')
        return err_set(
            e, ERR_USAGE,
            "'%.80s' names no variant: write %s/%s, for instance, as 'gpuparity list "
            "%s' shows",
            c->text, id->family->name, names[0], id->family->name);
    c->at++;
    char word[WORD_MAX_];
    TRY(word_peek(c, ":,", "a variant's name", word, e));
    id->variant = variant_find(id->family, word);
    if (!id->variant)
        return unknown(c, "variant", word, names, n, e);
    c->at += strlen(word);
    return ERR_OK;
}

static enum err int_parse(const struct cursor *c, const struct param *p, const char *word,
                          union param_value *ret_value, struct errinfo *e)
{
    char *end;
    errno = 0;
    long long v = strtoll(word, &end, 10);
    if (*end || !strchr("-0123456789", *word) || end == word)
        return err_set(e, ERR_USAGE, "%s=%.40s (column %d) is not a whole number", p->name,
                       word, position(c));
    if (errno || (double)v < p->minimum || (double)v > p->maximum)
        return err_set(e, ERR_USAGE, "%s=%.40s (column %d) is outside %.0f..%.0f", p->name,
                       word, position(c), p->minimum, p->maximum);
    ret_value->i = v;
    return ERR_OK;
}

static enum err real_parse(const struct cursor *c, const struct param *p, const char *word,
                           union param_value *ret_value, struct errinfo *e)
{
    char *end;
    double v = strtod(word, &end);
    if (*end || !strchr("-.0123456789", *word) || end == word)
        return err_set(e, ERR_USAGE, "%s=%.40s (column %d) is not a number", p->name, word,
                       position(c));
    if (v < p->minimum || v > p->maximum)
        return err_set(e, ERR_USAGE, "%s=%.40s (column %d) is outside %g..%g", p->name, word,
                       position(c), p->minimum, p->maximum);
    ret_value->r = v + 0.0; /* -0 is 0 */
    return ERR_OK;
}

static enum err choice_parse(const struct cursor *c, const struct param *p, const char *word,
                             union param_value *ret_value, struct errinfo *e)
{
    int n = 0;
    for (; p->words[n]; n++)
        if (!strcmp(p->words[n], word)) {
            ret_value->i = n;
            return ERR_OK;
        }
    char what[64];
    snprintf(what, sizeof what, "value of %s", p->name);
    return unknown(c, what, word, p->words, n, e);
}

static enum err value_parse(const struct cursor *c, const struct param *p, const char *word,
                            union param_value *ret_value, struct errinfo *e)
{
    switch (p->kind) {
    case PARAM_INT:
        return int_parse(c, p, word, ret_value, e);
    case PARAM_REAL:
        return real_parse(c, p, word, ret_value, e);
    case PARAM_WORD:
        break;
    }
    return choice_parse(c, p, word, ret_value, e);
}

static enum err dist_parse(const struct cursor *c, const char *word, struct case_id *id,
                           struct errinfo *e)
{
    const char *names[DIST_COUNT_];
    for (int i = 0; i < DIST_COUNT_; i++)
        names[i] = dist_name((enum dist)i);
    id->dist = dist_find(word);
    return id->dist < DIST_COUNT_ ? ERR_OK : unknown(c, "dist", word, names, DIST_COUNT_, e);
}

static enum err seed_parse(const struct cursor *c, const char *word, struct case_id *id,
                           struct errinfo *e)
{
    char *end;
    errno = 0;
    unsigned long long v = strtoull(word, &end, 10);
    if (*word < '0' || *word > '9' || *end || errno)
        return err_set(e, ERR_USAGE,
                       "seed=%.40s (column %d) is not a whole number from 0 to %llu", word,
                       position(c), ULLONG_MAX);
    id->seed = v;
    return ERR_OK;
}

static enum err mode_parse(const struct cursor *c, const char *word, struct case_id *id,
                           struct errinfo *e)
{
    enum err code = caseid_parse_mode(word, &id->mode, e);
    return code ? err_context(e, code, "column %d", position(c)) : ERR_OK;
}

/* The row of `name`: the family's own first, then the common ones; -1 if there is none. */
static int param_row(const struct family *f, const char *name)
{
    int own = family_param_find(f, name);
    for (int i = 0; own < 0 && i < COMMON_COUNT; i++)
        if (!strcmp(common_params[i], name))
            return family_param_count(f) + i;
    return own;
}

static enum err param_unknown(const struct cursor *c, const struct family *f, const char *name,
                              struct errinfo *e)
{
    const char *names[CASE_PARAM_MAX + COMMON_COUNT];
    int n = family_param_count(f);
    for (int i = 0; i < n; i++)
        names[i] = f->params[i].name;
    for (int i = 0; i < COMMON_COUNT; i++)
        names[n + i] = common_params[i];
    return unknown(c, "parameter", name, names, n + COMMON_COUNT, e);
}

static enum err assignment_parse(struct cursor *c, struct case_id *id, bool *given,
                                 struct errinfo *e)
{
    char name[WORD_MAX_], word[WORD_MAX_];
    TRY(word_peek(c, "=,", "a parameter's name", name, e));
    int row = param_row(id->family, name);
    if (row < 0)
        return param_unknown(c, id->family, name, e);
    if (given[row])
        return err_set(e, ERR_USAGE, "%s is given twice (column %d)", name, position(c));
    given[row] = true;
    c->at += strlen(name);
    if (*c->at != '=')
        return err_set(e, ERR_USAGE, "%s has no value (column %d): write %s=...", name,
                       position(c), name);
    c->at++;
    TRY(word_peek(c, ",", "a value", word, e));

    int common = row - family_param_count(id->family);
    if (common < 0)
        TRY(value_parse(c, &id->family->params[row], word, &id->value[row], e));
    else if (common == 0)
        TRY(dist_parse(c, word, id, e));
    else if (common == 1)
        TRY(seed_parse(c, word, id, e));
    else
        TRY(mode_parse(c, word, id, e));
    c->at += strlen(word);
    return ERR_OK;
}

/* dist=normal, seed=1, the default mode and what the family's table says. */
static enum err standards_set(struct case_id *id, struct errinfo *e)
{
    id->dist = DIST_NORMAL;
    id->seed = 1;
    TRY(caseid_parse_mode("default", &id->mode, e));
    for (int i = 0; id->family->params[i].name; i++) {
        const struct param *p = &id->family->params[i];
        struct cursor c = {p->standard, p->standard};
        TRY(value_parse(&c, p, p->standard, &id->value[i], e));
    }
    return ERR_OK;
}

static enum err values_parse(struct cursor *c, struct case_id *id, struct errinfo *e)
{
    bool given[CASE_PARAM_MAX + COMMON_COUNT] = {false};
    TRY(standards_set(id, e));
    if (*c->at && *c->at != ':')
        return err_set(e, ERR_USAGE,
                       "':' must stand before the parameters (column %d of '%.80s')",
                       position(c), c->text);
    while (*c->at) {
        c->at++;
        if (!*c->at && c->at[-1] == ':')
            break;
        TRY(assignment_parse(c, id, given, e));
    }
    return ERR_OK;
}

static enum err length_check(const char *text, struct errinfo *e)
{
    if (strlen(text) >= CASEID_TEXT_MAX)
        return err_set(e, ERR_USAGE, "a case id of %zu characters: at most %d are possible",
                       strlen(text), CASEID_TEXT_MAX - 1);
    return ERR_OK;
}

enum err caseid_parse(const char *text, struct case_id *ret_id, struct errinfo *e)
{
    struct cursor c = {text, text};
    struct case_id id;
    memset(&id, 0, sizeof id); /* padding too: ids are compared as bytes */
    TRY(length_check(text, e));
    TRY(family_parse(&c, &id, e));
    TRY(variant_parse(&c, &id, e));
    TRY(values_parse(&c, &id, e));
    memcpy(ret_id, &id, sizeof id);
    return ERR_OK;
}

enum err caseid_parse_values(const struct family *f, const char *text, const char *values,
                             struct case_id *ret_id, struct errinfo *e)
{
    struct cursor c = {text, values};
    struct case_id id;
    memset(&id, 0, sizeof id);
    TRY(length_check(text, e));
    id.family = f;
    id.variant = f->variants;
    TRY(values_parse(&c, &id, e));
    char canonical[CASEID_TEXT_MAX + 1];
    caseid_print(&id, canonical);
    TRY(length_check(canonical, e));
    memcpy(ret_id, &id, sizeof id);
    return ERR_OK;
}

/* The shortest decimal that reads back as the same double. */
static void real_print(double v, char *ret_text, size_t size)
{
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(ret_text, size, "%.*g", digits, v);
        if (strtod(ret_text, NULL) == v)
            return;
    }
}

void caseid_print_value(const struct param *p, union param_value v, char *ret_text,
                        size_t size)
{
    switch (p->kind) {
    case PARAM_INT:
        snprintf(ret_text, size, "%lld", (long long)v.i);
        break;
    case PARAM_REAL:
        real_print(v.r, ret_text, size);
        break;
    case PARAM_WORD:
        snprintf(ret_text, size, "%s", p->words[v.i]);
        break;
    }
}

static bool value_is_standard(const struct param *p, union param_value v)
{
    union param_value standard = {0};
    struct cursor c = {p->standard, p->standard};
    if (value_parse(&c, p, p->standard, &standard, NULL))
        return false;
    return p->kind == PARAM_REAL ? standard.r == v.r : standard.i == v.i;
}

void caseid_print(const struct case_id *id, char *ret_text)
{
    char word[WORD_MAX_];
    size_t room = CASEID_TEXT_MAX;
    size_t used = (size_t)(id->family->path
                               ? snprintf(ret_text, room, "%s:", id->family->path)
                               : snprintf(ret_text, room, "%s/%s:", id->family->name,
                                          id->variant->name));
    for (int i = 0; id->family->params[i].name && used < room; i++) {
        const struct param *p = &id->family->params[i];
        if (p->quiet && value_is_standard(p, id->value[i]))
            continue;
        caseid_print_value(p, id->value[i], word, sizeof word);
        used += (size_t)snprintf(ret_text + used, room - used, "%s=%s,", p->name, word);
    }
    if (used < room)
        used += (size_t)snprintf(ret_text + used, room - used, "dist=%s,seed=%llu",
                                 dist_name(id->dist), (unsigned long long)id->seed);
    caseid_print_mode(&id->mode, word);
    if (strcmp(word, "default") && used < room)
        snprintf(ret_text + used, room - used, ",mode=%s", word);
}
