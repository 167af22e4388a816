/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_MERGE_H
#define GPUPARITY_MERGE_H

#include "record.h"

/* The shards of one selection, run apart (--shard I/N, or a Slurm array), become the record
 * that one run of the whole selection would have written: same runs, same cases, same order
 * (balanced parts, see balance.h, one after the other). Of each run, `host` lists the machines of all shards, `created` is the earliest, `shard` is 1/1.
 */

/* Writes `output` from the `n` records of `path`, in any order. ERR_USAGE, before anything is
 * written, with one line that names the records and what is wrong, unless
 *  - each is a shard (not 1/1), all of the same N and split, and every one of 1 to N is there once;
 *  - all were made by this version of the program (with the id it decides the inputs), on the
 *    same devices, with the same drivers, runtimes and environment (the fixed fields of
 *    record.def);
 *  - kernels of one name had the same source in all;
 *  - no case is in two of them, and their sizes are those of parts of one selection.
 * An existing `output` is ERR_USAGE unless `replace`. The number of cases over all runs comes
 * back. */
enum err merge_records(int n, const char *const *path, const char *output, bool replace,
                       int64_t *ret_cases, struct errinfo *e);

#endif
