/* SPDX-License-Identifier: Apache-2.0 */
#include "launch.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../sim/grid.h"
#include "../../sim/trace.h"
#include "blockrun.h"
#include "watch.h"

enum { SEGMENT_MIN = 256, PROPERTY_WAVE32 = 1 << 10, RSRC1_FP16_OVFL = 1 << 26 };

bool launch_gather(const struct kernel *k, void *const *values, uint8_t *room)
{
    int next = 0;
    for (int n = 0; n < k->meta->n_arg; n++) {
        const struct kernel_arg *a = &k->meta->arg[n];
        if (a->kind != ARG_EXPLICIT)
            continue;
        if (!values[next])
            return false;
        memcpy(room + a->offset, values[next++], a->size);
    }
    return true;
}

static void hidden_fill(const struct launch_request *p, uint8_t *segment)
{
    const struct kernel_metadata *m = p->kernel->meta;
    for (int n = 0; n < m->n_arg; n++) {
        const struct kernel_arg *a = &m->arg[n];
        uint64_t v = 0;
        switch (a->kind) {
#define HIDDEN(name, value)                                                                    \
    case ARG_##name:                                                                           \
        v = value;                                                                             \
        break;
#include "hidden.def"
#undef HIDDEN
        case ARG_EXPLICIT:
        case ARG_UNKNOWN:
            continue;
        }
        memcpy(segment + a->offset, &v, a->size < sizeof v ? a->size : sizeof v);
    }
}

/* A refusal in words. */
static enum launch_status bad(const struct launch_request *p, struct sim_fault *f,
                              const char *format, ...) __attribute__((format(printf, 3, 4)));
static enum launch_status bad(const struct launch_request *p, struct sim_fault *f,
                              const char *format, ...)
{
    char text[300];
    va_list v;
    va_start(v, format);
    vsnprintf(text, sizeof text, format, v);
    va_end(v);
    sim_fault_set(f, SIM_FAULT_NONE, "kernel %s: %s", p->kernel->meta->name, text);
    return LAUNCH_BAD_SHAPE;
}

/* Of waves and modes the simulator does not have. */
static enum launch_status code_check(const struct launch_request *p, struct sim_fault *f)
{
    const struct kernel_descriptor *d = &p->kernel->descriptor;
    if (!(d->properties & PROPERTY_WAVE32))
        return bad(p, f,
                   "compiled for waves of 64, this simulator runs waves of 32: compile without "
                   "-mwavefrontsize64");
    if (d->rsrc1 & RSRC1_FP16_OVFL)
        return bad(p, f,
                   "clamps 16-bit results (FP16_OVFL in its descriptor), which this simulator "
                   "does not model: compile without .amdhsa_fp16_overflow");
    return LAUNCH_OK;
}

static enum launch_status shape_check(const struct launch_request *p, struct sim_fault *f)
{
    const struct kernel *k = p->kernel;
    const uint64_t threads = (uint64_t)p->block[0] * p->block[1] * p->block[2];
    const uint32_t lds = k->descriptor.lds + p->dynamic_lds;
    for (int n = 0; n < 3; n++)
        if (!p->grid[n] || !p->block[n] || p->block[n] > THREADS_MAX ||
            (uint64_t)p->grid[n] * p->block[n] > UINT32_MAX)
            return bad(p, f, "grid of %u and block of %u in one dimension are out of range",
                       p->grid[n], p->block[n]);
    if (threads > THREADS_MAX)
        return bad(p, f, "%u threads a block are more than %d", (unsigned)threads, THREADS_MAX);
    if (k->meta->max_threads && threads > k->meta->max_threads)
        return bad(p, f, "%u threads a block are more than the %u it was compiled for",
                   (unsigned)threads, k->meta->max_threads);
    if (lds > LDS_BYTES || lds < p->dynamic_lds)
        return bad(p, f, "%u and %u bytes of shared memory are more than %d", k->descriptor.lds,
                   p->dynamic_lds, LDS_BYTES);
    if (p->args_size > k->meta->kernarg_size)
        return bad(p, f, "%zu bytes of arguments for a segment of %u", p->args_size,
                   k->meta->kernarg_size);
    return code_check(p, f);
}

/* hsa_kernel_dispatch_packet_t, for code that asks for it (-O0). */
struct dispatch_packet {
    uint16_t header, setup, block[3], reserved0;
    uint32_t grid[3], private_size, group_size;
    uint64_t kernel, kernarg, reserved1, completion;
};

/* The apertures within amd_queue_t. */
enum { QUEUE_BYTES = 256, QUEUE_SHARED_BASE = 0x40, QUEUE_PRIVATE_BASE = 0x44 };

/* Kept from launch to launch: memory that was freed is not used again for long. */
static uint64_t segment_room(struct codeobject *o, uint64_t size)
{
    if (size <= o->segment_size)
        return o->segment;
    if (o->segment)
        sim_memory_free(o->memory, o->segment);
    o->segment = sim_memory_alloc(o->memory, size);
    o->segment_size = o->segment ? size : 0;
    return o->segment;
}

/* Argument segment, dispatch packet, queue. */
static uint64_t segment_make(const struct launch_request *p, struct block_launch *b)
{
    const struct kernel *k = p->kernel;
    uint64_t args = (k->meta->kernarg_size + 63ull) / 64 * 64;
    args = args < SEGMENT_MIN ? SEGMENT_MIN : args;
    const uint64_t size = args + 64 + QUEUE_BYTES;
    const uint64_t at = segment_room(p->object, size);
    if (!at)
        return 0;
    uint8_t *bytes = (uint8_t *)(uintptr_t)at;
    memset(bytes, 0, size);
    if (p->args_size)
        memcpy(bytes, p->args, p->args_size);
    hidden_fill(p, bytes);
    watch_wrote(p->watch, at, size);
    b->kernarg = at;
    b->packet = at + args;
    b->queue = b->packet + 64;
    const struct dispatch_packet packet = {
        .setup = p->grid[2] * p->block[2] > 1   ? 3
                 : p->grid[1] * p->block[1] > 1 ? 2
                                                : 1,
        .block = {(uint16_t)p->block[0], (uint16_t)p->block[1], (uint16_t)p->block[2]},
        .grid = {p->grid[0] * p->block[0], p->grid[1] * p->block[1], p->grid[2] * p->block[2]},
        .private_size = k->descriptor.scratch,
        .group_size = k->descriptor.lds + p->dynamic_lds,
        .kernel = k->descriptor_address,
        .kernarg = at};
    memcpy(bytes + args, &packet, sizeof packet);
    const uint32_t apertures[2] = {APERTURE_SHARED, APERTURE_PRIVATE};
    memcpy(bytes + args + 64 + QUEUE_SHARED_BASE, apertures, sizeof apertures);
    return at;
}

enum launch_status launch_run(const struct launch_request *p, uint64_t *instructions,
                              struct sim_fault *ret_fault)
{
    *ret_fault = (struct sim_fault){.lane = -1};
    enum launch_status status = shape_check(p, ret_fault);
    if (status)
        return status;
    codeobject_scan(p->object, p->kernel);
    struct block_launch b = {.request = p};
    const uint64_t segment = segment_make(p, &b);
    if (!segment) {
        sim_fault_set(ret_fault, SIM_FAULT_NOMEM, "no device memory for the arguments");
        return LAUNCH_NOMEM;
    }
    if (watch_launch(p->watch, (uint64_t)p->grid[0] * p->grid[1] * p->grid[2])) {
        sim_fault_set(ret_fault, SIM_FAULT_NOMEM, "no memory to check the launch");
        return LAUNCH_NOMEM;
    }
    const struct sim_grid g = {.grid = {p->grid[0], p->grid[1], p->grid[2]},
                               .block = {p->block[0], p->block[1], p->block[2]},
                               .ordered = p->kernel->ordered || p->watch,
                               .workspace_size = block_workspace_size(&b),
                               .run = block_run,
                               .context = &b,
                               .workspace_release = block_workspace_release};
    struct sim_trace trace;
    b.trace = sim_trace_begin(&trace, p->kernel->meta->name) ? &trace : NULL;
    const int failed = sim_grid_run(&g, instructions, ret_fault);
    sim_trace_end(&trace);
    return failed ? LAUNCH_FAULT : LAUNCH_OK;
}
