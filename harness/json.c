/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <inttypes.h>

#include "quote.h"

static void json_key(struct json *j, const char *key)
{
    if (j->comma)
        fputc(',', j->out);
    j->comma = true;
    if (key) {
        quote_json(j->out, key);
        fputc(':', j->out);
    }
}

void json_open(struct json *j, const char *key, char bracket)
{
    json_key(j, key);
    fputc(bracket, j->out);
    j->comma = false;
}

void json_close(struct json *j, char bracket)
{
    fputc(bracket, j->out);
    j->comma = true;
}

void json_text(struct json *j, const char *key, const char *s)
{
    json_key(j, key);
    quote_json(j->out, s);
}

static void json_word(struct json *j, const char *key, const char *word)
{
    json_key(j, key);
    fputs(word, j->out);
}

void json_null(struct json *j, const char *key)
{
    json_word(j, key, "null");
}

void json_bool(struct json *j, const char *key, bool value)
{
    json_word(j, key, value ? "true" : "false");
}

void json_int(struct json *j, const char *key, int64_t n)
{
    json_key(j, key);
    fprintf(j->out, "%" PRId64, n);
}

void json_unsigned(struct json *j, const char *key, uint64_t n)
{
    json_key(j, key);
    fprintf(j->out, "%" PRIu64, n);
}

void json_number(struct json *j, const char *key, double x)
{
    char text[QUOTE_NUMBER_MAX];
    quote_number(text, x);
    json_key(j, key);
    fprintf(j->out, x - x == 0 ? "%s" : "\"%s\"", text);
}

void json_index(struct json *j, const char *key, int64_t i)
{
    if (i < 0)
        json_null(j, key);
    else
        json_int(j, key, i);
}
