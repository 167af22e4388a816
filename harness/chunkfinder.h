/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CHUNKFINDER_H
#define GPUPARITY_CHUNKFINDER_H

#include "chunkplace.h"
#include "err.h"

/* Finds where the chunks of an HDF5 file's datasets lie. One child process a file does it with
 * the library, so that a damaged file cannot crash the command; it answers for many chunks at
 * once. Any number of threads may ask. What it says is not to be trusted either. */

struct chunkfinder;

/* ERR_NOMEM. The descriptor stays borrowed. */
enum err chunkfinder_open(int fd, struct chunkfinder **ret_finder, struct errinfo *e);
void chunkfinder_close(struct chunkfinder *f); /* accepts NULL */

/* Starts the child, if it is not there. To be called before threads ask, by one that lives as
 * long as they do: the child ends with it. ERR_IO. */
enum err chunkfinder_start(struct chunkfinder *f, struct errinfo *e);

/* The place of chunk number `i`, row-major. ERR_FORMAT when the file is damaged. */
enum err chunkfinder_at(struct chunkfinder *f, const struct chunkgrid *g, int64_t i,
                        struct chunkplace *ret_place, struct errinfo *e);

#endif
