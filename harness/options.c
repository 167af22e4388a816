/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "caseid.h"
#include "wrap.h"

enum kind { FLAG, TEXT, COUNT, SECONDS, TEXTS };

struct row {
    const char *name;
    char letter;
    enum kind kind;
    const char *value;
    unsigned groups;
    const char *help;
    size_t offset;
};

#define RUNS OPTIONS_RUNS
#define LISTS OPTIONS_LISTS
#define JUDGES OPTIONS_JUDGES
#define REPORTS OPTIONS_REPORTS
#define COMPARES OPTIONS_COMPARES
#define KEEPS OPTIONS_KEEPS
#define HELPS OPTIONS_HELP
#define MERGES OPTIONS_MERGES
#define TRIES OPTIONS_TRIES
#define EXPLAINS OPTIONS_EXPLAINS
#define PROBES OPTIONS_PROBES
#define SHRINKS OPTIONS_SHRINKS
#define SELFTESTS OPTIONS_SELFTESTS
static const struct row rows[] = {
#define OPTION(field, name, letter, kind, value, groups, help)                                 \
    {name, letter, kind, value, (unsigned)(groups), help, offsetof(struct options, field)},
#include "options.def"
#undef OPTION
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

static const struct row *row_find(unsigned groups, const char *name, size_t length, char letter)
{
    for (int i = 0; i < ROW_COUNT; i++) {
        if (!(rows[i].groups & groups))
            continue;
        if (letter ? rows[i].letter == letter
                   : strlen(rows[i].name) == length && !memcmp(rows[i].name, name, length))
            return &rows[i];
    }
    return NULL;
}

static enum err unknown(unsigned groups, const char *text, struct errinfo *e)
{
    const char *names[ROW_COUNT];
    int count = 0;
    for (int i = 0; i < ROW_COUNT; i++)
        if (rows[i].groups & groups)
            names[count++] = rows[i].name;
    const char *near = text[1] == '-' ? nearest_name(text + 2, names, count) : NULL;
    if (near)
        return err_set(e, ERR_USAGE, "unknown option %s; did you mean --%s?", text, near);
    return err_set(e, ERR_USAGE, "unknown option %s; --help lists the valid ones", text);
}

static enum err set_number(const struct row *r, void *field, const char *text,
                           struct errinfo *e)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    bool good = !errno && end != text && !*end && value > 0;
    if (r->kind == COUNT)
        good = good && value <= INT_MAX && value == (double)(int)value;
    if (!good)
        return err_set(e, ERR_USAGE, "--%s wants a %s above zero, not '%s'", r->name,
                       r->kind == COUNT ? "whole number" : "number of seconds", text);
    if (r->kind == COUNT)
        *(int *)field = (int)value;
    else
        *(double *)field = value;
    return ERR_OK;
}

static enum err set_field(struct options *o, const struct row *r, const char *value,
                          struct errinfo *e)
{
    void *field = (char *)o + r->offset;
    if (r->kind == FLAG) {
        *(bool *)field = true;
    } else if (r->kind == TEXT) {
        *(const char **)field = value;
    } else if (r->kind == TEXTS) {
        struct texts *t = field;
        if (t->count == OPTIONS_TEXTS_MAX)
            return err_set(e, ERR_USAGE, "--%s given more than %d times", r->name,
                           OPTIONS_TEXTS_MAX);
        t->item[t->count++] = value;
    } else {
        return set_number(r, field, value, e);
    }
    return ERR_OK;
}

/* Takes the option at argv[*at] and, if it has one, its value. */
static enum err take_option(struct options *o, unsigned groups, int argc, char *const *argv,
                            int *at, struct errinfo *e)
{
    const char *text = argv[*at], *value = NULL;
    const struct row *r;
    if (text[1] == '-') {
        const char *equals = strchr(text, '=');
        size_t length = equals ? (size_t)(equals - text - 2) : strlen(text + 2);
        r = row_find(groups, text + 2, length, 0);
        value = equals ? equals + 1 : NULL;
    } else {
        r = row_find(groups, NULL, 0, text[1]);
        value = text[2] ? text + 2 : NULL;
    }
    if (!r)
        return unknown(groups, text, e);
    if (r->kind == FLAG && value)
        return err_set(e, ERR_USAGE, "--%s takes no value, but '%s' was given", r->name, value);
    if (r->kind != FLAG && !value) {
        if (*at + 1 >= argc)
            return err_set(e, ERR_USAGE, "--%s wants a value: --%s %s", r->name, r->name,
                           r->value);
        value = argv[++*at];
    }
    return set_field(o, r, value, e);
}

enum err options_parse(struct options *o, unsigned groups, int argc, char *const *argv,
                       struct errinfo *e)
{
    memset(o, 0, sizeof *o);
    bool only_words = false;
    for (int i = 1; i < argc; i++) {
        if (!only_words && !strcmp(argv[i], "--")) {
            only_words = true;
        } else if (!only_words && argv[i][0] == '-' && argv[i][1]) {
            TRY(take_option(o, groups, argc, argv, &i, e));
        } else if (o->n_word == OPTIONS_WORDS_MAX) {
            return err_set(e, ERR_USAGE, "more than %d cases or files", OPTIONS_WORDS_MAX);
        } else {
            o->word[o->n_word++] = argv[i];
        }
    }
    return ERR_OK;
}

bool options_row(int i, struct option_text *ret_row)
{
    if (i < 0 || i >= ROW_COUNT)
        return false;
    const struct row *r = &rows[i];
    *ret_row = (struct option_text){r->name, r->help, r->value, r->letter, r->groups};
    return true;
}

enum { HELP_COLUMN = 24, HELP_WIDTH = 80 };

void options_print(FILE *out, unsigned groups)
{
    for (int i = 0; i < ROW_COUNT; i++) {
        const struct row *r = &rows[i];
        if (!(r->groups & groups))
            continue;
        char letter[8] = "    ", left[64];
        if (r->letter)
            snprintf(letter, sizeof letter, "-%c, ", r->letter);
        int used = snprintf(left, sizeof left, "  %s--%s%s%s", letter, r->name,
                            r->value ? " " : "", r->value ? r->value : "");
        fprintf(out, "%s%*s", left, used < HELP_COLUMN ? HELP_COLUMN - used : 1, "");
        wrap_print(out, r->help, HELP_COLUMN, HELP_COLUMN, HELP_WIDTH);
    }
}
