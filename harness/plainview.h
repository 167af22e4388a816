/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_PLAINVIEW_H
#define GPUPARITY_PLAINVIEW_H

#include "tensorread.h"

/* How the elements of two tensors of one shape are cut into units, which are boxes: along the
 * chunks of a side that has some, else of one dimension. */

struct plainview {
    int rank;
    int64_t dim[TENSOR_RANK_MAX], unit[TENSOR_RANK_MAX], grid[TENSOR_RANK_MAX], units;
};

/* `flat`: in one dimension whatever the chunks are. */
struct plainview plainview_make(const struct tensorfile_tensor *a,
                                const struct tensorfile_tensor *b, bool flat);

/* One unit. Its elements lie in runs, one after the other. */
struct plainview_box {
    int64_t start[TENSOR_RANK_MAX], size[TENSOR_RANK_MAX];
    int level;         /* runs go through this dimension and all inner ones */
    int64_t run, runs; /* elements; how many */
};
struct plainview_box plainview_box(const struct plainview *v, int64_t unit);

/* The index of the first element of run number `i`. */
int64_t plainview_start(const struct plainview *v, const struct plainview_box *b, int64_t i);

#endif
