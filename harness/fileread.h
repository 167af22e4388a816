/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_FILEREAD_H
#define GPUPARITY_FILEREAD_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* Reads `size` bytes at `offset`, all of them: ERR_FORMAT when the file ends before, ERR_IO
 * when the system refuses. Any number of threads may read from one descriptor. */
enum err fileread_at(int fd, uint64_t offset, void *to, size_t size, struct errinfo *e);

#endif
