/* SPDX-License-Identifier: Apache-2.0 */
#include "hdf.h"

#include <string.h>

/* HDF5 has no notion of a format whose top exponent holds numbers (FN, FNUZ), nor of unused low
 * bits: those travel as integers. */
static bool is_float_type(enum dtype d)
{
    const struct dtype_info *i = dtype_info(d);
    return i->kind == DTYPE_KIND_FLOAT && i->specials == DTYPE_SPECIALS_IEEE &&
           8 * i->bytes == 1 + i->exponent + i->fraction;
}

static hid_t integer_type(const struct dtype_info *i)
{
    bool is_signed = i->kind == DTYPE_KIND_INT;
    switch (i->bytes) {
    case 1:
        return H5Tcopy(is_signed ? H5T_STD_I8LE : H5T_STD_U8LE);
    case 2:
        return H5Tcopy(is_signed ? H5T_STD_I16LE : H5T_STD_U16LE);
    case 4:
        return H5Tcopy(is_signed ? H5T_STD_I32LE : H5T_STD_U32LE);
    default:
        return H5Tcopy(is_signed ? H5T_STD_I64LE : H5T_STD_U64LE);
    }
}

hid_t hdf_type(enum dtype d)
{
    const struct dtype_info *i = dtype_info(d);
    if (!is_float_type(d))
        return integer_type(i);
    hid_t type = H5Tcopy(H5T_IEEE_F64LE);
    size_t fraction = (size_t)i->fraction, exponent = (size_t)i->exponent;
    H5Tset_fields(type, fraction + exponent, fraction, exponent, 0, fraction);
    H5Tset_size(type, (size_t)i->bytes);
    H5Tset_precision(type, 8 * (size_t)i->bytes);
    H5Tset_ebias(type, (size_t)i->bias);
    return type;
}

/* Contiguous, allocated at once and never filled: the bytes have one place in the file. */
static hid_t create_plain(hid_t at, const char *name, hid_t type, hid_t space)
{
    hid_t how = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_layout(how, H5D_CONTIGUOUS);
    H5Pset_alloc_time(how, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(how, H5D_FILL_TIME_NEVER);
    H5Pset_obj_track_times(how, false);
    hid_t dataset = H5Dcreate2(at, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT);
    H5Pclose(how);
    return dataset;
}

static enum err put_plain(hid_t at, const char *name, hid_t type, hid_t space, bool empty,
                          const void *data, hid_t *ret_dataset, struct errinfo *e)
{
    hid_t dataset = create_plain(at, name, type, space);
    bool fine = dataset >= 0 &&
                (empty || H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    enum err err = fine ? ERR_OK : hdf_error(e, ERR_IO, "cannot write the dataset '%s'", name);
    H5Sclose(space);
    H5Tclose(type);
    if (fine)
        *ret_dataset = dataset;
    else
        H5Dclose(dataset);
    return err;
}

enum err hdf_put_tensor(hid_t at, const char *name, const struct tensor *t, hid_t *ret_dataset,
                        struct errinfo *e)
{
    hsize_t dim[TENSOR_RANK_MAX];
    for (int i = 0; i < t->rank; i++)
        dim[i] = (hsize_t)t->dim[i];
    hid_t space = t->rank ? H5Screate_simple(t->rank, dim, NULL) : H5Screate(H5S_SCALAR);
    return put_plain(at, name, hdf_type(t->dtype), space, t->count == 0, t->data, ret_dataset,
                     e);
}

enum err hdf_put_long_text(hid_t at, const char *name, const char *text, size_t size,
                           hid_t *ret_dataset, struct errinfo *e)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, size);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return put_plain(at, name, type, H5Screate(H5S_SCALAR), false, text, ret_dataset, e);
}

static enum err check_type(hid_t dataset, enum dtype d, struct errinfo *e)
{
    hid_t type = H5Dget_type(dataset), wanted = hdf_type(d);
    bool equal = H5Tequal(type, wanted) > 0;
    H5Tclose(type);
    H5Tclose(wanted);
    return equal ? ERR_OK
                 : err_set(e, ERR_FORMAT, "its HDF5 type is not the one that %s has",
                           dtype_info(d)->name);
}

enum err hdf_shape(hid_t dataset, enum dtype d, int *ret_rank, int64_t ret_dim[TENSOR_RANK_MAX],
                   struct errinfo *e)
{
    TRY(check_type(dataset, d, e));
    hsize_t dim[TENSOR_RANK_MAX];
    hid_t space = H5Dget_space(dataset);
    H5S_class_t class = H5Sget_simple_extent_type(space);
    int rank = H5Sget_simple_extent_ndims(space);
    if (class != H5S_SCALAR && class != H5S_SIMPLE) {
        H5Sclose(space);
        return hdf_error(e, ERR_FORMAT, "it has no shape");
    }
    if (rank < 0 || rank > TENSOR_RANK_MAX) {
        H5Sclose(space);
        return err_set(e, ERR_FORMAT, "its rank is %d; at most %d", rank, TENSOR_RANK_MAX);
    }
    H5Sget_simple_extent_dims(space, dim, NULL);
    H5Sclose(space);
    for (int i = 0; i < rank; i++)
        if (dim[i] > INT64_MAX)
            return err_set(e, ERR_FORMAT, "its dimension %d is out of range", i);
    for (int i = 0; i < rank; i++)
        ret_dim[i] = (int64_t)dim[i];
    *ret_rank = rank;
    return ERR_OK;
}

enum err hdf_long_text_size(hid_t dataset, uint64_t *ret_size, struct errinfo *e)
{
    hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    bool fine = H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 &&
                H5Sget_simple_extent_npoints(space) == 1;
    size_t size = H5Tget_size(type);
    H5Tclose(type);
    H5Sclose(space);
    if (!fine)
        return hdf_error(e, ERR_FORMAT, "it should be one text of fixed length");
    *ret_size = size;
    return ERR_OK;
}

static enum err check_layout(hid_t dataset, struct errinfo *e)
{
    hid_t how = H5Dget_create_plist(dataset);
    H5D_layout_t layout = H5Pget_layout(how);
    int filters = H5Pget_nfilters(how);
    int external = layout == H5D_CONTIGUOUS ? H5Pget_external_count(how) : 0;
    H5Pclose(how);
    if (layout < 0)
        return hdf_error(e, ERR_FORMAT, "its layout is damaged");
    if (filters != 0)
        return err_set(e, ERR_FORMAT, "it is compressed or filtered; records are not");
    if (external != 0)
        return err_set(e, ERR_FORMAT, "its data lie in another file");
    if (layout == H5D_VIRTUAL)
        return err_set(e, ERR_FORMAT, "it is a virtual dataset over other files");
    if (layout != H5D_CONTIGUOUS)
        return err_set(e, ERR_FORMAT,
                       "it is not stored contiguously; records are "
                       "(h5repack -l CONTI makes it so)");
    return ERR_OK;
}

enum err hdf_place(hid_t dataset, uint64_t size, uint64_t file_size, uint64_t *ret_offset,
                   struct errinfo *e)
{
    TRY(check_layout(dataset, e));
    haddr_t offset = size ? H5Dget_offset(dataset) : 0;
    if (offset == HADDR_UNDEF)
        return hdf_error(e, ERR_FORMAT, "its data were never written");
    if (size > file_size || offset > file_size - size)
        return err_set(e, ERR_FORMAT, "it claims %llu bytes at %llu, but the file ends at %llu",
                       (unsigned long long)size, (unsigned long long)offset,
                       (unsigned long long)file_size);
    *ret_offset = offset;
    return ERR_OK;
}
