/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_BACKENDS_DRIVER_H
#define GPUPARITY_BACKENDS_DRIVER_H

/* What the files that are written once and compiled once per vendor share. The vendor comes
 * from the compiler's command line: VENDOR (the folder), VENDOR_HEADER (types of its functions)
 * and VENDOR_API (the list of functions, constants, faults and hints: api.def). */

#include "backend.h"
#include "library.h"
#include VENDOR_HEADER

/* VN(open) is open_ and the vendor. */
#define VN_JOIN_(name, vendor) name##_##vendor
#define VN_JOIN(name, vendor) VN_JOIN_(name, vendor)
#define VN(name) VN_JOIN(name, VENDOR)

struct runtime_api {
#define API(name, symbol, ret, args, need) ret(*name) args;
#include VENDOR_API
};

struct compiler_api {
#define COMPILER(name, symbol, ret, args, need) ret(*name) args;
#include VENDOR_API
};

/* Places of the functions in the tables, to name one in a message. */
enum runtime_function {
#define API(name, symbol, ret, args, need) RUNTIME_##name,
#include VENDOR_API
    RUNTIME_COUNT_
};

enum {
#define CONSTANT(name, vendor_name, value) name = (value),
#include VENDOR_API
};

struct device {
    struct library library;
    struct runtime_api api;
    struct device_info info;
    vendor_device id;
    vendor_context context; /* 0 where the vendor has none */
    vendor_module module;
    bool loaded;
    int n_alloc, room;
    vendor_pointer *alloc; /* owned */
    struct {
        enum launch_way way;
        vendor_stream own, other; /* owned; 0: not made */
        vendor_pointer busy;      /* owned: what `other` fills; 0: none */
    } streams;
    /* A simulated device's own functions; NULL on a real one. */
    void (*sim_stats)(struct device_stats *);
    void (*sim_stats_reset)(void);
    uint64_t sim_seen; /* instructions that stats has told, where there is no reset */
    const char *(*sim_last_fault)(void);
};

/* BACKEND_OK for code 0; else the line of the failed call: function, the vendor's name and
 * words for the code, a simulator's own words, and what to do about it. */
enum backend_status VN(driver_check)(const struct device *d, enum runtime_function function,
                                     int code, struct backend_error *e);

/* stream.c. The stream of the next launch, and work in the other stream where that is the way.
 * release frees what both need. */
void VN(stream_vary)(struct device *d, enum launch_way way);
enum backend_status VN(stream_next)(struct device *d, vendor_stream *ret_stream,
                                    struct backend_error *e);
void VN(stream_release)(struct device *d);

/* --- what a vendor supplies: vendor.c and options.c in its folder
 * ----------------------------- */

/* The name and a sentence for a result code. */
void VN(vendor_error)(const struct runtime_api *api, int code, const char **ret_name,
                      const char **ret_words);

/* Makes device d->id the one that further calls use. */
enum backend_status VN(vendor_select)(struct device *d, struct backend_error *e);
void VN(vendor_deselect)(struct device *d);

/* arch, warp, driver and runtime versions. */
enum backend_status VN(vendor_describe)(struct device *d, struct backend_error *e);

/* Lets a kernel have more dynamic shared memory than the standard limit, where that needs a
 * call. */
int VN(vendor_allow_shared)(struct device *d, vendor_function f, uint32_t bytes);

/* The compiler's version for records ("NVRTC 12.0"), and whether it knows the architecture. */
void VN(vendor_compiler_version)(const struct library *l, const struct compiler_api *api,
                                 char *ret_text, size_t size);
enum backend_status VN(vendor_compiler_knows)(const struct library *l,
                                              const struct compiler_api *api, const char *arch,
                                              struct backend_error *e);

/* backend.h's toolchain_options_fn, `runs` and `classes`. */
toolchain_options_fn VN(vendor_options);
bool VN(vendor_runs)(const char *device_arch, const char *code_arch);
void VN(vendor_classes)(const void *code, size_t size, const char *entry, char *ret_text,
                        size_t room);

/* backend.h's `kernels` and `endings`. */
enum backend_status VN(vendor_kernels)(const void *code, size_t size,
                                       struct kernel_list *ret_list, struct backend_error *e);
extern const char *const VN(vendor_endings)[], *const VN(vendor_implied)[];

extern const struct library_search VN(vendor_runtime), VN(vendor_compiler);
extern const char *const VN(vendor_environment)[];
extern const struct toolchain VN(toolchain);

#endif
