/* SPDX-License-Identifier: Apache-2.0 */
#include "pages.h"

#include <sys/mman.h>
#include <unistd.h>

void *pages_take(size_t bytes)
{
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return base == MAP_FAILED ? NULL : base;
}

void pages_release(void *base, size_t bytes)
{
    if (base)
        munmap(base, bytes);
}

void pages_drop(void *base, size_t from, size_t to)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    from -= from % page;
    if (from < to)
        madvise((char *)base + from, to - from, MADV_DONTNEED);
}
