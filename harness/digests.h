/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_DIGESTS_H
#define GPUPARITY_DIGESTS_H

#include <stdio.h>

#include "record.h"

/* Accepted outputs, as digests: case x device x compiler. So a compiler, a driver or a
 * simulator that changes a single bit anywhere is seen the first time it runs, wrong or not.
 *
 *   device cuda-sim                  a simulated device, or the card's name
 *   compiler NVRTC 12.0
 *   90f6a5de4c1b2a37 1f2e3d4c gemm/naive:dtype=f32,...    outputs, kernel's source, canonical
 * id
 *
 * Lines that start with # are comments. Sorted by device, compiler and id. */

enum { DIGEST_TEXT = 17, DIGEST_SOURCE = 9, DIGESTS_NAME = 128 };

struct digest_entry {
    char device[DIGESTS_NAME], compiler[64];
    char *id; /* owned */
    char outputs[DIGEST_TEXT], source[DIGEST_SOURCE];
};

struct digests {
    int64_t count, room;
    struct digest_entry *entry; /* owned, sorted */
};
void digests_release(struct digests *d); /* accepts a zeroed struct */

/* ERR_FORMAT names file and line. With `optional` a missing file has no entries. */
enum err digests_load(const char *path, bool optional, struct digests *ret_digests,
                      struct errinfo *e);
/* Whole or not at all. */
enum err digests_save(const struct digests *d, const char *path, struct errinfo *e);

/* The digest of a finished case. ERR_USAGE for one that has no results. */
enum err digests_describe(struct record *r, int run, int64_t i, struct digest_entry *ret_entry,
                          struct errinfo *e);

/* The entry of that device, compiler and case; of any compiler if `compiler` is NULL. */
const struct digest_entry *digests_find(const struct digests *d, const char *device,
                                        const char *compiler, const char *id);

/* Adds it, or puts it in the place of the one there is. Takes entry->id over. */
enum err digests_put(struct digests *d, struct digest_entry *entry, struct errinfo *e);

/* What a record's run says of accepted outputs. */
struct digests_tally {
    int64_t same;     /* as accepted */
    int64_t changed;  /* same compiler, other bits */
    int64_t compiled; /* another compiler, other bits */
    int64_t moved;    /* another compiler, the same bits */
    int64_t unknown;  /* nothing accepted for this case on this device */
    int64_t skipped;  /* no results, or a kernel that may give others each time */
};

/* Compares run `run` and adds to the tally; writes to `out` the first `details` cases that
 * changed. */
enum err digests_check(const struct digests *d, struct record *r, int run, int details,
                       FILE *out, struct digests_tally *ret_tally, struct errinfo *e);

/* Accepts every case of the run that has results. Returns how many were new or changed. */
enum err digests_accept(struct digests *d, struct record *r, int run, int64_t *ret_count,
                        struct errinfo *e);

#endif
