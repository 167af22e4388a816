/* SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct library_symbol runtime_symbols[] = {
#define REQUIRED false
#define OPTIONAL true
#define API(name, symbol, ret, args, need)                                                     \
    [RUNTIME_##name] = {#symbol, offsetof(struct runtime_api, name), need},
#include VENDOR_API
#undef REQUIRED
#undef OPTIONAL
};

static const struct {
    int code;
    const char *text;
} hints[] = {
#define HINT(vendor_name, value, text) {value, text},
#include VENDOR_API
};

static const int faults[] = {
#define FAULT(vendor_name, value) value,
#include VENDOR_API
};

/* --- errors ----------------------------------------------------------------------------------
 */

static const char *code_hint(int code)
{
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (hints[i].code == code)
            return hints[i].text;
    return NULL;
}

static enum backend_status code_status(int code)
{
    if (code == VENDOR_OUT_OF_MEMORY)
        return BACKEND_NOMEM;
    if (code == VENDOR_NO_DEVICE)
        return BACKEND_MISSING;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (faults[i] == code)
            return BACKEND_FAULT;
    return BACKEND_REFUSED;
}

enum backend_status VN(driver_check)(const struct device *d, enum runtime_function function,
                                     int code, struct backend_error *e)
{
    if (code == 0)
        return BACKEND_OK;
    const char *name = NULL, *words = NULL;
    VN(vendor_error)(&d->api, code, &name, &words);
    bool tells = function == RUNTIME_launch || function == RUNTIME_synchronize ||
                 function == RUNTIME_module_load;
    const char *own = d->sim_last_fault && tells ? d->sim_last_fault() : NULL;
    const char *hint = code_hint(code);
    return backend_fail(e, code_status(code), "%s: %s (%d): %s%s%s",
                        runtime_symbols[function].name, name ? name : "unnamed error", code,
                        own && own[0] ? own
                        : words       ? words
                                      : "no description",
                        hint ? "; " : "", hint ? hint : "");
}

/* --- opening ---------------------------------------------------------------------------------
 */

static enum backend_status device_library(struct device *d, enum device_kind kind,
                                          const char *folder, struct backend_error *e)
{
    if (kind == DEVICE_REAL)
        return library_open(&VN(vendor_runtime), &d->library, e);
    char path[4096];
    snprintf(path, sizeof path, "%s/" VENDOR_SIMULATOR, folder);
    return library_open_file(path, &d->library, e);
}

/* Library, functions, init, count: what `count` and `open` both need. */
static enum backend_status device_start(struct device *d, enum device_kind kind,
                                        const char *folder, int *ret_count,
                                        struct backend_error *e)
{
    enum backend_status s = device_library(d, kind, folder, e);
    if (!s)
        s = library_resolve(&d->library, runtime_symbols, RUNTIME_COUNT_, &d->api, e);
    if (s)
        return s;

    /* POSIX's way around converting an object pointer to a function pointer. */
    *(void **)&d->sim_stats = dlsym(d->library.handle, "gpuparity_sim_stats");
    *(void **)&d->sim_stats_reset = dlsym(d->library.handle, "gpuparity_sim_stats_reset");
    *(void **)&d->sim_last_fault = dlsym(d->library.handle, "gpuparity_sim_last_fault");
    s = VN(driver_check)(d, RUNTIME_init, d->api.init(0), e);
    if (!s)
        s = VN(driver_check)(d, RUNTIME_device_count, d->api.device_count(ret_count), e);
    if (!s && *ret_count < 1)
        s = backend_fail(e, BACKEND_MISSING, "%s finds no " VENDOR_NAME " card: %s",
                         d->library.path, code_hint(VENDOR_NO_DEVICE));
    /* Whatever a runtime says before it has a device, there is none to use. */
    return s ? BACKEND_MISSING : BACKEND_OK;
}

static enum backend_status device_count(enum device_kind kind, const char *folder,
                                        int *ret_count, struct backend_error *e)
{
    struct device d = {0};
    int count = 0;
    enum backend_status s = device_start(&d, kind, folder, &count, e);
    if (!s)
        *ret_count = count;
    return s;
}

static enum backend_status device_describe(struct device *d, struct backend_error *e)
{
    size_t memory = 0;
    struct device_info *i = &d->info;
    enum backend_status s = VN(driver_check)(
        d, RUNTIME_device_name, d->api.device_name(i->name, sizeof i->name - 1, d->id), e);
    if (!s)
        s = VN(driver_check)(d, RUNTIME_device_memory, d->api.device_memory(&memory, d->id), e);
    if (s)
        return s;
    i->memory = (int64_t)memory;
    snprintf(i->library, sizeof i->library, "%s", d->library.path);
    return VN(vendor_describe)(d, e);
}

static void device_close(struct device *d);

static enum backend_status device_open(enum device_kind kind, const char *folder, int index,
                                       struct device **ret_device, struct backend_error *e)
{
    struct device *d = calloc(1, sizeof *d);
    if (!d)
        return backend_fail(e, BACKEND_NOMEM, "out of memory");
    int count = 0;
    enum backend_status s = device_start(d, kind, folder, &count, e);
    if (!s && (index < 0 || index >= count))
        s = backend_fail(e, BACKEND_MISSING, "there is no %s card %d: %d found (0 to %d)",
                         VENDOR_NAME, index, count, count - 1);
    d->info.index = index;
    d->info.simulated = kind == DEVICE_SIMULATED || d->sim_stats;
    if (!s)
        s = VN(driver_check)(d, RUNTIME_device_get, d->api.device_get(&d->id, index), e);
    if (!s)
        s = VN(vendor_select)(d, e);
    if (!s)
        s = device_describe(d, e);
    if (s) {
        device_close(d);
        return s;
    }
    *ret_device = d;
    return BACKEND_OK;
}

static void device_info(struct device *d, struct device_info *ret_info)
{
    *ret_info = d->info;
}

/* --- code and memory -------------------------------------------------------------------------
 */

static void device_unload(struct device *d)
{
    if (d->loaded)
        d->api.module_unload(d->module);
    d->loaded = false;
}

/* The compiler inside the runtime puts its words into a buffer that options name. */
static int module_load(struct device *d, const char *code, char *log, size_t size)
{
    vendor_jit_option option[] = {VENDOR_JIT_LOG, VENDOR_JIT_LOG_SIZE};
    void *value[] = {log, (void *)(uintptr_t)size};
    log[0] = 0;
    int code_result = d->api.module_load(&d->module, code, 2, option, value);
    log[size - 1] = 0;
    log[strcspn(log, "\n")] = 0;
    return code_result;
}

static enum backend_status device_load(struct device *d, const void *code, size_t size,
                                       struct backend_error *e)
{
    device_unload(d);
    /* A text must end in a zero byte, and the runtime is not told the size. */
    char *copy = malloc(size + 1);
    if (!copy)
        return backend_fail(e, BACKEND_NOMEM, "out of memory: %zu bytes of code", size);
    memcpy(copy, code, size);
    copy[size] = 0;
    char log[512];
    int result = module_load(d, copy, log, sizeof log);
    free(copy);
    d->loaded = result == 0;
    enum backend_status s = VN(driver_check)(d, RUNTIME_module_load, result, e);
    if (s && e && log[0]) {
        size_t used = strlen(e->text);
        snprintf(e->text + used, sizeof e->text - used, " [%s]", log);
    }
    return s;
}

static bool alloc_room(struct device *d)
{
    if (d->n_alloc < d->room)
        return true;
    int room = d->room ? 2 * d->room : 16;
    vendor_pointer *more = realloc(d->alloc, (size_t)room * sizeof *more);
    if (!more)
        return false;
    d->alloc = more;
    d->room = room;
    return true;
}

static enum backend_status device_alloc(struct device *d, size_t size, uint64_t *ret_address,
                                        struct backend_error *e)
{
    if (!alloc_room(d))
        return backend_fail(e, BACKEND_NOMEM, "out of memory");
    vendor_pointer p = 0;
    int result = d->api.alloc(&p, size);
    if (result == VENDOR_OUT_OF_MEMORY)
        return backend_fail(e, BACKEND_NOMEM, "the device has no room for %zu more bytes",
                            size);
    enum backend_status s = VN(driver_check)(d, RUNTIME_alloc, result, e);
    if (s)
        return s;
    d->alloc[d->n_alloc++] = p;
    *ret_address = (uint64_t)(uintptr_t)p;
    return BACKEND_OK;
}

static enum backend_status device_write(struct device *d, uint64_t address, const void *bytes,
                                        size_t size, struct backend_error *e)
{
    vendor_pointer p = (vendor_pointer)(uintptr_t)address;
    /* Some headers forget the const. */
    return VN(driver_check)(d, RUNTIME_write, d->api.write(p, (void *)(uintptr_t)bytes, size),
                            e);
}

static enum backend_status device_read(struct device *d, uint64_t address, void *ret_bytes,
                                       size_t size, struct backend_error *e)
{
    vendor_pointer p = (vendor_pointer)(uintptr_t)address;
    return VN(driver_check)(d, RUNTIME_read, d->api.read(ret_bytes, p, size), e);
}

/* --- launching -------------------------------------------------------------------------------
 */

enum { LAUNCH_ARG_MAX = 64 };

static enum backend_status launch_function(struct device *d, const struct launch *l,
                                           vendor_function *ret_function,
                                           struct backend_error *e)
{
    if (!d->loaded)
        return backend_fail(e, BACKEND_REFUSED, "no code is loaded");
    if (l->n_arg > LAUNCH_ARG_MAX)
        return backend_fail(e, BACKEND_REFUSED, "kernel %s: %d arguments, at most %d", l->entry,
                            l->n_arg, LAUNCH_ARG_MAX);
    int result = d->api.module_function(ret_function, d->module, l->entry);
    enum backend_status s = VN(driver_check)(d, RUNTIME_module_function, result, e);
    return s ? backend_fail(e, s, "the code has no kernel %s (error %d)", l->entry, result)
             : BACKEND_OK;
}

static enum backend_status device_launch(struct device *d, const struct launch *l,
                                         struct backend_error *e)
{
    vendor_function f = 0;
    enum backend_status s = launch_function(d, l, &f, e);
    if (s)
        return s;
    void *arg[LAUNCH_ARG_MAX];
    for (int i = 0; i < l->n_arg; i++)
        arg[i] = (void *)(uintptr_t)l->arg[i].bytes;
    vendor_stream stream;
    s = VN(stream_next)(d, &stream, e);
    if (s)
        return s;
    int result = VN(vendor_allow_shared)(d, f, l->shared);
    if (!result)
        result = d->api.launch(f, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
                               l->block[2], l->shared, stream, arg, NULL);
    s = VN(driver_check)(d, RUNTIME_launch, result, e);
    if (!s)
        s = VN(driver_check)(d, RUNTIME_synchronize, d->api.synchronize(), e);
    return s;
}

/* What a simulated device refused, a library may have kept to itself. */
static enum backend_status device_finish(struct device *d, struct backend_error *e)
{
    enum backend_status s =
        VN(driver_check)(d, RUNTIME_synchronize, d->api.synchronize(), e);
    const char *own = !s && d->sim_last_fault ? d->sim_last_fault() : NULL;
    return own && own[0] ? backend_fail(e, BACKEND_REFUSED, "the simulated card refused: %s", own)
                         : s;
}

static void device_stats(struct device *d, struct device_stats *ret_stats)
{
    memset(ret_stats, 0, sizeof *ret_stats);
    if (!d->sim_stats)
        return;
    d->sim_stats(ret_stats);
    if (d->sim_stats_reset) {
        d->sim_stats_reset();
    } else {
        uint64_t all = ret_stats->instructions;
        ret_stats->instructions = all - d->sim_seen;
        d->sim_seen = all;
    }
}

/* --- closing ---------------------------------------------------------------------------------
 */

static void device_release(struct device *d)
{
    for (int i = 0; i < d->n_alloc; i++)
        d->api.free(d->alloc[i]);
    d->n_alloc = 0;
}

static void device_close(struct device *d)
{
    if (!d)
        return;
    device_release(d);
    VN(stream_release)(d);
    device_unload(d);
    if (d->context)
        VN(vendor_deselect)(d);
    free(d->alloc);
    free(d);
}

const struct backend VN(backend) = {
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
    .name = TEXT(VENDOR),
    .vendor = VENDOR_NAME,
    .arch = VENDOR_ARCH,
    .runtime = VENDOR_RUNTIME,
    .simulator = VENDOR_SIMULATOR,
    .pci_vendor = VENDOR_PCI,
    .environment = VN(vendor_environment),
    .toolchain = &VN(toolchain),
    .runs = VN(vendor_runs),
    .classes = VN(vendor_classes),
    .kernels = VN(vendor_kernels),
    .endings = VN(vendor_endings),
    .implied = VN(vendor_implied),
    .translator = VENDOR_TRANSLATOR,
    .count = device_count,
    .open = device_open,
    .describe = device_info,
    .load = device_load,
    .alloc = device_alloc,
    .write = device_write,
    .read = device_read,
    .launch = device_launch,
    .vary = VN(stream_vary),
    .finish = device_finish,
    .stats = device_stats,
    .release = device_release,
    .close = device_close,
};
