/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASEKERNEL_H
#define GPUPARITY_CASEKERNEL_H

#include "../backends/backend.h"
#include "casefile.h"
#include "include.h"

/* The code of a case file's kernels: what is compiled, or the binary that is there, and whether
 * its kernels are what the file says they are. */

enum { CASEKERNEL_OPTIONS_MAX = 1024 };

/* What decides the code of a case on one side. Compared as bytes, so it begins as zeros. */
struct casekernel {
    char path[CASEFILE_TEXT_MAX]; /* relative to the case file's folder */
    bool binary;
    char options[CASEKERNEL_OPTIONS_MAX]; /* of the compiler, besides those of the mode */
};

/* What a folder of Triton's says about its kernel (name.json beside the code). */
struct casekernel_triton {
    bool there;
    char name[256];
    uint32_t threads, shared;
    uint64_t scratch; /* bytes it wants as global scratch or for profiling */
};

/* ERR_USAGE, with the place in the case file, when the file names nothing for that backend. */
enum err casekernel_describe(const struct case_id *id, const struct backend *b,
                             struct casekernel *ret_kernel, struct errinfo *e);

/* Does that change anything on this side? No for binaries, libraries and built-in cases. */
bool casekernel_changes(const struct case_id *id, const struct backend *b,
                        enum casefile_change c);

/* The source and the headers it includes: its own, and device.h and the like of this program
 * unless a folder has one of that name. The set borrows from `k`. */
enum err casekernel_source(const struct case_id *id, const struct casekernel *k,
                           struct include_set *ret_set, struct errinfo *e);

/* Such a set as the compilers get it: sets source and headers of `r`, all borrowed. Headers that
 * a vendor's run-time compiler has inside are empty ones for the other's. */
void casekernel_request(const struct include_set *s,
                        struct source_file header[BUILD_HEADERS_MAX], struct build_request *r);

/* XXH3-128 over the sources that the case file names and their headers; "" if they are all
 * binaries. */
void casekernel_digest(const struct case_id *id, char *ret_hex);

/* The binary: a file, or a folder of Triton's. `ret_code` is owned. */
enum err casekernel_binary(const struct case_id *id, const struct backend *b,
                           const struct casekernel *k, struct code *ret_code,
                           struct casekernel_triton *ret_triton, struct errinfo *e);

/* Settles what the case file leaves to the code: the kernel's full name (of C++), a block of
 * Triton's, its hidden arguments. ERR_USAGE when the code has no such kernel (with those it
 * has), or one of other arguments: how many, and which has another size. A list without kernels
 * is one that could not be read: then nothing is compared. */
enum err casekernel_fit(const struct case_id *id, const struct kernel_list *l,
                        const struct casekernel_triton *triton, struct case_plan *plan,
                        struct errinfo *e);

/* All of that for every case of the list that has a binary, before anything runs; of the others,
 * whether their sources can be read. `arch` is the device's, and `real` says that it may read code that is not understood here. */
enum err casekernel_check(const struct caselist *l, const struct backend *b, const char *arch,
                          bool real, struct errinfo *e);

#endif
