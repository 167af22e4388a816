/* SPDX-License-Identifier: Apache-2.0 */
#include "../driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct library_search vendor_runtime_cuda = {
    .what = "NVIDIA driver",
    .name = (const char *const[]){"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", NULL},
    .package = "with an NVIDIA card in this machine, install its driver (Debian: apt install "
               "nvidia-driver; Ubuntu: ubuntu-drivers install)",
};

/* pip's packages put the library below site-packages/nvidia. */
#define PIP                                                                                    \
    "/lib/python3*/{site,dist}-packages/nvidia/{cu13,cuda_nvrtc}/lib/libnvrtc.so.1[0-9]*"

const struct library_search vendor_compiler_cuda = {
    .what = "NVRTC",
    .override = "GPUPARITY_NVRTC",
    .name =
        (const char *const[]){"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                              "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so",
                              "/usr/local/cuda-1[0-9]*/lib64/libnvrtc.so", "$VIRTUAL_ENV" PIP,
                              "$CONDA_PREFIX/lib/libnvrtc.so.1[0-9]*", "$CONDA_PREFIX" PIP,
                              "$XDG_CACHE_HOME/gpuparity/nvrtc/nvidia/{cu13,cuda_nvrtc}/lib/"
                              "libnvrtc.so.1[0-9]*",
                              "~/.cache/gpuparity/nvrtc/nvidia/{cu13,cuda_nvrtc}/lib/"
                              "libnvrtc.so.1[0-9]*",
                              "~/.local" PIP, "/usr/local" PIP, "/usr" PIP, NULL},
    .beside = "libnvrtc-builtins.so.*", /* NVRTC 13 of pip has no run path to it */
    .package = "pip install nvidia-cuda-nvrtc, or name the file in GPUPARITY_NVRTC",
};

const char *const vendor_environment_cuda[] = {
    "CUDA_VISIBLE_DEVICES",           "CUDA_DEVICE_ORDER",       "CUDA_FORCE_PTX_JIT",
    "CUDA_DISABLE_PTX_JIT",           "CUDA_FORCE_JIT",          "CUDA_DISABLE_JIT",
    "NVIDIA_TF32_OVERRIDE",           "CUBLAS_WORKSPACE_CONFIG", "CUDA_LAUNCH_BLOCKING",
    "CUDA_COREDUMP_GENERATION_FLAGS", "GPUPARITY_NVRTC",         NULL};

void vendor_error_cuda(const struct runtime_api *api, int code, const char **ret_name,
                       const char **ret_words)
{
    if (api->error_name(code, ret_name))
        *ret_name = NULL;
    if (api->error_string(code, ret_words))
        *ret_words = NULL;
}

enum backend_status vendor_select_cuda(struct device *d, struct backend_error *e)
{
    CUcontext context = NULL;
    enum backend_status s =
        driver_check_cuda(d, RUNTIME_context_retain, d->api.context_retain(&context, d->id), e);
    if (s)
        return s;
    d->context = context;
    return driver_check_cuda(d, RUNTIME_context_set, d->api.context_set(context), e);
}

void vendor_deselect_cuda(struct device *d)
{
    d->api.context_set(NULL);
    if (d->api.context_release)
        d->api.context_release(d->id);
    d->context = NULL;
}

/* "550.54.14" out of the kernel module's line. */
static void kernel_driver(char *ret_text, size_t size)
{
    char line[256] = "", *state = NULL;
    FILE *f = fopen("/proc/driver/nvidia/version", "r");
    if (!f)
        return;
    if (fgets(line, sizeof line, f))
        for (char *t = strtok_r(line, " ", &state); t; t = strtok_r(NULL, " ", &state))
            if (t[0] >= '0' && t[0] <= '9' && strchr(t, '.')) {
                snprintf(ret_text, size, "%s", t);
                break;
            }
    fclose(f);
}

enum backend_status vendor_describe_cuda(struct device *d, struct backend_error *e)
{
    int major = 0, minor = 0, warp = 0, version = 0;
    int result = d->api.device_attribute(&major, VENDOR_MAJOR, d->id);
    if (!result)
        result = d->api.device_attribute(&minor, VENDOR_MINOR, d->id);
    if (!result)
        result = d->api.device_attribute(&warp, VENDOR_WARP_SIZE, d->id);
    enum backend_status s = driver_check_cuda(d, RUNTIME_device_attribute, result, e);
    if (!s)
        s = driver_check_cuda(d, RUNTIME_driver_version, d->api.driver_version(&version), e);
    if (s)
        return s;
    d->info.warp = warp;
    snprintf(d->info.arch, sizeof d->info.arch, "sm_%d%d", major, minor);
    snprintf(d->info.runtime, sizeof d->info.runtime, "CUDA %d.%d", version / 1000,
             version % 1000 / 10);
    if (!d->info.simulated)
        kernel_driver(d->info.driver, sizeof d->info.driver);
    return BACKEND_OK;
}

/* Above 48 KiB a kernel must be told that it may. */
int vendor_allow_shared_cuda(struct device *d, vendor_function f, uint32_t bytes)
{
    if (bytes <= 48 * 1024 || !d->api.function_attribute)
        return 0;
    return d->api.function_attribute(f, VENDOR_MAX_DYNAMIC_SHARED, (int)bytes);
}

void vendor_compiler_version_cuda(const struct library *l, const struct compiler_api *api,
                                  char *ret_text, size_t size)
{
    int major = 0, minor = 0;
    (void)l;
    if (api->version(&major, &minor))
        snprintf(ret_text, size, "NVRTC (version unknown)");
    else
        snprintf(ret_text, size, "NVRTC %d.%d", major, minor);
}

enum backend_status vendor_compiler_knows_cuda(const struct library *l,
                                               const struct compiler_api *api, const char *arch,
                                               struct backend_error *e)
{
    enum { ARCH_MAX = 256 };
    int count = 0, known[ARCH_MAX], wanted = atoi(arch + strcspn(arch, "0123456789"));
    /* NVRTC older than 11.2 cannot say; it will refuse by itself. */
    if (!api->arch_count || !api->archs || api->arch_count(&count) || count < 1 ||
        count > ARCH_MAX || api->archs(known))
        return BACKEND_OK;
    for (int i = 0; i < count; i++)
        if (known[i] == wanted)
            return BACKEND_OK;
    return backend_fail(e, BACKEND_MISSING, "%s does not know %s (it knows sm_%d to sm_%d)",
                        l->path, arch, known[0], known[count - 1]);
}
