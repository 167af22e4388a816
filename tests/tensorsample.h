/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_TESTS_TENSORSAMPLE_H
#define GPUPARITY_TESTS_TENSORSAMPLE_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tensorread.h"

/* Reading whatever bytes claim to be tensors, as a user's file would be read. */

enum { TENSORSAMPLE_RANGE = 4096, TENSORSAMPLE_RANGES = 64, TENSORSAMPLE_TENSORS = 50 };

/* The first ranges of a tensor, and its last if it need not be read in order. */
static inline enum err tensorsample_tensor(const struct tensorfile *f,
                                           const struct tensorfile_tensor *t, struct errinfo *e)
{
    struct tensorread r;
    const void *data;
    int64_t most = TENSORSAMPLE_RANGE, at = 0, end = most * TENSORSAMPLE_RANGES;
    TRY(tensorread_open(f, t, most, &r, e));
    enum err err = ERR_OK;
    for (end = end < t->count ? end : t->count; at < end && !err; at += most)
        err = tensorread_range(&r, at, end - at < most ? end - at : most, &data, e);
    if (!err && t->count > most && !tensorread_in_order(t))
        err = tensorread_range(&r, t->count - most, most, &data, e);
    tensorread_close(&r);
    return err;
}

static inline enum err tensorsample_file(const char *path, struct errinfo *e)
{
    struct tensorfile f;
    TRY(tensorfile_open(path, &f, e));
    enum err err = ERR_OK;
    for (int64_t i = 0; i < tensorfile_count(&f) && i < TENSORSAMPLE_TENSORS && !err; i++)
        if (!tensorfile_at(&f, i)->other[0])
            err = tensorsample_tensor(&f, tensorfile_at(&f, i), e);
    tensorfile_close(&f);
    return err;
}

/* A file in memory. */
static inline enum err tensorsample_bytes(const void *bytes, size_t size, struct errinfo *e)
{
    char path[64];
    int fd = memfd_create("tensors", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    enum err err = tensorsample_file(path, e);
    close(fd);
    return err;
}

#endif
