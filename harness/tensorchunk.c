/* SPDX-License-Identifier: Apache-2.0 */
#include "tensorchunk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fileread.h"

size_t tensorchunk_bytes(const struct tensorfile_tensor *t)
{
    size_t bytes = (size_t)dtype_info(t->dtype)->bytes;
    for (int i = 0; i < t->rank; i++)
        bytes *= (size_t)t->chunk[i];
    return bytes;
}

/* Packed chunks may be a little larger than unpacked ones. */
static size_t packed_room(size_t bytes)
{
    return bytes + bytes / 8 + 4096;
}

size_t tensorchunk_memory(const struct tensorfile_tensor *t)
{
    size_t bytes = tensorchunk_bytes(t);
    return t->n_filter ? packed_room(bytes) + 2 * (bytes + TENSORCHUNK_SLACK) : 0;
}

enum err tensorchunk_open(const struct tensorfile *f, const struct tensorfile_tensor *t,
                          struct tensorchunk *ret_chunks, struct errinfo *e)
{
    struct tensorchunk c = {
        .file = f, .tensor = t, .grid = tensorfile_grid(t), .bytes = tensorchunk_bytes(t)};
    c.room = packed_room(c.bytes);
    if (!t->listed)
        TRY(chunkfinder_start(f->finder, e));
    if (t->n_filter) {
        c.packed = malloc(c.room);
        c.work = malloc(2 * (c.bytes + TENSORCHUNK_SLACK));
    }
    *ret_chunks = c;
    if (!t->n_filter || (c.packed && c.work))
        return ERR_OK;
    tensorchunk_close(ret_chunks);
    return err_set(e, ERR_NOMEM, "no memory for chunks of %zu bytes", c.bytes);
}

void tensorchunk_close(struct tensorchunk *c)
{
    free(c->packed);
    free(c->work);
    memset(c, 0, sizeof *c);
}

enum err tensorchunk_at(struct tensorchunk *c, int64_t i, struct chunkplace *ret_place,
                        struct errinfo *e)
{
    const struct tensorfile_tensor *t = c->tensor;
    struct chunkplace p;
    if (t->listed)
        memcpy(&p, (const char *)c->file->blob.data + t->offset + (size_t)i * sizeof p,
               sizeof p);
    else
        TRY(chunkfinder_at(c->file->finder, &c->grid, i, &p, e));
    if (p.size > c->room)
        return err_set(e, ERR_FORMAT, "a chunk of %" PRIu64 " bytes", p.size);
    if (p.offset > INT64_MAX - p.size)
        return err_set(e, ERR_FORMAT, "damaged");
    if (p.size && !t->n_filter && p.size != c->bytes)
        return err_set(e, ERR_FORMAT, "a chunk of %" PRIu64 " bytes, should be %zu", p.size,
                       c->bytes);
    *ret_place = p;
    return ERR_OK;
}

enum err tensorchunk_get(struct tensorchunk *c, int64_t i, const unsigned char **ret_data,
                         struct errinfo *e)
{
    struct chunkplace p;
    TRY(tensorchunk_at(c, i, &p, e));
    *ret_data = NULL;
    if (!p.size)
        return ERR_OK;
    TRY(fileread_at(c->file->fd, p.offset, c->packed, p.size, e));
    return tensorchunk_unpack(c->tensor, p.mask, c->packed, p.size, c->bytes, c->work, ret_data,
                              e);
}
