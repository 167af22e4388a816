/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_TENSORCHUNK_H
#define GPUPARITY_TENSORCHUNK_H

#include "tensorfile.h"

/* The chunks of one HDF5 dataset, read from where chunkfinder.h finds them. Filters are undone
 * here, so that damage to packed data cannot reach the library's filters and threads unpack
 * side by side. For one thread at a time. */

struct tensorchunk {
    const struct tensorfile *file;
    const struct tensorfile_tensor *tensor;
    struct chunkgrid grid;
    size_t bytes;                 /* of a chunk, unpacked */
    size_t room;                  /* for a packed one */
    unsigned char *packed, *work; /* owned: a packed chunk, two buffers for unpacking; NULL
                                     without filters */
};

/* By the thread that outlives all others that read the file. ERR_NOMEM, ERR_IO. `f` and `t`
 * stay borrowed. */
enum err tensorchunk_open(const struct tensorfile *f, const struct tensorfile_tensor *t,
                          struct tensorchunk *ret_chunks, struct errinfo *e);
void tensorchunk_close(struct tensorchunk *c); /* accepts a zeroed struct */

/* The memory that an open one takes. */
size_t tensorchunk_memory(const struct tensorfile_tensor *t);

/* Bytes of an unpacked chunk. */
size_t tensorchunk_bytes(const struct tensorfile_tensor *t);

/* With filters: chunk number `i` of the grid, row-major, unpacked: `bytes` bytes that stay
 * valid until the next call; NULL: never written, all fill. */
enum err tensorchunk_get(struct tensorchunk *c, int64_t i, const unsigned char **ret_data,
                         struct errinfo *e);

/* Without: where it lies in the file, checked; size 0: never written. */
enum err tensorchunk_at(struct tensorchunk *c, int64_t i, struct chunkplace *ret_place,
                        struct errinfo *e);

/* Undoes the filters of a chunk that should come to `bytes` bytes, but for those that the mask
 * left out. `work`: twice bytes + TENSORCHUNK_SLACK. ERR_FORMAT when it is damaged. */
enum { TENSORCHUNK_SLACK = 64 };
enum err tensorchunk_unpack(const struct tensorfile_tensor *t, uint32_t mask,
                            const unsigned char *data, size_t size, size_t bytes,
                            unsigned char *work, const unsigned char **ret_data,
                            struct errinfo *e);

#endif
