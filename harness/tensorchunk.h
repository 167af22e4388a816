/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_TENSORCHUNK_H
#define GPUPARITY_TENSORCHUNK_H

#include "guard.h"
#include "tensorfile.h"

/* The chunks of one HDF5 dataset, as they stand in the file, from a child process that finds
 * them with the library. Filters are undone here, so that damage to packed data cannot reach
 * the library's filters and threads unpack side by side. For one thread at a time.
 *
 * A dataset without filters whose chunks are large is cut into smaller parts, which are chunks
 * for everybody else: `chunk` says how large. */

struct tensorchunk {
    const struct tensorfile_tensor *tensor;
    int64_t chunk[TENSOR_RANK_MAX], grid[TENSOR_RANK_MAX]; /* elements; chunks along each */
    int64_t count;                                         /* chunks */
    size_t bytes;                                          /* of a chunk, unpacked */
    struct guard_server server;
    int fd;
    unsigned char *shared; /* what the child reads into */
    size_t room;
    int64_t first, have; /* the chunks that lie there now */
    struct tensorchunk_piece *piece;
    unsigned char *work; /* two buffers for unpacking; NULL without filters */
};

/* ERR_NOMEM, ERR_IO. `t` and `f` stay borrowed. */
enum err tensorchunk_open(const struct tensorfile *f, const struct tensorfile_tensor *t,
                          struct tensorchunk *ret_chunks, struct errinfo *e);
void tensorchunk_close(struct tensorchunk *c); /* accepts a zeroed struct */

/* The memory that an open one takes, and how a dataset is cut (ret_chunk: elements). */
size_t tensorchunk_memory(const struct tensorfile_tensor *t);
void tensorchunk_cut(const struct tensorfile_tensor *t, int64_t ret_chunk[TENSOR_RANK_MAX]);

/* Chunk number `i` of the grid, row-major, unpacked: `bytes` bytes that stay valid until the
 * next call; NULL: never written, all fill. Of the chunks that follow, up to `ahead` are
 * fetched as well when they fit. */
enum err tensorchunk_get(struct tensorchunk *c, int64_t i, int64_t ahead,
                         const unsigned char **ret_data, struct errinfo *e);

/* Undoes the filters that `mask` does not except; `work` takes 2 * (bytes + TENSORCHUNK_SLACK).
 * ERR_FORMAT when the data are damaged. */
enum { TENSORCHUNK_SLACK = 64 };
enum err tensorchunk_unpack(const struct tensorfile_tensor *t, uint32_t mask,
                            const unsigned char *data, size_t size, size_t bytes,
                            unsigned char *work, const unsigned char **ret_data,
                            struct errinfo *e);

#endif
