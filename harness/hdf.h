/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HDF_H
#define GPUPARITY_HDF_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "tensor.h"

/* What records need of the HDF5 library, with checks: every object is reached over a hard link,
 * one name at a time, and is of the expected kind; every attribute is one value of the expected
 * class and size; every dataset is plain contiguous bytes inside this very file. Failures to
 * write are ERR_IO, failures to read ERR_FORMAT.
 *
 * The library may crash on damaged files: call all of this inside guard_run only. */

/* Before anything else in a child process: no output of the library's own, no plugins, no file
 * locks (some file systems have none). */
void hdf_begin(void);

/* The error with the library's innermost reason behind it. */
enum err hdf_error(struct errinfo *e, enum err code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A new file in a format of HDF5 1.8 or later, whose metadata carries checksums. */
enum err hdf_create(const char *path, hid_t *ret_file, struct errinfo *e);
/* An existing file, for reading. */
enum err hdf_open(const char *path, hid_t *ret_file, struct errinfo *e);
/* Closes, with all that is open in it; ERR_IO when something could not be written. */
enum err hdf_close(hid_t file, struct errinfo *e);

/* --- groups --- */

enum err hdf_make_group(hid_t at, const char *name, hid_t *ret_group, struct errinfo *e);
enum err hdf_open_group(hid_t at, const char *name, hid_t *ret_group, struct errinfo *e);
/* How many names a group holds. */
enum err hdf_count(hid_t group, int64_t *ret_count, struct errinfo *e);
/* The name of link `i` in name order. ERR_FORMAT when it does not fit. */
enum err hdf_name(hid_t group, int64_t i, char *ret_name, size_t size, struct errinfo *e);
/* Is there a link of that name? */
enum err hdf_has(hid_t at, const char *name, bool *ret_has, struct errinfo *e);

/* --- attributes --- */

/* Texts are written with a fixed length, ended by a zero; bytes that are not UTF-8 as '?'. */
enum err hdf_put_text(hid_t at, const char *name, const char *text, struct errinfo *e);
enum err hdf_put_int(hid_t at, const char *name, int64_t value, struct errinfo *e);
enum err hdf_put_count(hid_t at, const char *name, uint64_t value, struct errinfo *e);
enum err hdf_put_real(hid_t at, const char *name, double value, struct errinfo *e);

enum err hdf_has_attribute(hid_t at, const char *name, bool *ret_has, struct errinfo *e);
/* Fixed or variable length, UTF-8, without control characters but newline and tab, below `size`
 * bytes. */
enum err hdf_get_text(hid_t at, const char *name, char *ret_text, size_t size,
                      struct errinfo *e);
enum err hdf_get_int(hid_t at, const char *name, int64_t *ret_value, struct errinfo *e);
enum err hdf_get_count(hid_t at, const char *name, uint64_t *ret_value, struct errinfo *e);
enum err hdf_get_real(hid_t at, const char *name, double *ret_value, struct errinfo *e);

/* --- datasets --- */

/* The file's type for a format: a floating type of its own where HDF5 can express the format,
 * else an integer type of the same size. The caller closes it with H5Tclose. */
hid_t hdf_type(enum dtype d);

enum err hdf_put_tensor(hid_t at, const char *name, const struct tensor *t, hid_t *ret_dataset,
                        struct errinfo *e);
/* One text of any length, zero included; `size` counts the zero. */
enum err hdf_put_long_text(hid_t at, const char *name, const char *text, size_t size,
                           hid_t *ret_dataset, struct errinfo *e);

enum err hdf_open_dataset(hid_t at, const char *name, hid_t *ret_dataset, struct errinfo *e);
/* Checks the type against `d`; the shape comes back. */
enum err hdf_shape(hid_t dataset, enum dtype d, int *ret_rank, int64_t ret_dim[TENSOR_RANK_MAX],
                   struct errinfo *e);
/* Checks that it is one text; its size with the zero comes back. */
enum err hdf_long_text_size(hid_t dataset, uint64_t *ret_size, struct errinfo *e);
/* Where the dataset's `size` bytes lie in the file; 0 for no bytes. */
enum err hdf_place(hid_t dataset, uint64_t size, uint64_t file_size, uint64_t *ret_offset,
                   struct errinfo *e);

#endif
