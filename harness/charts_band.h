/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CHARTS_BAND_H
#define GPUPARITY_CHARTS_BAND_H

#include "case.h"

/* Error against magnitude: for charts.h. */

enum { CHARTS_BANDS = 48 };

/* Elements whose reference lies in 2^exponent <= |x| < 2^(exponent + width); of one side, in
 * ULP. */
struct charts_band {
    int64_t count;
    double median, worst; /* of |error|; the median within a quarter of itself */
};

/* Counts of each binade, from which the bands are made in the end; about 6 MB. */
struct binades;
struct binades *binades_open(void);    /* NULL: no memory */
void binades_close(struct binades *n); /* NULL: nothing */

/* Element i of the sides (side[1] may be NULL), if its reference is finite and not 0. */
void binades_add(struct binades *n, const struct tensor *const side[2], const struct oracle *o,
                 int64_t i);

/* One element of side 0, with its finite magnitude above 0 and its |error|. */
void binades_note(struct binades *n, double magnitude, double error);

/* The number of bands, 0 when no element was added; `ret_bound`: the loosest finite bound in ULP. */
int binades_end(const struct binades *n, int *ret_exponent, int *ret_width,
                struct charts_band ret_band[2][CHARTS_BANDS], double ret_bound[CHARTS_BANDS]);

#endif
