/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_DIVERGE_H
#define GPUPARITY_DIVERGE_H

#include "optrace.h"

/* Where do two threads that compute the same element part? From what each stores back through
 * the operations that made it, along operands that differ, to the first ones whose operands
 * agree.
 *
 * Which operation made a value is told by the value: the last one before with that result
 * (either sign). So schedules, registers and moves do not matter. */

enum diverge_kind {
    DIVERGE_NOWHERE,     /* both store the same */
    DIVERGE_CONTRACTION, /* one rounds a product that the other does not */
    DIVERGE_PRODUCT,     /* of two products each fuses another one */
    DIVERGE_UNIT,        /* the same operation on the same operands, another result */
    DIVERGE_OPERANDS,  /* the same operation on other operands: another order or other terms */
    DIVERGE_MORE,      /* one side does one operation more to the value that the other has */
    DIVERGE_OPERATION, /* other operations */
    DIVERGE_MATRIX,    /* matrix instructions of each vendor */
    DIVERGE_MEMORY,    /* a value that was loaded: made by another thread or launch */
    DIVERGE_UNKNOWN    /* made by operations that are not traced: integers */
};

struct diverge {
    enum diverge_kind kind;
    int64_t steps;                  /* operations gone back */
    const struct op_event *a, *b;   /* those that part; NULL: none */
    const struct op_event *product; /* CONTRACTION: the rounded product */
    bool product_on_a;
    bool more_on_a; /* MORE */
    uint64_t value_a, value_b; /* what differs */
    int bits;
};

void diverge_find(const struct optrace *a, const struct optrace *b,
                  struct diverge *ret_diverge);

/* How wide the operands of these two are, whose results have `bits`: conversions take another
 * width than they give. */
int diverge_operand_bits(const struct op_event *a, const struct op_event *b, int bits);

#endif
