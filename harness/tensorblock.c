/* SPDX-License-Identifier: Apache-2.0 */
#include "tensorblock.h"

#include <stdlib.h>
#include <string.h>

#include "fileread.h"

/* Choices: what is kept, how much of a plain chunk at a time, and from how many bytes on asking
 * the system for just these is quicker. */
enum { SLOTS_MAX = 32, SLOTS_BYTES = 4 << 20, SPAN = 1 << 18, STRAIGHT = 1 << 10 };

struct tensorblock_slot {
    int64_t number; /* of the block; -1: none */
    bool fill;
    unsigned char *data;
};

int tensorblock_level(const struct tensorfile_tensor *t, const int64_t *chunk)
{
    int level = t->rank - 1;
    while (level > 0 && chunk[level] == t->dim[level])
        level--;
    return level;
}

static bool chunks_are_ranges(const struct tensorfile_tensor *t)
{
    for (int i = tensorblock_level(t, t->chunk) - 1; i >= 0; i--)
        if (t->chunk[i] != 1)
            return false;
    return true;
}

static size_t block_bytes(const struct tensorfile_tensor *t)
{
    size_t bytes = tensorchunk_bytes(t);
    return t->n_filter || bytes < SPAN ? bytes : SPAN;
}

static int slot_count(const struct tensorfile_tensor *t)
{
    size_t bytes = block_bytes(t), fit = SLOTS_BYTES / bytes;
    if (chunks_are_ranges(t))
        return t->n_filter ? 1 : 0;
    return fit < 1 ? 1 : fit < SLOTS_MAX ? (int)fit : SLOTS_MAX;
}

size_t tensorblock_memory(const struct tensorfile_tensor *t)
{
    return tensorchunk_memory(t) + (size_t)slot_count(t) * block_bytes(t);
}

void tensorblock_fill(const struct tensorfile_tensor *t, unsigned char *to, int64_t n)
{
    size_t width = (size_t)dtype_info(t->dtype)->bytes, size = (size_t)n * width;
    memcpy(to, t->fill, size < width ? size : width);
    for (size_t done = width; done < size; done *= 2)
        memcpy(to + done, to, done < size - done ? done : size - done);
}

static enum err open_slots(struct tensorblock *b, size_t bytes, struct errinfo *e)
{
    b->slot = calloc((size_t)b->slots + 1, sizeof *b->slot);
    for (int i = 0; b->slot && i < b->slots; i++) {
        b->slot[i] = (struct tensorblock_slot){-1, false, malloc(bytes)};
        if (!b->slot[i].data)
            return err_set(e, ERR_NOMEM, "no memory for chunks of %zu bytes", bytes);
    }
    return b->slot ? ERR_OK : err_set(e, ERR_NOMEM, "out of memory");
}

enum err tensorblock_open(const struct tensorfile *f, const struct tensorfile_tensor *t,
                          struct tensorblock *ret_blocks, struct errinfo *e)
{
    size_t bytes = block_bytes(t);
    struct tensorblock b = {.width = dtype_info(t->dtype)->bytes,
                            .level = tensorblock_level(t, t->chunk),
                            .once = chunks_are_ranges(t),
                            .slots = slot_count(t)};
    b.span = (int64_t)bytes / b.width;
    b.blocks = (int64_t)((tensorchunk_bytes(t) + bytes - 1) / bytes);
    enum err err = open_slots(&b, bytes, e);
    if (!err)
        err = tensorchunk_open(f, t, &b.chunks, e);
    if (err)
        tensorblock_close(&b);
    else
        *ret_blocks = b;
    return err;
}

void tensorblock_close(struct tensorblock *b)
{
    tensorchunk_close(&b->chunks);
    for (int i = 0; b->slot && i < b->slots; i++)
        free(b->slot[i].data);
    free(b->slot);
    memset(b, 0, sizeof *b);
}

/* Part of a range that lies in one chunk. */
struct run {
    int64_t number, offset, length; /* chunk, element in it, elements */
};

static struct run run_at(const struct tensorblock *b, int64_t from)
{
    const struct tensorfile_tensor *t = b->chunks.tensor;
    const struct chunkgrid *g = &b->chunks.grid;
    int64_t index[TENSOR_RANK_MAX], inner = 1, behind = 0;
    struct run run = {0};
    for (int i = t->rank - 1; i >= 0; i--) {
        index[i] = from % t->dim[i];
        from /= t->dim[i];
        if (i > b->level) {
            behind += index[i] * inner;
            inner *= t->dim[i];
        }
    }
    for (int i = 0; i < t->rank; i++) {
        run.number = run.number * g->grid[i] + index[i] / g->chunk[i];
        run.offset = run.offset * g->chunk[i] + index[i] % g->chunk[i];
    }
    int64_t at = index[b->level], end = (at / g->chunk[b->level] + 1) * g->chunk[b->level];
    end = end < t->dim[b->level] ? end : t->dim[b->level];
    run.length = (end - at) * inner - behind;
    return run;
}

/* --- blocks --- */

static enum err read_block(struct tensorblock *b, int64_t chunk, int64_t k,
                           struct tensorblock_slot *s, struct errinfo *e)
{
    struct chunkplace p;
    const unsigned char *data;
    if (b->chunks.tensor->n_filter) {
        TRY(tensorchunk_get(&b->chunks, chunk, &data, e));
        s->fill = !data;
        if (data)
            memcpy(s->data, data, b->chunks.bytes);
        return ERR_OK;
    }
    TRY(tensorchunk_at(&b->chunks, chunk, &p, e));
    s->fill = !p.size;
    uint64_t at = (uint64_t)(k * b->span * b->width), left = b->chunks.bytes - at;
    uint64_t size = (uint64_t)(b->span * b->width);
    if (s->fill)
        return ERR_OK;
    return fileread_at(b->chunks.file->fd, p.offset + at, s->data, left < size ? left : size,
                       e);
}

/* The block with element `at` of a chunk: its first element, NULL when it was never written. */
static enum err find_block(struct tensorblock *b, int64_t chunk, int64_t at,
                           const unsigned char **ret_data, struct errinfo *e)
{
    int64_t k = at / b->span, number = chunk * b->blocks + k;
    struct tensorblock_slot *s = &b->slot[number % b->slots];
    if (s->number != number) {
        s->number = -1;
        TRY(read_block(b, chunk, k, s, e));
        s->number = number;
    }
    *ret_data = s->fill ? NULL : s->data;
    return ERR_OK;
}

/* --- straight from the file --- */

/* Bytes that are still to be read: chunks that lie side by side come at once. */
struct extent {
    uint64_t offset;
    size_t size;
    unsigned char *to;
};

static enum err read_extent(const struct tensorblock *b, struct extent *x, struct errinfo *e)
{
    size_t size = x->size;
    x->size = 0;
    return size ? fileread_at(b->chunks.file->fd, x->offset, x->to, size, e) : ERR_OK;
}

/* Of the run's chunk, whose place is known. */
static enum err add_extent(struct tensorblock *b, struct extent *x, const struct chunkplace *p,
                           const struct run *r, unsigned char *to, struct errinfo *e)
{
    if (!p->size) {
        tensorblock_fill(b->chunks.tensor, to, r->length);
        return ERR_OK;
    }
    uint64_t offset = p->offset + (uint64_t)(r->offset * b->width);
    if (x->offset + x->size != offset || x->to + x->size != to) {
        TRY(read_extent(b, x, e));
        *x = (struct extent){offset, 0, to};
    }
    x->size += (size_t)(r->length * b->width);
    return ERR_OK;
}

static bool is_straight(const struct tensorblock *b, const struct run *r)
{
    return !b->chunks.tensor->n_filter && (b->once || r->length * b->width >= STRAIGHT);
}

static enum err read_straight(struct tensorblock *b, int64_t from, int64_t n, unsigned char *to,
                              const unsigned char **ret_data, struct errinfo *e)
{
    struct extent x = {0};
    for (int64_t done = 0; done < n;) {
        struct chunkplace p;
        struct run run = run_at(b, from + done);
        run.length = run.length < n - done ? run.length : n - done;
        TRY(tensorchunk_at(&b->chunks, run.number, &p, e));
        if (!done)
            to = fileread_place(to, p.offset + (uint64_t)(run.offset * b->width));
        TRY(add_extent(b, &x, &p, &run, to + done * b->width, e));
        done += run.length;
    }
    *ret_data = to;
    return read_extent(b, &x, e);
}

/* --- both --- */

enum err tensorblock_range(struct tensorblock *b, int64_t from, int64_t n, unsigned char *to,
                           const unsigned char **ret_data, struct errinfo *e)
{
    struct run run = run_at(b, from);
    if (is_straight(b, &run))
        return read_straight(b, from, n, to, ret_data, e);
    for (int64_t done = 0, length; done < n; done += length) {
        const unsigned char *data;
        unsigned char *at = to + done * b->width;
        run = run_at(b, from + done);
        int64_t in = run.offset % b->span, left = b->span - in;
        length = run.length < n - done ? run.length : n - done;
        length = length < left ? length : left;
        TRY(find_block(b, run.number, run.offset, &data, e));
        if (data && length == n) {
            *ret_data = data + in * b->width;
            return ERR_OK;
        }
        if (data)
            memcpy(at, data + in * b->width, (size_t)(length * b->width));
        else
            tensorblock_fill(b->chunks.tensor, at, length);
    }
    *ret_data = to;
    return ERR_OK;
}

enum err tensorblock_part(struct tensorblock *b, int64_t chunk, int64_t from, int64_t n,
                          unsigned char *to, const unsigned char **ret_data, struct errinfo *e)
{
    const unsigned char *data = NULL;
    struct chunkplace p = {0};
    *ret_data = to;
    if (b->chunks.tensor->n_filter) {
        TRY(find_block(b, chunk, from, &data, e));
        if (data)
            *ret_data = data + from * b->width;
    } else {
        TRY(tensorchunk_at(&b->chunks, chunk, &p, e));
        uint64_t offset = p.offset + (uint64_t)(from * b->width);
        *ret_data = to = fileread_place(to, offset);
        if (p.size)
            return fileread_at(b->chunks.file->fd, offset, to, (size_t)(n * b->width), e);
    }
    if (!data)
        tensorblock_fill(b->chunks.tensor, to, n);
    return ERR_OK;
}
