/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_REPORT_HTML_WORD_H
#define GPUPARITY_REPORT_HTML_WORD_H

#include <stdio.h>

#include "report.h"

/* Small pieces of the HTML report, the same wherever they stand. */

/* How much a verdict asks for attention: "bad" (fails), "warn" (would fail with --strict, or
 * needs a look), "mute" (did not run), "good". A class of report.css. */
const char *html_tone(enum verdict v, bool strict);

/* The verdict with a sign before it, so that colour is never the only difference. */
void html_verdict(FILE *out, enum verdict v, bool strict);

/* "16 384" with narrow no-break spaces. */
void html_count(FILE *out, int64_t n);

/* "<td data-n=...>": a cell of a number, sorted by it; NaN sorts last. */
void html_number_cell(FILE *out, double x);

/* 2 to the exponent: as a number where that is short, else "2" and superscripts. */
void html_power(FILE *out, int exponent);

/* A share of a whole, "99.98 %": never rounded to 100 or 0 when it is not. */
void html_share(FILE *out, int64_t part, int64_t whole);

/* A command line with a button that copies it. */
void html_command(FILE *out, const char *command);

/* "A (hip-sim)". */
void html_side(FILE *out, char side, const struct record_run *r);

/* A table's row of one property of both sides, with a sign between that says whether they are
 * equal; nothing when both are empty. `measured`: a time or a count, which differs always and
 * means nothing by that. Returns whether a difference is shown; *ret_rows counts rows. */
bool html_compare_row(FILE *out, const char *name, const char *a, const char *b, bool one_sided,
                      bool measured, int *ret_rows);

#endif
