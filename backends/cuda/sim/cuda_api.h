/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_CUDA_API_H
#define GPUPARITY_CUDA_SIM_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

/* The part of the CUDA driver API that the simulated GPU exports, declared here so that no SDK
 * is needed to build. tests/cuda_sim_check.c compiles a program against the real <cuda.h> and
 * this library wherever the SDK is present.
 *
 * What a program may set in the environment:
 *   GPUPARITY_SIM_THREADS   host threads for the blocks of a grid (default: as many as there
 * are) GPUPARITY_SIM_BUDGET    warp instructions one launch may execute (default 2^40)
 *   GPUPARITY_SIM_FUSE      0: run mul and add as PTX has them; 1 (default): join them as ptxas
 * does GPUPARITY_SIM_APPROX    nearest (default), low or high: see approx.h
 *
 * Beside the driver API:
 *   void gpuparity_sim_stats(struct device_stats *)   see backends/backend.h
 *   const char *gpuparity_sim_last_fault(void)        one line about the last kernel that
 * failed,
 *                                                     "" if none did; good until the next
 * launch */
#define SIM_API __attribute__((visibility("default")))

enum cu_result {
#define ERROR(name, value, text) name = value,
#include "error.def"
#undef ERROR
};
typedef int CUresult, CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct sim_context *CUcontext;
typedef struct sim_module *CUmodule;
typedef struct sim_function *CUfunction;
typedef struct sim_stream *CUstream;
typedef struct sim_event *CUevent;

/* CUlaunchAttribute and CUlaunchConfig. */
struct launch_attribute {
    int id;
    char pad[4];
    unsigned value[16];
};

struct launch_config {
    unsigned grid[3], block[3], shared;
    CUstream stream;
    const struct launch_attribute *attribute;
    unsigned n_attribute;
};

#endif
