/* SPDX-License-Identifier: Apache-2.0 */
#include "tensorfile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guard.h"
#include "hdf.h"
#include "npyhead.h"

/* Any HDF5 file. A child process lists its datasets with the library; what it says is checked
 * here before it is used. */

enum { NESTED_MAX = 64, OBJECTS_MAX = 1 << 21, COMPACT_MAX = 1 << 16 };

struct walk {
    hid_t file;
    uint64_t size;
    int64_t objects;
    struct tensorfile *to;
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
    for (size_t i = 0; i < sizeof plain_types / sizeof *plain_types; i++) {
        t->dtype = plain_types[i];
        if (type_is(type, t->dtype, &t->swap))
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

static enum err read_compact(struct walk *w, hid_t dataset, hid_t type,
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

static enum err read_contiguous(const struct walk *w, hid_t dataset, hid_t how,
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

static enum err read_place(struct walk *w, hid_t dataset, hid_t type, bool complex,
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

static enum err read_dataset(struct walk *w, hid_t dataset, struct tensorfile_tensor *t,
                             struct errinfo *e)
{
    bool complex = false;
    hid_t type = H5Dget_type(dataset);
    read_type(dataset, type, t, &complex);
    if (!t->other[0])
        read_shape(dataset, t, complex);
    enum err err = t->other[0] ? ERR_OK : read_place(w, dataset, type, complex, t, e);
    H5Tclose(type);
    return err;
}

/* --- the tree --- */

static enum err walk_group(struct walk *w, hid_t group, const char *path, int nested,
                           struct errinfo *e);

static enum err walk_object(struct walk *w, hid_t group, const char *name, const char *path,
                            int nested, struct errinfo *e)
{
    struct tensorfile_tensor t = {0};
    H5L_info_t link;
    TRY(tensorfile_name(&t, path, strlen(path), e));
    if (H5Lget_info(group, name, &link, H5P_DEFAULT) < 0)
        return hdf_error(e, ERR_FORMAT, "a damaged link");
    if (link.type != H5L_TYPE_HARD) {
        snprintf(t.other, sizeof t.other, "a soft or external link, which is not followed");
        return tensorfile_add(w->to, &t, e);
    }
    hid_t object = H5Oopen(group, name, H5P_DEFAULT);
    if (object < 0)
        return hdf_error(e, ERR_FORMAT, "damaged");
    enum err err = ERR_OK;
    H5I_type_t type = H5Iget_type(object);
    if (type == H5I_GROUP) {
        err = walk_group(w, object, path, nested + 1, e);
    } else if (type == H5I_DATASET) {
        err = read_dataset(w, object, &t, e);
        if (!err)
            err = tensorfile_add(w->to, &t, e);
    }
    H5Oclose(object);
    return err;
}

static enum err walk_group(struct walk *w, hid_t group, const char *path, int nested,
                           struct errinfo *e)
{
    int64_t n = 0;
    if (nested > NESTED_MAX)
        return err_set(e, ERR_FORMAT, "groups nested deeper than %d", NESTED_MAX);
    TRY(hdf_count(group, &n, e));
    for (int64_t i = 0; i < n; i++) {
        char name[TENSORFILE_NAME_MAX], inner[2 * TENSORFILE_NAME_MAX];
        if (++w->objects > OBJECTS_MAX)
            return err_set(e, ERR_FORMAT, "more than %d objects", OBJECTS_MAX);
        enum err err = hdf_name(group, i, name, sizeof name, e);
        snprintf(inner, sizeof inner, "%s%s%s", path, *path ? "/" : "", name);
        if (!err)
            err = walk_object(w, group, name, inner, nested, e);
        if (err)
            return nested ? err : err_context(e, err, "/%s", name);
    }
    return ERR_OK;
}

/* How the list travels: this, the tensors, the blob. */
struct answer {
    size_t tensors, blob;
};

static enum err walk_file(void *context, struct bytes *out, struct errinfo *e)
{
    struct walk *w = context;
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", w->to->fd);
    hdf_begin();
    TRY(hdf_open(name, &w->file, e));
    TRY(walk_group(w, w->file, "", 0, e));
    const struct bytes *tensors = &w->to->tensors, *blob = &w->to->blob;
    struct answer a = {tensors->size, blob->size};
    TRY(bytes_append(out, &a, sizeof a, e));
    TRY(bytes_append(out, tensors->data, a.tensors, e));
    return bytes_append(out, blob->data, a.blob, e);
}

/* --- what the child says --- */

static bool chunks_fit(const struct tensorfile_tensor *t)
{
    uint64_t bytes = (uint64_t)dtype_info(t->dtype)->bytes;
    for (int i = 0; i < t->rank; i++) {
        if (t->chunk[i] < 1 || t->chunk[i] > TENSORFILE_CHUNK_MAX)
            return false;
        bytes *= (uint64_t)t->chunk[i];
        if (bytes > TENSORFILE_CHUNK_MAX)
            return false;
    }
    return t->rank > 0 && t->element > 0 && t->element <= 16 && t->n_filter >= 0 && t->n_filter <= TENSORFILE_FILTERS_MAX;
}

static bool fits(const struct tensorfile *f, uint64_t size, const struct tensorfile_tensor *t)
{
    int64_t count;
    if (!memchr(t->name, 0, sizeof t->name) || !memchr(t->other, 0, sizeof t->other) ||
        (unsigned)t->dtype >= DTYPE_COUNT_ || t->rank < 0 || t->rank > TENSOR_RANK_MAX)
        return false;
    if (t->other[0])
        return true;
    if (!npyhead_count(t->rank, t->dim, dtype_info(t->dtype)->bytes, &count) ||
        count != t->count)
        return false;
    uint64_t bytes = (uint64_t)count * (uint64_t)dtype_info(t->dtype)->bytes;
    uint64_t end = t->form == TENSORFILE_RAW ? size : f->blob.size;
    if (t->form == TENSORFILE_CHUNKED)
        return chunks_fit(t);
    if (t->form == TENSORFILE_FILL)
        return true;
    return (t->form == TENSORFILE_RAW || t->form == TENSORFILE_INSIDE) && t->size == bytes &&
           bytes <= end && t->offset <= end - bytes;
}

static enum err unpack(struct tensorfile *f, uint64_t size, const struct bytes *in,
                       struct errinfo *e)
{
    struct answer a;
    if (in->size < sizeof a)
        return err_set(e, ERR_FORMAT, "a damaged file");
    memcpy(&a, in->data, sizeof a);
    size_t left = in->size - sizeof a;
    if (a.tensors > left || a.blob != left - a.tensors ||
        a.tensors % sizeof(struct tensorfile_tensor))
        return err_set(e, ERR_FORMAT, "a damaged file");
    const char *at = (const char *)in->data + sizeof a;
    TRY(bytes_append(&f->tensors, at, a.tensors, e));
    TRY(bytes_append(&f->blob, at + a.tensors, a.blob, e));
    for (int64_t i = 0; i < tensorfile_count(f); i++)
        if (!fits(f, size, tensorfile_at(f, i)))
            return err_set(e, ERR_FORMAT, "a damaged file");
    return ERR_OK;
}

static const struct guard guard = {.what = "a damaged file: the HDF5 library",
                                   .crash = ERR_FORMAT,
                                   .seconds = 120,
                                   .memory = (size_t)4 << 30};

enum err tensorfile_hdf(struct tensorfile *f, uint64_t size, struct errinfo *e)
{
    struct tensorfile listed = {.fd = f->fd};
    struct walk w = {.size = size, .to = &listed};
    struct bytes answer = {0};
    TRY(guard_run(&guard, walk_file, &w, &answer, e));
    enum err err = unpack(f, size, &answer, e);
    bytes_release(&answer);
    return err;
}

/* A record says what it is at the root. */
static bool is_record(hid_t file)
{
    char tool[32];
    bool schema = false, named = false;
    return !hdf_has_attribute(file, "schema", &schema, NULL) && schema &&
           !hdf_has_attribute(file, "tool", &named, NULL) && named &&
           !hdf_get_text(file, "tool", tool, sizeof tool, NULL) && !strcmp(tool, "gpuparity");
}

static enum err look_at_root(void *context, struct bytes *out, struct errinfo *e)
{
    hid_t file;
    hdf_begin();
    TRY(hdf_open(context, &file, e));
    char yes = is_record(file);
    return bytes_append(out, &yes, 1, e);
}

bool tensorfile_is_record(const char *path)
{
    struct bytes answer = {0};
    struct stat s;
    if (stat(path, &s) || !S_ISREG(s.st_mode) ||
        guard_run(&guard, look_at_root, (void *)path, &answer, NULL))
        return false;
    bool yes = *(const char *)answer.data;
    bytes_release(&answer);
    return yes;
}
