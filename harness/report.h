/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_REPORT_H
#define GPUPARITY_REPORT_H

#include <stdio.h>

#include "finding.h"

/* Reporters turn findings into text for people and machines: one file and one row in report.c's
 * table each (report_text.c, report_json.c, ...). They receive the findings one by one, so a
 * report of any length needs little memory, and what is streamable is flushed a case at a time.
 */

enum { REPORT_TAG_MAX = 64 }; /* characters of a tag's key */

struct report_options {
    const char *program; /* "gpuparity", for reproduction lines */
    int details;         /* text: at most so many failing cases in full; the rest is counted */
    bool strict;         /* DISTINGUISHABLE fails: as in the tally, but known from the start */
    bool colour;         /* text: ANSI colours by verdict */
    bool quiet, verbose; /* text: only the summary; all statistics */
    int width;           /* text: columns; 0: 80 */
    int n_tag;           /* csv, json, jsonl, html: what the user adds, "key=value" */
    const char *const *tag;
};

struct reporter {
    const char *name, *extension, *summary;
    /* Written in place, a line a case, flushed: what an interrupted report has said so far
     * stays readable, and its last line tells whether it is whole. The others appear whole or
     * not. */
    bool stream;
    bool charts;       /* draws finding_out.charts, where they are there */
    size_t state_size; /* zeroed, allocated by report_open */
    enum err (*begin)(void *state, FILE *out, const struct report_options *o,
                      const struct finding_sides *sides, struct errinfo *e);
    enum err (*finding)(void *state, FILE *out, const struct finding *f, struct errinfo *e);
    enum err (*end)(void *state, FILE *out, const struct finding_tally *t, struct errinfo *e);
    void (*release)(void *state); /* may be NULL: nothing to free; also after a failed begin */
};

/* NULL-ended: the rows of report.def. */
extern const struct reporter *const reporters[];
#define REPORTER(name) extern const struct reporter reporter_##name;
#include "report.def"
#undef REPORTER

const struct reporter *reporter_find(const char *name);
/* By a file name's extension (".html"); NULL if none. */
const struct reporter *reporter_find_extension(const char *path);

/* One report being written to a file (under another name, renamed at the end) or to stdout. */
struct report;
/* path NULL or "-": stdout. ERR_IO names the path; ERR_USAGE for a tag that is no key=value or
 * comes twice. What is no regular file (a pipe, /dev/stdout) is written directly. `o` and
 * `sides` stay borrowed until close. */
enum err report_open(const struct reporter *r, const char *path, const struct report_options *o,
                     const struct finding_sides *sides, struct report **ret_report,
                     struct errinfo *e);
enum err report_finding(struct report *r, const struct finding *f, struct errinfo *e);
/* Writes the end, checks for write errors (full disk), renames. ERR_USAGE if the tally was made
 * with another `strict` than the options say. */
enum err report_finish(struct report *r, const struct finding_tally *t, struct errinfo *e);
/* Accepts NULL. An unfinished file is removed, unless it is a stream. */
void report_close(struct report *r);

#endif
