/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_PROGRESS_H
#define GPUPARITY_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* One line that says how far long work is, how fast it goes and how long it will take; on
 * standard error and only where that is a terminal, so that nothing but the result is on
 * standard output. */
struct progress {
    const char *what; /* borrowed: "cuda-sim", "judged" */
    bool wanted, shown;
    struct timespec start;
};

/* `quiet`: never shown. */
void progress_init(struct progress *p, const char *what, bool quiet);
/* `total` 0: not known. `id` may be NULL. Fits 80 columns. */
void progress_show(struct progress *p, int64_t done, int64_t total, const char *id);
/* Takes the line away; may be called again, and before anything else is printed. */
void progress_hide(struct progress *p);

#endif
