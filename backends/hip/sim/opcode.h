/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_OPCODE_H
#define GPUPARITY_HIP_SIM_OPCODE_H

#include "decode.h"

/* Every row of the instruction tables has a number: OP_s_add_u32, OP_v_cmpx_lt_f32, ... */
enum {
#define SOP2(op, name, ...) OP_##name,
#define SOP1(op, name, ...) OP_##name,
#define SOPC(op, name, ...) OP_##name,
#define SOPK(op, name, ...) OP_##name,
#define SOPP(op, name, ...) OP_##name,
#define SMEM(op, name, ...) OP_##name,
#define VALU(encoding, op, name, ...) OP_##name,
#define VD(op, name, same) OP_v_dual_##name,
#define FLATS(encoding, op, name, ...) OP_##name,
#define DSS(op, name, ...) OP_##name,
#include "ops.def"
    OP_COUNT_
};

/* The row for an encoded number, NULL if the instruction does not exist. VOP3 takes the ten-bit
 * number, in which the short forms have their ranges. */
const struct opcode *opcode_lookup(enum encoding e, unsigned op);

/* The VOP1/VOP2 row that half of a VOPD is. */
const struct opcode *opcode_dual(const struct opcode *half);

#endif
