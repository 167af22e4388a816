/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_REPORT_HTML_MAP_H
#define GPUPARITY_REPORT_HTML_MAP_H

#include <stdio.h>

#include "charts.h"

/* Maps as inline SVG, drawn in a few steps of colour (classes m1 to m6 of report.css), each
 * with its legend. */

/* Where an output is off: A, and if `two` B and where their bits differ. */
void map_places(FILE *out, const struct charts *c, bool two);

/* Which codes became which; nothing where none did. */
void map_codes(FILE *out, const struct charts *c, bool two);

#endif
