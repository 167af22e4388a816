/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define XXH_STATIC_LINKING_ONLY /* the size of the state */
#include <xxhash.h>

#include "pages.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are read as they lie");

static enum err shape_check(enum dtype d, int rank, const int64_t *dim, int64_t *ret_count,
                            struct errinfo *e)
{
    int64_t count = 1;
    bool empty = false;
    if (rank < 0 || rank > TENSOR_RANK_MAX)
        return err_set(e, ERR_USAGE, "a tensor of rank %d; 0 to %d is possible", rank,
                       TENSOR_RANK_MAX);
    for (int i = 0; i < rank; i++) {
        if (dim[i] < 0)
            return err_set(e, ERR_USAGE,
                           "dimension %d of a tensor is %lld; it must be 0 or more", i,
                           (long long)dim[i]);
        empty |= dim[i] == 0;
    }
    for (int i = 0; i < rank && !empty; i++)
        if (__builtin_mul_overflow(count, dim[i], &count) ||
            count > PTRDIFF_MAX / dtype_info(d)->bytes)
            return err_set(e, ERR_USAGE,
                           "a tensor of more than 2^63 bytes; make its dimensions smaller");
    *ret_count = empty ? 0 : count;
    return ERR_OK;
}

enum { RESERVE_LEAST = 1 << 20 }; /* bytes; a choice */

static enum err init(struct tensor *t, enum dtype d, int rank, const int64_t *dim, bool reserve,
                     struct errinfo *e)
{
    if ((unsigned)d >= DTYPE_COUNT_)
        return err_set(e, ERR_USAGE, "a tensor of format number %d, which does not exist",
                       (int)d);
    int64_t count;
    TRY(shape_check(d, rank, dim, &count, e));

    size_t bytes = (size_t)count * (size_t)dtype_info(d)->bytes;
    reserve &= bytes > RESERVE_LEAST;
    void *data = reserve ? pages_take(bytes) : calloc(bytes ? bytes : 1, 1);
    if (!data)
        return err_set(e, ERR_NOMEM, "no %s for a tensor of %zu bytes",
                       reserve ? "address space" : "memory", bytes);

    *t = (struct tensor){
        .dtype = d, .rank = rank, .count = count, .data = data, .reserved = reserve};
    if (rank)
        memcpy(t->dim, dim, (size_t)rank * sizeof *dim);
    return ERR_OK;
}

enum err tensor_init(struct tensor *t, enum dtype d, int rank, const int64_t *dim,
                     struct errinfo *e)
{
    return init(t, d, rank, dim, false, e);
}

enum err tensor_reserve(struct tensor *t, enum dtype d, int rank, const int64_t *dim,
                        struct errinfo *e)
{
    return init(t, d, rank, dim, true, e);
}

void tensor_drop(struct tensor *t, int64_t from, int64_t to)
{
    size_t width = (size_t)dtype_info(t->dtype)->bytes;
    if (t->reserved)
        pages_drop(t->data, (size_t)from * width, (size_t)to * width);
}

void tensor_release(struct tensor *t)
{
    if (t->reserved)
        pages_release(t->data, tensor_bytes(t));
    else
        free(t->data);
    *t = (struct tensor){0};
}

enum err tensor_copy(struct tensor *ret_tensor, const struct tensor *t, struct errinfo *e)
{
    struct tensor made;
    TRY(tensor_init(&made, t->dtype, t->rank, t->dim, e));
    memcpy(made.data, t->data, tensor_bytes(t));
    *ret_tensor = made;
    return ERR_OK;
}

size_t tensor_bytes(const struct tensor *t)
{
    return (size_t)t->count * (size_t)dtype_info(t->dtype)->bytes;
}

uint64_t tensor_bits(const struct tensor *t, int64_t i)
{
    switch (dtype_info(t->dtype)->bytes) {
    case 1:
        return ((const uint8_t *)t->data)[i];
    case 2:
        return ((const uint16_t *)t->data)[i];
    case 4:
        return ((const uint32_t *)t->data)[i];
    default:
        return ((const uint64_t *)t->data)[i];
    }
}

void tensor_set_bits(struct tensor *t, int64_t i, uint64_t bits)
{
    switch (dtype_info(t->dtype)->bytes) {
    case 1:
        ((uint8_t *)t->data)[i] = (uint8_t)bits;
        break;
    case 2:
        ((uint16_t *)t->data)[i] = (uint16_t)bits;
        break;
    case 4:
        ((uint32_t *)t->data)[i] = (uint32_t)bits;
        break;
    default:
        ((uint64_t *)t->data)[i] = bits;
    }
}

double tensor_value(const struct tensor *t, int64_t i)
{
    return dtype_value(t->dtype, tensor_bits(t, i));
}

struct tensor_digester {
    XXH3_state_t state;
};

static void digest_shape(XXH3_state_t *state, const struct tensor *t)
{
    const char *name = dtype_info(t->dtype)->name;
    int64_t rank = t->rank;
    XXH3_128bits_reset(state);
    XXH3_128bits_update(state, name, strlen(name) + 1);
    XXH3_128bits_update(state, &rank, sizeof rank);
    XXH3_128bits_update(state, t->dim, (size_t)rank * sizeof *t->dim);
}

static void digest_print(const XXH3_state_t *state, char *ret_hex)
{
    static const char digits[] = "0123456789abcdef";
    XXH128_canonical_t digest;
    XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(state));
    for (size_t i = 0; i < sizeof digest.digest; i++) {
        ret_hex[2 * i] = digits[digest.digest[i] >> 4];
        ret_hex[2 * i + 1] = digits[digest.digest[i] & 15];
    }
    ret_hex[2 * sizeof digest.digest] = 0;
}

void tensor_digest(const struct tensor *t, char *ret_hex)
{
    XXH3_state_t state;
    digest_shape(&state, t);
    XXH3_128bits_update(&state, t->data, tensor_bytes(t));
    digest_print(&state, ret_hex);
}

enum err tensor_digest_begin(const struct tensor *t, struct tensor_digester **ret_digester,
                             struct errinfo *e)
{
    struct tensor_digester *d = aligned_alloc(64, sizeof *d);
    if (!d)
        return err_set(e, ERR_NOMEM, "out of memory");
    digest_shape(&d->state, t);
    *ret_digester = d;
    return ERR_OK;
}

void tensor_digest_add(struct tensor_digester *d, const void *bytes, size_t size)
{
    XXH3_128bits_update(&d->state, bytes, size);
}

void tensor_digest_end(struct tensor_digester *d, char *ret_hex)
{
    if (d && ret_hex)
        digest_print(&d->state, ret_hex);
    free(d);
}
