/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_VALU_DECODE_H
#define GPUPARITY_HIP_SIM_VALU_DECODE_H

#include "operand.h"

/* The vector encodings; see decode.c. */
bool decode_vop1(struct cursor *c, struct inst *i);
bool decode_vop2(struct cursor *c, struct inst *i);
bool decode_vopc(struct cursor *c, struct inst *i);
bool decode_vop3(struct cursor *c, struct inst *i);
bool decode_vop3p(struct cursor *c, struct inst *i);
bool decode_vopd(struct cursor *c, struct inst *i);

#endif
