/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_VALU_FULL_H
#define GPUPARITY_HIP_SIM_VALU_FULL_H

#include "exec.h"
#include "lanes.h"
#include "rows.h"

/* The general executors: any operand types, source and result modifiers, DPP, float modes. */
exec_fn VARIANT_NAME(exec_full), VARIANT_NAME(exec_compare_full), VARIANT_NAME(exec_packed),
    VARIANT_NAME(exec_dual_full);
exec_fn VARIANT_NAME(exec_gather), VARIANT_NAME(exec_scatter), VARIANT_NAME(exec_lds_word),
    VARIANT_NAME(exec_lds_words);
extern const struct valu_variant VARIANT_NAME(valu);

#endif
