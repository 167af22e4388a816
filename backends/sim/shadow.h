/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_SIM_SHADOW_H
#define GPUPARITY_SIM_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fault.h"

/* What a checking run knows about memory beside its contents: which bytes were ever written,
 * and who touched each word last in this launch. One map serves the card's global memory
 * (offsets from sim_memory.base), another one a block's shared memory.
 *
 * A launch that is checked runs its blocks in order on one thread (sim_grid.ordered): a map is
 * not locked, and what is found does not depend on the machine.
 *
 * What counts as a race: two accesses to a common byte, one at least a write, not both atomic,
 * by
 *   - different blocks, or
 *   - different warps of a block with no barrier between them.
 * Not reported, because correct programs do it: accesses of one warp, which runs in lock-step;
 * writes that change nothing; accesses with an atomic operation of the first party after its
 * access and one of the second party before its own (locks, tickets, grid barriers). So some
 * races are missed: one run is never a proof of absence. */

enum shadow_use {
    SHADOW_READ,
    SHADOW_WRITE,
    SHADOW_ATOMIC,      /* read, modify, write */
    SHADOW_ATOMIC_READ, /* volatile, relaxed and acquire loads */
    SHADOW_ATOMIC_WRITE /* volatile, relaxed and release stores */
};

struct shadow_actor {
    uint32_t block;    /* number in the grid, x fastest */
    uint16_t warp;     /* within the block, below SHADOW_WARPS */
    uint16_t interval; /* barriers the block has passed */
    uint32_t pc;       /* for the message about the other side */
};
enum { SHADOW_WARPS = 64 };

struct shadow_record;

struct shadow_map {
    uint64_t size;                        /* bytes watched */
    uint8_t *written;                     /* a bit a byte. Owned */
    struct shadow_record *record;         /* two a word: last write, last read. Owned */
    uint32_t launch;                      /* records of other launches count as none */
    uint32_t clock;                       /* atomic operations so far in this launch */
    uint32_t *block_atomic, *warp_atomic; /* clock after the last one of each. Owned */
    uint64_t blocks;
};

/* Only touched pages cost anything: about 8 bytes for each byte the kernels touch. 0, else
 * errno. */
int shadow_init(struct shadow_map *m, uint64_t size);
void shadow_release(struct shadow_map *m); /* accepts a zeroed struct */

/* All accesses before are forgotten, written bytes are not. Call it for the global map before
 * each launch with the number of blocks, for a shared map before each block with 1 (its actors
 * then say block 0). 0, else errno. */
int shadow_begin(struct shadow_map *m, uint64_t blocks);

/* [offset, offset+size) holds nothing yet (a new allocation, a new block's shared memory) or
 * was written from outside (copies, fills, initialised variables). Ranges are cut to the map.
 */
void shadow_unwrite(struct shadow_map *m, uint64_t offset, uint64_t size);
void shadow_write(struct shadow_map *m, uint64_t offset, uint64_t size);

/* Were all these bytes written? Without reporting: for loads whose unused bytes do not matter.
 */
bool shadow_is_written(const struct shadow_map *m, uint64_t offset, uint64_t size);

struct shadow_finding {
    enum sim_fault_kind kind;  /* SIM_FAULT_NONE, _UNINITIALISED or _RACE */
    uint64_t offset;           /* of the first byte concerned */
    enum shadow_use other_use; /* RACE: the access before, and whose it was; warp UINT16_MAX: */
    struct shadow_actor other; /* one of several readers, not known which */
};

/* One lane's access; the map is brought up to date in any case. `same`: the bytes written are
 * those already there. An access outside the map is nobody's business here. True if there is a
 * finding. */
bool shadow_access(struct shadow_map *m, const struct shadow_actor *a, enum shadow_use use,
                   uint64_t offset, uint32_t size, bool same,
                   struct shadow_finding *ret_finding);

/* "no one has written byte 5 of it" / "block 3, warp 1 wrote it at pc 0x40 ..." */
void shadow_explain(const struct shadow_finding *f, const struct shadow_actor *a,
                    char *ret_text, size_t size);

#endif
