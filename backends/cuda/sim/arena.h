/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_ARENA_H
#define GPUPARITY_CUDA_SIM_ARENA_H

#include <stddef.h>

/* Memory that is freed all at once: what a parsed module consists of. A zeroed struct is empty.
 */
struct arena {
    struct arena_chunk *chunk; /* owned, newest first */
    size_t used, size;         /* of the newest chunk */
    size_t total;
    int failed; /* an allocation was refused: everything after it gave NULL too */
};

/* Zeroed, 16-byte aligned; NULL when there is no memory or `arena_limit` bytes are in use. */
void *arena_alloc(struct arena *a, size_t size);
void arena_release(struct arena *a);

/* Grows an array of `size`-byte elements held in the arena: room for one more element after
 * `count`. `*capacity` is the present room. NULL on failure, the old array stays valid. */
void *arena_grow(struct arena *a, void *old, size_t count, size_t *capacity, size_t size);

#endif
