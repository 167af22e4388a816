/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HDFSET_H
#define GPUPARITY_HDFSET_H

#include "hdfdrive.h"
#include "tensorfile.h"

/* What one dataset of any HDF5 file is: format, shape and where its bytes are; what is compact
 * and the places of few chunks go into f->blob. The file was opened by hdfdrive_open. Inside
 * guard_run only. What cannot be compared is said in `other`, and is no error. ERR_FORMAT for
 * damage. */
enum err hdfset_read(struct tensorfile *f, uint64_t file_size, hid_t dataset,
                     struct hdfdrive_note *note, struct tensorfile_tensor *t,
                     struct errinfo *e);

#endif
