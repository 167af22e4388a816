/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_RULES_H
#define GPUPARITY_HIP_SIM_RULES_H

#include "fp.h"

/* How gfx1100 arithmetic differs from plain IEEE 754; the source of each fact stands beside it.
 */
extern const struct fp_rules hip_rules;

#endif
