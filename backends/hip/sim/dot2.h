/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_DOT2_H
#define GPUPARITY_HIP_SIM_DOT2_H

#include <stdbool.h>
#include <stdint.h>

/* The two-product unit of gfx1100: v_dot2 and, as eight steps in k order, WMMA. Bits in, bits
 * out; it ignores the MODE register. a and b hold two 16-bit numbers, k = 0 in the low half. */
uint32_t dot2_f32_f16(uint32_t a, uint32_t b, uint32_t c);
uint32_t dot2_f32_bf16(uint32_t a, uint32_t b, uint32_t c);
uint32_t dot2_f16_f16(uint32_t a, uint32_t b, uint32_t c);   /* c and result: 16 bits */
uint32_t dot2_bf16_bf16(uint32_t a, uint32_t b, uint32_t c); /* c and result: 16 bits */

/* d = a * b + c. a[m] is row m of A and b[n] is column n of B, both with k running; c and d are
 * [m][n]. a, b and c are only read; d may be c. */
void wmma_f32_f16(uint32_t d[16][16], uint16_t a[16][16], uint16_t b[16][16],
                  uint32_t c[16][16]);
void wmma_f32_bf16(uint32_t d[16][16], uint16_t a[16][16], uint16_t b[16][16],
                   uint32_t c[16][16]);
void wmma_f16_f16(uint16_t d[16][16], uint16_t a[16][16], uint16_t b[16][16],
                  uint16_t c[16][16]);
void wmma_bf16_bf16(uint16_t d[16][16], uint16_t a[16][16], uint16_t b[16][16],
                    uint16_t c[16][16]);

/* Integers, exact; the products wrap, or with `clamp` the sum saturates. a and b hold one
 * element a byte (iu4: its low four bits). */
void wmma_i32_iu8(uint32_t d[16][16], uint8_t a[16][16], uint8_t b[16][16], uint32_t c[16][16],
                  bool a_signed, bool b_signed, bool clamp);
void wmma_i32_iu4(uint32_t d[16][16], uint8_t a[16][16], uint8_t b[16][16], uint32_t c[16][16],
                  bool a_signed, bool b_signed, bool clamp);

#endif
