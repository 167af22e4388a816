/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_REPORT_HTML_CHART_H
#define GPUPARITY_REPORT_HTML_CHART_H

#include <stdio.h>

#include "charts.h"

/* Plots of lines over logarithmic axes, as inline SVG in the manner of report_html_plot.h: A an
 * area or solid, B dashed. */

/* |error| in ULP against the binade of the right answer: from the median up to the worst, of A
 * as an area, of B (`two`) as dashed lines; the tightest bound as a line. False, and nothing is
 * written, where there is no element to show. */
bool chart_magnitude(FILE *out, const struct charts *c, bool two);

/* How far each step is off: A, B, and B against A (dotted). False, and nothing is written,
 * where there are no steps or all are exact. */
bool chart_drift(FILE *out, const struct charts *c, bool two);

#endif
