/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_GUARD_H
#define GPUPARITY_GUARD_H

#include <stdbool.h>
#include <sys/types.h>

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

/* A child that stays: `serve` answers requests that come over `fd` until it closes. The child
 * sets its own alarm for each request; g->seconds holds until it does. */
struct guard_server {
    pid_t pid; /* 0: none */
    int fd;
};
typedef void guard_serve(void *context, int fd);
enum err guard_start(const struct guard *g, guard_serve *serve, void *context,
                     struct guard_server *ret_server, struct errinfo *e);
/* Ends the child, if there is one. */
void guard_stop(struct guard_server *s);
/* To be called when the child does not answer: ends it and says how it ended, as g->crash. */
enum err guard_died(const struct guard *g, struct guard_server *s, struct errinfo *e);

/* All of `size` bytes; false at the end of the stream or on an error. */
bool guard_send(int fd, const void *data, size_t size);
bool guard_receive(int fd, void *data, size_t size);

#endif
