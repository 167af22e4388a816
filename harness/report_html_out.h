/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_REPORT_HTML_OUT_H
#define GPUPARITY_REPORT_HTML_OUT_H

#include <stdio.h>

#include "report.h"

/* One output of a case in the HTML report: its sentence, causes, worst element, figures and
 * plots. The plots lie between the two offsets in `out` (which must be seekable), equal if
 * there are none; a map of where the output is wrong will stand with them. */
void html_out_put(FILE *out, const struct finding_out *o, bool one_sided,
                  const struct finding_sides *sides, size_t *ret_plot_from,
                  size_t *ret_plot_to);

#endif
