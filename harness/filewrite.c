/* SPDX-License-Identifier: Apache-2.0 */
#include "filewrite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 0, or why not. */
static int write_all(int fd, const char *data, size_t size)
{
    while (size) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno != EINTR)
            return errno;
        data += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return fsync(fd) ? errno : 0;
}

static int replace(const char *path, const char *beside, int fd, mode_t mode, const void *data,
                   size_t size)
{
    int why = write_all(fd, data, size);
    if (!why && fchmod(fd, mode))
        why = errno;
    if (close(fd) && !why)
        why = errno;
    if (!why && rename(beside, path))
        why = errno;
    if (why)
        unlink(beside);
    return why;
}

enum err filewrite_check(const char *path, struct errinfo *e)
{
    struct stat s;
    if (stat(path, &s) || S_ISREG(s.st_mode))
        return ERR_OK;
    return err_set(e, ERR_USAGE, "%.400s exists and is not a file; choose another path", path);
}

enum err filewrite_replace(const char *path, const void *data, size_t size, struct errinfo *e)
{
    struct stat s;
    TRY(filewrite_check(path, e));
    mode_t mode = stat(path, &s) ? 0644 : s.st_mode & 0777;
    char *real = realpath(path, NULL), *beside = NULL;
    const char *to = real ? real : path;
    int why = ENOMEM;
    if (asprintf(&beside, "%s.XXXXXX", to) >= 0) {
        int fd = mkstemp(beside);
        why = fd < 0 ? errno : replace(to, beside, fd, mode, data, size);
        free(beside);
    }
    free(real);
    return why ? err_set(e, ERR_IO, "cannot write %.400s: %s", path, strerror(why)) : ERR_OK;
}
