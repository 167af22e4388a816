/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_SOURCELINE_H
#define GPUPARITY_HIP_SIM_SOURCELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The line table of a code object that was compiled with -g. */
struct sourceline {
    void *elf; /* copy of the whole file, owned; NULL: no line table */
    size_t size;
    uint64_t low; /* address of the first word of code, as the file counts */
};

/* False: out of memory. A file without a line table gives an empty table. */
bool sourceline_init(struct sourceline *s, const void *elf, size_t size, uint64_t low);
void sourceline_release(struct sourceline *s); /* accepts a zeroed struct */

/* "file.hip:12", or "header.h:5 from file.hip:12" in an inlined function, for the code `offset`
 * bytes after the first word; false: not known. */
bool sourceline_find(const struct sourceline *s, uint64_t offset, char *ret, size_t size);

#endif
