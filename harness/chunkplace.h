/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CHUNKPLACE_H
#define GPUPARITY_CHUNKPLACE_H

#include "tensor.h"

/* How an HDF5 dataset is cut into chunks, and where one lies in the file. */

struct chunkgrid {
    const char *name; /* the dataset's path; borrowed */
    int rank;         /* of the tensor; a complex dataset has no dimension for its parts */
    int64_t chunk[TENSOR_RANK_MAX], grid[TENSOR_RANK_MAX], count; /* elements; chunks */
};

struct chunkplace {
    uint64_t offset, size; /* size 0: never written */
    uint32_t mask;         /* bit i: filter i was left out */
};

#endif
