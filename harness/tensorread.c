/* SPDX-License-Identifier: Apache-2.0 */
#include "tensorread.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base64.h"
#include "fileread.h"

enum { SLOTS_MAX = 32, SLOTS_BYTES = 4 << 20, INPUT = 1 << 16 };

struct tensorread_slot {
    int64_t number; /* of the chunk; -1: none */
    bool fill;
    unsigned char *data;
};

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

int tensorread_level(const struct tensorfile_tensor *t, const int64_t *chunk)
{
    int level = t->rank - 1;
    while (level > 0 && chunk[level] == t->dim[level])
        level--;
    return level;
}

static int slot_count(const struct tensorfile_tensor *t, size_t bytes)
{
    int64_t chunk[TENSOR_RANK_MAX];
    tensorchunk_cut(t, chunk);
    if (!t->n_filter && tensorread_level(t, chunk) == 0)
        return 0; /* the chunks are used where they are */
    return bytes >= SLOTS_BYTES              ? 1
           : SLOTS_BYTES / bytes < SLOTS_MAX ? (int)(SLOTS_BYTES / bytes)
                                             : SLOTS_MAX;
}

static size_t cut_bytes(const struct tensorfile_tensor *t)
{
    int64_t chunk[TENSOR_RANK_MAX];
    size_t bytes = (size_t)dtype_info(t->dtype)->bytes;
    tensorchunk_cut(t, chunk);
    for (int i = 0; i < t->rank; i++)
        bytes *= (size_t)chunk[i];
    return bytes;
}

size_t tensorread_memory(const struct tensorfile_tensor *t, int64_t most)
{
    size_t size = (size_t)most * (size_t)dtype_info(t->dtype)->bytes;
    if (t->form == TENSORFILE_BASE64)
        size += size / 3 * 4 + 16;
    if (t->form == TENSORFILE_CHUNKED)
        size += tensorchunk_memory(t) + (size_t)slot_count(t, cut_bytes(t)) * cut_bytes(t);
    return size;
}

static void fill_elements(const struct tensorread *r, unsigned char *to, int64_t n)
{
    size_t size = (size_t)n * (size_t)r->width, done = (size_t)r->width;
    memcpy(to, r->tensor->fill, size < done ? size : done);
    for (; done < size; done *= 2)
        memcpy(to + done, to, done < size - done ? done : size - done);
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

static enum err open_chunks(struct tensorread *r, struct errinfo *e)
{
    TRY(tensorchunk_open(r->file, r->tensor, &r->chunks, e));
    r->slots = slot_count(r->tensor, r->chunks.bytes);
    if (!r->slots)
        return ERR_OK;
    r->slot = calloc((size_t)r->slots, sizeof *r->slot);
    for (int i = 0; r->slot && i < r->slots; i++) {
        r->slot[i] = (struct tensorread_slot){-1, false, malloc(r->chunks.bytes)};
        if (!r->slot[i].data)
            return err_set(e, ERR_NOMEM, "no memory for chunks of %zu bytes", r->chunks.bytes);
    }
    return r->slot ? ERR_OK : err_set(e, ERR_NOMEM, "out of memory");
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
    r->buffer = malloc(size + 16);
    if (r->tensor->form == TENSORFILE_BASE64)
        r->text = malloc(size / 3 * 4 + 16);
    if (!r->buffer || (!r->text && r->tensor->form == TENSORFILE_BASE64))
        return err_set(e, ERR_NOMEM, "out of memory");
    if (r->tensor->form == TENSORFILE_FILL) {
        fill_elements(r, r->buffer, r->most);
        if (r->tensor->swap)
            swap_bytes(r->buffer, r->most, r->width);
    }
    if (r->tensor->form == TENSORFILE_CHUNKED)
        return open_chunks(r, e);
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
    tensorchunk_close(&r->chunks);
    for (int i = 0; r->slot && i < r->slots; i++)
        free(r->slot[i].data);
    free(r->slot);
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

/* --- chunks --- */

/* Part of a range that lies in one chunk. */
struct run {
    int64_t number, offset, length; /* chunk, element in it, elements */
};

static struct run run_at(const struct tensorread *r, int64_t from)
{
    const struct tensorfile_tensor *t = r->tensor;
    const struct tensorchunk *c = &r->chunks;
    int level = tensorread_level(t, c->chunk);
    int64_t index[TENSOR_RANK_MAX], inner = 1, behind = 0;
    struct run run = {0};
    for (int i = t->rank - 1; i >= 0; i--) {
        index[i] = from % t->dim[i];
        from /= t->dim[i];
        if (i > level) {
            behind += index[i] * inner;
            inner *= t->dim[i];
        }
    }
    for (int i = 0; i < t->rank; i++) {
        run.number = run.number * c->grid[i] + index[i] / c->chunk[i];
        run.offset = run.offset * c->chunk[i] + index[i] % c->chunk[i];
    }
    int64_t end = (index[level] / c->chunk[level] + 1) * c->chunk[level];
    end = end < t->dim[level] ? end : t->dim[level];
    run.length = (end - index[level]) * inner - behind;
    return run;
}

static int64_t chunks_ahead(const struct tensorread *r, int64_t number)
{
    if (r->until < 1)
        return 0;
    int64_t last = run_at(r, r->until - 1).number;
    return last > number ? last - number : 0;
}

/* The chunk's bytes, NULL when it was never written. */
static enum err find_chunk(struct tensorread *r, int64_t number, const unsigned char **ret_data,
                           struct errinfo *e)
{
    if (!r->slots)
        return tensorchunk_get(&r->chunks, number, chunks_ahead(r, number), ret_data, e);
    struct tensorread_slot *s = &r->slot[number % r->slots];
    if (s->number != number) {
        const unsigned char *data;
        s->number = -1;
        TRY(tensorchunk_get(&r->chunks, number, chunks_ahead(r, number), &data, e));
        s->fill = !data;
        if (data)
            memcpy(s->data, data, r->chunks.bytes);
        s->number = number;
    }
    *ret_data = s->fill ? NULL : s->data;
    return ERR_OK;
}

static enum err read_chunked(struct tensorread *r, int64_t from, int64_t n,
                             const unsigned char **ret_data, struct errinfo *e)
{
    for (int64_t done = 0; done < n;) {
        struct run run = run_at(r, from + done);
        const unsigned char *data;
        unsigned char *to = r->buffer + done * r->width;
        TRY(find_chunk(r, run.number, &data, e));
        int64_t length = run.length < n - done ? run.length : n - done;
        if (length == n && data) {
            *ret_data = data + run.offset * r->width;
            return ERR_OK;
        }
        if (data)
            memcpy(to, data + run.offset * r->width, (size_t)(length * r->width));
        else
            fill_elements(r, to, length);
        done += length;
    }
    *ret_data = r->buffer;
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
    case TENSORFILE_RAW:
        return fileread_at(r->file->fd, t->offset + at, r->buffer, size, e);
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
        return read_chunked(r, from, n, ret_data, e);
    }
}

enum err tensorread_range(struct tensorread *r, int64_t from, int64_t n, const void **ret_data,
                          struct errinfo *e)
{
    const unsigned char *data;
    if (r->tensor->fortran && !r->memory_order) {
        if (r->tensor->form != TENSORFILE_RAW)
            return err_set(e, ERR_FORMAT,
                           "packed in Fortran order, while the other side is not: save it with "
                           "numpy.ascontiguousarray");
        data = r->buffer;
        TRY(read_turned(r, from, n, e));
    } else {
        TRY(read_form(r, from, n, &data, e));
    }
    if (r->tensor->swap && r->tensor->form != TENSORFILE_FILL) {
        memmove(r->buffer, data, (size_t)n * (size_t)r->width);
        swap_bytes(r->buffer, n, r->width);
        data = r->buffer;
    } else if ((uintptr_t)data % (uintptr_t)r->width) {
        memmove(r->buffer, data, (size_t)n * (size_t)r->width);
        data = r->buffer;
    }
    *ret_data = data;
    return ERR_OK;
}
