/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_PLAINPASS_H
#define GPUPARITY_PLAINPASS_H

#include "gap.h"
#include "tensorfile.h"

/* One tensor of a file and where it is. */
struct plainpass_side {
    const struct tensorfile *file;
    const struct tensorfile_tensor *tensor;
};

/* Reads two tensors of one format and shape once, side by side, and measures what lies between
 * them. Memory stays below PLAINPASS_MEMORY besides what one chunk on each side takes. The
 * result depends on nothing but the tensors and `limits` (NULL: none). Indices are row-major,
 * unless both are in Fortran order: then as they lie in memory (plainpass_index). `sample`
 * (NULL: none) keeps elements, with the same indices. `ret_gap` is released by the caller.
 * ERR_FORMAT, ERR_IO with the file's name; ERR_NOMEM. */
enum { PLAINPASS_MEMORY = 40 << 20 };
enum err plainpass_run(const struct plainpass_side *a, const struct plainpass_side *b,
                       int threads, const struct limits *limits, struct gap_sample *sample,
                       struct gap *ret_gap, struct errinfo *e);

/* The row-major index of an index of the pass; -1 stays. */
int64_t plainpass_index(const struct plainpass_side *a, const struct plainpass_side *b,
                        int64_t index);

#endif
