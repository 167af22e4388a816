/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_SESSION_H
#define GPUPARITY_SESSION_H

#include "balance.h"
#include "options.h"
#include "record.h"
#include "run.h"

/* What check, run and verify share: from the words of the command line to a finished record that
 * is open for reading. */

enum { SESSION_DEVICES_MAX = 2 };

struct session {
    struct caselist cases;
    int n_device;
    struct device_choice device[SESSION_DEVICES_MAX];
    char path[4096];
    bool temporary; /* the record is removed when the session ends */
    struct record *record;
    int run[SESSION_DEVICES_MAX];
    int *part; /* owned; of each case, with --times */
    char split[BALANCE_DIGEST_MAX];
};

/* The first half: selects the cases and settles the devices, and what the options say of
 * running. */
enum err session_plan(struct session *s, const struct options *o, struct run_options *ret_run,
                      int n_device, const char *standard, struct errinfo *e);

/* Selects the cases, settles the devices of --on (`standard` when it is not given; exactly
 * `n_device` of them), runs all, and opens the record: --output, or a temporary one if
 * `may_be_temporary`. */
enum err session_run(struct session *s, const struct options *o, int n_device,
                     const char *standard, bool may_be_temporary, struct errinfo *e);
void session_release(struct session *s); /* accepts a zeroed struct */

#endif
