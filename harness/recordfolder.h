/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_RECORDFOLDER_H
#define GPUPARITY_RECORDFOLDER_H

#include "guard.h"
#include "record.h"

/* The folder PATH.partial/ of a record that is being written.
 *
 *   lock                      held (fcntl) by the process that writes
 *   <run>-<ordinal>-<hash>.h5 one finished case: a record with one run and one case
 *   new-<pid>                 being written; of no value after a crash
 *
 * Nothing else may lie there. */

/* A finished case and where it is. */
struct folder_case {
    int run;         /* index into folder.run */
    int64_t ordinal; /* place in the selection */
    uint64_t hash;   /* XXH3-64 of the id */
    char *id;        /* owned */
    char origin[33]; /* folder_origin */
    char *file;      /* owned; name in the folder, or NULL: in the finished record PATH */
    int64_t index;   /* of the case within its run of PATH */
    int base_run;    /* of PATH */
};

/* Where a case's results come from: XXH3-128 over the digests of its case file and its sources. */
void folder_origin(const struct record_case *c, char *ret_hex);

struct folder_run {
    struct record_run head;
    int number;    /* in the names of its files */
    bool leftover; /* from before a resume, and not added again yet */
};

struct folder {
    char *path, *folder;             /* owned */
    int folder_fd, lock_fd, base_fd; /* base_fd: the finished PATH of a resume, or -1 */
    bool empty;                      /* no case lay there at the start */
    bool replace;                    /* an existing PATH may go */
    int n_run;
    struct folder_run run[RECORD_RUN_MAX];
    int64_t count, room;
    struct folder_case *cases; /* owned */
};

/* As record_create; `f` is all zero before. */
enum err folder_open(struct folder *f, const char *path, bool resume, bool replace,
                     struct errinfo *e);
/* Frees and unlocks. The folder stays, unless it never held a case. */
void folder_close(struct folder *f);

/* Index of the case, or -1. */
int64_t folder_find(const struct folder *f, int run, const char *id);

/* Notes a finished case, replacing the one of that id. `c` is taken over, also on failure. */
enum err folder_add(struct folder *f, struct folder_case *c, struct errinfo *e);

/* The name for a case's file, and the name it has while it is written. `ret_name` takes 96
 * bytes. */
void folder_name(const struct folder *f, int run, int64_t ordinal, const char *id,
                 char *ret_name);
void folder_new_name(char *ret_name);

/* Writes new-<pid> by `work`, under a guard: `*path` is its full path while `work` runs. */
enum err folder_make_new(struct folder *f, guard_work *work, void *context, const char **path,
                         struct errinfo *e);

/* new-<pid> becomes `name`, durably; ERR_IO. */
enum err folder_commit(struct folder *f, const char *name, struct errinfo *e);

/* new-<pid> becomes PATH, durably, and the folder goes. */
enum err folder_finish(struct folder *f, struct errinfo *e);

uint64_t folder_hash(const char *id);

#endif
