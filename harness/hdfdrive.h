/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HDFDRIVE_H
#define GPUPARITY_HDFDRIVE_H

#include "chunkplace.h"
#include "hdf.h"

/* A file driver for the HDF5 library that tells where a chunk lies: metadata are read as
 * always, but while a note is wanted raw data are not: what the library would have read is
 * noted.
 *
 * The library's own questions for a chunk's place look through the whole index each time;
 * reading one finds it at once, whatever the kind of index.
 *
 * As hdf.h, inside a child process only. */

struct hdfdrive_note {
    bool wanted;
    int reads; /* of raw data, since it was wanted */
    uint64_t offset, size;
};

/* Opens the file of a descriptor for reading. The note is valid until the file is closed. */
enum err hdfdrive_open(int fd, hid_t *ret_file, struct hdfdrive_note **ret_note,
                       struct errinfo *e);

/* Where chunk number `i`, row-major, of a dataset of that file lies. */
enum err hdfdrive_find(hid_t dataset, struct hdfdrive_note *note, const struct chunkgrid *g,
                       int64_t i, struct chunkplace *ret_place, struct errinfo *e);

#endif
