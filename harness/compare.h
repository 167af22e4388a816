/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_COMPARE_H
#define GPUPARITY_COMPARE_H

#include "finding.h"
#include "known.h"
#include "limit.h"

/* One run of a record. */
struct compare_run {
    struct record *record;
    int run;
    const char *path; /* for messages; "" = made by this very command */
};

struct compare_options {
    int threads; /* 0: as many as there are cores */
    bool common; /* cases that only one side has are left out instead of an error */
    bool strict;
    bool charts;               /* somebody draws: finding_out.charts */
    const struct known *known; /* accepted differences; NULL: none */
    const char *select;        /* only cases that it takes, see select.h; NULL: all */
    const struct limits *limits; /* how far the sides may differ; NULL: as the bounds allow */
    const char *only;          /* judge the case of this id alone; NULL: all */
};

/* One side of a pair that was never in a record. */
struct compare_side {
    const char *device; /* for the line that reproduces */
    const struct record_case *c;
    int n_out;
    const struct record_out *out;
};

/* Receives each finding in the order of A's record; it is released after the call. */
typedef enum err compare_sink(void *context, const struct finding *f, struct errinfo *e);

/* Who takes part, for the head of a report. `b` NULL: A alone against the reference. */
void compare_sides(const struct compare_run *a, const struct compare_run *b,
                   struct finding_sides *ret_sides);

/* Judges every case of A with its twin in B (NULL: verify). The reference is computed here from
 * the case's id, so records made on different machines give exactly what one machine gives.
 *
 * ERR_FORMAT when the two cannot be compared: a case in one only, inputs that differ, an output
 * that is missing or has another shape or format, an id this version does not know. */
enum err compare_runs(const struct compare_run *a, const struct compare_run *b,
                      const struct compare_options *o, compare_sink *sink, void *context,
                      struct finding_tally *ret_tally, struct errinfo *e);

/* The same for one case in memory (`b` NULL: verify). Either side may have been computed in
 * another mode or by another kernel than `id` says: it is judged as an answer to `id`.
 * `input`, by plan tensor, is what it was computed from instead of the id's own inputs. The
 * finding is the caller's: finding_release. */
enum err compare_memory(const struct case_id *id, const struct compare_side *a,
                        const struct compare_side *b, const struct tensor *const *input,
                        int threads, struct finding *ret_finding, struct errinfo *e);

#endif
