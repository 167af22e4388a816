/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_GUARD_H
#define GPUPARITY_GUARD_H

#include "bytes.h"

/* Runs a function in a child process, so that a library that crashes, hangs or eats the memory
 * because of what it was given is one clear error here.
 *
 * The function sees all that the caller has, as it was when the child was made; what it changes
 * stays in the child. What it puts into `out` comes back. Its stderr is dropped. The child dies
 * with the calling process, so nothing goes on writing after a kill -9. */
struct guard {
    const char *what; /* whom an error names: "the HDF5 library" */
    enum err crash;   /* the error when the child does not come back with an answer */
    unsigned seconds; /* after so long it is killed; 0: no limit */
    size_t memory;    /* bytes it may take besides what the caller has; 0: no limit */
};

typedef enum err guard_work(void *context, struct bytes *out, struct errinfo *e);

/* The function's own error, or g->crash, or ERR_IO when no process can be made. The caller owns
 * `ret_out` (bytes_release); NULL when no bytes are expected. */
enum err guard_run(const struct guard *g, guard_work *work, void *context,
                   struct bytes *ret_out, struct errinfo *e);

#endif
