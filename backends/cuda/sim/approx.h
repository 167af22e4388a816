/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_APPROX_H
#define GPUPARITY_CUDA_SIM_APPROX_H

#include <stdbool.h>
#include <stdint.h>

/* The special function unit. Its bits are not public: the model gives the correctly rounded
 * value (NEAREST), or one at the lower or upper edge of the documented error, so that a user
 * can see whether a verdict hangs on it. Results that are exact in the format stay as they are
 * in every mode. Deterministic: basic operations only, no library functions. */

enum mark {
#define MARK(id, instruction, bound) MARK_##id,
#include "mark.def"
#undef MARK
    MARK_COUNT_
};

struct mark_info {
    const char *instruction, *bound;
};
extern const struct mark_info marks[MARK_COUNT_];

enum approx_mode { APPROX_NEAREST, APPROX_LOW, APPROX_HIGH };

/* GPUPARITY_SIM_APPROX: nearest, low or high. */
enum approx_mode approx_mode_environment(void);

/* One result in f32 bits. `op` is one of MARK_EX2 ... MARK_DIV_FULL; b only for divisions. */
uint32_t approx_f32(enum mark op, uint32_t a, uint32_t b, bool ftz, enum approx_mode mode);

/* MARK_RCP_F64, MARK_RSQRT_F64: the low word of the result is zero. MARK_RSQRT_WIDE: what ptxas
 * makes of rsqrt.approx.f64, arithmetic on the seed that the unit gives. */
uint64_t approx_f64(enum mark op, uint64_t a, enum approx_mode mode);

/* MARK_EX2_HALF, MARK_TANH_HALF on f16 or bf16 bits. */
uint32_t approx_half(enum mark op, uint32_t a, bool brain, bool ftz, enum approx_mode mode);

#endif
