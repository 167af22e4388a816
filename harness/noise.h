/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_NOISE_H
#define GPUPARITY_NOISE_H

#include "record.h"

/* How much one output differs from run to run of the same case on the same device. */
struct noise {
    const struct tensor *first; /* borrowed */
    uint8_t *moved;             /* owned: one byte an element, see enum noise_kind */
    double largest, squares;    /* of |repeat - first|, finite elements */
    int64_t runs;
};

/* What a run was that differs: the order of blocks and threads may have been another one, or
 * only what memory held before. */
enum noise_kind { NOISE_ORDER = 1, NOISE_MEMORY = 2 };

enum err noise_init(struct noise *n, const struct tensor *first, struct errinfo *e);
void noise_release(struct noise *n); /* accepts a zeroed struct */

/* Adds a repeat, a tensor of the same shape. Where both hold what the memory was filled with
 * (`poison` now, poison_bits at first), nothing was written: no difference. */
void noise_add(struct noise *n, const struct tensor *again, enum noise_kind kind,
               uint64_t poison);

/* Elements that any run of NOISE_ORDER changed, and those that only NOISE_MEMORY did. */
int64_t noise_unstable(const struct noise *n);
int64_t noise_stale(const struct noise *n);
double noise_rms(const struct noise *n); /* over all elements of all runs of NOISE_ORDER */

#endif
