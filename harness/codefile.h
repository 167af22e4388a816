/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CODEFILE_H
#define GPUPARITY_CODEFILE_H

#include <stddef.h>

#include "err.h"

/* One compiled kernel file as it is kept: a zstd frame (with checksum) of six lines of text,
 *
 *   gpuparity code 1
 *   source 32 hex digits        XXH3-128 of the sources
 *   options ...                 what the compiler was called with
 *   compiler ...                "NVRTC 12.0"
 *   digest 32 hex digits        XXH3-128 of the code object
 *   size N                      of the code object, in bytes
 *
 * and the code object itself. */
struct codefile {
    char source[33], options[256], compiler[64];
    void *bytes; /* owned */
    size_t size;
};

void codefile_release(struct codefile *f); /* accepts a zeroed struct */

/* Reads the whole file and checks everything: ERR_MISSING if there is none, ERR_FORMAT if it is
 * damaged or foreign, ERR_IO. */
enum err codefile_read(const char *path, struct codefile *ret_file, struct errinfo *e);

/* Under another name, then renamed; makes the folder if it is not there. The same content gives
 * the same bytes with the same zstd. */
enum err codefile_write(const char *path, const struct codefile *f, struct errinfo *e);

#endif
