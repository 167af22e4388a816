/* SPDX-License-Identifier: Apache-2.0 */
#include "rules.h"

/* "PTX n" is the section of the PTX ISA manual (9.x); "header" the CUDA 13.0 headers. */
const struct fp_rules cuda_rules = {
    .name = "sm_86",
    .nan =
        {
            /* no manual gives the bits of an f64 NaN that is not an operand's; ptxas' slow path of
             * rsqrt.approx.f64 writes this one for a negative operand, and compilers fold
             * 0/0 to this one: UNKNOWN on silicon */
            [FP_F64] = 0xfff8000000000000,
            [FP_F32] = 0x7fffffff,  /* PTX, floating-point: f32 results are canonical NaN */
            [FP_TF32] = 0x7fffe000, /* the same, low 13 bits 0 */
            [FP_F16] = 0x7fff,      /* PTX, f16 arithmetic; cuda_fp16.hpp */
            [FP_BF16] = 0x7fff,     /* PTX, bf16 arithmetic; cuda_bf16.hpp */
            [FP_E4M3] = 0x7f,       /* PTX cvt to e4m3x2: the only NaN */
            [FP_E5M2] = 0x7f,       /* PTX cvt to e5m2x2 */
        },
    .nan_rule =
        {
            [FP_F64] = FP_NAN_OPERAND, /* PTX 5.x types: f64 NaN payloads are kept; which
                                          operand wins is not said: the first, UNKNOWN */
            [FP_F32] = FP_NAN_CANONICAL,
            [FP_TF32] = FP_NAN_CANONICAL,
            [FP_F16] = FP_NAN_CANONICAL,
            [FP_BF16] = FP_NAN_CANONICAL,
            [FP_E4M3] = FP_NAN_CANONICAL,
            [FP_E5M2] = FP_NAN_CANONICAL,
        },
    .convert_nan =
        {
            [FP_F64] = FP_NAN_OPERAND, /* f32 -> f64 widens the payload: UNKNOWN, as nan_rule */
            [FP_F32] = FP_NAN_CANONICAL,
            [FP_TF32] = FP_NAN_CANONICAL,
            [FP_F16] = FP_NAN_CANONICAL,  /* header: __float2half(NaN) = 0x7fff */
            [FP_BF16] = FP_NAN_CANONICAL, /* header: __float2bfloat16(NaN) = 0x7fff */
            [FP_E4M3] = FP_NAN_CANONICAL,
            [FP_E5M2] = FP_NAN_CANONICAL,
        },
    .nan_to_int =
        FP_NAN_TO_INT_WIDE_TOP,     /* PTX cvt: 0 unless source is f64 or result 64 bits */
    .minmax_signalling = false,     /* PTX min, max: one NaN gives the other operand */
    .minmax_nan = FP_NAN_CANONICAL, /* PTX min, max: both NaN give canonical NaN */
    .tiny_before_rounding = false,  /* .ftz "flushes subnormal results": which side of the
                                       rounding is not said: UNKNOWN */
};
