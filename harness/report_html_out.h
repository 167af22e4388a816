/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_REPORT_HTML_OUT_H
#define GPUPARITY_REPORT_HTML_OUT_H

#include <stdio.h>

#include "report.h"

/* One output of a case in the HTML report: its sentence, causes and worst element, then figures
 * and plots (a map of where the output is wrong will stand with them). Returns where in `out`,
 * which must be seekable, the latter begin: a long report leaves them out. `said`: a sentence
 * that stands there already. */
size_t html_out_put(FILE *out, const struct finding_out *o, const char *said, bool one_sided,
                    const struct finding_sides *sides);

#endif
