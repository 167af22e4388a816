/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_VENDOR_H
#define GPUPARITY_HIP_VENDOR_H

#include <stddef.h>

/* The types of the HIP runtime and hipRTC that api.def uses, so that no SDK is needed to build.
 * With VENDOR_SDK the real headers are in force instead: tests/script/vendor_check.c compiles api.def
 * against them. An enum of theirs is an int here: same size, same registers. */
#ifndef VENDOR_SDK
typedef int hipError_t, hipDevice_t, hipDeviceAttribute_t, hipJitOption;
typedef void *hipDeviceptr_t;
typedef struct ihipModule_t *hipModule_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;
typedef struct ihipStream_t *hipStream_t;
typedef int hiprtcResult;
typedef struct _hiprtcProgram *hiprtcProgram;
#endif

/* Where newer headers say const and older ones do not; the call is the same. */
#ifndef HIP_CONST
#define HIP_CONST
#endif

/* Their neutral names. */
typedef hipDevice_t vendor_device;
typedef void *vendor_context;
typedef hipModule_t vendor_module;
typedef hipFunction_t vendor_function;
typedef hipDeviceptr_t vendor_pointer;
typedef hipStream_t vendor_stream;
typedef hipJitOption vendor_jit_option;
typedef hiprtcProgram vendor_program;

#define VENDOR_NAME "AMD"
#define VENDOR_PCI 0x1002
#define VENDOR_ARCH "gfx1100"
#define VENDOR_RUNTIME "libamdhip64.so"
#define VENDOR_SIMULATOR "libgpuparity-hip-sim.so"
#define VENDOR_COMPILER "hipRTC"
#define VENDOR_TRANSLATOR "hipify-perl"

#endif
