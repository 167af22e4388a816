/* SPDX-License-Identifier: Apache-2.0 */
#include "image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include <zstd.h>

#define BUNDLE_MAGIC "__CLANG_OFFLOAD_BUNDLE__"
#define COMPRESSED_MAGIC "CCOB"
enum { BUNDLE_MAGIC_SIZE = 24, BUNDLES_MAX = 256, NEST_MAX = 3 };
static const uint64_t image_max = 1ull << 30;

static int refuse(char *why, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int refuse(char *why, size_t size, const char *format, ...)
{
    va_list v;
    va_start(v, format);
    vsnprintf(why, size, format, v);
    va_end(v);
    return 1;
}

static uint64_t read_64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static uint32_t read_32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* --- bundles
 * ---------------------------------------------------------------------------------- */

/* "hipv4-amdgcn-amd-amdhsa--gfx1100" or with ":feature+" behind it */
static int is_our_target(const char *id, uint64_t size)
{
    static const char arch[] = "gfx1100";
    const size_t n = sizeof arch - 1;
    for (uint64_t at = 0; at + n <= size; at++)
        if (memcmp(id + at, arch, n) == 0 && (at == 0 || id[at - 1] == '-') &&
            (at + n == size || id[at + n] == ':'))
            return size >= 3 && memcmp(id, "hip", 3) == 0;
    return 0;
}

struct entry {
    uint64_t offset, size, id_size;
    const char *id;
};

/* The entry at *at, which moves behind it. Nonzero: it does not fit. */
static int entry_read(const uint8_t *bytes, size_t size, size_t *at, struct entry *ret)
{
    if (size - *at < 24)
        return 1;
    *ret = (struct entry){read_64(bytes + *at), read_64(bytes + *at + 8),
                          read_64(bytes + *at + 16), (const char *)bytes + *at + 24};
    *at += 24;
    if (ret->id_size > size - *at)
        return 1;
    *at += ret->id_size;
    return 0;
}

static int image_open_nested(const uint8_t *bytes, size_t size, int depth, struct image *ret,
                             char *why, size_t why_size);

static int bundle_open(const uint8_t *bytes, size_t size, int depth, struct image *ret,
                       char *why, size_t why_size)
{
    char seen[256] = "";
    size_t at = BUNDLE_MAGIC_SIZE + 8;
    if (size < at)
        return refuse(why, why_size, "offload bundle is cut off in its header");
    const uint64_t count = read_64(bytes + BUNDLE_MAGIC_SIZE);
    if (count > BUNDLES_MAX)
        return refuse(why, why_size, "offload bundle claims %llu entries",
                      (unsigned long long)count);
    for (uint64_t n = 0; n < count; n++) {
        struct entry e;
        if (entry_read(bytes, size, &at, &e) || e.offset > size || e.size > size - e.offset)
            return refuse(why, why_size, "entry %llu of the offload bundle lies outside it",
                          (unsigned long long)n);
        if (is_our_target(e.id, e.id_size))
            return image_open_nested(bytes + e.offset, e.size, depth + 1, ret, why, why_size);
        const size_t used = strlen(seen);
        snprintf(seen + used, sizeof seen - used, " %.*s", (int)(e.id_size & 127), e.id);
    }
    return refuse(why, why_size, "the offload bundle has no code for gfx1100, only:%s", seen);
}

/* "CCOB", version (2 bytes), method (2 bytes: 1 = zstd), from version 2 on the total size (v3:
 * 64 bits), the uncompressed size, a hash of 8 bytes, the data. */
static int compressed_open(const uint8_t *bytes, size_t size, int depth, struct image *ret,
                           char *why, size_t why_size)
{
    if (size < 32)
        return refuse(why, why_size, "compressed bundle is cut off in its header");
    const unsigned version = bytes[4] | bytes[5] << 8, method = bytes[6] | bytes[7] << 8;
    const size_t header = version == 1 ? 20 : version == 2 ? 24 : 32;
    const uint64_t plain = version == 1   ? read_32(bytes + 8)
                           : version == 2 ? read_32(bytes + 12)
                                          : read_64(bytes + 16);
    if (version < 1 || version > 3 || method != 1 || plain > image_max)
        return refuse(why, why_size,
                      "compressed bundle of version %u, method %u is not supported (zstd is); "
                      "compile without --offload-compress",
                      version, method);
    uint8_t *room = malloc(plain ? plain : 1);
    if (!room)
        return refuse(why, why_size, "no memory for a bundle of %llu bytes",
                      (unsigned long long)plain);
    size_t got = ZSTD_decompress(room, plain, bytes + header, size - header);
    int r = ZSTD_isError(got) ? refuse(why, why_size, "compressed bundle is damaged: %s",
                                       ZSTD_getErrorName(got))
                              : image_open_nested(room, got, depth + 1, ret, why, why_size);
    free(room);
    return r;
}

static int image_open_nested(const uint8_t *bytes, size_t size, int depth, struct image *ret,
                             char *why, size_t why_size)
{
    if (depth > NEST_MAX)
        return refuse(why, why_size, "offload bundles lie in each other too deep");
    if (size >= BUNDLE_MAGIC_SIZE && memcmp(bytes, BUNDLE_MAGIC, BUNDLE_MAGIC_SIZE) == 0)
        return bundle_open(bytes, size, depth, ret, why, why_size);
    if (size >= 4 && memcmp(bytes, COMPRESSED_MAGIC, 4) == 0)
        return compressed_open(bytes, size, depth, ret, why, why_size);
    if (size < sizeof(Elf64_Ehdr) || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return refuse(why, why_size, "neither a code object (ELF) nor an offload bundle");
    ret->bytes = malloc(size);
    if (!ret->bytes)
        return refuse(why, why_size, "no memory for a code object of %zu bytes", size);
    memcpy(ret->bytes, bytes, size);
    ret->size = size;
    return 0;
}

int code_image_open(const void *bytes, size_t size, struct image *ret, char *why, size_t why_size)
{
    *ret = (struct image){0};
    return image_open_nested(bytes, size, 0, ret, why, why_size);
}

/* --- size unknown
 * ----------------------------------------------------------------------------- */

/* Copies from this process if all of it is mapped; else 0. Sandboxes may forbid the first way.
 */
static size_t copy_mapped(void *to, const void *from, size_t size)
{
    struct iovec here = {to, size}, there = {(void *)(uintptr_t)from, size};
    ssize_t n = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    if (n < 0 && (errno == EPERM || errno == ENOSYS)) {
        int self = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
        n = self < 0 ? -1 : pread(self, to, size, (off_t)(uintptr_t)from);
        if (self >= 0)
            close(self);
    }
    return n < 0 ? 0 : (size_t)n;
}

static uint64_t elf_extent(const uint8_t *head)
{
    Elf64_Ehdr e;
    memcpy(&e, head, sizeof e);
    uint64_t sections = e.e_shoff + (uint64_t)e.e_shnum * e.e_shentsize;
    uint64_t segments = e.e_phoff + (uint64_t)e.e_phnum * e.e_phentsize;
    return sections > segments ? sections : segments;
}

/* Where the last entry ends. */
static uint64_t bundle_extent(const uint8_t *head, size_t size)
{
    uint64_t end = 0;
    size_t at = BUNDLE_MAGIC_SIZE + 8;
    const uint64_t count = read_64(head + BUNDLE_MAGIC_SIZE);
    for (uint64_t n = 0; n < count && n < BUNDLES_MAX; n++) {
        struct entry e;
        if (entry_read(head, size, &at, &e))
            break;
        if (e.offset < image_max && e.size < image_max && e.offset + e.size > end)
            end = e.offset + e.size;
    }
    return end;
}

static uint64_t extent(const uint8_t *head, size_t size)
{
    if (size >= BUNDLE_MAGIC_SIZE + 8 && memcmp(head, BUNDLE_MAGIC, BUNDLE_MAGIC_SIZE) == 0)
        return bundle_extent(head, size);
    if (size >= 32 && memcmp(head, COMPRESSED_MAGIC, 4) == 0)
        return head[4] == 2 ? read_32(head + 8) : head[4] == 3 ? read_64(head + 8) : 0;
    if (size >= sizeof(Elf64_Ehdr) && memcmp(head, ELFMAG, SELFMAG) == 0)
        return elf_extent(head);
    return 0;
}

int code_image_open_at(const void *address, struct image *ret, char *why, size_t why_size)
{
    uint8_t head[4096];
    *ret = (struct image){0};
    size_t n = copy_mapped(head, address, sizeof head);
    if (n < sizeof head) /* the page behind may be missing */
        n = copy_mapped(head, address, sizeof head - ((uintptr_t)address & 4095));
    uint64_t size = extent(head, n);
    if (!size || size > image_max)
        return refuse(why, why_size, "neither a code object (ELF) nor an offload bundle");
    uint8_t *copy = malloc(size);
    if (!copy)
        return refuse(why, why_size, "no memory for an image of %llu bytes",
                      (unsigned long long)size);
    size_t got = copy_mapped(copy, address, size);
    int r = code_image_open(copy, got, ret, why, why_size);
    free(copy);
    return r;
}

void code_image_release(struct image *m)
{
    free(m->bytes);
    *m = (struct image){0};
}
