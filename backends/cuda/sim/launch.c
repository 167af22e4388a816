/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "exec.h"
#include "gpu.h"
#include "trace.h"

/* A launch: limits as the card has them, arguments into a buffer, blocks over host threads. */

enum { SHARED_OPT_IN = 101376, THREADS_BLOCK = 1024 };

static bool dims_ok(const struct launch_request *r)
{
    static const uint32_t grid_max[3] = {2147483647, 65535, 65535},
                          block_max[3] = {1024, 1024, 64};
    uint64_t threads = 1;
    for (int k = 0; k < 3; k++) {
        if (!r->grid[k] || r->grid[k] > grid_max[k] || !r->block[k] ||
            r->block[k] > block_max[k])
            return false;
        threads *= r->block[k];
    }
    return threads <= THREADS_BLOCK;
}

static bool threads_ok(const struct launch_request *r)
{
    const struct ptx_function *f = r->function->image.entry;
    uint64_t most = (uint64_t)f->max_threads[0] * f->max_threads[1] * f->max_threads[2];
    uint64_t threads = (uint64_t)r->block[0] * r->block[1] * r->block[2];
    if (most && threads > most)
        return false;
    return !f->required_threads[0] || !memcmp(f->required_threads, r->block, sizeof r->block);
}

/* --- arguments -------------------------------------------------------------------------------
 */

static CUresult params_copy(const struct launch_request *r, uint8_t *buffer)
{
    int k = 0;
    for (const struct ptx_symbol *s = r->function->image.entry->param; s; s = s->next, k++) {
        if (!r->param[k])
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(buffer + s->address, r->param[k], s->size);
    }
    return CUDA_SUCCESS;
}

/* CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE, _END */
static CUresult extra_copy(const struct launch_request *r, uint8_t *buffer, size_t size)
{
    const void *bytes = NULL;
    size_t n = 0;
    for (void **at = r->extra; *at; at += 2) {
        if ((uintptr_t)*at == 1)
            bytes = at[1];
        else if ((uintptr_t)*at == 2)
            n = *(const size_t *)at[1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (!bytes || n > size + 4096)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(buffer, bytes, n < size ? n : size);
    return CUDA_SUCCESS;
}

static CUresult arguments_copy(const struct launch_request *r, uint8_t *buffer)
{
    size_t size = r->function->image.param_size;
    if (!size)
        return CUDA_SUCCESS;
    if (r->param && r->extra)
        return CUDA_ERROR_INVALID_VALUE;
    if (r->param)
        return params_copy(r, buffer);
    return r->extra ? extra_copy(r, buffer, size) : CUDA_ERROR_INVALID_VALUE;
}

/* --- running ---------------------------------------------------------------------------------
 */

static CUresult fault_result(enum sim_fault_kind kind)
{
    switch (kind) {
    case SIM_FAULT_ADDRESS:
    case SIM_FAULT_FREED:
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    case SIM_FAULT_ALIGNMENT:
        return CUDA_ERROR_MISALIGNED_ADDRESS;
    case SIM_FAULT_INSTRUCTION:
        return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case SIM_FAULT_BUDGET:
        return CUDA_ERROR_LAUNCH_TIMEOUT;
    case SIM_FAULT_NOMEM:
        return CUDA_ERROR_OUT_OF_MEMORY;
    default:
        return CUDA_ERROR_LAUNCH_FAILED;
    }
}

static CUresult grid_run(struct gpu *g, const struct launch_request *r, uint8_t *param)
{
    const struct image *im = &r->function->image;
    struct launch_state s = {.image = im, .memory = &g->memory, .param = param};
    memcpy(s.grid, r->grid, sizeof s.grid);
    memcpy(s.block, r->block, sizeof s.block);
    s.n_thread = r->block[0] * r->block[1] * r->block[2];
    s.n_warp = (s.n_thread + WARP_LANES - 1) / WARP_LANES;
    s.shared_size = im->shared_size + r->shared;
    s.dynamic_size = r->shared;
    s.grid_id = ++g->launches;
    s.approx = approx_mode_environment();
    s.warp_stride = ((size_t)im->register_bytes + 63) / 64 * 64;

    struct sim_grid grid = {.ordered = im->ordered, .run = block_run, .context = &s};
    memcpy(grid.grid, r->grid, sizeof grid.grid);
    memcpy(grid.block, r->block, sizeof grid.block);
    grid.workspace_size = block_workspace_size(&s);
    struct sim_fault fault = {0};
    struct shadow_map shared = {0};
    if (g->checked) {
        uint64_t blocks = (uint64_t)r->grid[0] * r->grid[1] * r->grid[2];
        if (shadow_init(&shared, s.shared_size + 1) || shadow_begin(&g->written, blocks))
            return CUDA_ERROR_OUT_OF_MEMORY;
        s.global_map = &g->written;
        s.shared_map = &shared;
        grid.ordered = true;
    }
    struct sim_trace trace;
    if (sim_trace_begin(&trace, im->name))
        s.trace = &trace;
    int failed = sim_grid_run(&grid, &g->instructions, &fault);
    sim_trace_end(&trace);
    shadow_release(&shared);
    g->marks |= im->marks;
    g->fused += im->fused;
    if (!failed)
        return CUDA_SUCCESS;
    g->fault = fault;
    return g->sticky = fault_result(fault.kind);
}

CUresult launch_run(struct gpu *g, const struct launch_request *r)
{
    const struct image *im = &r->function->image;
    if (!dims_ok(r) || r->shared > SHARED_OPT_IN ||
        r->shared + im->shared_size > SHARED_OPT_IN ||
        (r->shared + im->shared_size > 48 << 10 && (int)r->shared > r->function->max_dynamic))
        return CUDA_ERROR_INVALID_VALUE;
    if (!threads_ok(r))
        return CUDA_ERROR_INVALID_VALUE;
    uint8_t *param = calloc(1, (size_t)im->param_size + 16);
    if (!param)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = arguments_copy(r, param);
    if (!result) {
        g->fault.text[0] = 0;
        result = grid_run(g, r, param);
    }
    free(param);
    return result;
}
