/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_RECORDFILE_H
#define GPUPARITY_RECORDFILE_H

#include "hdf.h"
#include "record.h"

/* Writes the groups of a record file, as record.h shows them. Inside guard_run only. */

/* The file with its root attributes and an empty /run. */
enum err recordfile_create(const char *path, hid_t *ret_file, struct errinfo *e);

/* /run/<index> with its attributes and an empty case group. */
enum err recordfile_put_run(hid_t file, int index, const struct record_run *run,
                            struct errinfo *e);

/* What record_put_case stores; all borrowed. */
struct recordfile_case {
    const struct record_case *head;
    int n_out;
    const struct record_out *out;
    const struct record_code *code; /* may be NULL */
};

/* /run/<run>/case/<index> */
enum err recordfile_put_case(hid_t file, int run, int64_t index,
                             const struct recordfile_case *c, struct errinfo *e);

/* Closes and makes it durable. */
enum err recordfile_close(hid_t file, const char *path, struct errinfo *e);

/* 32 hex digits of XXH3-128; `ret_hex` takes 33 bytes. */
void recordfile_digest(const void *bytes, size_t size, char *ret_hex);

/* UTC, ISO 8601: "2026-11-30T10:22:26Z"; `ret_text` takes 32 bytes. */
void recordfile_now(char *ret_text);

#endif
