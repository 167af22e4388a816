/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_RECORDRESUME_H
#define GPUPARITY_RECORDRESUME_H

#include "recordfolder.h"

/* Takes over what an interrupted run left: the cases of a finished PATH (damaged: ERR_FORMAT),
 * then the files in the folder, which win. Each file is read whole, in a child process; a
 * damaged one is deleted, so that its case runs again. */
enum err resume_load(struct folder *f, struct errinfo *e);

/* ERR_USAGE, naming the first difference, unless both runs have equal fixed fields and
 * environments. */
enum err resume_compare(const struct record_run *before, const struct record_run *now,
                        struct errinfo *e);

#endif
