/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_REPORT_TEXT_PLAIN_H
#define GPUPARITY_REPORT_TEXT_PLAIN_H

#include <stdio.h>

#include "finding.h"

/* Those parts of the text report that are other for files of tensors than for records: there
 * are no devices and no errors against a reference. */

void text_plain_side(FILE *out, char letter, const struct record_run *r, const char *file);
void text_plain_head(FILE *out);
/* The name's line, up to the verdict's column. */
void text_plain_name(FILE *out, const struct finding *f);
/* The numbers, after the verdict. */
void text_plain_row(FILE *out, const struct finding_out *o);
void text_plain_conclusion(FILE *out, const struct finding_tally *t);

/* The same for two captures; `first` is the operator at which the sides part, "" if none. */
void text_capture_conclusion(FILE *out, const struct finding_tally *t, const char *first);

#endif
