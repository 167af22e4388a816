/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_POISON_H
#define GPUPARITY_POISON_H

#include <stdint.h>

#include "dtype.h"

/* What outputs hold before a kernel runs, and what lies around every tensor. An element that still has
 * this pattern was never written. Floating formats: a signalling NaN with a payload that no
 * arithmetic produces; others: 0xa5 bytes. */
enum { POISON_GUARD_BYTES = 4096, POISON_BYTE = 0xa5 };

/* In formats of one byte every pattern is a result that can occur. Where the poison is found in
 * such an output the case runs again on another poison, and an element was never written only
 * if it holds the one, then the other. record_case.unwritten is the count, 0 when each is a
 * result; then no element of one byte is to be taken for poison. */
enum { POISON_OTHER_BYTE = 0x5a };

static inline uint64_t poison_bits(enum dtype d)
{
    switch (d) {
    case DTYPE_F64:
        return 0x7ff4a5a5a5a5a5a5;
    case DTYPE_F32:
    case DTYPE_TF32:
        return 0x7fa5a5a5;
    case DTYPE_F16:
        return 0x7da5;
    case DTYPE_BF16:
        return 0x7fa5;
    case DTYPE_E5M2:
        return 0x7d;
    case DTYPE_I64:
    case DTYPE_U64:
        return 0xa5a5a5a5a5a5a5a5;
    case DTYPE_I32:
    case DTYPE_U32:
        return 0xa5a5a5a5;
    case DTYPE_I16:
    case DTYPE_U16:
        return 0xa5a5;
    default:
        return 0xa5;
    }
}

/* The pattern that means "never written" in an output of a case with that count, or one that no
 * element has. */
static inline uint64_t poison_sign(enum dtype d, int64_t unwritten)
{
    return dtype_info(d)->bytes == 1 && unwritten == 0 ? UINT64_MAX : poison_bits(d);
}

#endif
