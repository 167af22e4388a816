/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_PRINTING_H
#define GPUPARITY_HIP_SIM_PRINTING_H

#include <stdio.h>

#include "decode.h"

/* Text in a buffer that is cut off, never overrun. */
struct printing {
    char *text;
    size_t size, used;
    int operands; /* printed so far: commas */
};

void print_text(struct printing *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ", " before all but the first operand. */
void print_comma(struct printing *p);

/* v4, v[4:5]; s4, s[4:5], vcc_lo, exec, m0, null, ttmp3 */
void print_vgpr(struct printing *p, unsigned first, unsigned count, int half);
void print_sgpr(struct printing *p, unsigned first, unsigned count);

/* A source operand without modifiers. */
void print_operand(struct printing *p, const struct operand *o);

/* The scalar instructions' operands. */
void print_scalar(struct printing *p, const struct inst *i);

#endif
