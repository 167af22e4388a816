/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_RECORDCATALOG_H
#define GPUPARITY_RECORDCATALOG_H

#include "bytes.h"
#include "record.h"

/* All that a record says except the bytes of its datasets, and where in the file those lie.
 * Plain data: made by a child process that reads the file with the HDF5 library, checked again
 * by the caller's side. */

struct catalog_place {
    uint64_t offset, size;
    char digest[33]; /* "": not checked */
};

struct catalog_out {
    char name[TENSOR_NAME_MAX];
    char role[8];
    enum dtype dtype;
    int rank;
    int64_t dim[TENSOR_RANK_MAX];
    struct catalog_place place;
};

struct catalog_case {
    struct record_case head;
    int64_t first_out;
    int n_out;
    struct catalog_place code, log; /* size 0: none; the log's size counts its final zero */
};

struct catalog_run {
    struct record_run head;
    int64_t first_case, n_case;
};

struct catalog {
    char tool[32], version[32], created[32];
    struct bytes runs, cases, outs; /* of struct catalog_run, catalog_case, catalog_out */
};

void catalog_release(struct catalog *c); /* accepts a zeroed struct */

int64_t catalog_run_count(const struct catalog *c);
int64_t catalog_case_count(const struct catalog *c);
struct catalog_run *catalog_run_at(const struct catalog *c, int64_t i);
struct catalog_case *catalog_case_at(const struct catalog *c, int64_t i); /* over all runs */
struct catalog_out *catalog_out_at(const struct catalog *c, int64_t i);

/* Reads the file behind `fd`, in a child process: any damage, whatever the library makes of it,
 * is ERR_FORMAT with one line. `path` names the file in errors. */
enum err catalog_read(int fd, const char *path, struct catalog *ret_catalog, struct errinfo *e);

/* The same in this process: for use inside guard_run. */
enum err catalog_walk(int fd, const char *path, struct catalog *ret_catalog, struct errinfo *e);

/* The bytes at a place, checked against the digest; the caller owns them (free). ERR_FORMAT
 * when the file is shorter now, or the bytes are damaged. */
enum err catalog_read_bytes(int fd, const struct catalog_place *place, void **ret_bytes,
                            struct errinfo *e);
/* The tensor of an output, checked against its digest. */
enum err catalog_read_tensor(int fd, const struct catalog_out *o, struct tensor *ret_tensor,
                             struct errinfo *e);

/* The same in parts: the tensor without its bytes (data NULL); elements from <= i < to of it into their
 * places of `t`; and whether the digest of all of them is the recorded one. */
enum err catalog_tensor_shape(int fd, const struct catalog_out *o, struct tensor *ret_tensor,
                              struct errinfo *e);
enum err catalog_read_part(int fd, const struct catalog_out *o, int64_t from, int64_t to,
                           struct tensor *t, struct errinfo *e);
enum err catalog_check_digest(const struct catalog_out *o, const char *digest, struct errinfo *e);

/* Reads every dataset and checks its digest. */
enum err catalog_verify(int fd, const struct catalog *c, struct errinfo *e);

#endif
