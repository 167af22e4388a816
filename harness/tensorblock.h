/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_TENSORBLOCK_H
#define GPUPARITY_TENSORBLOCK_H

#include "tensorchunk.h"

/* Elements of a chunked dataset by their row-major order. Blocks of chunks are kept for what is
 * asked next: with filters whole chunks, else parts of them; long runs without filters are read
 * straight from the file. For one thread at a time. */

struct tensorblock {
    struct tensorchunk chunks;
    int width;            /* bytes of an element */
    int level;            /* runs of a chunk are cut along this dimension, see run_at */
    bool once;            /* chunks are ranges of elements: none comes back to another */
    int64_t span, blocks; /* elements of a block; blocks of a chunk */
    int slots;
    struct tensorblock_slot *slot; /* owned */
};

/* As tensorchunk_open. */
enum err tensorblock_open(const struct tensorfile *f, const struct tensorfile_tensor *t,
                          struct tensorblock *ret_blocks, struct errinfo *e);
void tensorblock_close(struct tensorblock *b); /* accepts a zeroed struct */

/* The memory that an open one takes. */
size_t tensorblock_memory(const struct tensorfile_tensor *t);

/* Elements from <= i < from + n, in `to`, which has room for FILEREAD_SLACK bytes more, or
 * elsewhere until the next call. */
enum err tensorblock_range(struct tensorblock *b, int64_t from, int64_t n, unsigned char *to,
                           const unsigned char **ret_data, struct errinfo *e);

/* Elements of one chunk in the order in which they lie in it. */
enum err tensorblock_part(struct tensorblock *b, int64_t chunk, int64_t from, int64_t n,
                          unsigned char *to, const unsigned char **ret_data, struct errinfo *e);

/* `n` times the element of which nothing was written. */
void tensorblock_fill(const struct tensorfile_tensor *t, unsigned char *to, int64_t n);

/* In what contiguous runs a tensor that is cut into boxes lies: `level` is the dimension along
 * which the runs of a box are cut, and a run has chunk[level] times all inner dimensions. Level
 * 0, or only ones before it: a box is one range of elements. */
int tensorblock_level(const struct tensorfile_tensor *t, const int64_t *chunk);

#endif
