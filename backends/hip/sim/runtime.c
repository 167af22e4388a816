/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"

static const uint64_t card_memory = 24560ull << 20;

static struct runtime card = {.lock = PTHREAD_MUTEX_INITIALIZER};
static __thread int last_error;

struct runtime *runtime_get(void)
{
    struct runtime *r = &card;
    pthread_mutex_lock(&r->lock);
    if (!r->ready && sim_memory_init(&r->memory, card_memory) == 0) {
        int error;
        r->watch = watch_open(&r->memory, &error);
        r->ready = error == 0;
        if (error)
            sim_memory_release(&r->memory);
    }
    pthread_mutex_unlock(&r->lock);
    return r->ready ? r : NULL;
}

int runtime_result(int error)
{
    if (error)
        last_error = error;
    return error;
}

int runtime_last_error(bool clear)
{
    int e = last_error;
    if (clear)
        last_error = hipSuccess;
    return e;
}

void runtime_explain(struct runtime *r, const char *text)
{
    const char *verbose = getenv("GPUPARITY_SIM_VERBOSE");
    snprintf(r->last_fault, sizeof r->last_fault, "%s", text);
    if (verbose && *verbose && strcmp(verbose, "0") != 0)
        fprintf(stderr, "hip-sim: %s\n", text);
}

int runtime_module_load(struct runtime *r, const void *bytes, size_t size,
                        struct ihipModule_t **ret)
{
    char why[400];
    struct image image;
    if (size ? code_image_open(bytes, size, &image, why, sizeof why)
             : code_image_open_at(bytes, &image, why, sizeof why)) {
        runtime_explain(r, why);
        return strstr(why, "gfx1100, only") ? hipErrorNoBinaryForGpu : hipErrorInvalidImage;
    }
    struct ihipModule_t *m = calloc(1, sizeof *m);
    if (!m) {
        code_image_release(&image);
        return hipErrorOutOfMemory;
    }
    int failed =
        codeobject_load(image.bytes, image.size, &r->memory, &m->object, why, sizeof why);
    code_image_release(&image);
    if (failed) {
        free(m);
        runtime_explain(r, why);
        return strstr(why, "for another GPU") ? hipErrorNoBinaryForGpu : hipErrorInvalidImage;
    }
    watch_wrote(r->watch, m->object.base, m->object.size);
    pthread_mutex_lock(&r->lock);
    m->next = r->modules;
    r->modules = m;
    pthread_mutex_unlock(&r->lock);
    *ret = m;
    return hipSuccess;
}

struct ihipModuleSymbol_t *runtime_function(struct runtime *r, struct ihipModule_t *m,
                                            const char *name)
{
    struct kernel *k = codeobject_kernel(&m->object, name);
    if (!k)
        return NULL;
    pthread_mutex_lock(&r->lock);
    struct ihipModuleSymbol_t *f = m->functions;
    while (f && f->kernel != k)
        f = f->next;
    if (!f && (f = calloc(1, sizeof *f)) != NULL) {
        *f = (struct ihipModuleSymbol_t){m, k, m->functions};
        m->functions = f;
    }
    pthread_mutex_unlock(&r->lock);
    return f;
}

static int fault_error(const struct sim_fault *f)
{
    switch (f->kind) {
    case SIM_FAULT_ADDRESS:
    case SIM_FAULT_FREED:
    case SIM_FAULT_ALIGNMENT:
        return hipErrorIllegalAddress;
    case SIM_FAULT_BUDGET:
        return hipErrorLaunchTimeOut;
    case SIM_FAULT_NOMEM:
        return hipErrorOutOfMemory;
    default:
        return hipErrorLaunchFailure;
    }
}

static void marks_add(struct runtime *r, const char *marks)
{
    if (!*marks || strstr(r->marks, marks))
        return;
    const size_t used = strlen(r->marks);
    snprintf(r->marks + used, sizeof r->marks - used, "%s%s", used ? "; " : "", marks);
}

int runtime_launch(struct runtime *r, struct ihipModuleSymbol_t *f, const uint32_t grid[3],
                   const uint32_t block[3], uint32_t dynamic_lds, const void *args,
                   size_t args_size)
{
    const struct launch_request p = {.object = &f->module->object,
                                     .kernel = f->kernel,
                                     .grid = {grid[0], grid[1], grid[2]},
                                     .block = {block[0], block[1], block[2]},
                                     .dynamic_lds = dynamic_lds,
                                     .args = args,
                                     .args_size = args_size,
                                     .watch = r->watch};
    struct sim_fault fault;
    uint64_t instructions = 0;
    /* one launch at a time, as on one queue */
    pthread_mutex_lock(&r->lock);
    enum launch_status status = launch_run(&p, &instructions, &fault);
    r->instructions += instructions;
    marks_add(r, f->kernel->marks);
    if (status)
        runtime_explain(r, fault.text);
    if (status == LAUNCH_FAULT)
        r->pending = fault_error(&fault);
    pthread_mutex_unlock(&r->lock);
    switch (status) {
    case LAUNCH_OK:
        return hipSuccess;
    case LAUNCH_BAD_SHAPE:
        return hipErrorInvalidConfiguration;
    case LAUNCH_NOMEM:
        return hipErrorOutOfMemory;
    case LAUNCH_FAULT:
        break;
    }
    return fault_error(&fault);
}

int runtime_launch_values(struct runtime *r, struct ihipModuleSymbol_t *f,
                          const uint32_t grid[3], const uint32_t block[3], uint32_t dynamic_lds,
                          void **values)
{
    const uint32_t size = f->kernel->meta->kernarg_size;
    uint8_t *segment = calloc(1, size + 1);
    int error = hipErrorOutOfMemory;
    if (segment && launch_gather(f->kernel, values, segment))
        error = runtime_launch(r, f, grid, block, dynamic_lds, segment, size);
    else if (segment)
        error = hipErrorInvalidValue;
    free(segment);
    return error;
}

bool runtime_can_copy(struct runtime *r, const void *address, size_t size)
{
    const uint64_t a = (uintptr_t)address, base = (uintptr_t)r->memory.base;
    if (a - base >= r->memory.capacity)
        return address != NULL;
    return sim_memory_ok_slow(&r->memory, a, size);
}
