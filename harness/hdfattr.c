/* SPDX-License-Identifier: Apache-2.0 */
#include "hdf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

enum { ATTRIBUTE_TEXT_MAX = 60000 }; /* an object header message holds 64 KiB */

static enum err put(hid_t at, const char *name, hid_t type, hid_t memory_type,
                    const void *value, struct errinfo *e)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool fine = attribute >= 0 && H5Awrite(attribute, memory_type, value) >= 0;
    enum err err =
        fine ? ERR_OK : hdf_error(e, ERR_IO, "cannot write the attribute '%s'", name);
    H5Aclose(attribute);
    H5Sclose(space);
    return err;
}

static hid_t text_type(size_t size)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, size);
    H5Tset_cset(type, H5T_CSET_UTF8);
    H5Tset_strpad(type, H5T_STR_NULLTERM);
    return type;
}

enum err hdf_put_text(hid_t at, const char *name, const char *text, struct errinfo *e)
{
    size_t length = strnlen(text, ATTRIBUTE_TEXT_MAX);
    char *copy = strndup(text, length);
    if (!copy)
        return err_set(e, ERR_NOMEM, "out of memory");
    text_mend(copy, length);
    hid_t type = text_type(length + 1);
    enum err err = put(at, name, type, type, copy, e);
    H5Tclose(type);
    free(copy);
    return err;
}

enum err hdf_put_int(hid_t at, const char *name, int64_t value, struct errinfo *e)
{
    return put(at, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value, e);
}

enum err hdf_put_count(hid_t at, const char *name, uint64_t value, struct errinfo *e)
{
    return put(at, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, &value, e);
}

enum err hdf_put_real(hid_t at, const char *name, double value, struct errinfo *e)
{
    return put(at, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value, e);
}

enum err hdf_has_attribute(hid_t at, const char *name, bool *ret_has, struct errinfo *e)
{
    htri_t has = H5Aexists(at, name);
    if (has < 0)
        return hdf_error(e, ERR_FORMAT, "the attribute '%s' is damaged", name);
    *ret_has = has > 0;
    return ERR_OK;
}

/* An open attribute of one value of class `class`, with its type. */
static enum err get_open(hid_t at, const char *name, H5T_class_t class, const char *class_name,
                         hid_t *ret_attribute, hid_t *ret_type, struct errinfo *e)
{
    bool has = false;
    TRY(hdf_has_attribute(at, name, &has, e));
    if (!has)
        return err_set(e, ERR_FORMAT, "the attribute '%s' is missing", name);
    hid_t attribute = H5Aopen(at, name, H5P_DEFAULT);
    hid_t space = H5Aget_space(attribute), type = H5Aget_type(attribute);
    enum err err = ERR_OK;
    if (attribute < 0 || space < 0 || type < 0)
        err = hdf_error(e, ERR_FORMAT, "the attribute '%s' is damaged", name);
    else if (H5Sget_simple_extent_npoints(space) != 1)
        err = err_set(e, ERR_FORMAT, "the attribute '%s' should be one value", name);
    else if (H5Tget_class(type) != class)
        err = err_set(e, ERR_FORMAT, "the attribute '%s' should be %s", name, class_name);
    H5Sclose(space);
    if (err) {
        H5Tclose(type);
        H5Aclose(attribute);
        return err;
    }
    *ret_attribute = attribute;
    *ret_type = type;
    return ERR_OK;
}

static enum err read_variable(hid_t attribute, hid_t type, const char *name, char *ret_text,
                              size_t size, struct errinfo *e)
{
    char *text = NULL;
    if (H5Aread(attribute, type, &text) < 0)
        return hdf_error(e, ERR_FORMAT, "the attribute '%s' is damaged", name);
    size_t length = text ? strnlen(text, size) : 0;
    bool fits = length < size;
    if (fits) {
        memcpy(ret_text, text ? text : "", length);
        ret_text[length] = '\0';
    }
    H5free_memory(text);
    return fits ? ERR_OK
                : err_set(e, ERR_FORMAT, "the attribute '%s' is longer than %zu bytes", name,
                          size - 1);
}

static enum err read_fixed(hid_t attribute, hid_t type, const char *name, char *ret_text,
                           size_t size, struct errinfo *e)
{
    char text[ATTRIBUTE_TEXT_MAX + 1];
    size_t room = H5Tget_size(type);
    if (room > ATTRIBUTE_TEXT_MAX)
        return err_set(e, ERR_FORMAT, "the attribute '%s' claims %zu bytes", name, room);
    if (H5Aread(attribute, type, text) < 0)
        return hdf_error(e, ERR_FORMAT, "the attribute '%s' is damaged", name);
    size_t length = strnlen(text, room);
    if (length == room && H5Tget_strpad(type) == H5T_STR_NULLTERM)
        return err_set(e, ERR_FORMAT, "the text in the attribute '%s' has no end", name);
    if (length >= size)
        return err_set(e, ERR_FORMAT, "the attribute '%s' has %zu bytes; at most %zu", name,
                       length, size - 1);
    memcpy(ret_text, text, length);
    ret_text[length] = '\0';
    return ERR_OK;
}

enum err hdf_get_text(hid_t at, const char *name, char *ret_text, size_t size,
                      struct errinfo *e)
{
    hid_t attribute = H5I_INVALID_HID, type = H5I_INVALID_HID;
    TRY(get_open(at, name, H5T_STRING, "a text", &attribute, &type, e));

    enum err err = H5Tis_variable_str(type) > 0
                       ? read_variable(attribute, type, name, ret_text, size, e)
                       : read_fixed(attribute, type, name, ret_text, size, e);
    H5Tclose(type);
    H5Aclose(attribute);
    if (!err && !text_valid(ret_text, strlen(ret_text)))
        return err_set(e, ERR_FORMAT, "the text in the attribute '%s' is not UTF-8", name);
    return err;
}

static enum err get_number(hid_t at, const char *name, H5T_class_t class,
                           const char *class_name, hid_t memory_type, void *ret_value,
                           struct errinfo *e)
{
    hid_t attribute = H5I_INVALID_HID, type = H5I_INVALID_HID;
    TRY(get_open(at, name, class, class_name, &attribute, &type, e));

    enum err err = ERR_OK;
    if (H5Tget_size(type) > 8)
        err = err_set(e, ERR_FORMAT, "the attribute '%s' is wider than 64 bits", name);
    else if (H5Aread(attribute, memory_type, ret_value) < 0)
        err = hdf_error(e, ERR_FORMAT, "the attribute '%s' is damaged", name);
    H5Tclose(type);
    H5Aclose(attribute);
    return err;
}

enum err hdf_get_int(hid_t at, const char *name, int64_t *ret_value, struct errinfo *e)
{
    return get_number(at, name, H5T_INTEGER, "an integer", H5T_NATIVE_INT64, ret_value, e);
}

enum err hdf_get_count(hid_t at, const char *name, uint64_t *ret_value, struct errinfo *e)
{
    return get_number(at, name, H5T_INTEGER, "an integer", H5T_NATIVE_UINT64, ret_value, e);
}

enum err hdf_get_real(hid_t at, const char *name, double *ret_value, struct errinfo *e)
{
    return get_number(at, name, H5T_FLOAT, "a floating-point number", H5T_NATIVE_DOUBLE,
                      ret_value, e);
}
