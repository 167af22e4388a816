/* SPDX-License-Identifier: Apache-2.0 */
#include "tensorfile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "fileread.h"
#include "npyhead.h"

/* npz: a zip archive of npy members. The central directory is what counts; from a member's own
 * head only its length is taken. */

enum {
    END_SIZE = 22,
    END_MAX = END_SIZE + 65535,
    END64_SIZE = 56,
    LOCATOR_SIZE = 20,
    ENTRY_SIZE = 46,
    LOCAL_SIZE = 30,
    STORED = 0,
    DEFLATED = 8,
    RATIO_MAX = 1040 /* what deflate can reach is 1032 */
};

struct directory {
    uint64_t count, offset, size;
};

struct member {
    unsigned flags, method;
    uint32_t crc;
    uint64_t packed, size, head;
    char name[TENSORFILE_NAME_MAX + 4];
};

static uint64_t number(const unsigned char *b, int bytes)
{
    uint64_t n = 0;
    while (bytes-- > 0)
        n = n << 8 | b[bytes];
    return n;
}

static enum err damaged(const char *what, struct errinfo *e)
{
    return err_set(e, ERR_FORMAT, "a damaged or truncated zip archive: %s", what);
}

/* Archives beyond 4 GiB, or of more than 65535 members, say it in a second end record. */
static enum err read_end64(const struct tensorfile *f, uint64_t end, struct directory *d,
                           struct errinfo *e)
{
    unsigned char b[END64_SIZE];
    if (end < LOCATOR_SIZE + END64_SIZE)
        return damaged("no zip64 directory", e);
    TRY(fileread_at(f->fd, end - LOCATOR_SIZE, b, LOCATOR_SIZE, e));
    uint64_t at = number(b + 8, 8);
    if (number(b, 4) != 0x07064b50 || at > end - LOCATOR_SIZE - END64_SIZE)
        return damaged("no zip64 directory", e);
    TRY(fileread_at(f->fd, at, b, END64_SIZE, e));
    if (number(b, 4) != 0x06064b50)
        return damaged("no zip64 directory", e);
    *d = (struct directory){number(b + 32, 8), number(b + 48, 8), number(b + 40, 8)};
    return ERR_OK;
}

static enum err read_end(const struct tensorfile *f, uint64_t size, struct directory *ret,
                         struct errinfo *e)
{
    unsigned char b[END_MAX];
    size_t n = size < END_MAX ? (size_t)size : END_MAX,
           at = n < END_SIZE ? 0 : n - END_SIZE + 1;
    TRY(fileread_at(f->fd, size - n, b, n, e));
    while (at > 0 && (number(b + at - 1, 4) != 0x06054b50 ||
                      at - 1 + END_SIZE + number(b + at + 19, 2) != n))
        at--;
    if (!at)
        return damaged("its end is missing", e);
    const unsigned char *end = b + at - 1;
    uint64_t end_at = size - n + at - 1;
    struct directory d = {number(end + 10, 2), number(end + 16, 4), number(end + 12, 4)};
    if (d.count == 0xffff || d.offset == 0xffffffff || d.size == 0xffffffff)
        TRY(read_end64(f, end_at, &d, e));
    if (d.size > end_at || d.offset > end_at - d.size || d.count > d.size / ENTRY_SIZE)
        return damaged("its directory lies outside", e);
    *ret = d;
    return ERR_OK;
}

/* Sizes beyond 4 GiB stand in an extra field, those that are needed in this order. */
static enum err take_extra(const unsigned char *b, size_t size, struct member *m,
                           struct errinfo *e)
{
    uint64_t *const wanted[] = {&m->size, &m->packed, &m->head};
    while (size >= 4) {
        size_t id = number(b, 2), n = number(b + 2, 2), at = 4;
        if (n > size - 4)
            return damaged("an extra field without end", e);
        for (int i = 0; id == 1 && i < 3; i++) {
            if (*wanted[i] != 0xffffffff)
                continue;
            if (at + 8 > 4 + n)
                return damaged("a zip64 size is missing", e);
            *wanted[i] = number(b + at, 8);
            at += 8;
        }
        b += 4 + n;
        size -= 4 + n;
    }
    return ERR_OK;
}

static enum err read_entry(const struct tensorfile *f, uint64_t *at, uint64_t end,
                           struct member *m, struct errinfo *e)
{
    unsigned char b[ENTRY_SIZE], extra[65535];
    if (end - *at < ENTRY_SIZE)
        return damaged("its directory is too short", e);
    TRY(fileread_at(f->fd, *at, b, ENTRY_SIZE, e));
    size_t n_name = number(b + 28, 2), n_extra = number(b + 30, 2);
    uint64_t length = ENTRY_SIZE + n_name + n_extra + number(b + 32, 2);
    if (number(b, 4) != 0x02014b50 || end - *at < length)
        return damaged("its directory has no entry where one should be", e);
    if (n_name >= sizeof m->name)
        return err_set(e, ERR_FORMAT, "a member's name of %zu bytes; at most %zu", n_name,
                       sizeof m->name - 1);
    m->flags = (unsigned)number(b + 8, 2);
    m->method = (unsigned)number(b + 10, 2);
    m->crc = (uint32_t)number(b + 16, 4);
    m->packed = number(b + 20, 4);
    m->size = number(b + 24, 4);
    m->head = number(b + 42, 4);
    TRY(fileread_at(f->fd, *at + ENTRY_SIZE, m->name, n_name, e));
    m->name[n_name] = 0;
    TRY(fileread_at(f->fd, *at + ENTRY_SIZE + n_name, extra, n_extra, e));
    *at += length;
    return take_extra(extra, n_extra, m, e);
}

/* Where the member's bytes begin. */
static enum err read_local(const struct tensorfile *f, uint64_t file_size,
                           const struct member *m, uint64_t *ret_data, struct errinfo *e)
{
    unsigned char b[LOCAL_SIZE];
    if (file_size < LOCAL_SIZE || m->head > file_size - LOCAL_SIZE)
        return damaged("a member lies outside", e);
    TRY(fileread_at(f->fd, m->head, b, LOCAL_SIZE, e));
    uint64_t data = m->head + LOCAL_SIZE + number(b + 26, 2) + number(b + 28, 2);
    if (number(b, 4) != 0x04034b50 || data > file_size || m->packed > file_size - data)
        return damaged("a member lies outside", e);
    *ret_data = data;
    return ERR_OK;
}

/* The first bytes of a member, as many as an npy head may have. */
static enum err read_beginning(const struct tensorfile *f, const struct member *m,
                               uint64_t data, unsigned char *to, size_t *ret_size,
                               struct errinfo *e)
{
    size_t most = m->size < NPYHEAD_MAX ? (size_t)m->size : NPYHEAD_MAX;
    if (m->method == STORED) {
        *ret_size = most;
        return fileread_at(f->fd, data, to, most, e);
    }
    unsigned char from[NPYHEAD_MAX];
    size_t n = m->packed < sizeof from ? (size_t)m->packed : sizeof from;
    TRY(fileread_at(f->fd, data, from, n, e));
    z_stream z = {
        .next_in = from, .avail_in = (unsigned)n, .next_out = to, .avail_out = (unsigned)most};
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
        return err_set(e, ERR_NOMEM, "out of memory");
    int status = inflate(&z, Z_SYNC_FLUSH);
    *ret_size = most - z.avail_out;
    inflateEnd(&z);
    return status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR
               ? ERR_OK
               : damaged("a member that is no deflated data", e);
}

static enum err check_member(const struct member *m, struct errinfo *e)
{
    if (m->flags & 1)
        return err_set(e, ERR_FORMAT, "encrypted");
    if (m->method != STORED && m->method != DEFLATED)
        return err_set(e, ERR_FORMAT, "packed by method %u; stored and deflated are read",
                       m->method);
    if (m->method == STORED && m->packed != m->size)
        return damaged("a stored member with two sizes", e);
    if (m->size / RATIO_MAX > m->packed)
        return damaged("it claims to unpack to more than it can", e);
    return ERR_OK;
}

static enum err take_array(struct tensorfile *f, uint64_t file_size, const struct member *m,
                           struct tensorfile_tensor *t, struct errinfo *e)
{
    unsigned char b[NPYHEAD_MAX];
    size_t n = 0;
    uint64_t data = 0;
    struct npyhead h;
    TRY(check_member(m, e));
    TRY(read_local(f, file_size, m, &data, e));
    TRY(read_beginning(f, m, data, b, &n, e));
    TRY(npyhead_parse(b, n, &h, e));
    tensorfile_from_npy(t, &h);
    uint64_t size = (uint64_t)h.count * (uint64_t)dtype_info(h.dtype)->bytes;
    if (!t->other[0] && m->size - h.size != size)
        return err_set(e, ERR_FORMAT, "the head says %" PRIu64 " bytes, %" PRIu64 " follow",
                       size, m->size - h.size);
    bool stored = m->method == STORED;
    t->form = stored ? TENSORFILE_RAW : TENSORFILE_DEFLATED;
    t->offset = stored ? data + h.size : data;
    t->size = stored ? size : m->packed;
    t->skip = stored ? 0 : h.size;
    t->checksum = m->crc;
    return ERR_OK;
}

static enum err take_member(struct tensorfile *f, uint64_t file_size, const struct member *m,
                            struct errinfo *e)
{
    struct tensorfile_tensor t = {0};
    size_t n = strlen(m->name);
    bool array = n > 4 && !strcmp(m->name + n - 4, ".npy");
    TRY(tensorfile_name(&t, m->name, array ? n - 4 : n, e));
    if (!array) {
        snprintf(t.other, sizeof t.other, "a member that is no npy array");
        return tensorfile_add(f, &t, e);
    }
    enum err err = take_array(f, file_size, m, &t, e);
    return err ? err_context(e, err, "%s", m->name) : tensorfile_add(f, &t, e);
}

enum err tensorfile_npz(struct tensorfile *f, uint64_t size, struct errinfo *e)
{
    struct directory d;
    TRY(read_end(f, size, &d, e));
    uint64_t at = d.offset;
    for (uint64_t i = 0; i < d.count; i++) {
        struct member m;
        TRY(read_entry(f, &at, d.offset + d.size, &m, e));
        TRY(take_member(f, size, &m, e));
    }
    return ERR_OK;
}
