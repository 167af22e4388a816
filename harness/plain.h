/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_PLAIN_H
#define GPUPARITY_PLAIN_H

#include "compare.h"
#include "limit.h"
#include "tensorfile.h"

/* Comparing two files of tensors that come without a reference: each pair is a finding of one
 * output, SAME, WITHIN_LIMITS or DIFFERENT; what holds no numbers is UNTESTED. */

struct plain_options {
    int threads; /* 0: as many as there are cores */
    bool common; /* tensors that only one side has are left out instead of an error */
    bool strict;
    bool charts; /* somebody draws */
    const char *select; /* names of A to compare, see select.h; NULL: all */
    const struct limits *limits;
    int n_map; /* "name of A=name of B", each with at most one '*' */
    const char *const *map;
    const char *extra; /* what the lines that show a finding again need besides the names */
};

struct plain_pair {
    const struct tensorfile_tensor *a, *b;
};

struct plain {
    struct tensorfile a, b;
    struct bytes pairs;    /* of struct plain_pair */
    struct bytes problems; /* texts, each ended by a zero: why these files cannot be compared */
    int n_problem;
};

/* Opens both files and finds which tensors belong together. Missing tensors, other shapes and
 * formats are all collected in `problems`: then there is nothing to run. Two files of one
 * tensor each belong together if one of them is an npy, which has no names. ERR_USAGE for a map
 * or selection that fits nothing; ERR_FORMAT when nothing is left to compare. */
enum err plain_open(const char *path_a, const char *path_b, const struct plain_options *o,
                    struct plain *ret_plain, struct errinfo *e);
void plain_close(struct plain *p); /* accepts a zeroed struct */

/* Who takes part, for the head of a report. */
void plain_sides(const struct plain *p, struct finding_sides *ret_sides);

/* Every pair in the order of A's names. */
enum err plain_run(const struct plain *p, const struct plain_options *o, compare_sink *sink,
                   void *context, struct finding_tally *ret_tally, struct errinfo *e);

#endif
