/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_FLOATOP_H
#define GPUPARITY_CUDA_SIM_FLOATOP_H

/* What float_any computes: inst.type2. */
enum float_op {
    FLOAT_ADD,
    FLOAT_SUB,
    FLOAT_MUL,
    FLOAT_FMA,
    FLOAT_DIV,
    FLOAT_RCP,
    FLOAT_SQRT,
    FLOAT_MIN,
    FLOAT_MAX
};

/* inst.imm of float_any. */
enum { FLOAT_XORSIGN = 1, FLOAT_ABS = 2 };

#endif
