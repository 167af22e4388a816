/* SPDX-License-Identifier: Apache-2.0 */
#include "fileread.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum err fileread_at(int fd, uint64_t offset, void *to, size_t size, struct errinfo *e)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = pread(fd, (char *)to + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(e, ERR_IO, "cannot read: %s", strerror(errno));
        if (n == 0)
            return err_set(e, ERR_FORMAT, "the file is truncated");
        done += (size_t)n;
    }
    return ERR_OK;
}

unsigned char *fileread_place(unsigned char *buffer, uint64_t offset)
{
    uint64_t wanted = (offset + FILEREAD_SLACK / 2) / 64 * 64;
    return buffer + (wanted - (uintptr_t)buffer) % FILEREAD_SLACK;
}
