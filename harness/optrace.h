/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_OPTRACE_H
#define GPUPARITY_OPTRACE_H

#include <stdio.h>

#include "trial.h"

/* What the thread that stores one element computes, operation by operation, on a simulated
 * device (the simulators' GPUPARITY_SIM_TRACE). Two runs: the first says which thread it is,
 * the second what it does. Names are common to both vendors: fma add sub mul div rcp sqrt rsqrt
 * exp2 log2 sin cos min max cvt mma; what is one vendor's own keeps its name. */

enum { OPTRACE_NAME = 24 };

struct op_event {
    char name[OPTRACE_NAME];   /* "load": from memory */
    const char *place;         /* of the trace: "PTX line 12: fma.rn.f32 ...", "code + 0x1c: v_fma_f32 ..." */
    int bits, n;               /* of the result; operands */
    uint64_t result, operand[3];
    uint32_t thread;
};

struct optrace {
    int64_t count, room;
    struct op_event *event; /* owned, in the order they ran */
    int64_t n_place, place_room;
    char **place; /* owned: the texts that events point to */
    uint32_t block[3], thread; /* who stores the element */
    bool whole_block;          /* events of all threads of the block */
    int launch;     /* which launch of the case, 0-based */
    int bits;       /* of what is stored */
    uint64_t value; /* what is stored last */
};
void optrace_release(struct optrace *t); /* accepts a zeroed struct */

/* Element `element` of plan tensor `output`; with `whole_block`, what the other threads of the
 * block compute as well, as far as lines are left. False with `ret_reason` (size bytes) where nobody
 * stores it in a way that is traced. */
enum err optrace_take(const struct trial *t, const struct case_id *id, int output,
                      int64_t element, bool whole_block, struct optrace *ret_trace,
                      bool *ret_found, char *ret_reason, size_t size, struct errinfo *e);

/* The events of the `launch`-th launch in a trace file, up to the last store; false if there is
 * no store. `launch` -1: only looks who stores last. */
bool optrace_read(FILE *f, int launch, struct optrace *ret_trace);

#endif
