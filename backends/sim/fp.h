/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_SIM_FP_H
#define GPUPARITY_SIM_FP_H

#include <stdbool.h>
#include <stdint.h>

/* Exact floating-point arithmetic on bit patterns, with what differs between vendors in one
 * rules struct. Values travel as uint64_t, right-aligned; bits beyond the format are ignored on
 * input and 0 on output (tf32: 32 bits, of which the low 13 are ignored and 0). Nothing here
 * depends on the host's floating-point unit. For whole warps in round-to-nearest f32 see
 * fpwarp.h. */

enum fp_format {
#define FP_FORMAT(id, bytes, exponent, fraction, finite_only) FP_##id,
#include "fp.def"
#undef FP_FORMAT
    FP_FORMAT_COUNT_
};

enum fp_round {
    FP_RNE, /* nearest, ties to even:       .rn .rni */
    FP_RZ,  /* toward zero:                 .rz .rzi */
    FP_RD,  /* toward minus infinity:       .rm .rmi */
    FP_RU,  /* toward plus infinity:        .rp .rpi */
    FP_RNA  /* nearest, ties away from 0:   .rna */
};

/* Where a NaN result comes from when an operand is a NaN. */
enum fp_nan_rule {
    FP_NAN_CANONICAL, /* always rules->nan */
    FP_NAN_OPERAND    /* the first NaN operand (a, then b, then c), quieted, payload kept */
};

/* What a NaN becomes as an integer. */
enum fp_nan_to_int {
    FP_NAN_TO_INT_ZERO,
    FP_NAN_TO_INT_WIDE_TOP /* 0, but the top bit alone if source or result has 64 bits */
};

/* Facts about a vendor, constant. */
struct fp_rules {
    const char *name;
    uint64_t nan[FP_FORMAT_COUNT_];                 /* what an invalid operation gives */
    enum fp_nan_rule nan_rule[FP_FORMAT_COUNT_];    /* arithmetic in that format */
    enum fp_nan_rule convert_nan[FP_FORMAT_COUNT_]; /* conversion to it: OPERAND keeps sign and
                                                       top payload bits */
    enum fp_nan_to_int nan_to_int;
    bool minmax_signalling;      /* a signalling NaN operand of min/max is the result (quieted);
                                    else it counts as any NaN: the other operand is the result */
    enum fp_nan_rule minmax_nan; /* both operands NaN: canonical, or the second one quieted */
    bool
        tiny_before_rounding; /* flush_out looks at the exact result; else at the rounded one */
};

/* How one instruction computes: rules plus the modifiers of a PTX instruction or the MODE
 * register of a wave. Masks have bit 1 << FP_x for each format. */
struct fp_env {
    const struct fp_rules *rules;
    enum fp_round round;
    uint8_t flush_in;  /* subnormal operands of these formats count as zero of their sign */
    uint8_t flush_out; /* subnormal results become zero of their sign */
    bool saturate; /* fp_convert: overflow and Inf give the largest finite value, NaN stays */
};

/* Widths of a format. */
struct fp_layout {
    int bytes, exponent, fraction;
    bool finite_only;
};
const struct fp_layout *fp_layout(enum fp_format f);

/* --- arithmetic: one rounding each
 * ------------------------------------------------------------ */

uint64_t fp_add(const struct fp_env *v, enum fp_format f, uint64_t a, uint64_t b);
uint64_t fp_sub(const struct fp_env *v, enum fp_format f, uint64_t a, uint64_t b);
uint64_t fp_mul(const struct fp_env *v, enum fp_format f, uint64_t a, uint64_t b);
uint64_t fp_div(const struct fp_env *v, enum fp_format f, uint64_t a, uint64_t b);
uint64_t fp_sqrt(const struct fp_env *v, enum fp_format f, uint64_t a);

/* a * b + c. Inf * 0 is invalid even if c is a NaN (then the NaN rule decides as for any NaN).
 */
uint64_t fp_fma(const struct fp_env *v, enum fp_format f, uint64_t a, uint64_t b, uint64_t c);

/* (a * b + c) * 2^scale, still one rounding: v_div_fmas. */
uint64_t fp_fma_scaled(const struct fp_env *v, enum fp_format f, uint64_t a, uint64_t b,
                       uint64_t c, int scale);

/* --- conversions
 * ------------------------------------------------------------------------------ */

/* Overflow: Inf or the largest finite value as the rounding mode says (finite-only: NaN); see
 * saturate. Flushing: flush_in by the source format, flush_out by the result's. */
uint64_t fp_convert(const struct fp_env *v, enum fp_format to, enum fp_format from, uint64_t a);

/* Rounds by v->round and saturates. Result in the low `bits` (8, 16, 32, 64), zero above. */
uint64_t fp_to_int(const struct fp_env *v, enum fp_format from, uint64_t a, int bits,
                   bool is_signed);

/* `i` is a two's complement (is_signed) or unsigned 64-bit number: extend narrower ones first.
 */
uint64_t fp_from_int(const struct fp_env *v, enum fp_format to, uint64_t i, bool is_signed);

/* To an integral value of the same format; -0.3 gives -0. */
uint64_t fp_round_int(const struct fp_env *v, enum fp_format f, uint64_t a);

/* --- comparison and pieces
 * -------------------------------------------------------------------- */

enum fp_order { FP_LESS = -1, FP_EQUAL = 0, FP_GREATER = 1, FP_UNORDERED = 2 };
enum fp_order fp_compare(const struct fp_env *v, enum fp_format f, uint64_t a, uint64_t b);

/* -0 < +0. Operands are flushed by flush_in; flush_out does not apply. */
uint64_t fp_min(const struct fp_env *v, enum fp_format f, uint64_t a, uint64_t b);
uint64_t fp_max(const struct fp_env *v, enum fp_format f, uint64_t a, uint64_t b);

/* The NaN-propagating forms (min.NaN): any NaN operand gives the NaN of the arithmetic rule. */
uint64_t fp_min_nan(const struct fp_env *v, enum fp_format f, uint64_t a, uint64_t b);
uint64_t fp_max_nan(const struct fp_env *v, enum fp_format f, uint64_t a, uint64_t b);

/* To [0, 1], NaN and -0 to +0: .sat, and clamp with DX10_CLAMP. */
uint64_t fp_clamp(enum fp_format f, uint64_t a);

uint64_t fp_ldexp(const struct fp_env *v, enum fp_format f, uint64_t a, int32_t n);

/* a = mantissa * 2^exponent, 0.5 <= |mantissa| < 1. Zero, Inf, NaN: themselves (NaN quieted),
 * and exponent 0. */
uint64_t fp_frexp_mantissa(const struct fp_env *v, enum fp_format f, uint64_t a);
int fp_frexp_exponent(const struct fp_env *v, enum fp_format f, uint64_t a);

/* a - floor(a), at most the largest value below 1: v_fract. */
uint64_t fp_fract(const struct fp_env *v, enum fp_format f, uint64_t a);

/* One bit of the ten; the order is that of v_cmp_class. */
enum fp_class {
    FP_CLASS_SNAN = 1 << 0,
    FP_CLASS_QNAN = 1 << 1,
    FP_CLASS_MINUS_INF = 1 << 2,
    FP_CLASS_MINUS_NORMAL = 1 << 3,
    FP_CLASS_MINUS_SUBNORMAL = 1 << 4,
    FP_CLASS_MINUS_ZERO = 1 << 5,
    FP_CLASS_PLUS_ZERO = 1 << 6,
    FP_CLASS_PLUS_SUBNORMAL = 1 << 7,
    FP_CLASS_PLUS_NORMAL = 1 << 8,
    FP_CLASS_PLUS_INF = 1 << 9
};
enum fp_class fp_classify(enum fp_format f, uint64_t a);

bool fp_is_nan(enum fp_format f, uint64_t a);
bool fp_is_subnormal(enum fp_format f, uint64_t a);

/* A NaN with the quiet bit set; anything else as it is. */
uint64_t fp_quiet(enum fp_format f, uint64_t a);

/* a, or zero of its sign if it is subnormal and the mask names f. */
uint64_t fp_flush(uint8_t mask, enum fp_format f, uint64_t a);

#endif
