/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_DEVICE_H
#define GPUPARITY_CASES_DEVICE_H

/* The one subset of CUDA and HIP that kernels use. It compiles with NVRTC, nvcc, hipRTC (5.7 and
 * later) and hipcc, needs no vendor header, and erases no difference between the vendors.
 *
 *   device_language.h   entries, barriers, integers of fixed width
 *   device_format.h     f16 and bf16; formats as template arguments
 *
 * A kernel that wants them includes as well
 *
 *   device_warp.h       lanes of a warp
 *   device_matrix.h     matrix units */

#include "device_format.h"
#include "device_language.h"

#endif
