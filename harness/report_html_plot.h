/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_REPORT_HTML_PLOT_H
#define GPUPARITY_REPORT_HTML_PLOT_H

#include <stdio.h>

#include "stats.h"

/* Plots as inline SVG, from distributions alone. Colours come from the page's style (classes a
 * and b); A is a filled area and solid, B a line and dashed, so they can be told apart without
 * colour. `b` is NULL when there is only one side. */

/* Two panels over one axis of signed errors in ULP, logarithmic on both sides of zero: the
 * share of elements by error, and the cumulated share. What is too small to be shown counts at
 * 0. */
void plot_errors(FILE *out, const struct distribution *a, const struct distribution *b);

/* A bar a side: how much of its bound the worst element used, with marks at the quantiles. */
void plot_bounds(FILE *out, const struct distribution *a, const struct distribution *b);

#endif
