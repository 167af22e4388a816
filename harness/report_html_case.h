/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_REPORT_HTML_CASE_H
#define GPUPARITY_REPORT_HTML_CASE_H

#include <stdio.h>

#include "report.h"

/* One case of the HTML report, written at once and kept as text until the page's head is known:
 * a table body of two rows, the numbers and the sentence that opens the details. */

enum { HTML_CASE_CUTS = RECORD_OUT_MAX + 1 }; /* figures and plots an output, how it ran */

struct html_case {
    int64_t number;
    int rank; /* 3: fails, 2: needs a look, 1: did not run, 0: nothing to explain */
    enum verdict verdict;
    double score; /* within a verdict: larger is worse */
    char *text;   /* owned */
    size_t size;
    size_t open_at; /* where " open" may be put in */
    int n_cut;      /* parts that only the worst cases of a long report keep */
    struct {
        size_t from, to;
    } cut[HTML_CASE_CUTS];
};

/* How many columns the table has, and its head. */
int html_case_columns(bool one_sided);
void html_case_head(FILE *out, bool one_sided);

/* ERR_NOMEM leaves *ret_case zeroed. */
enum err html_case_init(struct html_case *ret_case, const struct finding *f,
                        const struct report_options *o, const struct finding_sides *sides,
                        struct errinfo *e);
void html_case_release(struct html_case *c); /* accepts a zeroed struct */

/* `full`: with the parts that may be cut; `open`: unfolded from the start. */
void html_case_put(FILE *out, const struct html_case *c, bool full, bool open);

#endif
