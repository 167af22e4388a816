/* SPDX-License-Identifier: Apache-2.0 */
#include "tensorfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npyhead.h"
#include "text.h"

enum { PROBE = 2056 };

static bool begins(const unsigned char *b, size_t n, const char *with, size_t length)
{
    return n >= length && !memcmp(b, with, length);
}

/* The signature may stand behind a block of the user's. */
static bool is_hdf(const unsigned char *b, size_t n, uint64_t size)
{
    (void)size;
    for (size_t at = 0; at + 8 <= n; at = at ? 2 * at : 512)
        if (begins(b + at, n - at, "\211HDF\r\n\032\n", 8))
            return true;
    return false;
}

static bool is_npy(const unsigned char *b, size_t n, uint64_t size)
{
    (void)size;
    return begins(b, n, "\x93NUMPY", 6);
}

static bool is_npz(const unsigned char *b, size_t n, uint64_t size)
{
    (void)size;
    return begins(b, n, "PK\3\4", 4) || begins(b, n, "PK\5\6", 4);
}

/* The length of a JSON object, little-endian, then the object. */
static bool is_safetensors(const unsigned char *b, size_t n, uint64_t size)
{
    uint64_t length = 0;
    for (int i = 7; n >= 9 && i >= 0; i--)
        length = length << 8 | b[i];
    return n >= 9 && b[8] == '{' && (length <= size - 8 || b[7] == 0);
}

static bool is_json(const unsigned char *b, size_t n, uint64_t size)
{
    (void)size;
    size_t i = 0;
    while (i < n && strchr(" \t\r\n", b[i]) && b[i])
        i++;
    return i < n && (b[i] == '{' || b[i] == '[');
}

static const struct {
    const char *name;
    bool (*is)(const unsigned char *b, size_t n, uint64_t size);
    enum err (*read)(struct tensorfile *f, uint64_t size, struct errinfo *e);
} formats[] = {
    {"hdf5", is_hdf, tensorfile_hdf},
    {"npy", is_npy, tensorfile_npy},
    {"npz", is_npz, tensorfile_npz},
    {"safetensors", is_safetensors, tensorfile_safetensors},
    {"polygraphy", is_json, tensorfile_polygraphy},
};

enum err tensorfile_name(struct tensorfile_tensor *t, const char *name, size_t length,
                         struct errinfo *e)
{
    if (length >= sizeof t->name)
        return err_set(e, ERR_FORMAT, "a name of %zu bytes, %.60s...; at most %zu", length,
                       name, sizeof t->name - 1);
    if (memchr(name, 0, length) || !text_valid(name, length))
        return err_set(e, ERR_FORMAT, "a name that is no text");
    memcpy(t->name, name, length);
    t->name[length] = 0;
    return ERR_OK;
}

void tensorfile_from_npy(struct tensorfile_tensor *t, const struct npyhead *h)
{
    memcpy(t->other, h->other, sizeof t->other);
    t->trouble = h->trouble;
    t->dtype = h->dtype;
    t->rank = h->rank;
    memcpy(t->dim, h->dim, sizeof t->dim);
    t->count = h->count;
    t->swap = h->swap;
    t->fortran = h->fortran;
}

enum err tensorfile_add(struct tensorfile *f, const struct tensorfile_tensor *t,
                        struct errinfo *e)
{
    if (tensorfile_count(f) == TENSORFILE_TENSORS_MAX)
        return err_set(e, ERR_FORMAT, "more than %d tensors", TENSORFILE_TENSORS_MAX);
    return bytes_append(&f->tensors, t, sizeof *t, e);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct tensorfile_tensor *)a)->name,
                  ((const struct tensorfile_tensor *)b)->name);
}

static enum err sort(struct tensorfile *f, struct errinfo *e)
{
    int64_t n = tensorfile_count(f);
    if (n)
        qsort(f->tensors.data, (size_t)n, sizeof(struct tensorfile_tensor), compare_names);
    for (int64_t i = 1; i < n; i++)
        if (!compare_names(tensorfile_at(f, i - 1), tensorfile_at(f, i)))
            return err_set(e, ERR_FORMAT, "two tensors named %s", tensorfile_at(f, i)->name);
    return ERR_OK;
}

static enum err read_format(struct tensorfile *f, struct errinfo *e)
{
    unsigned char b[PROBE];
    struct stat s;
    if (fstat(f->fd, &s))
        return err_set(e, ERR_IO, "%s", strerror(errno));
    if (!S_ISREG(s.st_mode))
        return err_set(e, ERR_FORMAT, "not a regular file");
    ssize_t n = pread(f->fd, b, sizeof b, 0);
    if (n < 0)
        return err_set(e, ERR_IO, "cannot read: %s", strerror(errno));
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (!formats[i].is(b, (size_t)n, (uint64_t)s.st_size))
            continue;
        f->format = formats[i].name;
        TRY(formats[i].read(f, (uint64_t)s.st_size, e));
        return sort(f, e);
    }
    return err_set(e, ERR_FORMAT,
                   "neither a record nor HDF5, npy, npz, safetensors or Polygraphy JSON "
                   "(%" PRIu64 " bytes)",
                   (uint64_t)s.st_size);
}

enum err tensorfile_open(const char *path, struct tensorfile *ret_file, struct errinfo *e)
{
    struct tensorfile f = {.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (f.fd < 0)
        return err_set(e, ERR_IO, "cannot open %s: %s", path, strerror(errno));
    f.path = strdup(path);
    enum err err = f.path ? read_format(&f, e) : err_set(e, ERR_NOMEM, "out of memory");
    if (err) {
        tensorfile_close(&f);
        return err_context(e, err, "%s", path);
    }
    *ret_file = f;
    return ERR_OK;
}

void tensorfile_close(struct tensorfile *f)
{
    chunkfinder_close(f->finder);
    if (f->path)
        close(f->fd);
    free(f->path);
    bytes_release(&f->tensors);
    bytes_release(&f->blob);
    memset(f, 0, sizeof *f);
}

int64_t tensorfile_count(const struct tensorfile *f)
{
    return (int64_t)(f->tensors.size / sizeof(struct tensorfile_tensor));
}

const struct tensorfile_tensor *tensorfile_at(const struct tensorfile *f, int64_t i)
{
    return (const struct tensorfile_tensor *)f->tensors.data + i;
}

const struct tensorfile_tensor *tensorfile_find(const struct tensorfile *f, const char *name)
{
    int64_t low = 0, high = tensorfile_count(f);
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        int order = strcmp(tensorfile_at(f, middle)->name, name);
        if (!order)
            return tensorfile_at(f, middle);
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

struct chunkgrid tensorfile_grid(const struct tensorfile_tensor *t)
{
    struct chunkgrid g = {.name = t->name, .rank = t->rank, .count = 1};
    for (int i = 0; i < t->rank; i++) {
        g.chunk[i] = t->chunk[i];
        g.grid[i] = (t->dim[i] + t->chunk[i] - 1) / t->chunk[i];
        g.count *= g.grid[i];
    }
    return g;
}

void tensorfile_shape(const struct tensorfile_tensor *t, char *ret_text, size_t size)
{
    if (t->other[0]) {
        snprintf(ret_text, size, "%s", t->other);
        return;
    }
    size_t used = (size_t)snprintf(ret_text, size, "%s[", dtype_info(t->dtype)->name);
    for (int i = 0; i < t->rank && used < size; i++)
        used += (size_t)snprintf(ret_text + used, size - used, "%s%" PRId64, i ? "," : "",
                                 t->dim[i]);
    if (used < size)
        snprintf(ret_text + used, size - used, "]");
}
