/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_REPORT_TEXT_CASE_H
#define GPUPARITY_REPORT_TEXT_CASE_H

#include <stdio.h>

#include "finding.h"

/* Those parts of the text report that are about one case of records. */

enum { TEXT_CASE_WIDTH = 79 };

/* The numbers of one output, after its verdict. */
void text_case_numbers(FILE *out, const struct finding_out *o, bool one_sided);
/* A line if the error grows along an axis. */
void text_case_drift(FILE *out, const struct finding_out *o, bool one_sided);
/* "cause: silent downcast/TF32 (defect, B): inputs rounded to TF32 explain ..." */
void text_case_cause(FILE *out, const struct cause_claim *c);
/* Reason, causes and distributions. */
void text_case_verbose(FILE *out, const struct finding *f);

#endif
