/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_JUDGE_H
#define GPUPARITY_JUDGE_H

#include "compare.h"
#include "options.h"

/* Are --report, --tag and `format` such that judge_runs will take them? To be asked before hours of
 * running. */
enum err judge_check(const struct options *o, const char *format, struct errinfo *e);

/* The common end of check, compare, verify and report: compares, sends every finding to all
 * reports the user asked for (`format` to `output`, standard output if NULL; and each --report
 * FILE), and turns the tally into an exit status (command.h). `b` NULL: verify. */
enum err judge_runs(const struct compare_run *a, const struct compare_run *b,
                    const struct options *o, const char *format, const char *output,
                    int *ret_exit, struct errinfo *e);

#endif
