/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_SIM_FPROUND_H
#define GPUPARITY_SIM_FPROUND_H

#include "fp.h"

/* Inside fp*.c only: bits taken apart, and the one place that rounds. */

__extension__ typedef unsigned __int128 fp_wide;

enum fp_kind { FP_KIND_ZERO, FP_KIND_FINITE, FP_KIND_INF, FP_KIND_NAN };

/* FINITE: value = sig * 2^exponent, sig != 0, its leading bit at position `fraction` of the
 * format (subnormals are normalised). */
struct fp_number {
    enum fp_kind kind;
    bool sign;
    int exponent;
    uint64_t sig;
};

/* After flushing by v->flush_in. */
struct fp_number fp_unpack(const struct fp_env *v, enum fp_format f, uint64_t bits);

/* Rounds sig * 2^exponent to the format; sig may be 0. Bits lost before are marked by an odd
 * sig (the lowest bit must then lie two or more below the rounding position). */
uint64_t fp_pack(const struct fp_env *v, enum fp_format f, bool sign, int exponent,
                 fp_wide sig);

/* x / 2^count for any count >= 0, the lowest bit set if anything was lost. */
fp_wide fp_shift_jam(fp_wide x, int count);

/* x / 2^count rounded to an integer as `r` and the sign say; count may be any positive number.
 */
fp_wide fp_shift_round(fp_wide x, int count, enum fp_round r, bool sign);

int fp_top_bit(fp_wide x); /* position of the leading one; x != 0 */

uint64_t fp_zero(enum fp_format f, bool sign);
uint64_t fp_infinity(enum fp_format f, bool sign); /* finite-only: NaN */
uint64_t fp_max_finite(enum fp_format f, bool sign);
uint64_t fp_one(enum fp_format f);
uint64_t fp_sign_bit(enum fp_format f);

/* How far the format's own bits lie above bit 0: only tf32 has padding. */
int fp_padding(enum fp_format f);

/* The NaN an operation on n operands gives. */
uint64_t fp_nan_result(const struct fp_env *v, enum fp_format f, int n,
                       const uint64_t *operand);

#endif
