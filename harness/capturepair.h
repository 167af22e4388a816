/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CAPTUREPAIR_H
#define GPUPARITY_CAPTUREPAIR_H

#include "capture.h"
#include "compare.h"

/* Comparing two captures of one step operator by operator, in the order in which A ran them. An
 * operator of A belongs to the one of B with the same name, module and phase, the n-th to the
 * n-th. Where the inputs differ already, the operator is UNTESTED: the difference came from
 * before. Else the outputs are judged:
 *
 *   with reference and bound   as any output of a case
 *   with reference, no bound   how far each side is from float64, in units of the format's
 *                              spacing at the largest element: a side that is more than
 *                              CAPTUREPAIR_FAR units and CAPTUREPAIR_RATIO times as far off as
 *                              the other is DIFFERENT. A rule of thumb, and said to be one.
 *   neither                    SAME or DIFFERENT, with the causes that leave a mark without a
 *                              reference (plainmark.h)
 *
 * An operator that ran in a wider format than autocast asked for is a silent upcast, named with
 * its module, whatever its numbers are. */

enum { CAPTUREPAIR_FAR = 64, CAPTUREPAIR_RATIO = 8 };

struct capturepair_options {
    int threads; /* 0: as many as there are cores */
    bool strict;
    bool charts;        /* somebody draws */
    const char *select; /* see select.h, on "op/module"; NULL: all */
};

void capturepair_sides(const struct capture *a, const struct capture *b,
                       struct finding_sides *ret_sides);

/* ERR_USAGE where the selection takes nothing. */
enum err capturepair_run(const struct capture *a, const struct capture *b,
                         const struct capturepair_options *o, compare_sink *sink, void *context,
                         struct finding_tally *ret_tally, struct errinfo *e);

#endif
