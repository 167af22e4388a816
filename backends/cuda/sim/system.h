/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_SYSTEM_H
#define GPUPARITY_CUDA_SIM_SYSTEM_H

/* Functions that the driver, not a module, provides to kernels: inst.extra of system_call. */
enum system_call {
    SYSTEM_VPRINTF, /* (format, arguments): to standard output */
    SYSTEM_ASSERT   /* (message, file, line, function, size of a character): ends the kernel */
};

#endif
