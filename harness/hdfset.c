/* SPDX-License-Identifier: Apache-2.0 */
#include "hdfset.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "npyhead.h"

enum { COMPACT_MAX = 1 << 16 };

struct set {
    struct tensorfile *to;
    struct hdfdrive_note *note;
    uint64_t size; /* of the file */
};

/* --- types --- */

/* Formats that HDF5 can express; the others need the attribute. */
static const enum dtype plain_types[] = {
    DTYPE_F64, DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_E5M2, DTYPE_I64, DTYPE_I32,
    DTYPE_I16, DTYPE_I8,  DTYPE_U64, DTYPE_U32,  DTYPE_U16,  DTYPE_U8,
};

static bool type_is(hid_t type, enum dtype d, bool *ret_swap)
{
    hid_t wanted = hdf_type(d);
    bool little = H5Tequal(type, wanted) > 0;
    H5Tset_order(wanted, H5T_ORDER_BE);
    bool big = !little && H5Tequal(type, wanted) > 0;
    H5Tclose(wanted);
    *ret_swap = big && dtype_info(d)->bytes > 1;
    return little || big;
}

static bool type_by_attribute(hid_t dataset, hid_t type, struct tensorfile_tensor *t)
{
    char name[32];
    bool has = false;
    if (hdf_has_attribute(dataset, "dtype", &has, NULL) || !has ||
        hdf_get_text(dataset, "dtype", name, sizeof name, NULL))
        return false;
    t->dtype = dtype_find(name);
    return t->dtype != DTYPE_COUNT_ && type_is(type, t->dtype, &t->swap);
}

static bool type_plain(hid_t type, struct tensorfile_tensor *t)
{
    size_t size = H5Tget_size(type);
    for (size_t i = 0; i < sizeof plain_types / sizeof *plain_types; i++) {
        t->dtype = plain_types[i];
        if ((size_t)dtype_info(t->dtype)->bytes == size && type_is(type, t->dtype, &t->swap))
            return true;
    }
    return false;
}

/* What h5py writes for complex numbers: two equal floats. */
static bool type_complex(hid_t type, struct tensorfile_tensor *t)
{
    if (H5Tget_nmembers(type) != 2)
        return false;
    hid_t a = H5Tget_member_type(type, 0), b = H5Tget_member_type(type, 1);
    size_t size = H5Tget_size(a);
    bool fine = H5Tequal(a, b) > 0 && H5Tget_class(a) == H5T_FLOAT && type_plain(a, t) &&
                H5Tget_member_offset(type, 1) == size && H5Tget_size(type) == 2 * size;
    H5Tclose(a);
    H5Tclose(b);
    return fine;
}

static const char *class_name(H5T_class_t c)
{
    switch (c) {
    case H5T_INTEGER:
    case H5T_FLOAT:
        return "numbers of an unusual type";
    case H5T_STRING:
        return "text";
    case H5T_COMPOUND:
        return "structures";
    case H5T_REFERENCE:
        return "references";
    case H5T_VLEN:
        return "lists of variable length";
    case H5T_ARRAY:
        return "arrays as elements";
    default:
        return "elements that are no numbers";
    }
}

static void read_type(hid_t dataset, hid_t type, struct tensorfile_tensor *t, bool *ret_complex)
{
    H5T_class_t class = H5Tget_class(type);
    hid_t base = class == H5T_ENUM ? H5Tget_super(type) : H5Tcopy(type);
    *ret_complex = class == H5T_COMPOUND && type_complex(base, t);
    if (!*ret_complex && !type_by_attribute(dataset, base, t) && !type_plain(base, t)) {
        t->dtype = DTYPE_U8;
        t->trouble = class == H5T_INTEGER || class == H5T_FLOAT || class == H5T_ARRAY ||
                     class == H5T_COMPOUND;
        snprintf(t->other, sizeof t->other, "%s", class_name(class));
    }
    H5Tclose(base);
}

/* --- shape and place --- */

static void trouble(struct tensorfile_tensor *t, const char *what)
{
    t->trouble = true;
    snprintf(t->other, sizeof t->other, "%s", what);
}

static void read_shape(hid_t dataset, struct tensorfile_tensor *t, bool complex)
{
    hsize_t dim[H5S_MAX_RANK];
    hid_t space = H5Dget_space(dataset);
    H5S_class_t class = H5Sget_simple_extent_type(space);
    int rank = class == H5S_SIMPLE ? H5Sget_simple_extent_dims(space, dim, NULL) : 0;
    H5Sclose(space);
    if (class != H5S_SCALAR && class != H5S_SIMPLE) {
        snprintf(t->other, sizeof t->other, "no elements");
    } else if (rank < 0 || rank + complex > TENSOR_RANK_MAX) {
        snprintf(t->other, sizeof t->other, "a tensor of rank %d", rank);
        t->trouble = true;
    } else {
        for (t->rank = 0; t->rank < rank; t->rank++)
            t->dim[t->rank] = dim[t->rank] > INT64_MAX ? -1 : (int64_t)dim[t->rank];
        if (complex)
            t->dim[t->rank++] = 2;
        if (!npyhead_count(t->rank, t->dim, dtype_info(t->dtype)->bytes, &t->count))
            trouble(t, "a shape beyond 2^63 bytes");
    }
}

static void read_filters(hid_t how, struct tensorfile_tensor *t)
{
    static const int known[] = {H5Z_FILTER_DEFLATE, H5Z_FILTER_SHUFFLE, H5Z_FILTER_FLETCHER32,
                                32000, 32015};
    int n = H5Pget_nfilters(how);
    for (int i = 0; i < n; i++) {
        unsigned flags, config, value[1];
        size_t n_value = 1;
        char name[40] = "";
        int id = H5Pget_filter2(how, (unsigned)i, &flags, &n_value, value, sizeof name, name,
                                &config);
        bool fine = t->n_filter < TENSORFILE_FILTERS_MAX;
        size_t k = 0;
        while (fine && k < sizeof known / sizeof *known && known[k] != id)
            k++;
        if (!fine || k == sizeof known / sizeof *known) {
            trouble(t, "");
            snprintf(t->other, sizeof t->other, "filtered by %.30s (%d)",
                     name[0] ? name : "an unknown filter", id);
            return;
        }
        t->filter[t->n_filter++] = id;
    }
}

static void read_chunking(hid_t how, struct tensorfile_tensor *t, bool complex)
{
    hsize_t dim[H5S_MAX_RANK];
    int rank = H5Pget_chunk(how, H5S_MAX_RANK, dim);
    t->form = TENSORFILE_CHUNKED;
    t->element = dtype_info(t->dtype)->bytes << complex;
    uint64_t bytes = (uint64_t)t->element;
    for (int i = 0; i < rank && bytes <= TENSORFILE_CHUNK_MAX; i++) {
        bytes = dim[i] && dim[i] <= TENSORFILE_CHUNK_MAX ? bytes * dim[i] : UINT64_MAX;
        if (i < TENSOR_RANK_MAX)
            t->chunk[i] = (int64_t)dim[i];
    }
    if (rank != t->rank - complex || bytes > TENSORFILE_CHUNK_MAX)
        trouble(t, "chunks beyond 1 GiB");
    if (complex)
        t->chunk[t->rank - 1] = 2;
    read_filters(how, t);
}

static enum err list_chunks(const struct set *w, hid_t dataset, struct tensorfile_tensor *t,
                            struct errinfo *e)
{
    struct chunkgrid g = tensorfile_grid(t);
    if (g.count < 1 || g.count > TENSORFILE_LISTED_MAX)
        return ERR_OK;
    t->offset = w->to->blob.size;
    for (; t->listed < g.count; t->listed++) {
        struct chunkplace p;
        TRY(hdfdrive_find(dataset, w->note, &g, t->listed, &p, e));
        TRY(bytes_append(&w->to->blob, &p, sizeof p, e));
    }
    return ERR_OK;
}

static enum err read_compact(const struct set *w, hid_t dataset, hid_t type,
                             struct tensorfile_tensor *t, struct errinfo *e)
{
    unsigned char data[COMPACT_MAX];
    t->form = TENSORFILE_INSIDE;
    t->offset = w->to->blob.size;
    t->size = (uint64_t)t->count * (uint64_t)dtype_info(t->dtype)->bytes;
    if (t->size > sizeof data)
        return err_set(e, ERR_FORMAT, "compact, but of %" PRIu64 " bytes", t->size);
    if (t->size && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
        return hdf_error(e, ERR_FORMAT, "cannot be read");
    return bytes_append(&w->to->blob, data, t->size, e);
}

static enum err read_contiguous(const struct set *w, hid_t dataset, hid_t how,
                                struct tensorfile_tensor *t, struct errinfo *e)
{
    t->size = (uint64_t)t->count * (uint64_t)dtype_info(t->dtype)->bytes;
    if (H5Pget_external_count(how) > 0) {
        trouble(t, "data in another file");
        return ERR_OK;
    }
    haddr_t offset = t->size ? H5Dget_offset(dataset) : 0;
    t->form = offset == HADDR_UNDEF ? TENSORFILE_FILL : TENSORFILE_RAW;
    if (offset == HADDR_UNDEF)
        H5Eclear2(H5E_DEFAULT);
    else
        t->offset = offset;
    if (t->form == TENSORFILE_RAW && (t->size > w->size || offset > w->size - t->size))
        return err_set(e, ERR_FORMAT, "its bytes lie outside: the file is truncated");
    return ERR_OK;
}

static void read_fill(hid_t how, hid_t type, bool complex, struct tensorfile_tensor *t)
{
    unsigned char value[16] = {0};
    H5D_fill_value_t is;
    if (H5Tget_size(type) <= sizeof value && H5Pfill_value_defined(how, &is) >= 0 &&
        is == H5D_FILL_VALUE_USER_DEFINED) {
        H5Pget_fill_value(how, type, value);
        if (complex)
            trouble(t, "complex numbers with a fill value");
    }
    memcpy(t->fill, value, sizeof t->fill);
}

static enum err read_place(const struct set *w, hid_t dataset, hid_t type, bool complex,
                           struct tensorfile_tensor *t, struct errinfo *e)
{
    hid_t how = H5Dget_create_plist(dataset);
    enum err err = ERR_OK;
    read_fill(how, type, complex, t);
    switch (H5Pget_layout(how)) {
    case H5D_COMPACT:
        err = read_compact(w, dataset, type, t, e);
        break;
    case H5D_CONTIGUOUS:
        err = read_contiguous(w, dataset, how, t, e);
        break;
    case H5D_CHUNKED:
        read_chunking(how, t, complex);
        err = t->other[0] ? ERR_OK : list_chunks(w, dataset, t, e);
        break;
    case H5D_VIRTUAL:
        trouble(t, "a virtual dataset over other files");
        break;
    default:
        err = hdf_error(e, ERR_FORMAT, "its layout is damaged");
    }
    H5Pclose(how);
    return err;
}

enum err hdfset_read(struct tensorfile *f, uint64_t file_size, hid_t dataset,
                     struct hdfdrive_note *note, struct tensorfile_tensor *t, struct errinfo *e)
{
    const struct set w = {f, note, file_size};
    bool complex = false;
    hid_t type = H5Dget_type(dataset);
    read_type(dataset, type, t, &complex);
    if (!t->other[0])
        read_shape(dataset, t, complex);
    enum err err = t->other[0] ? ERR_OK : read_place(&w, dataset, type, complex, t, e);
    H5Tclose(type);
    return err;
}
