/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_BACKEND_H
#define GPUPARITY_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The contract between the harness and a vendor's stack. It knows bytes, never tensors or cases,
 * and includes nothing of harness/.
 *
 * A backend has two independent halves: a *toolchain* (source text to code object: NVRTC, hipRTC)
 * and a *device* (a real card through the vendor's runtime library, or a simulated one through a
 * library that exports the same functions). Both are found with dlopen at run time; no SDK is
 * needed to build. One thread uses a device at a time. */

enum backend_status {
    BACKEND_OK,
    BACKEND_MISSING, /* no such library, device or compiler here */
    BACKEND_BUILD,   /* the compiler refused the source: its words are in the log */
    BACKEND_REFUSED, /* the runtime refused the request (bad code object, too many threads) */
    BACKEND_FAULT,   /* the kernel failed while it ran: bad address, trap, budget */
    BACKEND_NOMEM
};

/* One line for a person: what, where, what to do next. */
struct backend_error {
    char text[768];
};

/* Floating-point rules by meaning; the same five as in harness/case.h. */
struct fp_mode {
    bool contract, flush, exact_div, exact_sqrt, approximate;
};

/* --- toolchain ------------------------------------------------------------------------------- */

struct source_file {
    const char *name, *text;
};

enum { BUILD_HEADERS_MAX = 16 };

struct build_request {
    struct source_file source;
    int n_header; /* up to BUILD_HEADERS_MAX */
    const struct source_file *header; /* found by #include "name" */
    const char *arch;                 /* "sm_86", "gfx1100" */
    struct fp_mode mode;
    int n_option; /* further options, passed as they are */
    const char *const *option;
};

struct code {
    void *bytes; /* owned */
    size_t size;
    char *log;      /* owned; the compiler's words, "" if it had none */
    char *options;  /* owned; what the compiler was called with, blank-separated */
    char version[64]; /* "NVRTC 13.0", "hipRTC 5.7 (LLVM 17)" */
};
void code_release(struct code *c); /* accepts a zeroed struct */

/* The compiler options for a mode and architecture, blank-separated, exactly as build passes
 * them: the key under which compiled kernels are kept. */
typedef void toolchain_options_fn(const char *arch, const struct fp_mode *mode, char *ret_text,
                                  size_t size);

struct toolchain {
    const char *name; /* "NVRTC", "hipRTC" */
    toolchain_options_fn *options;

    /* Is it here, and can it compile for `arch`? ret_version as in struct code, ret_library the
     * file found. BACKEND_MISSING says what was looked for and which package has it. */
    enum backend_status (*probe)(const char *arch, char *ret_version, size_t version_size,
                                 char *ret_library, size_t library_size, struct backend_error *e);

    /* May abort, crash or hang with a bad compiler: call it in a worker process. On BACKEND_BUILD
     * ret_code->log is set and owned by the caller. */
    enum backend_status (*build)(const struct build_request *r, struct code *ret_code,
                                 struct backend_error *e);
};

/* --- device ---------------------------------------------------------------------------------- */

struct device_info {
    char name[128];   /* "NVIDIA GeForce RTX 3090" */
    char arch[32];    /* "sm_86", "gfx1100": what code it takes */
    char library[256]; /* the runtime library in use */
    char driver[64], runtime[64]; /* versions as the vendor prints them */
    bool simulated;
    int index;
    int warp;       /* lanes in a warp or wave */
    int64_t memory; /* bytes */
};

/* A kernel as its code object describes it. */
enum { KERNEL_ARG_MAX = 64 };
struct kernel_layout {
    char name[256];
    int n_arg; /* those that a launch gives; more than KERNEL_ARG_MAX are counted, not listed */
    uint32_t size[KERNEL_ARG_MAX]; /* of each in bytes */
    uint32_t threads;              /* most threads a block may have; 0: not said */
};
struct kernel_list {
    char arch[32]; /* what the code is for */
    int count;
    struct kernel_layout *kernel; /* owned */
};
void kernel_list_release(struct kernel_list *l); /* accepts a zeroed struct */

struct launch_arg {
    const void *bytes; /* borrowed; the value as the kernel's parameter has it */
    size_t size;
};

struct launch {
    const char *entry;
    uint32_t grid[3], block[3];
    uint32_t shared; /* dynamic shared memory in bytes */
    int n_arg;
    const struct launch_arg *arg;
};

/* What a simulated device can tell after launches; zero on a real one. Its library exports
 *   void gpuparity_sim_stats(struct device_stats *)      all since it was loaded, or reset
 *   void gpuparity_sim_stats_reset(void)
 *   const char *gpuparity_sim_last_fault(void)           one line; "" or NULL if there was none */
struct device_stats {
    uint64_t instructions; /* warp or wave instructions executed */
    char marks[512];       /* instructions whose silicon result is modelled, with their documented
                              bounds: "ex2.approx: 2 ulp; ..."; "" = everything was exact */
};

/* How kernels are launched: in the default stream; in one of their own; in one of their own while
 * another stream keeps the device busy. */
enum launch_way { LAUNCH_DEFAULT, LAUNCH_STREAM, LAUNCH_CONTENDED };

struct device; /* a vendor's state */

enum device_kind { DEVICE_REAL, DEVICE_SIMULATED };

struct backend {
    const char *name;    /* "cuda", "hip" */
    const char *vendor;  /* "NVIDIA", "AMD" */
    const char *arch;    /* what kernels in golden/code are compiled for */
    const char *runtime; /* the vendor's library, for messages: "libcuda.so.1" */
    const char *simulator; /* file name of the drop-in library */
    uint32_t pci_vendor;   /* of its cards, as /sys/bus/pci has it */
    const char *const *environment; /* NULL-ended: variables that change what the vendor's stack
                                       computes or which card it uses; recorded with each run */
    const struct toolchain *toolchain;

    /* Can a device of one architecture run code for another? The toolchain compiles for the
     * device's own; golden/code has only `arch`. */
    bool (*runs)(const char *device_arch, const char *code_arch);

    /* The kinds of instruction that an entry of a code object has, each once, blank-separated:
     * "fma.rn.f32 ex2.approx.ftz.f32 integer". Those that compute with floating point are told
     * apart by all that changes their result. "" where the vendor's code is no text. */
    void (*classes)(const void *code, size_t size, const char *entry, char *ret_text,
                    size_t room);
    /* The kernels of a code object in any form that `load` takes. Needs no device; any bytes are
     * accepted as input. BACKEND_REFUSED says what is wrong with them. */
    enum backend_status (*kernels)(const void *code, size_t size, struct kernel_list *ret_list,
                                   struct backend_error *e);
    const char *const *implied; /* headers that the run-time compiler has inside, NULL-ended */
    const char *translator;     /* a program that makes the other vendor's sources this one's: it
                                   takes a file's name, writes to standard output; NULL: none */
    const char *const *endings; /* of files with code, best first, NULL-ended: ".ptx" */

    /* How many devices of that kind there are; BACKEND_MISSING says why none and what to install.
     * `folder` is where the simulator's library lies. */
    enum backend_status (*count)(enum device_kind kind, const char *folder, int *ret_count,
                                 struct backend_error *e);

    enum backend_status (*open)(enum device_kind kind, const char *folder, int index,
                                struct device **ret_device, struct backend_error *e);
    void (*describe)(struct device *d, struct device_info *ret_info);

    /* One code object at a time: load replaces the one before. */
    enum backend_status (*load)(struct device *d, const void *code, size_t size,
                                struct backend_error *e);
    enum backend_status (*alloc)(struct device *d, size_t size, uint64_t *ret_address,
                                 struct backend_error *e);
    enum backend_status (*write)(struct device *d, uint64_t address, const void *bytes,
                                 size_t size, struct backend_error *e);
    enum backend_status (*read)(struct device *d, uint64_t address, void *ret_bytes, size_t size,
                                struct backend_error *e);
    /* Returns when the kernel has finished. */
    enum backend_status (*launch)(struct device *d, const struct launch *l,
                                  struct backend_error *e);
    /* How `launch` does it from now on, as far as the runtime and the memory allow it; NULL: there
     * is one way only. */
    void (*vary)(struct device *d, enum launch_way way);
    /* Returns when everything that was given to the device has finished, a library's work too. */
    enum backend_status (*finish)(struct device *d, struct backend_error *e);
    /* What happened since the last call, or since open. */
    void (*stats)(struct device *d, struct device_stats *ret_stats);
    void (*release)(struct device *d); /* frees all that alloc gave, keeps the device open */
    void (*close)(struct device *d);   /* and all the rest; accepts NULL */
};

/* NULL-ended, in the order of `--on cuda,hip`; from the list in backends/meson.build. */
extern const struct backend *const backends[];

/* The processor, for libraries of case files. It is in no list: nothing else runs on it. */
extern const struct backend backend_host;

/* One of the list, or the host; NULL. */
const struct backend *backend_find(const char *name);

#endif
