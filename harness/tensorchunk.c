/* SPDX-License-Identifier: Apache-2.0 */
#include "tensorchunk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hdf.h"

/* A request is the numbers of the first chunk and how many; an answer this, a piece for each
 * chunk, and the bytes in the shared memory. */
enum { PART = 1 << 20, PIECES = 1024, SECONDS = 120 };

struct tensorchunk_piece {
    uint64_t offset, size; /* size 0: never written */
    uint32_t mask;
};

struct request {
    int64_t first, count;
};

struct answer {
    int64_t count; /* 0: the text says why */
    char text[300];
};

static const struct guard guard = {.what = "the HDF5 library",
                                   .crash = ERR_FORMAT,
                                   .seconds = SECONDS,
                                   .memory = (size_t)6 << 30};

void tensorchunk_cut(const struct tensorfile_tensor *t, int64_t ret_chunk[TENSOR_RANK_MAX])
{
    int64_t bytes = dtype_info(t->dtype)->bytes;
    for (int i = 0; i < t->rank; i++) {
        ret_chunk[i] = t->chunk[i];
        bytes *= t->chunk[i];
    }
    for (int i = 0; i < t->rank && !t->n_filter && bytes > PART; i++) {
        int64_t inner = bytes / ret_chunk[i];
        ret_chunk[i] = inner >= PART ? 1 : PART / inner;
        bytes = inner * ret_chunk[i];
    }
}

static size_t chunk_bytes(const struct tensorfile_tensor *t)
{
    int64_t chunk[TENSOR_RANK_MAX];
    size_t bytes = (size_t)dtype_info(t->dtype)->bytes;
    tensorchunk_cut(t, chunk);
    for (int i = 0; i < t->rank; i++)
        bytes *= (size_t)chunk[i];
    return bytes;
}

/* Packed chunks may be a little larger than unpacked ones. */
static size_t shared_room(size_t bytes)
{
    size_t room = bytes + bytes / 8 + 4096;
    return room > 2 * PART ? room : 2 * PART;
}

size_t tensorchunk_memory(const struct tensorfile_tensor *t)
{
    size_t bytes = chunk_bytes(t);
    return shared_room(bytes) + (t->n_filter ? 2 * (bytes + TENSORCHUNK_SLACK) : 0);
}

/* --- in the child --- */

struct serving {
    struct tensorchunk *c;
    hid_t dataset, type;
    int rank; /* the dataset's: a complex one has no dimension for its parts */
};

static void place_of(const struct tensorchunk *c, int64_t i, hsize_t start[TENSOR_RANK_MAX])
{
    for (int k = c->tensor->rank - 1; k >= 0; k--) {
        start[k] = (hsize_t)(i % c->grid[k] * c->chunk[k]);
        i /= c->grid[k];
    }
}

static enum err read_packed(const struct serving *s, const hsize_t *start, size_t room,
                            unsigned char *to, struct tensorchunk_piece *p, struct errinfo *e)
{
    hsize_t size = 0;
    if (H5Dget_chunk_storage_size(s->dataset, start, &size) < 0) {
        H5Eclear2(H5E_DEFAULT); /* how some versions say that there is none */
        size = 0;
    }
    if (size > s->c->room)
        return err_set(e, ERR_FORMAT, "a chunk of %llu bytes", (unsigned long long)size);
    p->size = size;
    if (!size || size > room)
        return ERR_OK;
    if (H5Dread_chunk(s->dataset, H5P_DEFAULT, start, &p->mask, to) < 0)
        return hdf_error(e, ERR_FORMAT, "a chunk cannot be read");
    return ERR_OK;
}

/* A part of a large chunk, without filters; what lies beyond the edge is left as it is. */
static enum err read_part(const struct serving *s, const hsize_t *start, size_t room,
                          unsigned char *to, struct tensorchunk_piece *p, struct errinfo *e)
{
    hsize_t size[TENSOR_RANK_MAX], zero[TENSOR_RANK_MAX] = {0}, full[TENSOR_RANK_MAX];
    p->size = s->c->bytes;
    if (p->size > room)
        return ERR_OK;
    for (int k = 0; k < s->rank; k++) {
        hsize_t left = (hsize_t)s->c->tensor->dim[k] - start[k];
        full[k] = (hsize_t)s->c->chunk[k];
        size[k] = left < full[k] ? left : full[k];
    }
    hid_t from = H5Dget_space(s->dataset), into = H5Screate_simple(s->rank, full, NULL);
    bool fine = H5Sselect_hyperslab(from, H5S_SELECT_SET, start, NULL, size, NULL) >= 0 &&
                H5Sselect_hyperslab(into, H5S_SELECT_SET, zero, NULL, size, NULL) >= 0 &&
                H5Dread(s->dataset, s->type, into, from, H5P_DEFAULT, to) >= 0;
    H5Sclose(from);
    H5Sclose(into);
    return fine ? ERR_OK : hdf_error(e, ERR_FORMAT, "a part of a chunk cannot be read");
}

static enum err read_pieces(const struct serving *s, const struct request *q,
                            int64_t *ret_count, struct errinfo *e)
{
    struct tensorchunk *c = s->c;
    bool whole =
        !memcmp(c->chunk, c->tensor->chunk, sizeof *c->chunk * (size_t)c->tensor->rank);
    uint64_t used = 0;
    int64_t n = 0;
    for (; n < q->count && n < PIECES && q->first + n < c->count; n++) {
        hsize_t start[TENSOR_RANK_MAX];
        struct tensorchunk_piece p = {.offset = used};
        place_of(c, q->first + n, start);
        size_t room = c->room - used;
        if (whole)
            TRY(read_packed(s, start, room, c->shared + used, &p, e));
        else
            TRY(read_part(s, start, room, c->shared + used, &p, e));
        if (p.size > room)
            break;
        c->piece[n] = p;
        used += (p.size + 63) / 64 * 64;
        used = used < c->room ? used : c->room;
    }
    *ret_count = n;
    return ERR_OK;
}

static enum err serve_open(struct serving *s, struct errinfo *e)
{
    char name[64];
    hid_t file;
    snprintf(name, sizeof name, "/proc/self/fd/%d", s->c->fd);
    hdf_begin();
    TRY(hdf_open(name, &file, e));
    hid_t how = H5Pcreate(H5P_DATASET_ACCESS);
    H5Pset_chunk_cache(how, 521, 0, 0); /* each chunk is read once: no copies */
    s->dataset = H5Dopen2(file, s->c->tensor->name, how);
    if (s->dataset < 0)
        return hdf_error(e, ERR_FORMAT, "cannot be opened again");
    s->type = H5Dget_type(s->dataset);
    s->rank = s->c->tensor->rank - (H5Tget_class(s->type) == H5T_COMPOUND);
    return ERR_OK;
}

static void serve(void *context, int fd)
{
    struct serving s = {.c = context};
    struct errinfo e = {0};
    struct request q;
    enum err err = serve_open(&s, &e);
    while (alarm(0), guard_receive(fd, &q, sizeof q)) {
        struct answer a = {0};
        alarm(SECONDS);
        if (!err)
            err = read_pieces(&s, &q, &a.count, &e);
        if (err)
            a.count = 0;
        snprintf(a.text, sizeof a.text, "%.299s", e.text);
        if (!guard_send(fd, &a, sizeof a))
            return;
    }
}

/* --- in the caller --- */

static bool allocate(struct tensorchunk *c)
{
    size_t pieces = PIECES * sizeof *c->piece, all = c->room + pieces;
    void *shared = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return false;
    c->piece = shared;
    c->shared = (unsigned char *)shared + pieces;
    if (c->tensor->n_filter)
        c->work = malloc(2 * (c->bytes + TENSORCHUNK_SLACK));
    return c->work || !c->tensor->n_filter;
}

enum err tensorchunk_open(const struct tensorfile *f, const struct tensorfile_tensor *t,
                          struct tensorchunk *ret_chunks, struct errinfo *e)
{
    struct tensorchunk c = {.tensor = t, .fd = f->fd, .count = 1};
    tensorchunk_cut(t, c.chunk);
    for (int i = 0; i < t->rank; i++) {
        c.grid[i] = (t->dim[i] + c.chunk[i] - 1) / c.chunk[i];
        c.count *= c.grid[i];
    }
    c.bytes = chunk_bytes(t);
    c.room = shared_room(c.bytes);
    *ret_chunks = c;
    if (!allocate(ret_chunks)) {
        tensorchunk_close(ret_chunks);
        return err_set(e, ERR_NOMEM, "no memory for chunks of %zu bytes", c.bytes);
    }
    enum err err = guard_start(&guard, serve, ret_chunks, &ret_chunks->server, e);
    if (err)
        tensorchunk_close(ret_chunks);
    return err;
}

void tensorchunk_close(struct tensorchunk *c)
{
    guard_stop(&c->server);
    if (c->piece)
        munmap(c->piece, c->room + PIECES * sizeof *c->piece);
    free(c->work);
    memset(c, 0, sizeof *c);
}

static enum err fetch(struct tensorchunk *c, int64_t i, int64_t count, struct errinfo *e)
{
    struct request q = {i, count};
    struct answer a;
    c->have = 0;
    if (!c->server.pid)
        return err_set(e, ERR_FORMAT, "the HDF5 library has crashed");
    if (!guard_send(c->server.fd, &q, sizeof q) || !guard_receive(c->server.fd, &a, sizeof a))
        return guard_died(&guard, &c->server, e);
    a.text[sizeof a.text - 1] = 0;
    if (a.count < 1 || a.count > count || a.count > PIECES)
        return err_set(e, ERR_FORMAT, "%s", a.text[0] ? a.text : "damaged");
    c->first = i;
    c->have = a.count;
    return ERR_OK;
}

enum err tensorchunk_get(struct tensorchunk *c, int64_t i, int64_t ahead,
                         const unsigned char **ret_data, struct errinfo *e)
{
    if (i < c->first || i >= c->first + c->have)
        TRY(fetch(c, i, 1 + ahead, e));
    const struct tensorchunk_piece p = c->piece[i - c->first];
    if (p.size > c->room || p.offset > c->room - p.size)
        return err_set(e, ERR_FORMAT, "damaged");
    if (!p.size) {
        *ret_data = NULL;
        return ERR_OK;
    }
    const unsigned char *data = c->shared + p.offset;
    if (c->tensor->n_filter)
        return tensorchunk_unpack(c->tensor, p.mask, data, p.size, c->bytes, c->work, ret_data,
                                  e);
    if (p.size != c->bytes)
        return err_set(e, ERR_FORMAT, "a chunk of %" PRIu64 " bytes, should be %zu", p.size,
                       c->bytes);
    *ret_data = data;
    return ERR_OK;
}
