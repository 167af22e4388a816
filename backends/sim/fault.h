/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_SIM_FAULT_H
#define GPUPARITY_SIM_FAULT_H

#include <stdint.h>

/* Why a simulated kernel stopped. Travels up as a return value: executors return nonzero and
 * leave one of these. */
enum sim_fault_kind {
    SIM_FAULT_NONE,
    SIM_FAULT_ADDRESS, /* outside every live allocation, shared or scratch window */
    SIM_FAULT_FREED,   /* inside an allocation that was freed */
    SIM_FAULT_ALIGNMENT,
    SIM_FAULT_INSTRUCTION, /* unknown or unsupported */
    SIM_FAULT_BARRIER,     /* divergent barrier: some threads ended or wait elsewhere */
    SIM_FAULT_TRAP,        /* the kernel asked for it: trap, assert */
    SIM_FAULT_BUDGET,      /* instruction budget used up: an endless loop, most likely */
    SIM_FAULT_UNINITIALISED,
    SIM_FAULT_RACE,
    SIM_FAULT_NOMEM
};

struct sim_fault {
    enum sim_fault_kind kind;
    uint64_t address, pc;
    uint32_t block[3];
    int lane;       /* thread within the block, linear; -1 if all */
    char text[640]; /* one line: kernel, instruction, what was touched */
};

/* Fills kind and text, keeps the first fault if one is there. Returns 1, for `return`. */
int sim_fault_set(struct sim_fault *f, enum sim_fault_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
