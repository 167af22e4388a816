/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TENSORBYTES_H
#define TESTS_TENSORBYTES_H

#include <check.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

/* Good files of tensors of every kind, made byte by byte. */

struct file {
    unsigned char bytes[1 << 16];
    size_t size;
};

static inline void put(struct file *f, const void *bytes, size_t size)
{
    ck_assert(f->size + size <= sizeof f->bytes);
    memcpy(f->bytes + f->size, bytes, size);
    f->size += size;
}

static inline void put_number(struct file *f, uint64_t n, int bytes)
{
    for (; bytes > 0; bytes--, n >>= 8)
        f->bytes[f->size++] = (unsigned char)n;
}

static inline void put_text(struct file *f, const char *text)
{
    put(f, text, strlen(text));
}

static inline void npy(struct file *f, const char *dictionary, size_t size)
{
    put(f, "\x93NUMPY\1\0", 8);
    put_number(f, strlen(dictionary), 2);
    put_text(f, dictionary);
    for (size_t i = 0; i < size; i++)
        put_number(f, i, 1);
}

static inline void safetensors(struct file *f, const char *head, size_t size)
{
    put_number(f, strlen(head), 8);
    put_text(f, head);
    for (size_t i = 0; i < size; i++)
        put_number(f, i, 1);
}

static const char good_npy[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";

/* One member, deflated or stored. */
static inline void npz(struct file *f, bool deflated)
{
    struct file array = {.size = 0};
    unsigned char packed[1 << 12];
    npy(&array, good_npy, 24);
    z_stream z = {.next_in = array.bytes,
                  .avail_in = (unsigned)array.size,
                  .next_out = packed,
                  .avail_out = sizeof packed};
    ck_assert_int_eq(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t size = deflated ? sizeof packed - z.avail_out : array.size;
    deflateEnd(&z);
    uint64_t sum = crc32(0, array.bytes, (unsigned)array.size);
    for (int directory = 0; directory < 2; directory++) {
        put_text(f, directory ? "PK\1\2" : "PK\3\4");
        put_number(f, 0, directory ? 6 - 2 : 4);
        f->size += directory ? 2 : 0;
        f->bytes[f->size++] = deflated ? 8 : 0;
        put_number(f, 0, 5);
        put_number(f, sum, 4);
        put_number(f, size, 4);
        put_number(f, array.size, 4);
        put_number(f, 5, 2);
        put_number(f, 0, directory ? 16 : 2);
        put_text(f, "x.npy");
        if (!directory)
            put(f, deflated ? packed : array.bytes, size);
    }
    put_text(f, "PK\5\6");
    put_number(f, 0, 4);
    put_number(f, 1, 2);
    put_number(f, 1, 2);
    put_number(f, 46 + 5, 4);
    put_number(f, 30 + 5 + size, 4);
    put_number(f, 0, 2);
}

static inline void polygraphy(struct file *f, const char *before, const char *after)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct file array = {.size = 0};
    npy(&array, good_npy, 24);
    put_text(f, before);
    for (size_t i = 0; i < array.size; i += 3) {
        uint32_t w =
            (uint32_t)(array.bytes[i] << 16 | array.bytes[i + 1] << 8 | array.bytes[i + 2]);
        for (int k = 18; k >= 0; k -= 6)
            put(f, i + (size_t)(18 - k) / 6 > array.size ? "=" : digits + (w >> k & 63), 1);
    }
    put_text(f, after);
}

static const char good_head[] =
    "{\"b\":{\"dtype\":\"BF16\",\"shape\":[2,2],\"data_offsets\":[4,12]},\"__metadata__\":{"
    "\"a\":"
    "\"b\"},\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}";
static const char feed[] = "[{\"x\":{\"array\":\"",
                  feed_end[] = "\",\"polygraphy_class\":\"ndarray\"}}]";

enum { SEEDS = 6 };

static inline void seed(struct file *f, int i)
{
    f->size = 0;
    memset(f->bytes, 0, sizeof f->bytes);
    if (i == 0)
        npy(f, good_npy, 24);
    else if (i == 1)
        safetensors(f, good_head, 12);
    else if (i == 2 || i == 3)
        npz(f, i == 3);
    else if (i == 4)
        polygraphy(f, feed, feed_end);
    else
        polygraphy(
            f, "{\"lst\":[[\"r\",[{\"outputs\":{\"x\":{\"values\":{\"array\":\"",
            "\",\"polygraphy_"
            "class\":\"ndarray\"},\"polygraphy_class\":\"LazyArray\"}},\"runtime\":NaN}]]]}");
}

#endif
