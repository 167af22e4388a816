/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_TAINT_H
#define GPUPARITY_HIP_SIM_TAINT_H

#include "address.h"

/* Which bits of a wave's registers nobody has set, for launches with checks. They may be moved,
 * computed with and kept in shared and private memory; a fault is what depends on them: a store
 * to global memory, a branch, a lane that goes on or not, an address.
 *
 * Bit by bit for moves, logic, shifts and fields; sums and products spoil the bits above; of
 * everything else the whole result is unset if a bit of an operand that counts is. */

struct taint {
    struct wave
        shadow; /* s and v: 1 = not set; scc: 0 or 1. EXEC always has the wave's value */
    wave_row v[WAVE_VGPRS];
    bool dirty[WAVE_VGPRS]; /* false: all bits of the row are set */
    uint8_t *scratch;       /* of private memory: 1 = set. Borrowed */
    const char *read_space; /* the last load of unset bytes; NULL: none yet */
    uint32_t read_pc;
};

/* Registers as a wave finds them: the first `scalars` SGPRs are set, v0 in active lanes. */
void taint_start(struct taint *t, const struct wave *w, unsigned scalars, uint8_t *scratch);

/* Executes the instruction and follows it. What the executor returns, or WAVE_FAULT. */
int taint_run(struct wave *w, const struct inst *i);

/* Before an access, by the one who knows where it goes. */
int taint_access(struct wave *w, const struct access *a, uint8_t *const pointer[WAVE_LANES]);

/* Registers of a lane hold something after all: the part of a load outside its buffer. */
void taint_clear(struct wave *w, const struct access *a, int lane, unsigned reg,
                 unsigned bytes);

/* --- for taint_*.c */

/* Fault: the instruction does `what` with something unset. lane -1: all. */
int taint_found(struct wave *w, const struct inst *i, int lane, const char *what);

/* Notes that the instruction loads unset bytes. */
void taint_read(struct wave *w, const struct inst *i, const char *space);

/* Row of a register becomes r in the lanes of mask, in the bits of `bits`. */
void taint_store(struct taint *t, unsigned reg, const uint32_t *r, uint32_t mask,
                 uint32_t bits);

int taint_scalar(struct wave *w, const struct inst *i);
int taint_smem(struct wave *w, const struct inst *i);
int taint_vector(struct wave *w, const struct inst *i);
/* Cross-lane and matrix instructions; false: none of them. */
bool taint_lanes(struct wave *w, const struct inst *i, int *ret_event);

/* EXEC was written from bits of which these are unset. */
int taint_exec(struct wave *w, const struct inst *i, uint32_t unset);

#endif
