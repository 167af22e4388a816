/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_GAP_H
#define GPUPARITY_GAP_H

#include "gap_strip.h"
#include "limit.h"
#include "tally.h"

/* What lies between two tensors of one format, when there is no reference: equal bits,
 * distances in ULP, and marks by which some causes can be told. Made from pieces in any order
 * and by any number of threads: all counts and sums are exact, so the result is the same
 * always. */

enum {
    GAP_PIECE = 1 << 16,                         /* elements of a piece at most */
    GAP_SIDE = GAP_NEAR + (64 - 7) * GAP_BINADE, /* cells of one sign */
    GAP_CELLS = 2 * GAP_SIDE,                    /* distance -1 is cell GAP_SIDE - 1 */
    GAP_PLACES = 1 << 16                         /* differing elements whose places are kept */
};

/* An element of both sides; index -1: none. */
struct gap_element {
    int64_t index;
    uint64_t bits[2];
};

/* Exact sums of squares. */
struct gap_square {
    unsigned __int128 low;
    uint64_t high;
};

struct gap_sample; /* gap_sample.h */

struct gap {
    int64_t count, bits_equal; /* NaN equals NaN whatever the payload; +0 and -0 differ */
    int64_t finite;            /* both finite: those are measured */
    int64_t nan_differs, inf_differs, nan_both;
    int64_t zero_sign;  /* +0 against -0 */
    int64_t flushed[2]; /* zero on this side, subnormal on the other */
    int64_t smaller[2]; /* differing, and nearer to zero on this side */
    int64_t beyond;     /* elements that the limits do not allow */
    struct gap_element first_beyond;
    struct gap_element first;       /* that differs */
    struct gap_element first_class; /* that differs in class: NaN, Inf */
    struct gap_element worst;       /* of the largest distance, lowest index */
    int64_t last;                   /* that differs; -1 */
    uint64_t worst_ulp;
    double worst_absolute, worst_relative; /* relative: 0 unless a limit asks */
    __int128 sum, lowest, highest;         /* of the signed distances b - a */
    struct gap_square square;
    uint64_t bits[2]; /* all bits that are set somewhere, on each side */
    uint32_t
        values[2];  /* the same if the differing elements hold the same values in any order */
    uint64_t *cell; /* owned: GAP_CELLS, of the distances */
    struct gap_element *place; /* owned: GAP_PLACES differing elements */
    int64_t n_place;           /* beyond GAP_PLACES: too many, not all are there */
    struct gap_sample *sample; /* borrowed: where gap_add keeps elements; NULL: nowhere */
};

enum err gap_init(struct gap *g, struct errinfo *e); /* ERR_NOMEM */
void gap_release(struct gap *g);                     /* accepts a zeroed struct */

/* Where a piece lies: runs of `run` elements, one after the other, each from an index on; the
 * starts ascend. */
struct gap_where {
    int64_t run;
    const int64_t *start;
};

/* Adds n <= GAP_PIECE elements. `l` may be NULL. */
void gap_add(struct gap *g, enum dtype d, const void *a, const void *b, int64_t n,
             const struct gap_where *where, const struct limits *l);

/* Adds what another has seen of the same tensors. */
void gap_merge(struct gap *g, const struct gap *other);

/* As the statistics of stats.h; KS and Wasserstein, which need a reference, are NaN. Quantiles
 * are exact below GAP_NEAR, else within 2^-7. ERR_NOMEM. */
enum err gap_pair(const struct gap *g, struct pair_stats *ret_pair, struct errinfo *e);

/* The first rule that is broken, NULL if none; of rules for elements, whose breaches are
 * counted together, the first of all. LIMIT_BOUND is not looked at. */
const struct limit_rule *gap_broken(const struct gap *g, const struct limits *l);

/* Cell of a distance, whose sign is 0 or -1: its first seven bits and how many are behind them.
 */
static inline int gap_cell(int sign, uint64_t magnitude)
{
    int behind = 57 - __builtin_clzll(magnitude | (GAP_NEAR - 1));
    int cell = behind * GAP_BINADE + (int)(magnitude >> behind);
    return GAP_SIDE + (cell ^ sign) - sign;
}

/* The distance that stands for a cell. */
double gap_cell_value(int cell);

#endif
