/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_FILEREAD_H
#define GPUPARITY_FILEREAD_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* Reads `size` bytes at `offset`, all of them: ERR_FORMAT when the file ends before, ERR_IO
 * when the system refuses. Any number of threads may read from one descriptor. */
enum err fileread_at(int fd, uint64_t offset, void *to, size_t size, struct errinfo *e);

/* Where in a buffer, which has FILEREAD_SLACK bytes more than are read, bytes from `offset` on
 * should go: processors copy several times slower when the destination is, modulo a page, up to
 * 64 bytes behind the source (measured: 4 times, with the kernel's rep movsb from its page
 * cache). At a multiple of 64 about half a page behind. */
enum { FILEREAD_SLACK = 4096 };
unsigned char *fileread_place(unsigned char *buffer, uint64_t offset);

#endif
