/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_SIM_TRACE_H
#define GPUPARITY_SIM_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What one thread computes, as lines of text in a file, for comparing both simulators operation
 * by operation.
 *
 *   GPUPARITY_SIM_TRACE=FILE               appends to FILE
 *   GPUPARITY_SIM_TRACE_AT=ADDRESS:BYTES   who stores there: a line a store
 *   GPUPARITY_SIM_TRACE_THREAD=X,Y,Z,T     thread T of block (X,Y,Z): its arithmetic, loads and
 * stores
 *   GPUPARITY_SIM_TRACE_THREAD=X,Y,Z,T*    the same of all threads of that block
 *
 *   launch KERNEL
 *   thread T                               whose the next lines are; of a whole block only
 *   store X Y Z T BITS VALUE
 *   load BITS VALUE @PLACE
 *   op NAME BITS RESULT A B C @PLACE       hexadecimal; - for an operand that there is not
 *
 * NAME is the instruction's own: fma_f32, v_fmac_f32; operands are those after negation. */
struct sim_trace {
    FILE *out;
    uint64_t address, bytes;
    bool of_thread, of_block;
    uint32_t block[3], thread;
    uint32_t told; /* of_block: of which thread the last line was */
    uint64_t left; /* lines that may still be written */
};

/* False: nothing is traced. */
bool sim_trace_begin(struct sim_trace *t, const char *kernel);
void sim_trace_end(struct sim_trace *t); /* accepts a zeroed struct */

/* Is anything of this block traced? */
bool sim_trace_block(const struct sim_trace *t, const uint32_t id[3]);

/* Which of `width` lanes are traced, the first of which is thread `first`. */
uint32_t sim_trace_lanes(const struct sim_trace *t, uint32_t first, uint32_t width);

/* Whose the next operations and loads are. */
void sim_trace_thread(struct sim_trace *t, uint32_t thread);

void sim_trace_store(struct sim_trace *t, const uint32_t id[3], uint32_t thread,
                     uint64_t address, int bytes, uint64_t value);
void sim_trace_load(struct sim_trace *t, int bits, uint64_t value, const char *place);
void sim_trace_op(struct sim_trace *t, const char *name, int bits, uint64_t result, int n,
                  const uint64_t *operand, const char *place);

#endif
