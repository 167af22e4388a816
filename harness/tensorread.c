/* SPDX-License-Identifier: Apache-2.0 */
#include "tensorread.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base64.h"
#include "fileread.h"

enum { INPUT = 1 << 16 };

struct tensorread_stream {
    z_stream z;
    int64_t at;     /* next element */
    uint64_t taken; /* packed bytes */
    uint32_t checksum;
    bool skipped;
    unsigned char input[INPUT];
};

bool tensorread_in_order(const struct tensorfile_tensor *t)
{
    return t->form == TENSORFILE_DEFLATED;
}

size_t tensorread_memory(const struct tensorfile_tensor *t, int64_t most)
{
    size_t size = (size_t)most * (size_t)dtype_info(t->dtype)->bytes;
    if (t->form == TENSORFILE_BASE64)
        size += size / 3 * 4 + 16;
    if (t->form == TENSORFILE_CHUNKED)
        size += tensorblock_memory(t);
    return size;
}

static void swap_bytes(unsigned char *x, int64_t n, int width)
{
    for (int64_t i = 0; i < n; i++, x += width)
        for (int b = 0; b < width / 2; b++) {
            unsigned char keep = x[b];
            x[b] = x[width - 1 - b];
            x[width - 1 - b] = keep;
        }
}

static enum err open_stream(struct tensorread *r, struct errinfo *e)
{
    r->stream = calloc(1, sizeof *r->stream);
    if (!r->stream || inflateInit2(&r->stream->z, -MAX_WBITS) != Z_OK)
        return err_set(e, ERR_NOMEM, "out of memory");
    return ERR_OK;
}

static enum err open_parts(struct tensorread *r, struct errinfo *e)
{
    size_t size = (size_t)r->most * (size_t)r->width;
    r->buffer = malloc(size + FILEREAD_SLACK);
    if (r->tensor->form == TENSORFILE_BASE64)
        r->text = malloc(size / 3 * 4 + 16);
    if (!r->buffer || (!r->text && r->tensor->form == TENSORFILE_BASE64))
        return err_set(e, ERR_NOMEM, "out of memory");
    if (r->tensor->form == TENSORFILE_FILL) {
        tensorblock_fill(r->tensor, r->buffer, r->most);
        if (r->tensor->swap)
            swap_bytes(r->buffer, r->most, r->width);
    }
    if (r->tensor->form == TENSORFILE_CHUNKED)
        return tensorblock_open(r->file, r->tensor, &r->blocks, e);
    return r->tensor->form == TENSORFILE_DEFLATED ? open_stream(r, e) : ERR_OK;
}

enum err tensorread_open(const struct tensorfile *f, const struct tensorfile_tensor *t,
                         int64_t most, struct tensorread *ret_read, struct errinfo *e)
{
    *ret_read = (struct tensorread){
        .file = f, .tensor = t, .most = most, .width = dtype_info(t->dtype)->bytes};
    enum err err = open_parts(ret_read, e);
    if (err)
        tensorread_close(ret_read);
    return err;
}

void tensorread_close(struct tensorread *r)
{
    tensorblock_close(&r->blocks);
    if (r->stream)
        inflateEnd(&r->stream->z);
    free(r->stream);
    free(r->buffer);
    free(r->text);
    memset(r, 0, sizeof *r);
}

/* --- base64 --- */

static enum err read_base64(struct tensorread *r, uint64_t from, size_t size,
                            const unsigned char **ret_data, struct errinfo *e)
{
    const struct tensorfile_tensor *t = r->tensor;
    uint64_t first = (t->skip + from) / 3, end = (t->skip + from + size + 2) / 3;
    size_t length = (size_t)(end - first) * 4, got;
    if (end * 4 > t->size)
        return err_set(e, ERR_FORMAT, "its text is too short");
    TRY(fileread_at(r->file->fd, t->offset + first * 4, r->text, length, e));
    if (!base64_decode((const char *)r->text, length, r->buffer, &got))
        return err_set(e, ERR_FORMAT,
                       "its base64 text has characters that do not belong there");
    *ret_data = r->buffer + (t->skip + from - first * 3);
    return ERR_OK;
}

/* --- deflate --- */

static enum err inflate_into(struct tensorread *r, unsigned char *to, size_t size,
                             struct errinfo *e)
{
    struct tensorread_stream *s = r->stream;
    const struct tensorfile_tensor *t = r->tensor;
    s->z.next_out = to;
    s->z.avail_out = (unsigned)size;
    while (s->z.avail_out) {
        if (!s->z.avail_in) {
            uint64_t left = t->size - s->taken;
            size_t n = left < INPUT ? (size_t)left : INPUT;
            TRY(fileread_at(r->file->fd, t->offset + s->taken, s->input, n, e));
            s->taken += n;
            s->z.next_in = s->input;
            s->z.avail_in = (unsigned)n;
        }
        int status = inflate(&s->z, Z_NO_FLUSH);
        if (status != Z_OK && (status != Z_STREAM_END || s->z.avail_out))
            return err_set(e, ERR_FORMAT, "its packed data are damaged");
    }
    s->checksum = (uint32_t)crc32(s->checksum, to, (unsigned)size);
    return ERR_OK;
}

static enum err read_deflated(struct tensorread *r, int64_t from, int64_t n, struct errinfo *e)
{
    struct tensorread_stream *s = r->stream;
    for (uint64_t left = s->skipped ? 0 : r->tensor->skip; left > 0;) {
        unsigned char head[1024];
        size_t size = left < sizeof head ? (size_t)left : sizeof head;
        TRY(inflate_into(r, head, size, e));
        left -= size;
    }
    s->skipped = true;
    if (from != s->at)
        return err_set(e, ERR_USAGE, "packed elements are to be read in order");
    TRY(inflate_into(r, r->buffer, (size_t)n * (size_t)r->width, e));
    s->at += n;
    if (s->at == r->tensor->count && s->checksum != r->tensor->checksum)
        return err_set(e, ERR_FORMAT, "damaged: its checksum is not the recorded one");
    return ERR_OK;
}

/* --- all --- */

/* Element by element: a Fortran tensor in row-major order. */
static enum err read_turned(struct tensorread *r, int64_t from, int64_t n, struct errinfo *e)
{
    const struct tensorfile_tensor *t = r->tensor;
    for (int64_t k = 0; k < n; k++) {
        int64_t left = from + k, at = 0, step = t->count;
        for (int i = t->rank - 1; i >= 0; i--) {
            step /= t->dim[i];
            at += left % t->dim[i] * step;
            left /= t->dim[i];
        }
        TRY(fileread_at(r->file->fd, t->offset + (uint64_t)(at * r->width),
                        r->buffer + k * r->width, (size_t)r->width, e));
    }
    return ERR_OK;
}

static enum err read_form(struct tensorread *r, int64_t from, int64_t n,
                          const unsigned char **ret_data, struct errinfo *e)
{
    const struct tensorfile_tensor *t = r->tensor;
    uint64_t at = (uint64_t)from * (uint64_t)r->width;
    size_t size = (size_t)n * (size_t)r->width;
    *ret_data = r->buffer;
    switch (t->form) {
    case TENSORFILE_RAW: {
        unsigned char *to = fileread_place(r->buffer, t->offset + at);
        *ret_data = to;
        return fileread_at(r->file->fd, t->offset + at, to, size, e);
    }
    case TENSORFILE_BASE64:
        return read_base64(r, at, size, ret_data, e);
    case TENSORFILE_DEFLATED:
        return read_deflated(r, from, n, e);
    case TENSORFILE_INSIDE:
        *ret_data = (const unsigned char *)r->file->blob.data + t->offset + at;
        return ERR_OK;
    case TENSORFILE_FILL:
        return ERR_OK;
    default:
        return tensorblock_range(&r->blocks, from, n, r->buffer, ret_data, e);
    }
}

/* As the machine wants it. */
static const void *finish(struct tensorread *r, const unsigned char *data, int64_t n)
{
    bool swap = r->tensor->swap && r->tensor->form != TENSORFILE_FILL;
    if (!swap && !((uintptr_t)data % (uintptr_t)r->width))
        return data;
    memmove(r->buffer, data, (size_t)n * (size_t)r->width);
    if (swap)
        swap_bytes(r->buffer, n, r->width);
    return r->buffer;
}

enum err tensorread_range(struct tensorread *r, int64_t from, int64_t n, const void **ret_data,
                          struct errinfo *e)
{
    const unsigned char *data = r->buffer;
    bool turned = r->tensor->fortran && !r->memory_order;
    if (turned && r->tensor->form != TENSORFILE_RAW)
        return err_set(e, ERR_FORMAT,
                       "packed in Fortran order, while the other side is not: save it with "
                       "numpy.ascontiguousarray");
    TRY(turned ? read_turned(r, from, n, e) : read_form(r, from, n, &data, e));
    *ret_data = finish(r, data, n);
    return ERR_OK;
}

bool tensorread_box(const struct tensorread *r, const int64_t *start, const int64_t *size,
                    struct tensorread_part *ret_part)
{
    const struct tensorfile_tensor *t = r->tensor;
    const struct chunkgrid *g = &r->blocks.chunks.grid;
    bool several = false; /* of some outer dimension */
    struct tensorread_part p = {0};
    if (t->form != TENSORFILE_CHUNKED)
        return false;
    for (int i = 0; i < t->rank; i++) {
        int64_t at = start[i] % g->chunk[i];
        if (at + size[i] > g->chunk[i] || (several && size[i] != g->chunk[i]))
            return false;
        several = several || size[i] > 1;
        p.chunk = p.chunk * g->grid[i] + start[i] / g->chunk[i];
        p.from = p.from * g->chunk[i] + at;
    }
    *ret_part = p;
    return true;
}

enum err tensorread_part(struct tensorread *r, const struct tensorread_part *p, int64_t from,
                         int64_t n, const void **ret_data, struct errinfo *e)
{
    const unsigned char *data;
    TRY(tensorblock_part(&r->blocks, p->chunk, p->from + from, n, r->buffer, &data, e));
    *ret_data = finish(r, data, n);
    return ERR_OK;
}
