/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_HMMA_H
#define GPUPARITY_CUDA_SIM_HMMA_H

#include <stdint.h>

/* The tensor core of GA10x: D = A * B + C for the tile of one mma instruction. Plain arrays,
 * bits in and bits out; which lane holds what is the caller's part (exec_matrix.c).
 *
 *   a[i * k + l]   row i of A, l running along k
 *   b[j * k + l]   column j of B, l running along k
 *   c[i * n + j]   and d alike; d may be c
 *
 * k is the depth of the instruction: the sum is formed in groups of 8 products (tf32: 4), low l
 * first, each group rounded into the accumulator's format before the next one. */
enum hmma_format { HMMA_F16, HMMA_BF16, HMMA_TF32 };

/* Compiled once more for each instruction set of the host, under a name of its own. */
#ifdef SIM_ISA
#define HMMA_JOIN_(name, isa) name##_##isa
#define HMMA_JOIN(name, isa) HMMA_JOIN_(name, isa)
#define hmma_f32 HMMA_JOIN(hmma_f32, SIM_ISA)
#define hmma_f16 HMMA_JOIN(hmma_f16, SIM_ISA)
#endif

/* f32 sums. a and b: uint16_t elements for f16 and bf16, uint32_t for tf32 (low 13 bits
 * ignored). m, n: 8, 16 or 32; k: 4, 8 or 16. */
void hmma_f32(enum hmma_format f, int m, int n, int k, const void *a, const void *b,
              const uint32_t *c, uint32_t *d);

/* f16 products, f16 sums. */
void hmma_f16(int m, int n, int k, const uint16_t *a, const uint16_t *b, const uint16_t *c,
              uint16_t *d);

#endif
