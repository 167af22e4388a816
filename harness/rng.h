/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_RNG_H
#define GPUPARITY_RNG_H

#include <stdint.h>

/* Counter-based random bits: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC11). No state: any
 * element can be made alone, in any order, on any thread, with the same result. */
struct rng_key {
    uint32_t k[2];
};

/* A stream of its own for each (seed, name); names are hashed with XXH3-64. */
struct rng_key rng_key_make(uint64_t seed, const char *name);

/* Block `counter` of the stream: four independent 32-bit words. `lane` (0 for plain use)
 * separates several draws for one index. */
void rng_block(struct rng_key key, uint64_t counter, uint64_t lane, uint32_t ret_words[4]);

/* 64 random bits / a double in (0,1) on the grid (i + 1/2) 2^-52, for one index. */
uint64_t rng_bits(struct rng_key key, uint64_t index, uint64_t lane);
double rng_unit(struct rng_key key, uint64_t index, uint64_t lane);

/* A standard normal variate made with correctly rounded operations only (+ - * / sqrt), hence
 * the same bits everywhere. */
double rng_normal(struct rng_key key, uint64_t index, uint64_t lane);

#endif
