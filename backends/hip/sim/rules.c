/* SPDX-License-Identifier: Apache-2.0 */
#include "rules.h"

/* "ISA" is AMD's RDNA3 instruction set manual; "capture" a result taken from a W7900 (gfx1100),
 * published with AMD's rocjitsu. */
const struct fp_rules hip_rules = {
    .name = "gfx1100",
    .nan =
        {
            /* invalid operations give the negative quiet NaN with no payload: capture, v_dot2
             * and v_log of a negative number for f32; the other widths by analogy */
            [FP_F64] = 0xfff8000000000000,
            [FP_F32] = 0xffc00000,
            [FP_TF32] = 0xffc00000, /* no tf32 on this machine */
            [FP_F16] = 0xfe00,
            [FP_BF16] = 0xffc0,
            [FP_E4M3] = 0xff, /* no fp8 on this machine */
            [FP_E5M2] = 0xfe,
        },
    /* ISA, NaN rules: the operand, quieted; src0 before src1 before src2 */
    .nan_rule = {[FP_F64] = FP_NAN_OPERAND,
                 [FP_F32] = FP_NAN_OPERAND,
                 [FP_TF32] = FP_NAN_OPERAND,
                 [FP_F16] = FP_NAN_OPERAND,
                 [FP_BF16] = FP_NAN_OPERAND,
                 [FP_E4M3] = FP_NAN_OPERAND,
                 [FP_E5M2] = FP_NAN_OPERAND},
    /* v_cvt_f16_f32 and back keep sign and upper payload; HIP's bf16 code does the same */
    .convert_nan = {[FP_F64] = FP_NAN_OPERAND,
                    [FP_F32] = FP_NAN_OPERAND,
                    [FP_TF32] = FP_NAN_OPERAND,
                    [FP_F16] = FP_NAN_OPERAND,
                    [FP_BF16] = FP_NAN_OPERAND,
                    [FP_E4M3] = FP_NAN_CANONICAL,
                    [FP_E5M2] = FP_NAN_CANONICAL},
    .nan_to_int = FP_NAN_TO_INT_ZERO, /* ISA v_cvt_i32_f32: NaN becomes 0 */
    .minmax_signalling = true,        /* ISA v_max_f32 pseudo-code under IEEE mode (HIP's) */
    .minmax_nan = FP_NAN_OPERAND,     /* ISA: src0 is a NaN: the result is src1 */
    .tiny_before_rounding =
        false, /* the same order as captured for v_dot2; UNKNOWN for others */
};
