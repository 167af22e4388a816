/* SPDX-License-Identifier: Apache-2.0 */
#include "tensorfile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fileread.h"
#include "jsonread.h"
#include "npyhead.h"

/* safetensors: 8 bytes of length, a JSON object {name: {dtype, shape, data_offsets}}, then the
 * bytes, which the offsets must cover without gap or overlap. */

enum { HEAD_MAX = 100 << 20 };

static const struct {
    const char *name;
    enum dtype dtype;
} types[] = {
    {"F64", DTYPE_F64},
    {"F32", DTYPE_F32},
    {"F16", DTYPE_F16},
    {"BF16", DTYPE_BF16},
    {"F8_E4M3", DTYPE_E4M3},
    {"F8_E5M2", DTYPE_E5M2},
    {"I64", DTYPE_I64},
    {"I32", DTYPE_I32},
    {"F8_E4M3FNUZ", DTYPE_E4M3FNUZ},
    {"F8_E5M2FNUZ", DTYPE_E5M2FNUZ},
    {"I16", DTYPE_I16},
    {"I8", DTYPE_I8},
    {"U64", DTYPE_U64},
    {"U32", DTYPE_U32},
    {"U16", DTYPE_U16},
    {"U8", DTYPE_U8},
    {"BOOL", DTYPE_U8},
};

struct head {
    struct jsonread j;
    struct jsonread_item item;
    uint64_t data, data_size;
};

static enum err next(struct head *h, enum jsonread_kind want, struct errinfo *e)
{
    TRY(jsonread_next(&h->j, &h->item, e));
    return h->item.kind == want ? ERR_OK
                                : err_set(e, ERR_FORMAT, "the head is no safetensors head");
}

static void set_type(struct tensorfile_tensor *t, const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].name, name)) {
            t->dtype = types[i].dtype;
            return;
        }
    t->trouble = true;
    snprintf(t->other, sizeof t->other, "elements of the type %.32s", name);
}

/* An array of whole numbers, at most `most`. */
static enum err take_numbers(struct head *h, int most, int64_t *ret_number, int *ret_count,
                             const char *what, struct errinfo *e)
{
    TRY(next(h, JSONREAD_ARRAY, e));
    for (*ret_count = 0;; ++*ret_count) {
        TRY(jsonread_next(&h->j, &h->item, e));
        if (h->item.kind == JSONREAD_ARRAY_END)
            return ERR_OK;
        if (*ret_count == most)
            return err_set(e, ERR_FORMAT, "%s has more than %d numbers", what, most);
        if (!jsonread_count(&h->item, &ret_number[*ret_count]))
            return err_set(e, ERR_FORMAT, "%s should have whole numbers from 0 to 2^63", what);
    }
}

static enum err check(const struct head *h, struct tensorfile_tensor *t,
                      const int64_t offset[2], struct errinfo *e)
{
    uint64_t from = (uint64_t)offset[0], to = (uint64_t)offset[1];
    if (from > to || to > h->data_size)
        return err_set(e, ERR_FORMAT, "bytes %" PRIu64 " to %" PRIu64 " of %" PRIu64 "%s", from,
                       to, h->data_size, from > to ? "" : ": the file is truncated");
    if (!npyhead_count(t->rank, t->dim, 8, &t->count))
        return err_set(e, ERR_FORMAT, "its shape is beyond 2^63 bytes");
    t->offset = h->data + from;
    t->size = to - from;
    if (!t->other[0] && t->size != (uint64_t)t->count * (uint64_t)dtype_info(t->dtype)->bytes)
        return err_set(e, ERR_FORMAT, "its shape and its %" PRIu64 " bytes disagree", t->size);
    return ERR_OK;
}

/* After the name. */
static enum err take_tensor(struct head *h, struct tensorfile_tensor *t, struct errinfo *e)
{
    int64_t offset[2];
    int n = 0;
    bool type = false, shape = false, place = false;
    TRY(next(h, JSONREAD_OBJECT, e));
    for (;;) {
        TRY(jsonread_next(&h->j, &h->item, e));
        if (h->item.kind == JSONREAD_OBJECT_END)
            break;
        const char *key = h->item.text;
        if (!strcmp(key, "dtype") && !type) {
            type = true;
            TRY(next(h, JSONREAD_TEXT, e));
            set_type(t, h->item.text);
        } else if (!strcmp(key, "shape") && !shape) {
            shape = true;
            TRY(take_numbers(h, TENSOR_RANK_MAX, t->dim, &t->rank, "its shape", e));
        } else if (!strcmp(key, "data_offsets") && !place) {
            place = true;
            TRY(take_numbers(h, 2, offset, &n, "data_offsets", e));
        } else {
            return err_set(e, ERR_FORMAT, "an unknown or second '%.40s'", key);
        }
    }
    if (!type || !shape || !place || n != 2)
        return err_set(e, ERR_FORMAT, "it wants dtype, shape and two data_offsets");
    return check(h, t, offset, e);
}

static int compare_offsets(const void *a, const void *b)
{
    const struct tensorfile_tensor *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return (x->size > y->size) - (x->size < y->size);
}

static enum err check_cover(struct tensorfile *f, const struct head *h, struct errinfo *e)
{
    int64_t n = tensorfile_count(f);
    uint64_t at = h->data;
    if (n)
        qsort(f->tensors.data, (size_t)n, sizeof(struct tensorfile_tensor), compare_offsets);
    for (int64_t i = 0; i < n; i++) {
        const struct tensorfile_tensor *t = tensorfile_at(f, i);
        if (t->offset != at)
            return err_set(e, ERR_FORMAT, "%s: its bytes %s", t->name,
                           t->offset < at ? "overlap those of another tensor"
                                          : "leave a gap behind the tensor before");
        at += t->size;
    }
    if (at != h->data + h->data_size)
        return err_set(e, ERR_FORMAT, "%" PRIu64 " bytes at the end belong to no tensor",
                       h->data + h->data_size - at);
    return ERR_OK;
}

static enum err take_all(struct tensorfile *f, struct head *h, struct errinfo *e)
{
    TRY(next(h, JSONREAD_OBJECT, e));
    for (;;) {
        struct tensorfile_tensor t = {.form = TENSORFILE_RAW};
        TRY(jsonread_next(&h->j, &h->item, e));
        if (h->item.kind == JSONREAD_OBJECT_END)
            break;
        if (!strcmp(h->item.text, "__metadata__")) {
            TRY(jsonread_next(&h->j, &h->item, e));
            TRY(jsonread_skip(&h->j, &h->item, e));
            continue;
        }
        size_t length = h->item.whole ? strlen(h->item.text) : (size_t)h->item.size;
        TRY(tensorfile_name(&t, h->item.text, length, e));
        enum err err = take_tensor(h, &t, e);
        if (err)
            return err_context(e, err, "%s", t.name);
        TRY(tensorfile_add(f, &t, e));
    }
    TRY(next(h, JSONREAD_END, e));
    return check_cover(f, h, e);
}

enum err tensorfile_safetensors(struct tensorfile *f, uint64_t size, struct errinfo *e)
{
    unsigned char b[8];
    uint64_t length = 0;
    TRY(fileread_at(f->fd, 0, b, sizeof b, e));
    for (int i = 7; i >= 0; i--)
        length = length << 8 | b[i];
    if (length > HEAD_MAX || length > size - 8)
        return err_set(e, ERR_FORMAT,
                       "a safetensors head of %" PRIu64 " bytes in a file of %" PRIu64
                       "; at most %d",
                       length, size, HEAD_MAX);
    struct head *h = malloc(sizeof *h);
    if (!h)
        return err_set(e, ERR_NOMEM, "out of memory");
    h->data = 8 + length;
    h->data_size = size - h->data;
    jsonread_begin(&h->j, f->fd, 8, length);
    enum err err = take_all(f, h, e);
    free(h);
    return err;
}
