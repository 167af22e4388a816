/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_KNOWNSAMPLE_H
#define TESTS_KNOWNSAMPLE_H

#include "known.h"

/* Parts of entries about one finding: one f32 element of [2][2], at [1,0], which is wrong on B. */

#define ID "gemm/naive:dtype=f32,m=2,n=2,k=3,dist=normal,seed=1"
#define HEAD                                                                                   \
    "- case: '" ID "'\n  output: c\n  devices: cuda-sim,hip-sim\n  cause: scale/absmax\n"
#define TAIL "  reason: r\n  date: 2026-01-01\n  expires: 2026-12-31\n"
#define BITS "  element: 1,0\n  a: 0x40400000\n  b: 0x40C00000\n"

#endif
