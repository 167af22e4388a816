/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_DEVICE_FAULT_H
#define GPUPARITY_CASES_DEVICE_FAULT_H

#include "device_language.h"

/* A kernel with a planted fault is the right one in a template whose K names the fault; it acts
 * on HIP only, so that one side is right. */
template <i32 K> DEVICE bool acts(i32 fault)
{
    return DEVICE_IS_HIP && K == fault;
}

#endif
