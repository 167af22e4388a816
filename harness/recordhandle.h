/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_RECORDHANDLE_H
#define GPUPARITY_RECORDHANDLE_H

#include "recordcatalog.h"
#include "recordfolder.h"

/* What is behind a struct record: a folder while it is written, a catalog while it is read. */
struct record {
    bool writing, finished;
    struct folder folder;
    char *path; /* owned */
    int fd;     /* of the file that is read */
    struct catalog catalog;
};

#endif
