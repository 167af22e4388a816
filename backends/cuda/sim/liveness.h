/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_LIVENESS_H
#define GPUPARITY_CUDA_SIM_LIVENESS_H

#include "code.h"

/* Where the values of registers are alive, as one stretch of instructions each: good enough to
 * let registers share places. While `list` of an instruction is still a pool offset plus one.
 */
struct liveness {
    uint32_t *first, *last; /* by slot: 2 * instruction where written, 2 * instruction + 1 where
                               read last; first > last: never alive. Owned */
    uint8_t *entry;         /* by slot: may be read before it is written. Owned */
};

/* False: no memory. The image must consist of one function. */
bool liveness_init(struct liveness *l, const struct image *im);
void liveness_release(struct liveness *l); /* accepts a zeroed struct */

#endif
