/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu.h"

#include <stdio.h>
#include <string.h>

#include "approx.h"

static struct gpu the_gpu = {.lock = PTHREAD_MUTEX_INITIALIZER};
static _Thread_local struct sim_context *the_context;

struct gpu *gpu_enter(CUresult *ret_result)
{
    pthread_mutex_lock(&the_gpu.lock);
    *ret_result = the_gpu.initialised ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
    return &the_gpu;
}

CUresult gpu_leave(struct gpu *g, CUresult result)
{
    pthread_mutex_unlock(&g->lock);
    return result;
}

struct sim_context *gpu_context(void)
{
    return the_context;
}

void gpu_context_set(struct sim_context *c)
{
    the_context = c;
}

struct gpu *gpu_use(CUresult *ret_result)
{
    struct gpu *g = gpu_enter(ret_result);
    if (!*ret_result && !the_context)
        *ret_result = CUDA_ERROR_INVALID_CONTEXT;
    if (!*ret_result)
        *ret_result = g->sticky;
    if (!*ret_result)
        return g;
    gpu_leave(g, *ret_result);
    return NULL;
}

void gpu_note_alloc(struct gpu *g, uint64_t address, uint64_t size)
{
    if (g->checked)
        shadow_unwrite(&g->written, address - (uint64_t)(uintptr_t)g->memory.base, size);
}

void gpu_note_write(struct gpu *g, uint64_t address, uint64_t size)
{
    if (g->checked)
        shadow_write(&g->written, address - (uint64_t)(uintptr_t)g->memory.base, size);
}

SIM_API void gpuparity_sim_stats(struct device_stats *ret_stats);
SIM_API void gpuparity_sim_stats(struct device_stats *ret_stats)
{
    CUresult r;
    struct gpu *g = gpu_enter(&r);
    size_t n = 0;
    ret_stats->instructions = g->instructions;
    ret_stats->marks[0] = 0;
    for (int k = 0; k < MARK_COUNT_; k++) {
        if (!(g->marks >> k & 1) || n >= sizeof ret_stats->marks)
            continue;
        int more = snprintf(ret_stats->marks + n, sizeof ret_stats->marks - n, "%s%s: %s",
                            n ? "; " : "", marks[k].instruction, marks[k].bound);
        n += more > 0 ? (size_t)more : 0;
    }
    gpu_leave(g, r);
}

SIM_API void gpuparity_sim_stats_reset(void);
SIM_API void gpuparity_sim_stats_reset(void)
{
    CUresult r;
    struct gpu *g = gpu_enter(&r);
    g->instructions = 0;
    g->marks = 0;
    gpu_leave(g, r);
}

SIM_API const char *gpuparity_sim_last_fault(void);
SIM_API const char *gpuparity_sim_last_fault(void)
{
    return the_gpu.fault.text;
}
