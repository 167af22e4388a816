/* SPDX-License-Identifier: Apache-2.0 */
#include "jsonread.h"

#include <stdlib.h>
#include <string.h>

#include "fileread.h"
#include "text.h"

enum expect { VALUE, VALUE_OR_END, KEY_OR_END, KEY, COMMA_OR_END, NOTHING };

void jsonread_begin(struct jsonread *j, int fd, uint64_t offset, uint64_t size)
{
    j->fd = fd;
    j->at = offset;
    j->end = offset + size;
    j->used = j->have = 0;
    j->depth = 0;
    j->expect = VALUE;
}

/* Where the next character stands in the file. */
static uint64_t position(const struct jsonread *j)
{
    return j->at - (j->have - j->used);
}

static enum err wrong(const struct jsonread *j, const char *what, struct errinfo *e)
{
    return err_set(e, ERR_FORMAT, "no valid JSON at byte %llu: %s",
                   (unsigned long long)position(j), what);
}

/* The next character, or -1 at the end. */
static enum err peek(struct jsonread *j, int *ret_c, struct errinfo *e)
{
    if (j->used == j->have) {
        uint64_t left = j->end - j->at;
        size_t n = left < JSONREAD_BUFFER ? (size_t)left : JSONREAD_BUFFER;
        TRY(fileread_at(j->fd, j->at, j->buffer, n, e));
        j->at += n;
        j->used = 0;
        j->have = n;
    }
    *ret_c = j->have ? j->buffer[j->used] : -1;
    return ERR_OK;
}

static enum err take(struct jsonread *j, int *ret_c, struct errinfo *e)
{
    TRY(peek(j, ret_c, e));
    if (*ret_c < 0)
        return wrong(j, "it ends too early", e);
    j->used++;
    return ERR_OK;
}

static enum err skip_blanks(struct jsonread *j, int *ret_c, struct errinfo *e)
{
    for (;;) {
        TRY(peek(j, ret_c, e));
        if (*ret_c != ' ' && *ret_c != '\t' && *ret_c != '\n' && *ret_c != '\r')
            return ERR_OK;
        j->used++;
    }
}

static void put(struct jsonread_item *item, size_t *length, const char *bytes, size_t n)
{
    if (*length + n >= sizeof item->text)
        item->whole = false;
    if (!item->whole)
        return;
    memcpy(item->text + *length, bytes, n);
    *length += n;
}

static void put_code(struct jsonread_item *item, size_t *length, unsigned code)
{
    char b[4];
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (n == 1)
        b[0] = (char)code;
    for (size_t i = n; n > 1 && i-- > 1; code >>= 6)
        b[i] = (char)(0x80 | (code & 0x3f));
    if (n > 1)
        b[0] = (char)(0xf00 >> n | code);
    put(item, length, b, n);
}

static enum err take_hex(struct jsonread *j, unsigned *ret_code, struct errinfo *e)
{
    static const char digits[] = "0123456789abcdef";
    *ret_code = 0;
    for (int i = 0; i < 4; i++) {
        int c;
        TRY(take(j, &c, e));
        const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;
        if (!at)
            return wrong(j, "\\u wants four hexadecimal digits", e);
        *ret_code = *ret_code << 4 | (unsigned)(at - digits);
    }
    return ERR_OK;
}

static enum err take_escape(struct jsonread *j, struct jsonread_item *item, size_t *length,
                            struct errinfo *e)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    int c;
    unsigned code, low;
    TRY(take(j, &c, e));
    const char *at = c ? strchr(from, c) : NULL;
    if (at) {
        put(item, length, to + (at - from), 1);
        return ERR_OK;
    }
    if (c != 'u')
        return wrong(j, "an unknown escape", e);
    TRY(take_hex(j, &code, e));
    if (code >= 0xd800 && code < 0xdc00) {
        int slash, u = 0;
        TRY(take(j, &slash, e));
        if (slash == '\\')
            TRY(take(j, &u, e));
        if (u != 'u')
            return wrong(j, "half of a surrogate pair", e);
        TRY(take_hex(j, &low, e));
        if (low < 0xdc00 || low > 0xdfff)
            return wrong(j, "half of a surrogate pair", e);
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
        return wrong(j, "half of a surrogate pair", e);
    }
    put_code(item, length, code);
    return ERR_OK;
}

/* Characters that stand for themselves, as many as the buffer has. */
static void take_run(struct jsonread *j, struct jsonread_item *item, size_t *length)
{
    size_t n = j->used;
    while (n < j->have && j->buffer[n] != '"' && j->buffer[n] != '\\' && j->buffer[n] >= 0x20)
        n++;
    put(item, length, (const char *)j->buffer + j->used, n - j->used);
    j->used = n;
}

/* After the opening quote. */
static enum err take_text(struct jsonread *j, struct jsonread_item *item, struct errinfo *e)
{
    size_t length = 0;
    int c = 0;
    item->whole = item->plain = true;
    item->offset = position(j);
    for (;;) {
        TRY(peek(j, &c, e));
        if (c == '\\') {
            item->plain = false;
            j->used++;
            TRY(take_escape(j, item, &length, e));
        } else if (c == '"' || c < 0x20) {
            break;
        } else {
            take_run(j, item, &length);
        }
    }
    if (c < 0)
        return wrong(j, "it ends too early", e);
    if (c != '"')
        return wrong(j, "a control character in a text", e);
    item->size = position(j) - item->offset;
    item->text[length] = 0;
    j->used++;
    if (memchr(item->text, 0, length) || (item->whole && !text_valid(item->text, length)))
        return wrong(j, "a text that is no UTF-8 or has control characters", e);
    return ERR_OK;
}

static bool number_valid(const char *s)
{
    size_t n;
    s += *s == '-';
    n = strspn(s, "0123456789");
    if (!n || (*s == '0' && n > 1))
        return false;
    s += n;
    if (*s == '.') {
        n = strspn(s + 1, "0123456789");
        if (!n)
            return false;
        s += 1 + n;
    }
    if (*s == 'e' || *s == 'E') {
        s += 1 + (s[1] == '+' || s[1] == '-');
        n = strspn(s, "0123456789");
        if (!n)
            return false;
        s += n;
    }
    return !*s;
}

static enum err take_word(struct jsonread *j, struct jsonread_item *item, struct errinfo *e)
{
    static const char *const words[] = {"true", "false",    "null",
                                        "NaN",  "Infinity", "-Infinity"};
    size_t n = 0;
    int c;
    for (;;) {
        TRY(peek(j, &c, e));
        if (c < 0 || !strchr("+-.0123456789abcdefghijklmnopqrstuvwxyzEIN", c))
            break;
        if (n == 64)
            return wrong(j, "a word or number that is too long", e);
        item->text[n++] = (char)c;
        j->used++;
    }
    item->text[n] = 0;
    item->whole = true;
    item->kind = JSONREAD_WORD;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(item->text, words[i]))
            return ERR_OK;
    item->kind = JSONREAD_NUMBER;
    return number_valid(item->text) ? ERR_OK : wrong(j, "a value should stand here", e);
}

static void value_done(struct jsonread *j)
{
    j->expect = j->depth ? COMMA_OR_END : NOTHING;
}

static enum err open_level(struct jsonread *j, int c, struct jsonread_item *item,
                           struct errinfo *e)
{
    if (j->depth == JSONREAD_DEPTH_MAX)
        return wrong(j, "nested too deep", e);
    j->used++;
    j->inside[j->depth++] = (char)c;
    item->kind = c == '{' ? JSONREAD_OBJECT : JSONREAD_ARRAY;
    j->expect = c == '{' ? KEY_OR_END : VALUE_OR_END;
    return ERR_OK;
}

static enum err close_level(struct jsonread *j, int c, struct jsonread_item *item,
                            struct errinfo *e)
{
    if (!j->depth || j->inside[j->depth - 1] != (c == '}' ? '{' : '['))
        return wrong(j, "a bracket that closes nothing", e);
    j->used++;
    j->depth--;
    item->kind = c == '}' ? JSONREAD_OBJECT_END : JSONREAD_ARRAY_END;
    value_done(j);
    return ERR_OK;
}

static enum err take_key(struct jsonread *j, int c, struct jsonread_item *item,
                         struct errinfo *e)
{
    if (c != '"')
        return wrong(j, "a name in quotes should stand here", e);
    j->used++;
    item->kind = JSONREAD_KEY;
    TRY(take_text(j, item, e));
    TRY(skip_blanks(j, &c, e));
    if (c != ':')
        return wrong(j, "a colon should stand here", e);
    j->used++;
    j->expect = VALUE;
    return ERR_OK;
}

static enum err take_value(struct jsonread *j, int c, struct jsonread_item *item,
                           struct errinfo *e)
{
    if (c == '{' || c == '[')
        return open_level(j, c, item, e);
    if (c == '"') {
        j->used++;
        item->kind = JSONREAD_TEXT;
        TRY(take_text(j, item, e));
    } else {
        TRY(take_word(j, item, e));
    }
    value_done(j);
    return ERR_OK;
}

enum err jsonread_next(struct jsonread *j, struct jsonread_item *ret_item, struct errinfo *e)
{
    int c;
    TRY(skip_blanks(j, &c, e));
    if (j->expect == NOTHING) {
        if (c >= 0)
            return wrong(j, "something follows behind the end", e);
        ret_item->kind = JSONREAD_END;
        return ERR_OK;
    }
    if (j->expect == COMMA_OR_END && c == ',') {
        j->used++;
        j->expect = j->inside[j->depth - 1] == '{' ? KEY : VALUE;
        TRY(skip_blanks(j, &c, e));
    } else if (c == '}' || c == ']') {
        if (j->expect == VALUE || j->expect == KEY)
            return wrong(j, "a bracket in the place of a value", e);
        return close_level(j, c, ret_item, e);
    } else if (j->expect == COMMA_OR_END) {
        return wrong(j, c < 0 ? "it ends too early" : "a comma or bracket should stand here",
                     e);
    }
    if (j->expect == KEY || j->expect == KEY_OR_END)
        return take_key(j, c, ret_item, e);
    return take_value(j, c, ret_item, e);
}

enum err jsonread_skip(struct jsonread *j, const struct jsonread_item *first, struct errinfo *e)
{
    if (first->kind != JSONREAD_OBJECT && first->kind != JSONREAD_ARRAY)
        return ERR_OK;
    struct jsonread_item item;
    for (int depth = j->depth - 1; j->depth > depth;)
        TRY(jsonread_next(j, &item, e));
    return ERR_OK;
}

bool jsonread_count(const struct jsonread_item *item, int64_t *ret_count)
{
    const char *s = item->text;
    if (item->kind != JSONREAD_NUMBER || !*s || s[strspn(s, "0123456789")] || strlen(s) > 19)
        return false;
    uint64_t n = strtoull(s, NULL, 10);
    if (n > INT64_MAX)
        return false;
    *ret_count = (int64_t)n;
    return true;
}
