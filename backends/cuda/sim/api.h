/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_API_H
#define GPUPARITY_CUDA_SIM_API_H

#include "gpu.h"

/* The exported functions. */
#define FUNCTION(name, symbol, arguments) SIM_API CUresult symbol arguments;
#include "function.def"
#undef FUNCTION

#endif
