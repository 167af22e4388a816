/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_RUNTIME_H
#define GPUPARITY_HIP_SIM_RUNTIME_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "watch.h"
#include "codeobject.h"
#include "launch.h"

/* The one simulated card behind the exported functions. */

/* Error numbers of the HIP runtime. */
enum {
#define HIP_ERROR(name, number, text) name = number,
#include "errors.def"
#undef HIP_ERROR
};

struct ihipModule_t {
    struct codeobject object;
    struct ihipModule_t *next;
    struct ihipModuleSymbol_t *functions; /* list, owned */
};

struct ihipModuleSymbol_t {
    struct ihipModule_t *module;
    struct kernel *kernel;
    struct ihipModuleSymbol_t *next;
};

struct runtime {
    pthread_mutex_t lock; /* of all below */
    bool ready;
    struct sim_memory memory;
    struct watch *watch;          /* owned; NULL: not asked for */
    struct ihipModule_t *modules; /* list, owned */
    uint64_t instructions;
    char marks[512];
    char last_fault[640];
    int pending; /* error of a launch that the next synchronisation reports */
};

/* Opens the card on first use. NULL when it cannot be opened. The caller holds no lock. */
struct runtime *runtime_get(void);

/* Records the error for hipGetLastError and returns it. */
int runtime_result(int error);
int runtime_last_error(bool clear);

/* Notes why, for gpuparity_sim_last_fault and, with GPUPARITY_SIM_VERBOSE, on stderr. */
void runtime_explain(struct runtime *r, const char *text);

/* Loads a code object; size 0: only the address is known. */
int runtime_module_load(struct runtime *r, const void *image, size_t size,
                        struct ihipModule_t **ret);

/* The function's handle; NULL: no such kernel. */
struct ihipModuleSymbol_t *runtime_function(struct runtime *r, struct ihipModule_t *m,
                                            const char *name);

/* Runs a kernel; the arguments as launch_request has them. */
int runtime_launch(struct runtime *r, struct ihipModuleSymbol_t *f, const uint32_t grid[3],
                   const uint32_t block[3], uint32_t dynamic_lds, const void *args,
                   size_t args_size);

/* The same with one pointer an argument. */
int runtime_launch_values(struct runtime *r, struct ihipModuleSymbol_t *f,
                          const uint32_t grid[3], const uint32_t block[3], uint32_t dynamic_lds,
                          void **values);

/* Is [address, address + size) host memory or live memory of the card? */
bool runtime_can_copy(struct runtime *r, const void *address, size_t size);

#endif
