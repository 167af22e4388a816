/* SPDX-License-Identifier: Apache-2.0 */
#include "codefile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

/* The largest that is believed: a file says how much it unpacks to. */
enum { CODEFILE_PACKED_MAX = 16 << 20, CODEFILE_MAX = 64 << 20, CODEFILE_LEVEL = 19 };

void codefile_release(struct codefile *f)
{
    free(f->bytes);
    memset(f, 0, sizeof *f);
}

static void bytes_digest(const void *bytes, size_t size, char *ret_hex)
{
    XXH128_hash_t h = XXH3_128bits(bytes, size);
    snprintf(ret_hex, 33, "%016llx%016llx", (unsigned long long)h.high64,
             (unsigned long long)h.low64);
}

/* --- reading ---------------------------------------------------------------------------------
 */

static enum err grow(const char *path, char **bytes, size_t *room, struct errinfo *e)
{
    size_t more_room = *room ? 2 * *room : 1 << 14;
    char *more = realloc(*bytes, more_room);
    if (!more)
        return err_set(e, ERR_NOMEM, "%s: out of memory", path);
    *bytes = more;
    *room = more_room;
    return ERR_OK;
}

static enum err file_read(const char *path, char **ret_bytes, size_t *ret_size,
                          struct errinfo *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(e, errno == ENOENT || errno == ENOTDIR ? ERR_MISSING : ERR_IO, "%s: %s",
                       path, strerror(errno));
    char *bytes = NULL;
    size_t size = 0, room = 0;
    ssize_t n = 1;
    enum err err = ERR_OK;
    while (!err && n > 0 && size <= CODEFILE_PACKED_MAX) {
        if (size == room)
            err = grow(path, &bytes, &room, e);
        if (!err)
            n = read(fd, bytes + size, room - size);
        size += n > 0 ? (size_t)n : 0;
    }
    if (!err && n < 0)
        err = err_set(e, ERR_IO, "%s: %s", path, strerror(errno));
    else if (!err && size > CODEFILE_PACKED_MAX)
        err = err_set(e, ERR_FORMAT, "%s: larger than any kept kernel", path);
    close(fd);
    if (err) {
        free(bytes);
        return err;
    }
    *ret_bytes = bytes;
    *ret_size = size;
    return ERR_OK;
}

static enum err unpack(const char *path, const char *packed, size_t packed_size,
                       char **ret_bytes, size_t *ret_size, struct errinfo *e)
{
    unsigned long long size = ZSTD_getFrameContentSize(packed, packed_size);
    if (size == ZSTD_CONTENTSIZE_ERROR)
        return err_set(e, ERR_FORMAT, "%s: not a kept kernel (no zstd frame)", path);
    if (size == ZSTD_CONTENTSIZE_UNKNOWN || size > CODEFILE_MAX)
        return err_set(e, ERR_FORMAT, "%s: damaged (impossible size)", path);
    char *bytes = malloc(size + 1);
    if (!bytes)
        return err_set(e, ERR_NOMEM, "%s: out of memory", path);
    size_t n = ZSTD_decompress(bytes, size, packed, packed_size);
    if (ZSTD_isError(n) || n != size) {
        free(bytes);
        return err_set(e, ERR_FORMAT, "%s: damaged (%s)", path,
                       ZSTD_isError(n) ? ZSTD_getErrorName(n) : "short");
    }
    bytes[size] = 0;
    *ret_bytes = bytes;
    *ret_size = size;
    return ERR_OK;
}

/* The value of the line `key` at *at, which moves behind it; false if it is not that line, too
 * long, or not printable. */
static bool line_take(char **at, const char *key, char *ret_value, size_t size)
{
    size_t k = strlen(key);
    if (strncmp(*at, key, k))
        return false;
    char *value = *at + k, *end = strchr(value, '\n');
    if (!end || (size_t)(end - value) >= size)
        return false;
    for (char *c = value; c < end; c++)
        if (*c < ' ' || *c > '~')
            return false;
    memcpy(ret_value, value, (size_t)(end - value));
    ret_value[end - value] = 0;
    *at = end + 1;
    return true;
}

static bool parse(char *bytes, size_t size, struct codefile *f, char *digest)
{
    char *at = bytes, number[16], none[8];
    if (!line_take(&at, "gpuparity code 1", none, 1) ||
        !line_take(&at, "source ", f->source, sizeof f->source) ||
        !line_take(&at, "options ", f->options, sizeof f->options) ||
        !line_take(&at, "compiler ", f->compiler, sizeof f->compiler) ||
        !line_take(&at, "digest ", digest, 33) ||
        !line_take(&at, "size ", number, sizeof number))
        return false;
    char *end;
    unsigned long long n = strtoull(number, &end, 10);
    size_t head = (size_t)(at - bytes);
    if (*end || !number[0] || n != size - head)
        return false;
    f->size = (size_t)n;
    memmove(bytes, at, f->size);
    bytes[f->size] = 0;
    f->bytes = bytes;
    return true;
}

enum err codefile_read(const char *path, struct codefile *ret_file, struct errinfo *e)
{
    char *packed = NULL, *bytes = NULL, digest[33] = "", actual[33];
    size_t packed_size = 0, size = 0;
    TRY(file_read(path, &packed, &packed_size, e));
    enum err err = unpack(path, packed, packed_size, &bytes, &size, e);
    free(packed);
    if (err)
        return err;

    struct codefile f = {0};
    if (!parse(bytes, size, &f, digest)) {
        free(bytes);
        return err_set(e, ERR_FORMAT, "%s: not a kept kernel, or from another version", path);
    }
    bytes_digest(f.bytes, f.size, actual);
    if (strcmp(digest, actual)) {
        codefile_release(&f);
        return err_set(e, ERR_FORMAT, "%s: damaged (digest of the code differs)", path);
    }
    *ret_file = f;
    return ERR_OK;
}

/* --- writing ---------------------------------------------------------------------------------
 */

static enum err make_folder(const char *path, struct errinfo *e)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(folder, 0777) && errno != EEXIST)
            return err_set(e, ERR_IO, "cannot make the folder %s: %s", folder, strerror(errno));
        *slash = '/';
    }
    return ERR_OK;
}

static enum err file_write(const char *path, const void *bytes, size_t size, struct errinfo *e)
{
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof temporary, "%s.%d", path, (int)getpid()) >=
        (int)sizeof temporary)
        return err_set(e, ERR_USAGE, "%s: the path is too long", path);
    FILE *f = fopen(temporary, "w");
    if (!f)
        return err_set(e, ERR_IO, "cannot write %s: %s", temporary, strerror(errno));
    bool good = fwrite(bytes, 1, size, f) == size;
    good = fflush(f) == 0 && fsync(fileno(f)) == 0 && good;
    good = fclose(f) == 0 && good;
    if (!good || rename(temporary, path)) {
        enum err err = err_set(e, ERR_IO, "cannot write %s: %s", path, strerror(errno));
        unlink(temporary);
        return err;
    }
    return ERR_OK;
}

static enum err pack(const char *path, const struct codefile *f, char **ret_bytes,
                     size_t *ret_size, struct errinfo *e)
{
    char head[512], digest[33];
    bytes_digest(f->bytes, f->size, digest);
    int n =
        snprintf(head, sizeof head,
                 "gpuparity code 1\nsource %s\noptions %s\ncompiler %s\ndigest %s\nsize %zu\n",
                 f->source, f->options, f->compiler, digest, f->size);
    size_t size = (size_t)n + f->size, room = ZSTD_compressBound(size);
    char *plain = malloc(size), *packed = malloc(room);
    ZSTD_CCtx *z = ZSTD_createCCtx();
    size_t done = 0;
    if (plain && packed && z) {
        memcpy(plain, head, (size_t)n);
        if (f->size)
            memcpy(plain + n, f->bytes, f->size);
        ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, CODEFILE_LEVEL);
        ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
        done = ZSTD_compress2(z, packed, room, plain, size);
    }
    ZSTD_freeCCtx(z);
    free(plain);
    if (!done || ZSTD_isError(done)) {
        free(packed);
        return err_set(e, ERR_NOMEM, "%s: cannot be compressed: out of memory", path);
    }
    *ret_bytes = packed;
    *ret_size = done;
    return ERR_OK;
}

enum err codefile_write(const char *path, const struct codefile *f, struct errinfo *e)
{
    char *packed = NULL;
    size_t size = 0;
    if (f->size > CODEFILE_MAX - 512)
        return err_set(e, ERR_USAGE, "%s: %zu bytes of code are more than is kept", path,
                       f->size);
    TRY(make_folder(path, e));
    TRY(pack(path, f, &packed, &size, e));
    enum err err = file_write(path, packed, size, e);
    free(packed);
    return err;
}
