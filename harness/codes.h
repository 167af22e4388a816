/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CODES_H
#define GPUPARITY_CODES_H

#include "dtype.h"
#include "err.h"

/* Which codes became which: for outputs of one byte and less an element, where a distance in ULP
 * says little and a histogram everything. A table of transitions from one side to the other, and
 * what can be tested on it. */

enum { CODES_MAX = 256, CODES_TOP = 5 };

/* How many codes the format has: 16 where two are packed in a byte, 256 in a byte, 0 in others. */
int codes_of(enum dtype d);

struct codes {
    enum dtype dtype;
    int n;         /* codes_of(dtype) */
    int64_t *move; /* owned; [from * n + to] elements; zeroed struct: none */
};

/* An empty table for a format that has codes. ERR_NOMEM. */
enum err codes_init(struct codes *c, enum dtype d, struct errinfo *e);
void codes_release(struct codes *c); /* accepts a zeroed struct */

/* One element, by its bits; of a packed byte both codes, the one in the high half first. */
void codes_add(struct codes *c, uint64_t from, uint64_t to);
void codes_merge(struct codes *c, const struct codes *other);

/* What the table says.
 *
 * `chi2`: Pearson's statistic of the two sides' histograms (2 x codes, those that occur), and
 * `cramer` its effect size V, 0 alike to 1 disjoint; the p-value is as if the two samples were
 * independent, which understates how sure a difference is. `bowker`: Bowker's statistic of
 * symmetry, sum (n_ij - n_ji)^2 / (n_ij + n_ji), which takes the pairing into account: are flips
 * from i to j as frequent as back? */
struct codes_stats {
    int codes;            /* 0: the format has none */
    int64_t count, flips; /* codes compared; those that differ */
    int64_t up, down;     /* flips to a larger and to a smaller number; a CODE's number is its index */
    double distance;      /* total variation: half the sum of |share of A - share of B| */
    double chi2, chi2_p, cramer;
    int chi2_df;
    double bowker, bowker_p;
    int bowker_df;
    struct codes_move {
        int from, to; /* bits */
        int64_t count;
    } top[CODES_TOP]; /* the most frequent flips, then the smaller codes; count 0: no more */
};
void codes_finish(const struct codes *c, struct codes_stats *ret_stats);

/* The chance that chi-square with `df` degrees of freedom is at least x: Q(df/2, x/2), by its series
 * below df + 2 and its continued fraction above (DLMF 8.11.4, 8.9.2), to 1e-11 + 1e-13 df of itself (what
 * lgamma and the exponent lose) where it is above 1e-300. 1 for df <= 0. */
double codes_chi2_p(double x, int df);

#endif
