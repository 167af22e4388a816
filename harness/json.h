/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_JSON_H
#define GPUPARITY_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Writes JSON item by item, keeping the commas right. `key` is NULL inside arrays and at the
 * top. Write errors stay in the FILE (ferror). */

struct json {
    FILE *out;
    bool comma; /* something stands before the next item of this level */
};

/* `bracket`: '{' or '[', and '}' or ']'. */
void json_open(struct json *j, const char *key, char bracket);
void json_close(struct json *j, char bracket);

void json_text(struct json *j, const char *key, const char *s); /* any bytes: see quote_json */
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);
void json_int(struct json *j, const char *key, int64_t n);
void json_unsigned(struct json *j, const char *key, uint64_t n);

/* JSON has no NaN nor infinities: they are the strings "NaN", "Infinity", "-Infinity", which
 * Python's float() and JavaScript's Number() read back. Other numbers read back as exactly x.
 */
void json_number(struct json *j, const char *key, double x);

/* An element's index; null if negative. */
void json_index(struct json *j, const char *key, int64_t i);

#endif
