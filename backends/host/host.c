/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../library.h"

/* The processor as a side: memory that libraries of case files work on. It has no kernels. */

struct device {
    void **alloc; /* owned, and what they point to */
    int n_alloc, room;
};

static enum backend_status host_count(enum device_kind kind, const char *folder, int *ret_count,
                                      struct backend_error *e)
{
    (void)folder;
    if (kind != DEVICE_REAL)
        return backend_fail(e, BACKEND_MISSING, "the host is not simulated");
    *ret_count = 1;
    return BACKEND_OK;
}

static enum backend_status host_open(enum device_kind kind, const char *folder, int index,
                                     struct device **ret_device, struct backend_error *e)
{
    (void)kind;
    (void)folder;
    if (index)
        return backend_fail(e, BACKEND_MISSING, "there is one host, without a number");
    *ret_device = calloc(1, sizeof **ret_device);
    return *ret_device ? BACKEND_OK : backend_fail(e, BACKEND_NOMEM, "out of memory");
}

static void processor_name(char *ret_text, size_t size)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    snprintf(ret_text, size, "processor");
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !colon)
            continue;
        snprintf(ret_text, size, "%.100s", colon + 1 + strspn(colon + 1, " "));
        ret_text[strcspn(ret_text, "\n")] = 0;
        break;
    }
    if (f)
        fclose(f);
}

static void host_describe(struct device *d, struct device_info *ret_info)
{
    struct utsname u;
    (void)d;
    memset(ret_info, 0, sizeof *ret_info);
    processor_name(ret_info->name, sizeof ret_info->name);
    if (!uname(&u)) {
        snprintf(ret_info->arch, sizeof ret_info->arch, "%.31s", u.machine);
        snprintf(ret_info->driver, sizeof ret_info->driver, "%.60s", u.release);
    }
    ret_info->warp = 1;
    ret_info->memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
}

/* --- kernels: none ---------------------------------------------------------------------------
 */

static const char no_kernels[] =
    "the host has no kernels: it runs the libraries of case files (docs/libraries.md)";

static enum backend_status host_load(struct device *d, const void *code, size_t size,
                                     struct backend_error *e)
{
    (void)d;
    (void)code;
    (void)size;
    return backend_fail(e, BACKEND_REFUSED, "%s", no_kernels);
}

static enum backend_status host_launch(struct device *d, const struct launch *l,
                                       struct backend_error *e)
{
    (void)d;
    (void)l;
    return backend_fail(e, BACKEND_REFUSED, "%s", no_kernels);
}

static bool host_runs(const char *device_arch, const char *code_arch)
{
    (void)device_arch;
    (void)code_arch;
    return false;
}

static void host_classes(const void *code, size_t size, const char *entry, char *ret_text,
                         size_t room)
{
    (void)code;
    (void)size;
    (void)entry;
    if (room)
        ret_text[0] = 0;
}

static enum backend_status host_kernels(const void *code, size_t size,
                                        struct kernel_list *ret_list, struct backend_error *e)
{
    (void)code;
    (void)size;
    (void)ret_list;
    return backend_fail(e, BACKEND_REFUSED, "%s", no_kernels);
}

static void host_options(const char *arch, const struct fp_mode *mode, char *ret_text,
                         size_t size)
{
    (void)arch;
    (void)mode;
    if (size)
        ret_text[0] = 0;
}

static enum backend_status host_probe(const char *arch, char *ret_version, size_t version_size,
                                      char *ret_library, size_t library_size,
                                      struct backend_error *e)
{
    (void)arch;
    (void)ret_version;
    (void)version_size;
    (void)ret_library;
    (void)library_size;
    return backend_fail(e, BACKEND_MISSING, "%s", no_kernels);
}

static enum backend_status host_build(const struct build_request *r, struct code *ret_code,
                                      struct backend_error *e)
{
    (void)r;
    (void)ret_code;
    return backend_fail(e, BACKEND_MISSING, "%s", no_kernels);
}

/* --- memory ----------------------------------------------------------------------------------
 */

static enum backend_status host_alloc(struct device *d, size_t size, uint64_t *ret_address,
                                      struct backend_error *e)
{
    if (d->n_alloc == d->room) {
        int room = d->room ? 2 * d->room : 16;
        void **more = realloc(d->alloc, (size_t)room * sizeof *more);
        if (!more)
            return backend_fail(e, BACKEND_NOMEM, "out of memory");
        d->alloc = more;
        d->room = room;
    }
    /* As aligned as a device's memory: vector instructions may rely on that. */
    void *p = aligned_alloc(256, (size + 255) / 256 * 256);
    if (!p)
        return backend_fail(e, BACKEND_NOMEM, "the host has no room for %zu more bytes", size);
    d->alloc[d->n_alloc++] = p;
    *ret_address = (uint64_t)(uintptr_t)p;
    return BACKEND_OK;
}

static enum backend_status host_write(struct device *d, uint64_t address, const void *bytes,
                                      size_t size, struct backend_error *e)
{
    (void)d;
    (void)e;
    memcpy((void *)(uintptr_t)address, bytes, size);
    return BACKEND_OK;
}

static enum backend_status host_read(struct device *d, uint64_t address, void *ret_bytes,
                                     size_t size, struct backend_error *e)
{
    (void)d;
    (void)e;
    memcpy(ret_bytes, (const void *)(uintptr_t)address, size);
    return BACKEND_OK;
}

static enum backend_status host_finish(struct device *d, struct backend_error *e)
{
    (void)d;
    (void)e;
    return BACKEND_OK;
}

static void host_stats(struct device *d, struct device_stats *ret_stats)
{
    (void)d;
    memset(ret_stats, 0, sizeof *ret_stats);
}

static void host_release(struct device *d)
{
    for (int i = 0; i < d->n_alloc; i++)
        free(d->alloc[i]);
    d->n_alloc = 0;
}

static void host_close(struct device *d)
{
    if (!d)
        return;
    host_release(d);
    free(d->alloc);
    free(d);
}

static const struct toolchain toolchain_host = {
    .name = "a library", .options = host_options, .probe = host_probe, .build = host_build};

static const char *const none[] = {NULL};
static const char *const environment[] = {"OMP_NUM_THREADS", "MKL_NUM_THREADS",
                                          "OPENBLAS_NUM_THREADS", NULL};

const struct backend backend_host = {
    .name = "host",
    .vendor = "CPU",
    .arch = "host",
    .runtime = "libc.so.6",
    .simulator = "",
    .environment = environment,
    .toolchain = &toolchain_host,
    .runs = host_runs,
    .classes = host_classes,
    .kernels = host_kernels,
    .implied = none,
    .endings = none,
    .count = host_count,
    .open = host_open,
    .describe = host_describe,
    .load = host_load,
    .alloc = host_alloc,
    .write = host_write,
    .read = host_read,
    .launch = host_launch,
    .finish = host_finish,
    .stats = host_stats,
    .release = host_release,
    .close = host_close,
};
