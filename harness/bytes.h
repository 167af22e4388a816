/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_BYTES_H
#define GPUPARITY_BYTES_H

#include <stddef.h>

#include "err.h"

/* A growing run of bytes. A zeroed struct is an empty one. */
struct bytes {
    void *data; /* owned; NULL while empty */
    size_t size, room;
};

/* Adds `size` bytes at the end; they may not lie in `b` itself. On failure `b` is unchanged. */
enum err bytes_append(struct bytes *b, const void *from, size_t size, struct errinfo *e);

void bytes_release(struct bytes *b); /* accepts a zeroed struct */

#endif
