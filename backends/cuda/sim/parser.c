/* SPDX-License-Identifier: Apache-2.0 */
#include "parser.h"

#include <string.h>

/* What all the parser's files use. */

bool parser_fail(struct parser *p, const char *what)
{
    const struct token *t = &p->token;
    if (t->kind == TOKEN_END)
        return ptx_error_set(p->error, t->line, t->column,
                             "expected %s, found the end of the text", what);
    int shown = t->text.size < 40 ? (int)t->text.size : 40;
    return ptx_error_set(p->error, t->line, t->column, "expected %s, found '%.*s'", what, shown,
                         t->text.text);
}

bool parser_nomem(struct parser *p)
{
    return ptx_error_set(p->error, p->token.line, p->token.column,
                         "not enough memory for this module");
}

void parser_advance(struct parser *p)
{
    p->token = lexer_next(&p->lexer);
}

bool parser_is(const struct parser *p, char c)
{
    return p->token.kind == TOKEN_PUNCTUATOR && p->token.bits == (unsigned char)c;
}

bool parser_dot(const struct parser *p, const char *w)
{
    return p->token.kind == TOKEN_DOT && slice_is(p->token.text, w);
}

bool parser_take(struct parser *p, char c)
{
    if (!parser_is(p, c))
        return false;
    parser_advance(p);
    return true;
}

bool parser_expect(struct parser *p, char c)
{
    char what[4] = {'\'', c, '\'', 0};
    return parser_take(p, c) || parser_fail(p, what);
}

bool parser_integer(struct parser *p, uint64_t *ret_value)
{
    bool minus = parser_take(p, '-');
    if (p->token.kind != TOKEN_INTEGER)
        return parser_fail(p, "a number");
    *ret_value = minus ? -p->token.bits : p->token.bits;
    parser_advance(p);
    return true;
}

/* --- words -----------------------------------------------------------------------------------
 */

static const char *const word_names[WORD_COUNT_] = {
#define TYPE(name, bits, kind) [TYPE_##name] = #name,
#include "type.def"
#undef TYPE
#define WORD(name) [WORD_##name] = #name,
#include "word.def"
#undef WORD
};

static uint32_t word_hash(struct slice s)
{
    uint32_t h = 2166136261u;
    for (uint32_t i = 0; i < s.size; i++)
        h = (h ^ (unsigned char)s.text[i]) * 16777619u;
    return h ^ h >> 15;
}

void parser_words_init(struct parser *p)
{
    for (int w = 1; w < WORD_COUNT_; w++) {
        struct slice s = {word_names[w], (uint32_t)strlen(word_names[w])};
        uint32_t at = word_hash(s) & 1023;
        while (p->word_hash[at])
            at = (at + 1) & 1023;
        p->word_hash[at] = (uint16_t)w;
    }
}

enum ptx_word parser_word(const struct parser *p, struct slice text)
{
    uint32_t at = word_hash(text) & 1023;
    while (p->word_hash[at] && !slice_is(text, word_names[p->word_hash[at]]))
        at = (at + 1) & 1023;
    return p->word_hash[at];
}

enum ptx_word parser_type(struct parser *p)
{
    if (p->token.kind != TOKEN_DOT)
        return WORD_unknown;
    enum ptx_word w =
        parser_word(p, (struct slice){p->token.text.text + 1, p->token.text.size - 1});
    return w < TYPE_COUNT_ ? w : WORD_unknown;
}
