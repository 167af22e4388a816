/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_JUDGE_H
#define GPUPARITY_JUDGE_H

#include "compare.h"
#include "options.h"

/* Are --report, --tag, --known and `format` such that judge_runs will take them? To be asked
 * before hours of running. */
enum err judge_check(const struct options *o, const char *format, struct errinfo *e);

/* The accepted differences that --known chooses: those of golden/known.yaml beside the kept
 * code when it was not given (none if there is no such file), none for "none". Released by
 * known_release. */
enum err judge_known(const struct options *o, struct known *ret_known, struct errinfo *e);

/* The file of it; `ret_path` takes `size` bytes. */
void judge_known_path(const struct options *o, char *ret_path, size_t size);

/* The common end of check, compare, verify and report: compares, sends every finding to all
 * reports the user asked for (`format` to `output`, standard output if NULL; and each --report
 * FILE), and turns the tally into an exit status (command.h). `b` NULL: verify. */
enum err judge_runs(const struct compare_run *a, const struct compare_run *b,
                    const struct options *o, const char *format, const char *output,
                    int *ret_exit, struct errinfo *e);

/* The same for two files of tensors without a reference, of which at least one is no record.
 * What makes them incomparable is printed, a line each, on standard error; the last is `e`. */
enum err judge_plain(const struct options *o, const char *format, const char *output,
                     int *ret_exit, struct errinfo *e);

/* The same for two captures of a training step. */
enum err judge_captures(const struct options *o, const char *format, const char *output,
                        int *ret_exit, struct errinfo *e);

/* The same for the one or two records that the command line names: run 0 of each, or both runs
 * of one record; a record with a single run is judged alone. */
enum err judge_files(const struct options *o, const char *format, const char *output,
                     int *ret_exit, struct errinfo *e);

#endif
