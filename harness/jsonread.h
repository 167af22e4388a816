/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_JSONREAD_H
#define GPUPARITY_JSONREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* Reads JSON (RFC 8259, and Python's NaN, Infinity, -Infinity) item by item from a part of a
 * file, in little memory whatever its size: of a long text only the beginning is kept, and
 * where in the file it stands. Input is not trusted. */

enum { JSONREAD_DEPTH_MAX = 64, JSONREAD_TEXT_MAX = 512, JSONREAD_BUFFER = 1 << 16 };

enum jsonread_kind {
    JSONREAD_OBJECT,
    JSONREAD_OBJECT_END,
    JSONREAD_ARRAY,
    JSONREAD_ARRAY_END,
    JSONREAD_KEY,
    JSONREAD_TEXT,
    JSONREAD_NUMBER,
    JSONREAD_WORD, /* true, false, null, NaN, Infinity, -Infinity */
    JSONREAD_END   /* the whole value was read, and only blanks follow */
};

struct jsonread_item {
    enum jsonread_kind kind;
    char text[JSONREAD_TEXT_MAX]; /* KEY and TEXT decoded, NUMBER and WORD as they stand */
    bool whole;                   /* text has all of it */
    bool plain;                   /* KEY, TEXT: no escapes, so the file has the text as it is */
    uint64_t offset, size;        /* KEY, TEXT: the bytes in the file between the quotes */
};

struct jsonread {
    int fd;
    uint64_t at, end; /* what is not in the buffer yet */
    size_t used, have;
    int depth;
    int expect;                      /* what may come next */
    char inside[JSONREAD_DEPTH_MAX]; /* '{' or '[' */
    unsigned char buffer[JSONREAD_BUFFER];
};

/* Starts at `offset`; `size` bytes. */
void jsonread_begin(struct jsonread *j, int fd, uint64_t offset, uint64_t size);

/* ERR_FORMAT with the byte where it is no JSON, is nested too deep or ends too early. */
enum err jsonread_next(struct jsonread *j, struct jsonread_item *ret_item, struct errinfo *e);

/* Reads on to the end of the object or array that `first` began; nothing to do for other items.
 */
enum err jsonread_skip(struct jsonread *j, const struct jsonread_item *first,
                       struct errinfo *e);

/* A NUMBER that is a whole one, 0 <= n < 2^63. */
bool jsonread_count(const struct jsonread_item *item, int64_t *ret_count);

#endif
