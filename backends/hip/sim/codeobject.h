/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_CODEOBJECT_H
#define GPUPARITY_HIP_SIM_CODEOBJECT_H

#include "codemap.h"
#include "metadata.h"
#include "sourceline.h"

/* A code object in the card's memory. */

/* The 64-byte kernel descriptor. */
struct kernel_descriptor {
    uint32_t lds, scratch, kernarg_size, reserved0;
    int64_t entry; /* from the descriptor's own address */
    uint8_t reserved1[20];
    uint32_t rsrc3, rsrc1, rsrc2;
    uint16_t properties;
    uint8_t reserved2[6];
};

struct kernel {
    const struct kernel_metadata *meta;
    struct kernel_descriptor descriptor;
    uint64_t descriptor_address;
    uint32_t entry; /* dword in the codemap */
    /* Found by looking at the instructions the kernel can reach: */
    bool ordered;    /* an atomic whose result depends on order */
    bool swaps;      /* compare-and-swap, as in the loops atomics are made of */
    char marks[512]; /* instructions whose silicon result is only modelled, with bounds */
    bool scanned;
};

struct global {
    char *name; /* owned */
    uint64_t address, size;
};

struct codeobject {
    struct sim_memory *memory;
    uint64_t base, size;            /* allocation in memory */
    uint64_t segment, segment_size; /* launches put their arguments there; made by the first */
    uint32_t *words;                /* owned: the executable segment as it was loaded */
    struct codemap code;
    struct sourceline lines;
    struct metadata metadata;
    int n_kernel, n_global;
    struct kernel *kernel; /* owned */
    struct global *global; /* owned */
};

/* 0, else nonzero with one line in `why`; ret is then zeroed. */
int codeobject_load(const void *bytes, size_t size, struct sim_memory *memory,
                    struct codeobject *ret, char *why, size_t why_size);
void codeobject_release(struct codeobject *c); /* accepts a zeroed struct */

struct kernel *codeobject_kernel(struct codeobject *c, const char *name);
const struct global *codeobject_global(const struct codeobject *c, const char *name);

/* Fills kernel->ordered and marks, once. */
void codeobject_scan(struct codeobject *c, struct kernel *k);

#endif
