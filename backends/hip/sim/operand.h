/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_OPERAND_H
#define GPUPARITY_HIP_SIM_OPERAND_H

#include "decode.h"

/* What the decoder is looking at. */
struct cursor {
    const uint32_t *word;
    size_t room;
    uint64_t bits;    /* the first two words */
    unsigned words;   /* used so far, without a literal */
    bool has_literal; /* one literal word serves all operands */
    uint32_t literal;
    const char *why; /* set on failure */
};

/* A source operand by its nine-bit number. False: cursor->why. */
bool operand_source(struct cursor *c, unsigned number, enum optype t, struct operand *ret);

/* A vector register as operand. */
void operand_vgpr(unsigned number, enum optype t, struct operand *ret);

/* Registers a value of the type takes. */
unsigned optype_registers(enum optype t);

#endif
