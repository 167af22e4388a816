/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_COMMAND_H
#define GPUPARITY_COMMAND_H

#include "err.h"
#include "options.h"

/* Exit statuses; see design of the command line in README.md. */
enum command_exit {
    COMMAND_GOOD = 0,    /* nothing fails */
    COMMAND_FAILS = 1,   /* some verdict fails the run */
    COMMAND_TROUBLE = 2, /* usage, unreadable or incomparable input, no space */
    COMMAND_NOTHING = 77 /* nothing could run here */
};

struct command {
    const char *name, *usage, *summary;
    unsigned groups; /* whose options it takes, see options.h */
    /* ret_exit is COMMAND_GOOD unless set. An `err` becomes one line and COMMAND_TROUBLE, or
     * COMMAND_NOTHING for ERR_MISSING. */
    enum err (*run)(const struct options *o, int *ret_exit, struct errinfo *e);
};

/* Ends with a NULL name; one cmd_<name>.c each. */
extern const struct command commands[];

enum err cmd_check(const struct options *o, int *ret_exit, struct errinfo *e);
enum err cmd_compare(const struct options *o, int *ret_exit, struct errinfo *e);
enum err cmd_doctor(const struct options *o, int *ret_exit, struct errinfo *e);
enum err cmd_explain(const struct options *o, int *ret_exit, struct errinfo *e);
enum err cmd_functions(const struct options *o, int *ret_exit, struct errinfo *e);
enum err cmd_golden(const struct options *o, int *ret_exit, struct errinfo *e);
enum err cmd_list(const struct options *o, int *ret_exit, struct errinfo *e);
enum err cmd_merge(const struct options *o, int *ret_exit, struct errinfo *e);
enum err cmd_minimize(const struct options *o, int *ret_exit, struct errinfo *e);
enum err cmd_probe(const struct options *o, int *ret_exit, struct errinfo *e);
enum err cmd_report(const struct options *o, int *ret_exit, struct errinfo *e);
enum err cmd_run(const struct options *o, int *ret_exit, struct errinfo *e);
enum err cmd_selfcheck(const struct options *o, int *ret_exit, struct errinfo *e);
enum err cmd_selftest(const struct options *o, int *ret_exit, struct errinfo *e);
enum err cmd_show(const struct options *o, int *ret_exit, struct errinfo *e);
enum err cmd_verify(const struct options *o, int *ret_exit, struct errinfo *e);

#endif
