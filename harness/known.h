/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_KNOWN_H
#define GPUPARITY_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "finding.h"

/* Accepted differences, golden/known.yaml: a list of entries, each of which says for which
 * case, output and devices what difference is expected, why, and until when. docs/known.md has
 * the format, known.def the keys. Dates are texts YYYY-MM-DD, so strcmp orders them. */

enum {
    KNOWN_TEXT_MAX = 256,
    KNOWN_DATE_MAX = 11,
    KNOWN_ENTRIES_MAX = 4096,
    KNOWN_FILE_MAX = 1 << 20 /* bytes */
};

struct known_entry {
    char id[512]; /* canonical, or a glob */
    char output[TENSOR_NAME_MAX];
    char device_a[32], device_b[32]; /* globs; device_b "" = one side against the reference */
    enum verdict verdict;            /* VERDICT_COUNT_: not said */
    int rank;                        /* of the element; 0: none is named */
    int64_t coordinate[TENSOR_RANK_MAX];
    uint64_t a, b; /* its bits, right-aligned */
    double limit;  /* largest error in units of the bound; 0: none */
    int64_t wrong; /* wrong elements of the worse side; -1: not said */
    enum cause cause;
    char reason[KNOWN_TEXT_MAX], issue[KNOWN_TEXT_MAX]; /* issue may be "" */
    char date[KNOWN_DATE_MAX], expires[KNOWN_DATE_MAX]; /* expires: the last day it holds */
    int line;                                           /* in the file, from 1 */
};

struct known {
    int count;
    struct known_entry *entry; /* owned */
    char path[512];            /* for messages */
    char today[KNOWN_DATE_MAX];
};
void known_release(struct known *k); /* accepts a zeroed struct */

/* Today's date in UTC. */
void known_today(char ret_date[KNOWN_DATE_MAX]);

/* Is this a day of the calendar, written YYYY-MM-DD? */
bool known_date_valid(const char *text);

/* May this be a reason or an issue: one line that is not blank, fits, and shows what it says?
 */
bool known_text_valid(const char *text);

/* Reads the text of a file named `path`. ERR_FORMAT with path, line and column for anything
 * that is not a list of complete entries. Aliases, nested values, unknown or repeated keys are
 * refused. An empty text has no entries. */
enum err known_parse(const char *path, const char *text, size_t size, const char *today,
                     struct known *ret_known, struct errinfo *e);

/* Reads a file: ERR_IO when it cannot be read, is no regular file or larger than
 * KNOWN_FILE_MAX; a missing one has no entries if `optional`. */
enum err known_load(const char *path, bool optional, const char *today, struct known *ret_known,
                    struct errinfo *e);

/* The bits of element `index` of both sides; *ret_b is left where there is one side only. False when
 * they cannot be read. */
struct known_look {
    bool (*bits)(void *context, int64_t index, uint64_t *ret_a, uint64_t *ret_b);
    void *context;
};

/* Turns `o->verdict`, set by verdict_output and explained by diagnose_output, into KNOWN when
 * an entry of this case, output and pair of devices describes it exactly; into STALE when that
 * entry has expired, or the output agrees (SAME, EQUIVALENT). Otherwise the verdict stays and
 * the reason says what the entry had expected. Bytes written outside an output are never known.
 * `look` reads elements that entries name. */
void known_output(const struct known *k, const struct finding_sides *sides,
                  const struct finding *f, const struct known_look *look, struct finding_out *o);

/* The entry that describes an output that differs; the texts (reason, issue, date, expires) are
 * the caller's. ERR_USAGE when it agrees, or differs in a way that cannot be accepted. */
enum err known_describe(const struct finding_sides *sides, const struct finding *f,
                        const struct finding_out *o, struct known_entry *ret_entry,
                        struct errinfo *e);

/* Appends entries to a file, which is made if it is missing: by another name and rename, after
 * the whole was read back. ERR_USAGE, with the line, when an entry of that case, output and
 * devices is there already. */
enum err known_append(const char *path, const char *today, int count,
                      const struct known_entry *entry, struct errinfo *e);

#endif
