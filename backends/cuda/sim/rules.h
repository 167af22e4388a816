/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_RULES_H
#define GPUPARITY_CUDA_SIM_RULES_H

#include "fp.h"

/* How sm_86 arithmetic differs from plain IEEE 754; the source of each fact stands beside it.
 */
extern const struct fp_rules cuda_rules;

#endif
