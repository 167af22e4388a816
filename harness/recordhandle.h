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
    struct bytes index; /* of struct record_index, sorted: finds a case by its id */
};

struct record_index {
    uint64_t hash; /* XXH3-64 of the id */
    int64_t at;    /* in catalog.cases */
};

/* Opens a record whose file is open already, and takes `fd` over, also on failure. `walk` is
 * catalog_read, or catalog_walk inside guard_run. */
typedef enum err record_walk(int fd, const char *path, struct catalog *ret_catalog,
                             struct errinfo *e);
enum err record_open_fd(int fd, const char *path, record_walk *walk, struct record **ret_record,
                        struct errinfo *e);

/* Packs what the folder lists, in its order, into its new-<pid>, and reads that back. */
enum err record_pack(struct folder *f, struct errinfo *e);

#endif
