/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_SIM_ORDER_H
#define GPUPARITY_SIM_ORDER_H

#include <stdint.h>

/* In which order blocks run, and the warps of a block between two barriers. A correct kernel
 * gives the same results in each, but for atomics that round. GPUPARITY_SIM_ORDER says which:
 * "linear" (the default), "reverse", or a number, which stands for a shuffled order of its own
 * with short turns. */
struct sim_order {
    enum { SIM_ORDER_LINEAR, SIM_ORDER_REVERSE, SIM_ORDER_SHUFFLED } kind;
    uint64_t seed;
    uint8_t fill; /* bytes that registers, shared and private memory hold at first: 0xcd, or
                     GPUPARITY_SIM_FILL, a number up to 255 */
};
enum { SIM_FILL = 0xcd };

struct sim_order sim_order_environment(void);

/* Which of `n` comes i-th, i < n: a permutation for each value of `salt`. */
uint64_t sim_order_place(const struct sim_order *o, uint64_t salt, uint64_t i, uint64_t n);

/* How long a warp's turn is, in units of the simulator; `standard` unless shuffled. */
uint32_t sim_order_turn(const struct sim_order *o, uint64_t salt, uint32_t standard);

#endif
