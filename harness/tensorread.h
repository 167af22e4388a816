/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_TENSORREAD_H
#define GPUPARITY_TENSORREAD_H

#include "tensorchunk.h"
#include "tensorfile.h"

/* Reads the elements of one tensor of a file, little-endian, in row-major order, a range at a
 * time; in memory that does not depend on the tensor's size. For one thread at a time; several
 * readers of one tensor do not disturb each other. */

struct tensorread {
    const struct tensorfile *file;
    const struct tensorfile_tensor *tensor;
    bool memory_order; /* a Fortran tensor as it lies; to be set before the first range */
    int64_t until;     /* what will be wanted of the tensor ends here: chunks before are fetched
                          ahead; 0: unknown */
    int64_t most;      /* elements of a range */
    int width;         /* bytes of an element */
    unsigned char *buffer, *text; /* owned */
    struct tensorchunk chunks;
    int slots;
    struct tensorread_slot *slot; /* owned: unpacked chunks */
    struct tensorread_stream *stream;
};

/* Ranges of up to `most` elements. ERR_NOMEM, ERR_IO. `f` and `t` stay borrowed. */
enum err tensorread_open(const struct tensorfile *f, const struct tensorfile_tensor *t,
                         int64_t most, struct tensorread *ret_read, struct errinfo *e);
void tensorread_close(struct tensorread *r); /* accepts a zeroed struct */

/* Must its ranges be read one after the other, from element 0 on? */
bool tensorread_in_order(const struct tensorfile_tensor *t);

/* About how much memory an open reader takes. */
size_t tensorread_memory(const struct tensorfile_tensor *t, int64_t most);

/* Elements from <= i < from + n; valid until the next call. ERR_FORMAT when the file is
 * damaged; errors do not name the file. */
enum err tensorread_range(struct tensorread *r, int64_t from, int64_t n, const void **ret_data,
                          struct errinfo *e);

/* In what contiguous runs a chunked tensor lies: `level` is the dimension along which the runs
 * of a chunk are cut, and a run has chunk[level] times all inner dimensions. Level 0, or only
 * ones before it: a chunk is one range of elements. */
int tensorread_level(const struct tensorfile_tensor *t, const int64_t *chunk);

#endif
