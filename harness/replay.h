/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_REPLAY_H
#define GPUPARITY_REPLAY_H

#include "caseid.h"
#include "options.h"
#include "record.h"
#include "worker.h"

/* One case of two records, run again where that is possible: the records say what their devices
 * gave, this machine has other ones, perhaps only simulated. Is what runs here the same? */

struct replay {
    struct record *record[2]; /* owned; the second may be the first */
    const char *path[2];      /* borrowed */
    int run[2];
    int64_t at[2];            /* of the case */
    char id[CASEID_TEXT_MAX];
    char on[80]; /* the devices to run on, for --on */
};

/* `o->word` are two records, or one with two runs; `o->select` is the case's id, which may be left
 * out where there is only one. ERR_USAGE says what to name. */
enum err replay_open(const struct options *o, struct replay *ret_replay, struct errinfo *e);
void replay_close(struct replay *r); /* accepts a zeroed struct */

/* A sentence: what side `s` was recorded on, and whether `now`, which device `name` gave, are the
 * recorded bits. */
enum err replay_say(const struct replay *r, int s, const char *name, bool simulated,
                    const struct worker_result *now, char *ret_text, size_t size,
                    struct errinfo *e);

#endif
