/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_EXPLAIN_H
#define GPUPARITY_EXPLAIN_H

#include "compare.h"
#include "lowering.h"

/* What would have to be changed on one side for the sides to agree? Switches are thrown one by
 * one, then in sets (delta.h), on either side, and the case is run again each time. */

enum { EXPLAIN_TRIALS_MAX = 256, EXPLAIN_SIDES = 2 };

enum explain_end {
    EXPLAIN_BROKEN,   /* a side gave no result: see finding.reason */
    EXPLAIN_SAME,     /* there is nothing to explain */
    EXPLAIN_UNSTABLE, /* a side differs from itself when it is run again */
    EXPLAIN_EQUAL,    /* `best` makes the sides bit-equal */
    EXPLAIN_BOTH,     /* `best`, thrown on both sides, makes them bit-equal */
    EXPLAIN_VERDICT,  /* `best` gives a better verdict */
    EXPLAIN_NOTHING   /* no set that could be tried does any of this */
};

/* One change that was tried. */
struct explain_trial {
    int side; /* 0 or 1; 2: thrown on both */
    uint32_t set;
    enum record_status status;
    char reason[600];  /* why it could not be tried */
    char code[33];     /* digest of the code that ran */
    bool inert;        /* the side's bits stay as they were */
    int64_t differing; /* elements in which the sides then differ */
    enum verdict verdict;
};

struct explain {
    const struct case_id *id;
    const struct device_choice *device; /* two, settled */
    struct trial trial;                 /* code, timeout, environment for all */
    struct trial_codes codes;           /* owned */
    int threads;
    struct {
        char name[32];
        int n; /* switches; the first n_plain are no variants */
        int n_plain;
        struct lowering list[DELTA_SWITCHES_MAX];
        struct worker_result base; /* owned */
    } side[EXPLAIN_SIDES];

    enum explain_end end;
    struct finding finding; /* owned: of the unchanged sides */
    int64_t count;          /* elements of all outputs */
    int64_t differing;      /* of the unchanged sides */
    int unstable;           /* EXPLAIN_UNSTABLE: which side */
    int64_t unstable_count; /* elements that then differ */
    int runs; /* of one side */
    int n_trial;
    struct explain_trial trial_of[EXPLAIN_TRIALS_MAX];
    int best; /* index of the trial that explains; -1 */
};

/* `x` has id, device, trial and threads; the rest is filled. */
enum err explain_search(struct explain *x, struct errinfo *e);

/* One change alone, on one side: what check would say of it. The finding is the caller's. */
enum err explain_change(struct explain *x, int side, uint32_t set, struct finding *ret_finding,
                        struct errinfo *e);

/* Names and switches of both sides, as explain_search does first. */
void explain_sides(struct explain *x);

void explain_release(struct explain *x); /* accepts a zeroed struct */

#endif
