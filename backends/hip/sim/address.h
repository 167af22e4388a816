/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_ADDRESS_H
#define GPUPARITY_HIP_SIM_ADDRESS_H

#include "exec.h"

/* Where a lane's access goes: a host pointer that is good for `size` bytes. NULL: the fault is
 * set. Shared and private memory are arrays of the block and the wave, addressed by offsets. */

enum memory_space { SPACE_GLOBAL, SPACE_SHARED, SPACE_PRIVATE };

struct access {
    const struct inst *inst;
    uint32_t size; /* bytes a lane */
    uint32_t mask; /* active lanes */
    bool writes;
    unsigned data;    /* first register that is stored; WAVE_VGPRS: none */
    unsigned loaded;  /* first register that is loaded; WAVE_VGPRS: none */
    const char *what; /* "reads", "writes", "updates" */
};

/* Of a memory instruction with its operands where they usually are, for all active lanes. */
struct access access_of(const struct wave *w, const struct inst *i, bool writes,
                        const char *what);

uint8_t *address_global(struct wave *w, const struct access *a, int lane, uint64_t address);
uint8_t *address_shared(struct wave *w, const struct access *a, int lane, uint64_t offset);
uint8_t *address_private(struct wave *w, const struct access *a, int lane, uint64_t offset);

/* The pointers of all active lanes of a flat, global or scratch instruction; others untouched.
 * spaces may be NULL. Returns WAVE_GOES_ON or WAVE_FAULT. */
int address_lanes(struct wave *w, const struct access *a, uint8_t *ret_pointer[WAVE_LANES]);

/* The same in shared memory, `offset` added to the address register. */
int address_ds(struct wave *w, const struct access *a, uint32_t offset,
               uint8_t *ret_pointer[WAVE_LANES]);

/* A register after a load of less than four bytes at p into it. */
uint32_t lane_extended(uint32_t old, const uint8_t *p, unsigned bytes, enum mem_extend extend);

/* Between memory and the registers first, first + 1, ... of all active lanes. */
void lanes_load(struct wave *w, uint8_t *const pointer[WAVE_LANES], uint32_t mask,
                unsigned first, unsigned bytes, enum mem_extend extend);
void lanes_write(struct wave *w, uint8_t *const pointer[WAVE_LANES], uint32_t mask,
                 unsigned first, unsigned bytes, bool high);

/* An atomic on global, shared or private memory, lane after lane. */
int atomic_run(struct wave *w, const struct access *a, uint8_t *const pointer[WAVE_LANES]);

/* What ds_permute and ds_bpermute make of a row of data; the lanes come from the address
 * register. */
void permute_row(const struct wave *w, const struct inst *i, const uint32_t *data, uint32_t *r);

/* The address that a lane's access has: on the device, or an offset in shared or private memory. */
uint64_t address_lane(const struct wave *w, const struct inst *i, int lane);

/* Of a buffer instruction, and how many of its bytes lie inside the buffer. */
uint64_t buffer_lane(const struct wave *w, const struct inst *i, int lane, uint32_t *ret_bytes);

#endif
