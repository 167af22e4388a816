/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_WATCH_H
#define GPUPARITY_HIP_SIM_WATCH_H

#include "../../sim/shadow.h"
#include "address.h"

/* What GPUPARITY_SIM_CHECK=1 looks for besides bad addresses, which are always found: values
 * nobody has set that reach a store, a branch or an address (taint.h), races in global and
 * shared memory, waves of a block that wait at different barriers. A launch that is checked
 * runs block after block on one thread. */

enum { LDS_WATCHED = 65536 };

struct watch {
    const struct sim_memory *memory;
    struct shadow_map global; /* offsets from memory->base */
};

/* NULL and *ret_error 0 when the user did not ask for it; else errno in *ret_error. Owned. */
struct watch *watch_open(const struct sim_memory *memory, int *ret_error);
void watch_close(struct watch *c); /* accepts NULL */

/* A new allocation; bytes that came from the host. Nothing happens for NULL. */
void watch_fresh(struct watch *c, uint64_t address, uint64_t size);
void watch_wrote(struct watch *c, uint64_t address, uint64_t size);
bool watch_written(const struct watch *c, const void *p, uint64_t size); /* every byte? */

/* One block's part. */
struct watch_block {
    struct watch *watch;
    struct shadow_map shared;
    uint8_t *known; /* of shared memory: bits that are set. LDS_WATCHED bytes, owned */
    uint8_t *waves; /* struct taint of each wave, then the map of its private memory. Owned */
    size_t waves_size; /* bytes */
    uint32_t number;   /* of the block, x fastest */
    uint16_t interval; /* barriers passed */
    bool swaps;        /* the kernel has compare-and-swap: the plain load such a loop starts
                          with is no race with the atomic it belongs to */
};

/* Before a launch of so many blocks; before a block with so much shared memory, so many waves
 * and so much private memory for each of them. 0, else errno. */
int watch_launch(struct watch *c, uint64_t blocks);
int watch_block_begin(struct watch_block *b, struct watch *c, uint64_t number,
                      uint32_t lds_size, unsigned waves, size_t private_size);

/* Of wave n, and where the map of its private memory lies. */
struct taint *watch_taint(const struct watch_block *b, unsigned n, size_t private_size,
                          uint8_t **ret_scratch);
void watch_block_release(struct watch_block *b); /* accepts a zeroed struct */

/* Looks at an access before it happens. WAVE_FAULT with the finding, or WAVE_GOES_ON. */
int watch_access(struct wave *w, const struct access *a, uint8_t *const pointer[WAVE_LANES]);

#endif
