/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_FINDING_H
#define GPUPARITY_FINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "cause.h"
#include "charts.h"
#include "codes.h"
#include "drift.h"
#include "record.h"
#include "stats.h"

/* What compare found out about one case, complete enough to report it without the records. */

enum verdict {
#define VERDICT(id, name, fails, meaning) VERDICT_##id,
#include "verdict.def"
#undef VERDICT
    VERDICT_COUNT_
};
const char *verdict_name(enum verdict v);    /* "B_WRONG" */
const char *verdict_meaning(enum verdict v); /* one line */
bool verdict_fails(enum verdict v, bool strict);

/* One element shown to the user. Bits are right-aligned; `reference` is value + tail. */
struct finding_element {
    int64_t index, coordinate[TENSOR_RANK_MAX];
    uint64_t a, b;
    double value_a, value_b, value, tail, bound;
    bool shown; /* false: there is no such element */
};

struct finding_out {
    char name[TENSOR_NAME_MAX];
    enum dtype dtype;
    int rank;
    int64_t dim[TENSOR_RANK_MAX];
    enum verdict verdict;
    char reason[512]; /* the sentence: what, whose, where */
    struct output_stats stats;
    char limit[160]; /* why the sides may be apart; "" without limits */
    struct drift drift;
    struct codes_stats codes; /* from A's codes to B's; codes 0: no such format, or one side */
    int64_t beyond; /* without a reference: elements further apart than the limits; -1: there
                       are no limits */
    int n_claim; /* causes, the primary one first; 0 when there is nothing to explain */
    struct cause_claim claim[CAUSE_CLAIMS_MAX];
    struct finding_element worst,
        first; /* of the worse side; of the pair when both are right */
    struct charts *charts; /* owned; NULL: nobody draws */
};

struct finding {
    int64_t number; /* 0-based, in the order of the record */
    char id[512];
    bool one_sided;       /* verify: only A against the oracle */
    bool unordered;       /* the kernel is declared to give other bits from run to run */
    enum verdict verdict; /* the worst of its outputs' */
    char reason[768];
    char reproduce[768];     /* the one command line that shows it again */
    struct record_case a, b; /* as recorded; status, marks, digests, compiler */
    int n_out;
    struct finding_out *out; /* owned */
};
void finding_release(struct finding *f); /* accepts a zeroed struct */

/* The first cause of the output that decides the verdict; NULL when there is none to name. */
const struct cause_claim *finding_cause(const struct finding *f);

/* Both sides of a comparison; `b` is unused when one_sided. */
struct finding_sides {
    struct record_run a, b;
    char file_a[512], file_b[512]; /* where they came from; equal for one `check` record */
    bool one_sided;
    bool plain; /* two files of tensors without a reference: a finding is a tensor */
    bool capture; /* two captures of a training step: a finding is an operator */
};

struct finding_tally {
    int64_t count, verdicts[VERDICT_COUNT_];
    int64_t failing;
    bool strict;
    double seconds; /* wall time of the whole command */
};

/* Counts one finding; `strict` is set before. */
void finding_tally_add(struct finding_tally *t, const struct finding *f);

#endif
