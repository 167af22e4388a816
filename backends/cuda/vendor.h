/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_VENDOR_H
#define GPUPARITY_CUDA_VENDOR_H

#include <stddef.h>

/* The types of the CUDA driver API and NVRTC that api.def uses, so that no SDK is needed to
 * build. With VENDOR_SDK the real headers are in force instead: tests/script/vendor_check.c compiles
 * api.def against them. An enum of theirs is an int here: same size, same registers. */
#ifndef VENDOR_SDK
typedef int CUresult, CUdevice, CUdevice_attribute, CUjit_option, CUfunction_attribute;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef int nvrtcResult;
typedef struct _nvrtcProgram *nvrtcProgram;
#endif

/* Their neutral names. */
typedef CUdevice vendor_device;
typedef CUcontext vendor_context;
typedef CUmodule vendor_module;
typedef CUfunction vendor_function;
typedef CUdeviceptr vendor_pointer;
typedef CUstream vendor_stream;
typedef CUjit_option vendor_jit_option;
typedef nvrtcProgram vendor_program;

#define VENDOR_NAME "NVIDIA"
#define VENDOR_PCI 0x10de
#define VENDOR_ARCH "sm_86"
#define VENDOR_RUNTIME "libcuda.so.1"
#define VENDOR_SIMULATOR "libgpuparity-cuda-sim.so"
#define VENDOR_COMPILER "NVRTC"
#define VENDOR_TRANSLATOR NULL

#endif
