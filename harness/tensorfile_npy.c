/* SPDX-License-Identifier: Apache-2.0 */
#include "tensorfile.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "npyhead.h"

/* "folder/x.npy" -> "x" */
static enum err name_of_file(const char *path, struct tensorfile_tensor *t, struct errinfo *e)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t n = strlen(base);
    if (n > 4 && !strcmp(base + n - 4, ".npy"))
        n -= 4;
    return tensorfile_name(t, base, n, e);
}

enum err tensorfile_npy(struct tensorfile *f, uint64_t size, struct errinfo *e)
{
    char bytes[NPYHEAD_MAX];
    struct npyhead h;
    struct tensorfile_tensor t = {.form = TENSORFILE_RAW};
    ssize_t n = pread(f->fd, bytes, sizeof bytes, 0);
    TRY(npyhead_parse(bytes, n > 0 ? (size_t)n : 0, &h, e));
    tensorfile_from_npy(&t, &h);
    t.offset = h.size;
    t.size = (uint64_t)h.count * (uint64_t)dtype_info(h.dtype)->bytes;
    f->unnamed = true;
    if (!t.other[0] && size - h.size != t.size)
        return err_set(e, ERR_FORMAT, "%s: the head says %" PRIu64 " bytes, %" PRIu64 " follow",
                       size - h.size < t.size ? "truncated" : "damaged", t.size, size - h.size);
    TRY(name_of_file(f->path, &t, e));
    return tensorfile_add(f, &t, e);
}
