/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_TRANS_H
#define GPUPARITY_HIP_SIM_TRANS_H

#include <stdint.h>

/* The transcendental unit: v_rcp_f32, v_rsq_f32, v_exp_f32, v_log_f32 (both base 2) and
 * v_sqrt_f32 as bits in, bits out. They ignore the MODE register. The f16 forms take and give
 * the low 16 bits. */
uint32_t trans_rcp_f32(uint32_t x);
uint32_t trans_rsq_f32(uint32_t x);
uint32_t trans_exp_f32(uint32_t x);
uint32_t trans_log_f32(uint32_t x);
uint32_t trans_sqrt_f32(uint32_t x);
uint32_t trans_rcp_f16(uint32_t x);
uint32_t trans_rsq_f16(uint32_t x);
uint32_t trans_exp_f16(uint32_t x);
uint32_t trans_log_f16(uint32_t x);
uint32_t trans_sqrt_f16(uint32_t x);

/* The same for 32 lanes; d may be a. */
typedef void trans_row_fn(uint32_t *d, const uint32_t *a);
trans_row_fn trans_rcp_f32_row, trans_rsq_f32_row, trans_exp_f32_row, trans_log_f32_row,
    trans_sqrt_f32_row;

#endif
