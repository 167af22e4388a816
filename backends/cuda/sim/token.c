/* SPDX-License-Identifier: Apache-2.0 */
#include "token.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool ptx_error_set(struct ptx_error *e, int line, int column, const char *format, ...)
{
    if (e->text[0])
        return false;
    e->line = line;
    e->column = column;
    int n = snprintf(e->text, sizeof e->text, "line %d, column %d: ", line, column);
    va_list list;
    va_start(list, format);
    vsnprintf(e->text + n, sizeof e->text - (size_t)n, format, list);
    va_end(list);
    return false;
}

bool slice_is(struct slice s, const char *text)
{
    return strlen(text) == s.size && !memcmp(s.text, text, s.size);
}

bool slice_equal(struct slice a, struct slice b)
{
    return a.size == b.size && !memcmp(a.text, b.text, a.size);
}

void lexer_init(struct lexer *l, const char *text, size_t size, struct ptx_error *error)
{
    *l = (struct lexer){text, text + size, text, 1, error};
}

static int column_of(const struct lexer *l, const char *at)
{
    return (int)(at - l->line_start) + 1;
}

static void newline_take(struct lexer *l)
{
    l->at++;
    l->line++;
    l->line_start = l->at;
}

static void comment_skip(struct lexer *l)
{
    l->at += 2;
    while (l->at < l->end && !(l->at[0] == '*' && l->at + 1 < l->end && l->at[1] == '/')) {
        if (*l->at == '\n')
            newline_take(l);
        else
            l->at++;
    }
    l->at = l->at + 2 <= l->end ? l->at + 2 : l->end;
}

static void blank_skip(struct lexer *l)
{
    while (l->at < l->end) {
        bool slash = *l->at == '/' && l->at + 1 < l->end;
        if (*l->at == '\n')
            newline_take(l);
        else if (isspace((unsigned char)*l->at))
            l->at++;
        else if (slash && l->at[1] == '/')
            while (l->at < l->end && *l->at != '\n')
                l->at++;
        else if (slash && l->at[1] == '*')
            comment_skip(l);
        else
            return;
    }
}

static bool name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

/* Names hold no dots, so that "%tid.x" and "ld.global" come apart; "::" belongs to a dotted
 * word. */
static void name_take(struct lexer *l, bool dotted)
{
    while (l->at < l->end) {
        if (name_char(*l->at))
            l->at++;
        else if (dotted && l->at + 2 < l->end && l->at[0] == ':' && l->at[1] == ':')
            l->at += 2;
        else
            return;
    }
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

static bool digits_take(struct lexer *l, int base, uint64_t *ret_bits)
{
    const char *start = l->at;
    uint64_t v = 0;
    for (; l->at < l->end && digit_value(*l->at) < base; l->at++) {
        uint64_t d = (uint64_t)digit_value(*l->at), next;
        if (__builtin_mul_overflow(v, (uint64_t)base, &next) ||
            __builtin_add_overflow(next, d, &next))
            return false;
        v = next;
    }
    *ret_bits = v;
    return l->at > start;
}

static bool bits_take(struct lexer *l, struct token *t, enum token_kind kind, int digits)
{
    const char *start = l->at += 2;
    t->kind = kind;
    return digits_take(l, 16, &t->bits) && l->at - start == digits;
}

static bool decimal_float(struct lexer *l, struct token *t)
{
    char copy[64];
    size_t n = 0;
    const char *p = t->text.text;
    while (p < l->end && n < sizeof copy - 1 &&
           (isalnum((unsigned char)*p) || *p == '.' ||
            ((*p == '+' || *p == '-') && n && tolower((unsigned char)copy[n - 1]) == 'e')))
        copy[n++] = *p++;
    copy[n] = 0;
    char *end;
    double value = strtod(copy, &end);
    t->kind = TOKEN_FLOAT64;
    memcpy(&t->bits, &value, sizeof value);
    l->at = t->text.text + (end - copy);
    return end == copy + n && n < sizeof copy - 1;
}

static bool number_take(struct lexer *l, struct token *t)
{
    char second = l->at + 1 < l->end ? (char)tolower((unsigned char)l->at[1]) : 0;
    if (*l->at == '0' && second == 'f')
        return bits_take(l, t, TOKEN_FLOAT32, 8);
    if (*l->at == '0' && second == 'd')
        return bits_take(l, t, TOKEN_FLOAT64, 16);

    const char *p = l->at;
    while (p < l->end && isdigit((unsigned char)*p))
        p++;
    if (p < l->end && (*p == '.' || *p == 'e' || *p == 'E') && second != 'x')
        return decimal_float(l, t);

    t->kind = TOKEN_INTEGER;
    int base = 10;
    if (*l->at == '0' && (second == 'x' || second == 'b')) {
        base = second == 'x' ? 16 : 2;
        l->at += 2;
    } else if (*l->at == '0') {
        base = 8;
    }
    if (!digits_take(l, base, &t->bits))
        return false;
    if (l->at < l->end && (*l->at == 'U' || *l->at == 'u'))
        l->at++;
    return true;
}

static bool string_take(struct lexer *l, struct token *t)
{
    const char *start = ++l->at;
    while (l->at < l->end && *l->at != '"' && *l->at != '\n')
        l->at += *l->at == '\\' && l->at + 1 < l->end ? 2 : 1;
    if (l->at >= l->end || *l->at != '"')
        return false;
    t->kind = TOKEN_STRING;
    t->text = (struct slice){start, (uint32_t)(l->at - start)};
    l->at++;
    return true;
}

static bool token_take(struct lexer *l, struct token *t)
{
    char c = *l->at;
    if (isdigit((unsigned char)c)) {
        bool ok = number_take(l, t);
        return ok && (l->at >= l->end || !name_char(*l->at));
    }
    if (c == '"')
        return string_take(l, t);
    if (name_char(c) || (c == '.' && l->at + 1 < l->end && name_char(l->at[1]))) {
        t->kind = c == '.' ? TOKEN_DOT : TOKEN_NAME;
        l->at++;
        name_take(l, c == '.');
        return true;
    }
    t->kind = TOKEN_PUNCTUATOR;
    t->bits = (unsigned char)c;
    l->at++;
    return c > ' ' && c < 127;
}

struct token lexer_next(struct lexer *l)
{
    struct token end = {0};
    blank_skip(l);
    end.line = l->line;
    end.column = column_of(l, l->at);
    end.text.text = l->at;
    if (l->at >= l->end || l->error->text[0])
        return end;

    struct token t = end;
    if (!token_take(l, &t)) {
        int shown = (int)(l->end - end.text.text < 24 ? l->end - end.text.text : 24);
        for (int i = 0; i < shown; i++)
            if ((unsigned char)end.text.text[i] < ' ' || (unsigned char)end.text.text[i] > 126)
                shown = i;
        ptx_error_set(l->error, end.line, end.column, "cannot read this as PTX: '%.*s'", shown,
                      end.text.text);
        return end;
    }
    if (t.kind != TOKEN_STRING)
        t.text.size = (uint32_t)(l->at - t.text.text);
    return t;
}
