/* SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include <stdlib.h>
#include <string.h>

#include "occupancy.h"
#include "runtime.h"

/* What programs and libraries made by hipcc call before main: they register their code bundle,
 * the host stubs of their kernels and their device variables. The bundle is loaded when one of
 * its kernels or variables is first used. */

enum { WRAPPER_MAGIC = 0x48495046 }; /* "HIPF" */

struct wrapper {
    uint32_t magic, version;
    const void *binary;
    void *unused;
};

struct symbol {
    const void *host;
    char *name; /* owned */
    size_t size;
    struct binary *binary;
    void **managed; /* of a managed variable: where its pointer goes */
    struct symbol *next;
};

struct binary {
    const void *image;
    hip_module module; /* NULL until used */
    struct binary *next;
};

struct configuration {
    struct hip_dim3 grid, block;
    size_t shared;
    hip_stream stream;
};

/* Registrations of the whole process; programs register before threads start, and libraries
 * opened later under the lock of the loader. */
static struct {
    pthread_mutex_t lock;
    struct binary *binaries;
    struct symbol *symbols;
} program = {.lock = PTHREAD_MUTEX_INITIALIZER};

enum { CONFIGURATIONS_MAX = 16 };
static __thread struct configuration configurations[CONFIGURATIONS_MAX];
static __thread int configuration_count;

void **__hipRegisterFatBinary(const void *data)
{
    const struct wrapper *w = data;
    struct binary *b = calloc(1, sizeof *b);
    if (!b || !w || w->magic != WRAPPER_MAGIC) {
        free(b);
        return NULL;
    }
    pthread_mutex_lock(&program.lock);
    *b = (struct binary){.image = w->binary, .next = program.binaries};
    program.binaries = b;
    pthread_mutex_unlock(&program.lock);
    return (void **)(void *)b;
}

void __hipUnregisterFatBinary(void **handle)
{
    struct binary *b = (struct binary *)(void *)handle;
    pthread_mutex_lock(&program.lock);
    for (struct symbol **link = &program.symbols, *s; (s = *link) != NULL;) {
        if (s->binary != b) {
            link = &s->next;
            continue;
        }
        *link = s->next;
        free(s->name);
        free(s);
    }
    struct binary **link = &program.binaries;
    while (*link && *link != b)
        link = &(*link)->next;
    if (*link)
        *link = b->next;
    pthread_mutex_unlock(&program.lock);
    if (b && b->module)
        hipModuleUnload(b->module);
    free(b);
}

static void symbol_add(void *binary, const void *host, const char *name, size_t size,
                       void **managed)
{
    struct symbol *s = calloc(1, sizeof *s);
    char *copy = name ? strdup(name) : NULL;
    if (!s || !copy || !binary) {
        free(s);
        free(copy);
        return;
    }
    pthread_mutex_lock(&program.lock);
    *s = (struct symbol){host, copy, size, binary, managed, program.symbols};
    program.symbols = s;
    pthread_mutex_unlock(&program.lock);
}

void __hipRegisterFunction(void **binary, const void *host, char *device_name, const char *name,
                           unsigned threads, void *tid, void *bid, void *block, void *grid,
                           int *warp)
{
    (void)device_name, (void)threads, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    symbol_add(binary, host, name, 0, NULL);
}

void __hipRegisterVar(void **binary, void *host, char *host_name, char *name, int is_extern,
                      size_t size, int is_constant, int is_global)
{
    (void)host_name, (void)is_extern, (void)is_constant, (void)is_global;
    symbol_add(binary, host, name, size, NULL);
}

/* Managed variables live on the card; host code reaches them through *pointer. */
void __hipRegisterManagedVar(void *binary, void **pointer, void *initial, const char *name,
                             size_t size, unsigned alignment)
{
    (void)alignment;
    void *memory = NULL;
    if (hipMalloc(&memory, size) == hipSuccess && memory) {
        hipMemcpy(memory, initial, size, 1);
        *pointer = memory;
    }
    symbol_add(binary, pointer, name, size, pointer);
}

static struct symbol *symbol_find(const void *host)
{
    pthread_mutex_lock(&program.lock);
    struct symbol *s = program.symbols;
    while (s && s->host != host)
        s = s->next;
    pthread_mutex_unlock(&program.lock);
    return s;
}

/* Managed variables: the device's pointer variable has the name of the symbol. */
static void managed_connect(struct binary *b)
{
    for (struct symbol *s = program.symbols; s; s = s->next) {
        void *slot;
        size_t size;
        if (s->binary == b && s->managed &&
            hipModuleGetGlobal(&slot, &size, b->module, s->name) == hipSuccess &&
            size >= sizeof(void *))
            memcpy(slot, s->managed, sizeof(void *));
    }
}

static int binary_load(struct binary *b)
{
    struct runtime *r = runtime_get();
    if (!r)
        return hipErrorNoDevice;
    if (b->module)
        return hipSuccess;
    int error = runtime_module_load(r, b->image, 0, &b->module);
    if (!error)
        managed_connect(b);
    return error;
}

static int function_find(const void *host, hip_function *ret)
{
    struct symbol *s = symbol_find(host);
    if (!s)
        return hipErrorInvalidDeviceFunction;
    int error = binary_load(s->binary);
    if (error)
        return error;
    *ret = runtime_function(runtime_get(), s->binary->module, s->name);
    return *ret ? hipSuccess : hipErrorInvalidDeviceFunction;
}

hip_error __hipPushCallConfiguration(struct hip_dim3 grid, struct hip_dim3 block, size_t shared,
                                     hip_stream stream)
{
    if (configuration_count == CONFIGURATIONS_MAX)
        return runtime_result(hipErrorInvalidConfiguration);
    configurations[configuration_count++] = (struct configuration){grid, block, shared, stream};
    return hipSuccess;
}

hip_error __hipPopCallConfiguration(struct hip_dim3 *grid, struct hip_dim3 *block,
                                    size_t *shared, hip_stream *stream)
{
    if (!configuration_count)
        return runtime_result(hipErrorMissingConfiguration);
    const struct configuration *c = &configurations[--configuration_count];
    *grid = c->grid;
    *block = c->block;
    *shared = c->shared;
    *stream = c->stream;
    return hipSuccess;
}

hip_error hipLaunchKernel(const void *function, struct hip_dim3 grid, struct hip_dim3 block,
                          void **values, size_t shared, hip_stream stream)
{
    hip_function f;
    (void)stream;
    int error = function_find(function, &f);
    if (error)
        return runtime_result(error);
    const uint32_t g[3] = {grid.x, grid.y, grid.z}, b[3] = {block.x, block.y, block.z};
    if (!values || shared > UINT32_MAX)
        return runtime_result(hipErrorInvalidValue);
    return runtime_result(
        runtime_launch_values(runtime_get(), f, g, b, (uint32_t)shared, values));
}

hip_error hipExtLaunchKernel(const void *function, struct hip_dim3 grid, struct hip_dim3 block,
                             void **values, size_t shared, hip_stream stream, hip_event start,
                             hip_event stop, int flags)
{
    (void)flags;
    if (start)
        hipEventRecord(start, stream);
    hip_error error = hipLaunchKernel(function, grid, block, values, shared, stream);
    if (stop)
        hipEventRecord(stop, stream);
    return error;
}

hip_error hipGetFuncBySymbol(hip_function *function, const void *symbol)
{
    return runtime_result(function ? function_find(symbol, function) : hipErrorInvalidValue);
}

/* --- variables
 * -------------------------------------------------------------------------------- */

static int variable_find(const void *host, void **ret_address, size_t *ret_size)
{
    struct symbol *s = symbol_find(host);
    if (!s)
        return hipErrorInvalidSymbol;
    int error = binary_load(s->binary);
    if (error)
        return error;
    if (hipModuleGetGlobal(ret_address, ret_size, s->binary->module, s->name))
        return hipErrorInvalidSymbol;
    return hipSuccess;
}

hip_error hipGetSymbolAddress(void **address, const void *symbol)
{
    size_t size;
    return runtime_result(address ? variable_find(symbol, address, &size)
                                  : hipErrorInvalidValue);
}

hip_error hipGetSymbolSize(size_t *size, const void *symbol)
{
    void *address;
    return runtime_result(size ? variable_find(symbol, &address, size) : hipErrorInvalidValue);
}

static int variable_part(const void *symbol, size_t size, size_t offset, char **ret)
{
    void *address;
    size_t whole;
    int error = variable_find(symbol, &address, &whole);
    if (error)
        return error;
    if (offset > whole || size > whole - offset)
        return hipErrorInvalidValue;
    *ret = (char *)address + offset;
    return hipSuccess;
}

hip_error hipMemcpyToSymbol(const void *symbol, const void *from, size_t size, size_t offset,
                            int kind)
{
    char *to;
    int error = variable_part(symbol, size, offset, &to);
    return error ? runtime_result(error) : hipMemcpy(to, from, size, kind);
}

hip_error hipMemcpyToSymbolAsync(const void *symbol, const void *from, size_t size,
                                 size_t offset, int kind, hip_stream stream)
{
    (void)stream;
    return hipMemcpyToSymbol(symbol, from, size, offset, kind);
}

hip_error hipMemcpyFromSymbol(void *to, const void *symbol, size_t size, size_t offset,
                              int kind)
{
    char *from;
    int error = variable_part(symbol, size, offset, &from);
    return error ? runtime_result(error) : hipMemcpy(to, from, size, kind);
}

/* --- kernels by their host stub
 * --------------------------------------------------------------- */

/* hipFuncAttributes */
struct function_attributes {
    int binary_version, cache_mode;
    size_t constant_bytes, local_bytes;
    int dynamic_shared, threads, registers, carveout, ptx_version;
    size_t shared_bytes;
};

hip_error hipFuncGetAttributes(void *attributes, const void *function)
{
    struct function_attributes *p = attributes;
    hip_function f;
    int error = p ? function_find(function, &f) : hipErrorInvalidValue;
    if (error)
        return runtime_result(error);
    *p = (struct function_attributes){.binary_version = 1100, .ptx_version = 1100};
    p->local_bytes = f->kernel->descriptor.scratch;
    p->shared_bytes = f->kernel->descriptor.lds;
    p->dynamic_shared = LDS_BYTES - (int)f->kernel->descriptor.lds;
    p->threads = (int)f->kernel->meta->max_threads;
    occupancy_attribute(f->kernel, 4, &p->registers);
    return hipSuccess;
}

hip_error hipFuncSetAttribute(const void *function, int attribute, int value)
{
    hip_function f;
    (void)attribute, (void)value;
    return runtime_result(function_find(function, &f));
}

hip_error hipFuncSetCacheConfig(const void *function, int config)
{
    (void)function, (void)config;
    return hipSuccess;
}

hip_error hipOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
                                                       int threads, size_t shared)
{
    hip_function f;
    int error = function_find(function, &f);
    return error
               ? runtime_result(error)
               : hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(blocks, f, threads, shared);
}

hip_error hipOccupancyMaxPotentialBlockSize(int *grid, int *block, const void *function,
                                            size_t shared, int limit)
{
    hip_function f;
    int error = function_find(function, &f);
    return error ? runtime_result(error)
                 : hipModuleOccupancyMaxPotentialBlockSize(grid, block, f, shared, limit);
}
