/* SPDX-License-Identifier: Apache-2.0 */
#include "../driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define ROCM "/opt/rocm{,-[0-9]*}/lib"

const struct library_search vendor_runtime_hip = {
    .what = "HIP runtime",
    .override = NULL,
    .name = (const char *const[]){"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                  "libamdhip64.so", ROCM "/libamdhip64.so.[567]", NULL},
    .package =
        "with an AMD card in this machine, install ROCm 5.7 to 7 (Debian 13: apt install "
        "libamdhip64-5)",
};

/* hipRTC is a library of its own in AMD's packages and part of the runtime in Debian's. */
const struct library_search vendor_compiler_hip = {
    .what = "hipRTC",
    .override = "GPUPARITY_HIPRTC",
    .name = (const char *const[]){"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5",
                                  "libhiprtc.so", ROCM "/libhiprtc.so.[567]",
                                  "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                  "libamdhip64.so", ROCM "/libamdhip64.so.[567]", NULL},
    .package = "install ROCm 5.7 to 7 (Debian 13: apt install libamdhip64-dev "
               "rocm-device-libs-17), or name the file in GPUPARITY_HIPRTC",
};

const char *const vendor_environment_hip[] = {"HIP_VISIBLE_DEVICES",
                                              "ROCR_VISIBLE_DEVICES",
                                              "GPU_DEVICE_ORDINAL",
                                              "HSA_OVERRIDE_GFX_VERSION",
                                              "HSA_XNACK",
                                              "HSA_ENABLE_SDMA",
                                              "HIP_LAUNCH_BLOCKING",
                                              "AMD_SERIALIZE_KERNEL",
                                              "AMD_COMGR_SAVE_TEMPS",
                                              "HIPRTC_COMPILE_OPTIONS_APPEND",
                                              "HIPRTC_LINK_OPTIONS_APPEND",
                                              "GPUPARITY_HIPRTC",
                                              NULL};

void vendor_error_hip(const struct runtime_api *api, int code, const char **ret_name,
                      const char **ret_words)
{
    *ret_name = api->error_name(code);
    *ret_words = api->error_string(code);
}

enum backend_status vendor_select_hip(struct device *d, struct backend_error *e)
{
    return driver_check_hip(d, RUNTIME_device_set, d->api.device_set(d->id), e);
}

void vendor_deselect_hip(struct device *d)
{
    (void)d;
}

/* The architecture stands only in the properties, a struct whose layout changed with ROCm 6
 * (and with it the function's name). Its texts are the name, first, and this one: so look for
 * it behind the name instead of trusting an offset. */
static bool properties_arch(struct device *d, char *ret_arch, size_t size)
{
    enum { ROOM = 16384, NAME = 256 };
    int (*properties)(void *, int) = NULL;
    *(void **)&properties = dlsym(d->library.handle, "hipGetDevicePropertiesR0600");
    if (!properties)
        *(void **)&properties = dlsym(d->library.handle, "hipGetDeviceProperties");
    char *p = properties ? calloc(1, ROOM) : NULL;
    bool found = false;
    if (p && properties(p, d->id) == 0)
        for (size_t i = NAME; i < ROOM - 64 && !found; i += 4)
            if (!memcmp(p + i, "gfx", 3)) {
                p[ROOM - 1] = 0;
                snprintf(ret_arch, size, "%.*s", (int)strcspn(p + i, ":"), p + i);
                found = true;
            }
    free(p);
    return found;
}

/* What the kernel's driver calls itself; the one in Linux itself has the kernel's version. */
static void kernel_driver(char *ret_text, size_t size)
{
    char line[40] = "";
    struct utsname u;
    FILE *f = fopen("/sys/module/amdgpu/version", "r");
    if (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        snprintf(ret_text, size, "amdgpu %s", line);
    } else if (uname(&u) == 0) {
        snprintf(ret_text, size, "amdgpu of Linux %.40s", u.release);
    }
    if (f)
        fclose(f);
}

/* 50731921 is 5.7.31921. */
static void version_text(int version, char *ret_text, size_t size)
{
    snprintf(ret_text, size, "%d.%d.%d", version / 10000000, version / 100000 % 100,
             version % 100000);
}

enum backend_status vendor_describe_hip(struct device *d, struct backend_error *e)
{
    int version = 0;
    char text[40];
    if (!properties_arch(d, d->info.arch, sizeof d->info.arch))
        return backend_fail(
            e, BACKEND_REFUSED,
            "%s does not say which architecture card %d has: an unknown version "
            "of ROCm; 5.7 to 7 are supported",
            d->library.path, d->info.index);
    enum backend_status s =
        driver_check_hip(d, RUNTIME_runtime_version, d->api.runtime_version(&version), e);
    if (s)
        return s;
    /* The attribute's number has moved before: take 32 or 64 only, else what the card's line of
     * architectures has. */
    if (d->api.device_attribute(&d->info.warp, VENDOR_WARP_SIZE, d->id) ||
        (d->info.warp != 32 && d->info.warp != 64))
        d->info.warp = strncmp(d->info.arch, "gfx9", 4) ? 32 : 64;
    version_text(version, text, sizeof text);
    snprintf(d->info.runtime, sizeof d->info.runtime, "HIP %s", text);
    if (!d->info.simulated)
        kernel_driver(d->info.driver, sizeof d->info.driver);
    return BACKEND_OK;
}

int vendor_allow_shared_hip(struct device *d, vendor_function f, uint32_t bytes)
{
    (void)d, (void)f, (void)bytes;
    return 0;
}

/* hiprtcVersion has said 9.0 for years; the runtime in the same file, or beside it, knows
 * better, and works without a card. */
void vendor_compiler_version_hip(const struct library *l, const struct compiler_api *api,
                                 char *ret_text, size_t size)
{
    int version = 0, major = 0, minor = 0;
    char text[40];
    int (*runtime_version)(int *) = NULL;
    *(void **)&runtime_version = dlsym(l->handle, "hipRuntimeGetVersion");
    const char *file = strstr(l->path, ".so.");
    if (runtime_version && runtime_version(&version) == 0 && version > 0) {
        version_text(version, text, sizeof text);
        snprintf(ret_text, size, "hipRTC %s", text);
    } else if (file && strchr(file + 4, '.')) {
        snprintf(ret_text, size, "hipRTC %s", file + 4);
    } else if (api->version(&major, &minor) == 0) {
        snprintf(ret_text, size, "hipRTC (interface %d.%d)", major, minor);
    } else {
        snprintf(ret_text, size, "hipRTC (version unknown)");
    }
}

/* hipRTC cannot say what it compiles for, and that of ROCm 5.2 ends the process over gfx1100:
 * so ask the code object manager under it. */
enum backend_status vendor_compiler_knows_hip(const struct library *l,
                                              const struct compiler_api *api, const char *arch,
                                              struct backend_error *e)
{
    (void)api;
    void *manager = dlopen("libamd_comgr.so.3", RTLD_NOW | RTLD_LOCAL);
    if (!manager)
        manager = dlopen("libamd_comgr.so.2", RTLD_NOW | RTLD_LOCAL);
    int (*isa_count)(size_t *) = NULL;
    int (*isa_name)(size_t, const char **) = NULL;
    if (manager) {
        *(void **)&isa_count = dlsym(manager, "amd_comgr_get_isa_count");
        *(void **)&isa_name = dlsym(manager, "amd_comgr_get_isa_name");
    }
    size_t count = 0;
    /* Not found by name: it is then where only hipRTC finds it, in a newer ROCm. */
    if (!isa_count || !isa_name || isa_count(&count))
        return BACKEND_OK;
    for (size_t i = 0; i < count; i++) {
        const char *name = NULL;
        size_t n = strlen(arch);
        if (isa_name(i, &name) == 0 && name && strlen(name) >= n &&
            !strcmp(name + strlen(name) - n, arch))
            return BACKEND_OK;
    }
    return backend_fail(e, BACKEND_MISSING,
                        "%s does not know %s: ROCm 5.7 or later is needed (Debian 13 has it)",
                        l->path, arch);
}

void vendor_classes_hip(const void *code, size_t size, const char *entry, char *ret_text,
                        size_t room)
{
    (void)code, (void)size, (void)entry;
    if (room)
        ret_text[0] = 0;
}
