/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_NPYHEAD_H
#define GPUPARITY_NPYHEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "tensor.h"

/* The head of numpy's .npy format (versions 1 to 3): what the array is, before its bytes. Input
 * is not trusted. */

enum { NPYHEAD_MAX = 1 << 16 };

struct npyhead {
    size_t size;        /* of the head: the elements follow */
    char other[64];     /* what its elements are, if they cannot be compared; "": they can */
    bool trouble;       /* they are numbers, though */
    enum dtype dtype;   /* bool: u8; complex: its parts, with a dimension of 2 added */
    bool swap, fortran; /* big-endian; first index fastest */
    int rank;
    int64_t dim[TENSOR_RANK_MAX];
    int64_t count;
};

/* `size` bytes from the beginning, of which NPYHEAD_MAX are enough. ERR_FORMAT for what is no
 * such head, for a rank beyond TENSOR_RANK_MAX and for shapes of 2^63 bytes or more. */
enum err npyhead_parse(const void *bytes, size_t size, struct npyhead *ret_head,
                       struct errinfo *e);

/* The product of the dimensions, unless count * bytes reaches 2^63 or one is negative. */
bool npyhead_count(int rank, const int64_t *dim, int bytes, int64_t *ret_count);

#endif
