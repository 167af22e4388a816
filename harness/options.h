/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_OPTIONS_H
#define GPUPARITY_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "err.h"

/* The command line as data. A command is a row of main.c's table and owns one bit of each group
 * that options.def names; parsing knows nothing else about it. */

enum { OPTIONS_TEXTS_MAX = 16, OPTIONS_WORDS_MAX = 4096 };

/* Groups of commands that share options. */
enum options_group {
    OPTIONS_RUNS = 1 << 0,     /* check, run, verify: needs a device */
    OPTIONS_LISTS = 1 << 1,    /* list */
    OPTIONS_JUDGES = 1 << 2,   /* check, compare, verify: ends in verdicts */
    OPTIONS_REPORTS = 1 << 3,  /* report */
    OPTIONS_COMPARES = 1 << 4, /* compare, report: two records */
    OPTIONS_KEEPS = 1 << 5,    /* golden */
    OPTIONS_HELP = 1 << 6,     /* every command */
    OPTIONS_MERGES = 1 << 7,   /* merge */
    OPTIONS_TRIES = 1 << 8,    /* explain, minimize: one case, on both sides, many times */
    OPTIONS_EXPLAINS = 1 << 9, /* explain */
    OPTIONS_SHRINKS = 1 << 10, /* minimize */
    OPTIONS_PROBES = 1 << 11,  /* probe */
    OPTIONS_SELFTESTS = 1 << 12, /* selftest */
};

struct texts {
    int count;
    const char *item[OPTIONS_TEXTS_MAX];
};

/* Zero means "not said". Texts are borrowed from argv. */
struct options {
    const char *on, *output, *tags, *format, *shard, *times, *code, *backend;
    const char *known, *reason, *expires, *issue, *change, *digests, *tree;
    bool strict, quiet, verbose, resume, replace, keep_code, common, force, help;
    int details, jobs, threads, repeat;
    double timeout;
    const char *select;
    struct texts reports, tag, limits, maps;
    int n_word; /* what is not an option: cases, files */
    const char *word[OPTIONS_WORDS_MAX];
};

/* Parses argv[1..) for a command of these groups. Options may stand anywhere; "--" ends them;
 * --name=value and --name value both work. ERR_USAGE names the option, what it wants and the
 * nearest valid name. */
enum err options_parse(struct options *o, unsigned groups, int argc, char *const *argv,
                       struct errinfo *e);

/* One option as people see it: for the manual and the shells' completion. */
struct option_text {
    const char *name, *help;
    const char *value; /* NULL: takes none */
    char letter;       /* 0: none */
    unsigned groups;   /* who takes it */
};

/* Row `i` of options.def, counted from zero; false behind the last. */
bool options_row(int i, struct option_text *ret_row);

/* The options of a command, aligned, for --help. */
void options_print(FILE *out, unsigned groups);

#endif
