/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_REPORT_HTML_SUMMARY_H
#define GPUPARITY_REPORT_HTML_SUMMARY_H

#include <stdio.h>

#include "report.h"

/* The top of the HTML report: what came out, who took part, and what differs between them. */

/* One sentence without markup's outer element: "3 of 120 cases fail." */
void summary_sentence(FILE *out, const struct finding_tally *t);

/* Who is wrong how often, and what else deserves a look; one paragraph. */
void summary_explain(FILE *out, const struct finding_tally *t,
                     const struct finding_sides *sides);

/* How often each cause came first; `count` is by cause. Nothing when there is none. */
void summary_causes(FILE *out, const int64_t count[CAUSE_COUNT_]);

/* A bar of the shares and a button with a count for each verdict that occurs. */
void summary_counts(FILE *out, const struct finding_tally *t);

/* The devices, with a mark on simulated ones, and the user's tags. */
void summary_sides(FILE *out, const struct finding_sides *sides,
                   const struct report_options *o);

/* Everything recorded about both runs, a folded table; rows that differ say so. ERR_NOMEM. */
enum err summary_environment(FILE *out, const struct finding_sides *sides, struct errinfo *e);

#endif
