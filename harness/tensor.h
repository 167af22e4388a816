/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_TENSOR_H
#define GPUPARITY_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dtype.h"
#include "err.h"

enum { TENSOR_RANK_MAX = 8, TENSOR_NAME_MAX = 32 };

/* A dense array of elements of one format, row-major (last index fastest), little-endian. Rank 0
 * is one element; a dimension of 0 makes an empty tensor, which is valid. */
struct tensor {
    enum dtype dtype;
    int rank;
    int64_t dim[TENSOR_RANK_MAX];
    int64_t count; /* product of dim */
    void *data;    /* owned; count * bytes, never NULL after init */
    bool reserved; /* data is address space: see tensor_reserve */
};

/* Zero-filled. ERR_USAGE for a negative dimension, a rank out of range or a size beyond the
 * address space; ERR_NOMEM. */
enum err tensor_init(struct tensor *t, enum dtype d, int rank, const int64_t *dim,
                     struct errinfo *e);
void tensor_release(struct tensor *t); /* accepts a zeroed struct */

/* The same, but a large tensor is address space only: elements take memory when they are written,
 * and tensor_drop gives that of from <= i < to back, after which these and what shares a page with
 * them are zero again. A small one (1 MiB) is as of tensor_init, and dropping does nothing. */
enum err tensor_reserve(struct tensor *t, enum dtype d, int rank, const int64_t *dim,
                        struct errinfo *e);
void tensor_drop(struct tensor *t, int64_t from, int64_t to);

/* The same elements once more. */
enum err tensor_copy(struct tensor *ret_tensor, const struct tensor *t, struct errinfo *e);

size_t tensor_bytes(const struct tensor *t);

/* No bounds check: 0 <= i < count is the caller's promise. */
uint64_t tensor_bits(const struct tensor *t, int64_t i);
void tensor_set_bits(struct tensor *t, int64_t i, uint64_t bits);
double tensor_value(const struct tensor *t, int64_t i);

/* XXH3-128 (xxHash, canonical big-endian hex, 32 digits) over format name, shape and bytes.
 * `ret_hex` takes 33 bytes. */
void tensor_digest(const struct tensor *t, char *ret_hex);

/* The same for a tensor whose bytes come in pieces, in order. ERR_NOMEM. `ret_hex` NULL: give up. */
struct tensor_digester;
enum err tensor_digest_begin(const struct tensor *t, struct tensor_digester **ret_digester,
                             struct errinfo *e);
void tensor_digest_add(struct tensor_digester *d, const void *bytes, size_t size);
void tensor_digest_end(struct tensor_digester *d, char *ret_hex);

#endif
