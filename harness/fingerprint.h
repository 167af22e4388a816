/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_FINGERPRINT_H
#define GPUPARITY_FINGERPRINT_H

#include <stdbool.h>
#include <stdio.h>

#include "case.h"
#include "record.h"

/* All that the cases of one run say about its device (families with `readings`). */

struct fingerprint_row {
    char topic[96]; /* family/variant, and the mode unless it is the default one */
    bool ran;
    struct case_reading r; /* !ran: `words` is the status, `proof` the reason, `name` empty */
};

struct fingerprint {
    char device[64]; /* "cuda-sim (simulated)" */
    int count;
    struct fingerprint_row *row; /* owned */
};

/* ERR_FORMAT when no case of the run says anything, with what would. */
enum err fingerprint_read(struct record *r, int run, const char *path,
                          struct fingerprint *ret_print, struct errinfo *e);
void fingerprint_release(struct fingerprint *f); /* accepts a zeroed struct */

void fingerprint_print(FILE *out, const struct fingerprint *f, bool proofs);

/* The rows on which two differ, with both answers and proofs; returns how many. A row that only
 * one has is left out and counted in *ret_alone. */
int fingerprint_compare(FILE *out, const struct fingerprint *a, const struct fingerprint *b,
                        int *ret_same, int *ret_alone);

#endif
