/* SPDX-License-Identifier: Apache-2.0 */
#include "tensorchunk.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

/* HDF5's filters, undone. Each reads `size` bytes and writes at most `room`. */
typedef bool undo(const unsigned char *from, size_t size, unsigned char *to, size_t room,
                  size_t element, size_t *ret_size);

static bool undo_deflate(const unsigned char *from, size_t size, unsigned char *to, size_t room,
                         size_t element, size_t *ret_size)
{
    (void)element;
    uLongf n = room;
    bool fine = uncompress(to, &n, from, size) == Z_OK;
    *ret_size = n;
    return fine;
}

static bool undo_zstd(const unsigned char *from, size_t size, unsigned char *to, size_t room,
                      size_t element, size_t *ret_size)
{
    (void)element;
    *ret_size = ZSTD_decompress(to, room, from, size);
    return !ZSTD_isError(*ret_size);
}

/* First all first bytes, then all second ones. In line, so that the compiler makes vectors of
 * it for an element of constant size. */
static inline __attribute__((always_inline)) void
gather_bytes(const unsigned char *restrict from, unsigned char *restrict to, size_t n,
             size_t element)
{
    for (size_t i = 0; i < n; i++)
        for (size_t b = 0; b < element; b++)
            to[i * element + b] = from[b * n + i];
}

/* A rest that fills no element is at the end. */
static bool undo_shuffle(const unsigned char *from, size_t size, unsigned char *to, size_t room,
                         size_t element, size_t *ret_size)
{
    size_t n = size / element;
    if (size > room)
        return false;
    if (element == 2)
        gather_bytes(from, to, n, 2);
    else if (element == 4)
        gather_bytes(from, to, n, 4);
    else if (element == 8)
        gather_bytes(from, to, n, 8);
    else
        gather_bytes(from, to, n, element);
    memcpy(to + n * element, from + n * element, size - n * element);
    *ret_size = size;
    return true;
}

/* Modulo 2^16 - 1, where what is not 0 never becomes 0. */
static uint64_t fold(uint64_t x)
{
    while (x >> 16)
        x = (x & 0xffff) + (x >> 16);
    return x;
}

/* Sums of 16-bit big-endian words, modulo 2^16 - 1: of up to 2^20 words, 64 bits hold them
 * whole. */
static uint32_t fletcher32(const unsigned char *data, size_t size)
{
    enum { PART = 1 << 21 };
    uint64_t a = 0, b = 0;
    for (size_t from = 0; from < size; from += PART) {
        size_t end = size - from < PART ? size : from + PART;
        for (size_t i = from; i + 1 < end; i += 2) {
            a += (uint64_t)data[i] << 8 | data[i + 1];
            b += a;
        }
        if (end % 2) {
            a += (uint64_t)data[end - 1] << 8;
            b += a;
        }
        a = fold(a);
        b = fold(b);
    }
    return (uint32_t)(b << 16 | a);
}

/* Four bytes at the end; some old versions wrote them in another order. */
static bool undo_fletcher32(const unsigned char *from, size_t size, unsigned char *to,
                            size_t room, size_t element, size_t *ret_size)
{
    (void)element;
    if (size < 4 || size - 4 > room)
        return false;
    const unsigned char *end = from + size - 4;
    uint32_t sum = fletcher32(from, size - 4);
    uint32_t stored =
        end[0] | (uint32_t)end[1] << 8 | (uint32_t)end[2] << 16 | (uint32_t)end[3] << 24;
    uint32_t turned = (sum & 0x00ff00ff) << 8 | (sum & 0xff00ff00) >> 8;
    memcpy(to, from, size - 4);
    *ret_size = size - 4;
    return stored == sum || stored == turned;
}

/* A control byte below 32 says how many bytes follow as they are; else its upper bits the
 * length of a repetition and the rest, with the next byte, how far back it begins. */
static bool undo_lzf(const unsigned char *from, size_t size, unsigned char *to, size_t room,
                     size_t element, size_t *ret_size)
{
    (void)element;
    size_t in = 0, out = 0;
    while (in < size) {
        size_t control = from[in++], length = (control >> 5) + 2;
        if (control < 32) {
            length = control + 1;
            if (length > size - in || length > room - out)
                return false;
            memcpy(to + out, from + in, length);
            in += length;
            out += length;
            continue;
        }
        if (length == 9 && in < size)
            length += from[in++];
        if (in >= size)
            return false;
        size_t back = ((control & 31) << 8 | from[in++]) + 1;
        if (back > out || length > room - out)
            return false;
        for (size_t i = 0; i < length; i++, out++)
            to[out] = to[out - back];
    }
    *ret_size = out;
    return true;
}

static const struct {
    int id;
    const char *name;
    undo *undo;
} filters[] = {
    {1, "gzip", undo_deflate}, {2, "shuffle", undo_shuffle}, {3, "fletcher32", undo_fletcher32},
    {32000, "lzf", undo_lzf},  {32015, "zstd", undo_zstd},
};

enum err tensorchunk_unpack(const struct tensorfile_tensor *t, uint32_t mask,
                            const unsigned char *data, size_t size, size_t bytes,
                            unsigned char *work, const unsigned char **ret_data,
                            struct errinfo *e)
{
    size_t room = bytes + TENSORCHUNK_SLACK, element = (size_t)t->element;
    int turn = 0;
    for (int i = t->n_filter - 1; i >= 0; i--) {
        if (mask >> i & 1)
            continue;
        size_t k = 0;
        while (k < sizeof filters / sizeof *filters && filters[k].id != t->filter[i])
            k++;
        unsigned char *to = work + (size_t)turn * room;
        if (k == sizeof filters / sizeof *filters ||
            !filters[k].undo(data, size, to, room, element, &size))
            return err_set(e, ERR_FORMAT, "a chunk is damaged (%s)",
                           k < sizeof filters / sizeof *filters ? filters[k].name : "filter");
        data = to;
        turn = !turn;
    }
    if (size != bytes)
        return err_set(e, ERR_FORMAT, "a chunk unpacks to %zu bytes, should be %zu", size,
                       bytes);
    *ret_data = data;
    return ERR_OK;
}
