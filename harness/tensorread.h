/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_TENSORREAD_H
#define GPUPARITY_TENSORREAD_H

#include "tensorblock.h"

/* Reads the elements of one tensor of a file, little-endian, in row-major order, a range at a
 * time; in memory that does not depend on the tensor's size. For one thread at a time; several
 * readers of one tensor do not disturb each other. */

struct tensorread {
    const struct tensorfile *file;
    const struct tensorfile_tensor *tensor;
    bool memory_order; /* a Fortran tensor as it lies; to be set before the first range */
    int64_t most;      /* elements of a range */
    int width;         /* bytes of an element */
    unsigned char *buffer, *text; /* owned; the buffer has FILEREAD_SLACK bytes more */
    struct tensorblock blocks;
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

/* A box of elements that lies in one piece in one chunk. */
struct tensorread_part {
    int64_t chunk, from; /* number; element in it */
};

/* Is this box one? */
bool tensorread_box(const struct tensorread *r, const int64_t *start, const int64_t *size,
                    struct tensorread_part *ret_part);

/* Elements of it, from its element `from` on, at most `most`; as tensorread_range. */
enum err tensorread_part(struct tensorread *r, const struct tensorread_part *p, int64_t from,
                         int64_t n, const void **ret_data, struct errinfo *e);

#endif
