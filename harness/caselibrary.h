/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASELIBRARY_H
#define GPUPARITY_CASELIBRARY_H

#include "../backends/backend.h"
#include "casefile.h"

/* The shared libraries of a case file's side. */

struct caselibrary {
    int count;
    char path[CASEFILE_LIBRARIES_MAX][1024]; /* as the loader gets it */
    void *handle[CASEFILE_LIBRARIES_MAX];    /* never closed: libraries start threads */
};

/* The paths for that case: {param} and a leading $VARIABLE replaced, relative ones from the
 * case file's folder, names without '/' from there or else the loader's. Nothing is opened.
 * ERR_USAGE with the place in the file: a side that is not there, a variable that is not set.
 */
enum err caselibrary_find(const struct case_id *id, const struct backend *b,
                          struct caselibrary *ret_library, struct errinfo *e);

/* Opens them, for use in a worker process: a library's constructors may do anything. */
enum err caselibrary_open(struct caselibrary *l, struct errinfo *e);

/* The function of that name in the first library that has it, or NULL. */
void *caselibrary_function(const struct caselibrary *l, const char *name);

/* XXH3-128 over the files, in order; "" if one is found by the loader alone. 33 bytes. */
void caselibrary_digest(const struct caselibrary *l, char *ret_hex);

/* All libraries and functions of the list's cases, before anything runs, in a child process. */
enum err caselibrary_check(const struct caselist *l, const struct backend *b,
                           struct errinfo *e);

#endif
