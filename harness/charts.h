/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CHARTS_H
#define GPUPARITY_CHARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "case.h"
#include "charts_band.h"
#include "tensor.h"

/* What pictures of one output need beyond its distributions: how the error goes with the
 * magnitude of the right answer, where in the tensor it is, from step to step, and which codes
 * became which. Counted in one thread and only where somebody draws (compare_options.charts).
 * A fixed size whatever the output's. */

enum {
    CHARTS_ROWS = 24,
    CHARTS_COLUMNS = 48,
    CHARTS_STEPS = 100,
    CHARTS_CODES = 64, /* columns of the map of codes, at most */
    CHARTS_FAR = 9,    /* 1, 2, 3-4, 5-8, ... 129-255 codes away */
    CHARTS_MOVES = 2 * CHARTS_FAR + 1,
    CHARTS_TOP = 3
};

struct charts {
    /* Two sides without a reference (charts_add_pair): errors are |b - a| in ULP, magnitudes the
     * larger of both; band[0], used[0] (in ULP) and differ only. */
    bool pair;

    /* Error against magnitude. Elements that are finite against a finite reference other than
     * 0; n_band is 0 when there is none. */
    int n_band, exponent, width;
    struct charts_band band[2][CHARTS_BANDS]; /* A, B */
    double bound[CHARTS_BANDS];               /* the loosest finite bound in ULP; 0: none */

    /* Where: the last dimension across, the others folded downwards; a tensor of one
     * dimension is folded into lines of `line` elements. A cell is a box of row_step x
     * column_step elements and holds the worst |error| / bound in it: INFINITY for NaN, Inf
     * or anything against a bound of 0, -1 for no judged element. */
    int rows, columns;
    int64_t line, lines, row_step, column_step;
    float used[2][CHARTS_ROWS][CHARTS_COLUMNS];
    float differ[CHARTS_ROWS][CHARTS_COLUMNS]; /* share of elements whose bits differ */

    /* From step to step (case_tensor.sequence): steps s * step_width ... are point s. Codes:
     * the share that is not the reference's; numbers: |x - reference| / |reference|, norms over
     * the step. A, B, and B against A. 0 points: no sequence. */
    int points;
    int64_t step_width, steps;
    double drift[3][CHARTS_STEPS];

    /* Codes of formats of one byte and less that became others: from A to B, one-sided from
     * the reference to A. Column: code * code_columns / codes. Row CHARTS_FAR + f is 2^(f-2) <
     * distance <= 2^(f-1) upwards, CHARTS_FAR - f downwards, CHARTS_FAR unchanged. 0 codes:
     * not such an output. Signed bytes count from -128. */
    int codes, code_columns;
    int64_t code_count[CHARTS_CODES], move[CHARTS_MOVES][CHARTS_CODES], moved;
    struct charts_move {
        int from, to;
        int64_t count;
    } top[CHARTS_TOP]; /* the most frequent ones, count 0: none */
};

/* Counted window by window, in order; about 6 MB. `shape` is that of the sides, whose data are not
 * looked at. `sequence`: dimension 0 is one step after the other. ERR_NOMEM. */
struct charting;
enum err charts_begin(const struct tensor *shape, bool sequence, struct charting **ret_charting,
                      struct errinfo *e);
/* `b` may be NULL (one-sided), and `o` where there is no reference: then only where bits differ
 * and which codes moved. */
void charts_add(struct charting *k, const struct tensor *a, const struct tensor *b,
                const struct oracle *o, struct case_span window);
/* Instead: one element of two sides that have no reference, in any order; none need be there. */
void charts_add_pair(struct charting *k, int64_t index, uint64_t a, uint64_t b);
void charts_end(struct charting *k, struct charts *ret_charts);
void charts_close(struct charting *k); /* NULL: nothing */

/* All at once. */
enum err charts_make(const struct tensor *a, const struct tensor *b, const struct oracle *o,
                     bool sequence, struct charts *ret_charts, struct errinfo *e);

#endif
