/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_GPU_H
#define GPUPARITY_CUDA_SIM_GPU_H

#include <pthread.h>
#include <stdbool.h>

#include "backend.h"
#include "code.h"
#include "cuda_api.h"
#include "fault.h"
#include "memory.h"
#include "shadow.h"

/* The simulated card and what a process has on it. One object: the exported API has no handle
 * to keep it in. gpu_enter locks it and gpu_leave unlocks it; everything in between is
 * single-threaded. */

struct sim_function {
    struct sim_module *module;
    struct image image;
    int max_dynamic; /* bytes of dynamic shared memory it may ask for */
    int preferred;   /* cache preference, carveout: remembered only */
    struct sim_function *next;
};

struct sim_module {
    struct ptx_module ptx;
    struct sim_function *function; /* owned list */
    struct sim_module *next;
};

struct sim_context {
    CUdevice device;
    unsigned flags;
    int references;
    bool primary;
    struct sim_context *next;
};

struct gpu {
    pthread_mutex_t lock;
    bool initialised;
    struct sim_memory memory;
    struct sim_context primary;
    struct sim_context *context; /* owned list */
    struct sim_module *module;   /* owned list */
    struct sim_fault fault;      /* of the last launch that failed */
    CUresult sticky; /* after a fault every call returns it until the context goes */
    bool checked;              /* GPUPARITY_SIM_CHECK */
    struct shadow_map written; /* what is known about `memory` then */
    uint64_t instructions, marks, launches;
    uint32_t fused;
    int stack_limit, heap_limit, printf_limit;
};

/* Locks and returns the card. `ret_result`: CUDA_ERROR_NOT_INITIALIZED before cuInit. */
struct gpu *gpu_enter(CUresult *ret_result);
CUresult gpu_leave(struct gpu *g, CUresult result);

/* The context current on this thread. */
struct sim_context *gpu_context(void);
void gpu_context_set(struct sim_context *c);

/* gpu_enter that also wants a current context and no sticky error. NULL: nothing is locked and
 * *ret_result says why. */
struct gpu *gpu_use(CUresult *ret_result);

/* Memory that the host has just given out or filled. Nothing happens unless launches are checked. */
void gpu_note_alloc(struct gpu *g, uint64_t address, uint64_t size);
void gpu_note_write(struct gpu *g, uint64_t address, uint64_t size);

/* --- modules: module.c -----------------------------------------------------------------------
 */

/* Loads PTX text. CUDA_ERROR_INVALID_PTX with `ret_error` filled when it is wrong. */
CUresult module_load(struct gpu *g, const char *text, size_t size,
                     struct sim_module **ret_module, struct ptx_error *ret_error);
void module_unload(struct gpu *g, struct sim_module *m);
struct sim_function *module_function(struct sim_module *m, const char *name);
CUresult module_global(struct sim_module *m, const char *name, uint64_t *ret_address,
                       uint64_t *ret_size);
bool module_known(const struct gpu *g, const struct sim_module *m);
bool function_known(const struct gpu *g, const struct sim_function *f);

/* --- launches: launch.c ----------------------------------------------------------------------
 */

struct launch_request {
    struct sim_function *function;
    uint32_t grid[3], block[3], shared;
    void **param, **extra;
};
CUresult launch_run(struct gpu *g, const struct launch_request *r);

#endif
