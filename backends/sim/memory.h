/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_SIM_MEMORY_H
#define GPUPARITY_SIM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fault.h"

/* The memory of a simulated card: one reserved range of host addresses (PROT_NONE until used);
 * a device address *is* the host address inside it, so host-visible allocations need no
 * mapping. Allocations are 256-byte aligned with at least 256 dead bytes between them, freed
 * ranges are not used again until the range is full, and every access is checked against a map
 * of what is live: a wild pointer is a fault and never touches anything else of the process.
 * Every function locks, except sim_memory_ok, which may run beside alloc and free of other
 * ranges. */
struct sim_memory {
    uint8_t *base;     /* reserved range, owned */
    uint64_t capacity; /* bytes of the range */
    uint64_t limit;    /* what alloc may hand out in all: the card's memory */
    uint16_t *live; /* for each 256-byte granule: how many of its first bytes are live. Owned */
    struct sim_memory_private *private; /* owned: allocation list, lock, totals */
};

/* limit: for instance 24 GiB; only touched pages cost anything. 0 = fine, else errno. */
int sim_memory_init(struct sim_memory *m, uint64_t limit);
void sim_memory_release(struct sim_memory *m); /* accepts a zeroed struct */

/* 0 when there is no room or size is 0. Contents are 0xcd bytes, never old data; beyond the
 * first 64 MiB of an allocation they are 0, so that a huge one stays cheap. */
uint64_t sim_memory_alloc(struct sim_memory *m, uint64_t size);

/* False if `address` is not the start of a live allocation. */
bool sim_memory_free(struct sim_memory *m, uint64_t address);

/* Start and size of the live allocation that holds `address`; false if none does. */
bool sim_memory_find(struct sim_memory *m, uint64_t address, uint64_t *ret_start,
                     uint64_t *ret_size);
uint64_t sim_memory_used(struct sim_memory *m);

/* Slow path of sim_memory_ok: any size, any alignment. */
bool sim_memory_ok_slow(const struct sim_memory *m, uint64_t address, uint64_t size);

/* Does [address, address+size) lie inside one live allocation? True for size 0 at a live byte.
 */
static inline bool sim_memory_ok(const struct sim_memory *m, uint64_t address, uint32_t size)
{
    uint64_t off = address - (uint64_t)(uintptr_t)m->base;
    if (off < m->capacity &&
        (off & 255) + size <= __atomic_load_n(&m->live[off >> 8], __ATOMIC_RELAXED))
        return true;
    return sim_memory_ok_slow(m, address, size);
}

/* Why [address, address+size) is not fine: SIM_FAULT_ADDRESS or SIM_FAULT_FREED, and for the
 * fault text "12 bytes after the 4096-byte allocation at 0x..."; SIM_FAULT_NONE if it is fine.
 */
enum sim_fault_kind sim_memory_explain(struct sim_memory *m, uint64_t address, uint64_t size,
                                       char *ret_text, size_t text_size);

#endif
