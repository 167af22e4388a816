/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_GOLDEN_H
#define GPUPARITY_GOLDEN_H

#include <stdio.h>

#include "../backends/backend.h"
#include "err.h"

/* The kept kernels, golden/code: one file for each kernel file, backend and kept mode. */
struct golden_tally {
    int files; /* that there should be */
    int fresh; /* there, of these sources and options */
    int stale; /* of other sources or options */
    int missing, damaged;
    int written, removed, failed; /* golden_code_regenerate */
    int64_t bytes;                /* of the files that are there */
    char compiler[64];            /* of a fresh one; "several" */
};

/* Looks at the files of one backend, NULL: of all. Nothing is written. With `out`, one line for
 * each that is not fresh. */
enum err golden_code_check(FILE *out, const struct backend *b, struct golden_tally *ret_tally,
                           struct errinfo *e);

/* Compiles those that are not fresh again (with `force`: all), each in a child process, and
 * removes files of kernels that no longer exist. Fresh ones are left alone, whatever compiler
 * made them, so that a change of one kernel changes only its files. A compiler that is not here
 * is no error as long as nothing needs it; what could not be made counts as `failed`. Prints
 * what it does. `seconds` each file may take. */
enum err golden_code_regenerate(FILE *out, const struct backend *b, bool force, double seconds,
                                struct golden_tally *ret_tally, struct errinfo *e);

#endif
