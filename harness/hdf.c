/* SPDX-License-Identifier: Apache-2.0 */
#include "hdf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HDF_REASON_MAX = 200 };

void hdf_begin(void)
{
    setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1);
    H5dont_atexit();
    H5open();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    H5PLset_loading_state(0);
}

/* The library's innermost reason; of a failed system call only what the system said. */
static herr_t innermost(unsigned n, const H5E_error2_t *entry, void *context)
{
    static const char system_says[] = "error message = '";
    char *text = context;
    if (n != 0 || !entry->desc)
        return 0;
    const char *start = strstr(entry->desc, system_says);
    const char *from = start ? start + sizeof system_says - 1 : entry->desc;
    size_t length = strcspn(from, start ? "'\n" : "\n");
    snprintf(text, HDF_REASON_MAX, "%.*s", (int)length, from);
    return 0;
}

enum err hdf_error(struct errinfo *e, enum err code, const char *format, ...)
{
    char text[384], reason[HDF_REASON_MAX] = "";
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, reason);
    H5Eclear2(H5E_DEFAULT);
    if (!*reason)
        return err_set(e, code, "%s", text);
    return err_set(e, code, "%s (HDF5: %s)", text, reason);
}

static hid_t file_access(void)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (access < 0 || H5Pset_fapl_sec2(access) < 0 ||
        H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) < 0)
        return H5I_INVALID_HID;
    return access;
}

enum err hdf_create(const char *path, hid_t *ret_file, struct errinfo *e)
{
    hid_t access = file_access();
    H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18);
    hid_t file = H5Fcreate(path, H5F_ACC_EXCL, H5P_DEFAULT, access);
    enum err err = file < 0 ? hdf_error(e, ERR_IO, "cannot create %s", path) : ERR_OK;
    H5Pclose(access);
    if (!err)
        *ret_file = file;
    return err;
}

enum err hdf_open(const char *path, hid_t *ret_file, struct errinfo *e)
{
    hid_t access = file_access();
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, access);
    enum err err =
        file < 0 ? hdf_error(e, ERR_FORMAT, "a truncated or damaged HDF5 file") : ERR_OK;
    H5Pclose(access);
    if (!err)
        *ret_file = file;
    return err;
}

/* After a failed flush nothing more is asked of the library: H5Fclose would try again, and
 * crash. */
enum err hdf_close(hid_t file, struct errinfo *e)
{
    if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0 || H5Fclose(file) < 0)
        return hdf_error(e, ERR_IO, "cannot write");
    return ERR_OK;
}

/* Room for some dozens of attributes in the object's own header, where a checksum covers them.
 */
enum { HDF_COMPACT_ATTRIBUTES = 1000 };

enum err hdf_make_group(hid_t at, const char *name, hid_t *ret_group, struct errinfo *e)
{
    hid_t how = H5Pcreate(H5P_GROUP_CREATE);
    H5Pset_attr_phase_change(how, HDF_COMPACT_ATTRIBUTES, HDF_COMPACT_ATTRIBUTES / 2);
    H5Pset_obj_track_times(how, false);
    hid_t group = H5Gcreate2(at, name, H5P_DEFAULT, how, H5P_DEFAULT);
    enum err err = group < 0 ? hdf_error(e, ERR_IO, "cannot write the group %s", name) : ERR_OK;
    H5Pclose(how);
    if (!err)
        *ret_group = group;
    return err;
}

enum err hdf_has(hid_t at, const char *name, bool *ret_has, struct errinfo *e)
{
    htri_t has = H5Lexists(at, name, H5P_DEFAULT);
    if (has < 0)
        return hdf_error(e, ERR_FORMAT, "the group that should hold '%s' is damaged", name);
    *ret_has = has > 0;
    return ERR_OK;
}

static enum err open_object(hid_t at, const char *name, H5I_type_t type, const char *type_name,
                            hid_t *ret_object, struct errinfo *e)
{
    H5L_info_t link;
    bool has = false;
    TRY(hdf_has(at, name, &has, e));
    if (!has)
        return err_set(e, ERR_FORMAT, "there is no %s '%s'", type_name, name);
    if (H5Lget_info(at, name, &link, H5P_DEFAULT) < 0)
        return hdf_error(e, ERR_FORMAT, "the link '%s' is damaged", name);
    if (link.type != H5L_TYPE_HARD)
        return err_set(e, ERR_FORMAT,
                       "'%s' is a soft or external link; a record keeps everything in itself",
                       name);
    hid_t object = H5Oopen(at, name, H5P_DEFAULT);
    if (object < 0)
        return hdf_error(e, ERR_FORMAT, "the %s '%s' is damaged", type_name, name);
    if (H5Iget_type(object) != type) {
        H5Oclose(object);
        return err_set(e, ERR_FORMAT, "'%s' should be a %s", name, type_name);
    }
    *ret_object = object;
    return ERR_OK;
}

enum err hdf_open_group(hid_t at, const char *name, hid_t *ret_group, struct errinfo *e)
{
    return open_object(at, name, H5I_GROUP, "group", ret_group, e);
}

enum err hdf_open_dataset(hid_t at, const char *name, hid_t *ret_dataset, struct errinfo *e)
{
    return open_object(at, name, H5I_DATASET, "dataset", ret_dataset, e);
}

enum err hdf_count(hid_t group, int64_t *ret_count, struct errinfo *e)
{
    H5G_info_t info;
    if (H5Gget_info(group, &info) < 0)
        return hdf_error(e, ERR_FORMAT, "a damaged group");
    if (info.nlinks > INT32_MAX)
        return err_set(e, ERR_FORMAT, "a group that claims %llu members",
                       (unsigned long long)info.nlinks);
    *ret_count = (int64_t)info.nlinks;
    return ERR_OK;
}

enum err hdf_name(hid_t group, int64_t i, char *ret_name, size_t size, struct errinfo *e)
{
    ssize_t length = H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, (hsize_t)i,
                                        NULL, 0, H5P_DEFAULT);
    if (length <= 0)
        return hdf_error(e, ERR_FORMAT, "the name of member %lld is damaged", (long long)i);
    if ((size_t)length >= size)
        return err_set(e, ERR_FORMAT, "the name of member %lld has %zd bytes; at most %zu",
                       (long long)i, length, size - 1);
    H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, (hsize_t)i, ret_name, size,
                       H5P_DEFAULT);
    return ERR_OK;
}
