/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_REGALLOC_H
#define GPUPARITY_CUDA_SIM_REGALLOC_H

#include "code.h"

/* Gives every slot that occurs its place in the register file, turns the slot numbers of the
 * instructions into byte offsets, and lists the registers that may be read before they are
 * written. Registers that are never alive together share a place. False: no memory. */
bool registers_place(struct image *im);

#endif
