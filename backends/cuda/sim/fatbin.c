/* SPDX-License-Identifier: Apache-2.0 */
#include "fatbin.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

static const char no_ptx[] =
    "this module holds machine code only; the simulated GPU executes PTX: compile with nvcc "
    "-gencode arch=compute_86,code=compute_86, or pass NVRTC's PTX (nvrtcGetPTX, "
    "--gpu-architecture=compute_86) instead of its cubin";

enum { MAGIC_WRAPPER = 0x466243b1, MAGIC_FATBIN = (int)0xba55ed50, KIND_PTX = 1 };
enum { PACKED_LZ4 = 0x2000, PACKED_ZSTD = 0x8000 };
static const uint64_t text_limit = (uint64_t)1 << 30;

/* One entry of a fat binary, as it lies there. */
struct entry {
    uint16_t kind, version;
    uint32_t head;
    uint64_t size;
    uint32_t packed_size, options;
    uint16_t minor, major;
    uint32_t arch, name_offset, name_size;
    uint64_t flags, zero, plain_size;
};

static uint64_t word_at(const uint8_t *p, size_t size)
{
    uint64_t v = 0;
    memcpy(&v, p, size);
    return v;
}

static enum fatbin_status damaged(struct ptx_error *e, const char *what)
{
    ptx_error_set(e, 0, 0, "damaged fat binary: %s", what);
    return FATBIN_DAMAGED;
}

/* --- LZ4 blocks ------------------------------------------------------------------------------
 */

static bool length_take(const uint8_t **p, const uint8_t *end, size_t *length)
{
    if (*length < 15)
        return true;
    uint8_t more;
    do {
        if (*p >= end)
            return false;
        more = *(*p)++;
        *length += more;
    } while (more == 255);
    return true;
}

/* Fills exactly `room` bytes, or false. */
static bool lz4_unpack(const uint8_t *p, size_t size, uint8_t *to, size_t room)
{
    const uint8_t *end = p + size;
    size_t n = 0;
    while (p < end) {
        uint8_t token = *p++;
        size_t literal = token >> 4, match = token & 15;
        if (!length_take(&p, end, &literal) || literal > (size_t)(end - p) ||
            literal > room - n)
            return false;
        memcpy(to + n, p, literal);
        p += literal;
        n += literal;
        if (p == end)
            break;
        if (end - p < 2)
            return false;
        size_t back = (size_t)p[0] | (size_t)p[1] << 8;
        p += 2;
        if (!length_take(&p, end, &match) || !back || back > n || match + 4 > room - n)
            return false;
        for (size_t k = 0; k < match + 4; k++, n++)
            to[n] = to[n - back];
    }
    return n == room;
}

/* --- entries ---------------------------------------------------------------------------------
 */

static enum fatbin_status entry_unpack(const struct entry *t, const uint8_t *payload,
                                       struct fatbin_text *ret_text, struct ptx_error *e)
{
    bool packed = t->flags & (PACKED_LZ4 | PACKED_ZSTD);
    uint64_t size = packed ? t->plain_size : t->size;
    if (size > text_limit || (packed && t->packed_size > t->size))
        return damaged(e, "impossible sizes");
    char *text = malloc(size + 1);
    if (!text)
        return damaged(e, "no memory for its text");
    bool ok = true;
    if (t->flags & PACKED_LZ4)
        ok = lz4_unpack(payload, t->packed_size, (uint8_t *)text, size);
    else if (t->flags & PACKED_ZSTD)
        ok = ZSTD_decompress(text, size, payload, t->packed_size) == size;
    else
        memcpy(text, payload, size);
    if (!ok) {
        free(text);
        return damaged(e, "its PTX does not decompress");
    }
    text[size] = 0;
    *ret_text = (struct fatbin_text){text, strlen(text), text};
    return FATBIN_OK;
}

static enum fatbin_status entries_search(const uint8_t *b, struct fatbin_text *ret_text,
                                         struct ptx_error *e)
{
    uint64_t at = word_at(b + 6, 2), end = at + word_at(b + 8, 8);
    const uint8_t *best = NULL;
    struct entry t, newest = {0};
    if (at < 16 || end < at || end > text_limit)
        return damaged(e, "impossible sizes");
    while (end - at >= sizeof t) {
        memcpy(&t, b + at, sizeof t);
        if (t.head < sizeof t || t.head > end - at || t.size > end - at - t.head)
            return damaged(e, "an entry reaches beyond its end");
        if (t.kind == KIND_PTX && (!best || t.arch > newest.arch)) {
            best = b + at + t.head;
            newest = t;
        }
        at += t.head + t.size;
    }
    if (best)
        return entry_unpack(&newest, best, ret_text, e);
    ptx_error_set(e, 0, 0, "%s", no_ptx);
    return FATBIN_NO_PTX;
}

enum fatbin_status fatbin_text_find(const void *image, struct fatbin_text *ret_text,
                                    struct ptx_error *ret_error)
{
    const uint8_t *b = image;
    if (b[0] == 0x7f && b[1] == 'E' && b[2] == 'L' && b[3] == 'F') {
        ptx_error_set(ret_error, 0, 0, "%s", no_ptx);
        return FATBIN_NO_PTX;
    }
    bool wrapper = b[0] == 0xb1 && b[1] == 0x43 && word_at(b, 4) == MAGIC_WRAPPER;
    if (wrapper)
        memcpy(&b, b + 8, sizeof b);
    if (wrapper && !b)
        return damaged(ret_error, "an empty wrapper");
    if (b[0] == 0x50 && b[1] == 0xed && (uint32_t)word_at(b, 4) == (uint32_t)MAGIC_FATBIN)
        return entries_search(b, ret_text, ret_error);
    if (wrapper)
        return damaged(ret_error, "the wrapper holds no fat binary");
    *ret_text = (struct fatbin_text){image, strlen(image), NULL};
    return FATBIN_OK;
}

void fatbin_text_release(struct fatbin_text *t)
{
    free(t->owned);
    memset(t, 0, sizeof *t);
}
