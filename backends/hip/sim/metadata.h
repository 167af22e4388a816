/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_METADATA_H
#define GPUPARITY_HIP_SIM_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The NT_AMDGPU_METADATA note: what the compiler says about each kernel. */

enum arg_kind {
    ARG_EXPLICIT,
#define HIDDEN(name, value) ARG_##name,
#include "hidden.def"
#undef HIDDEN
    ARG_UNKNOWN
};

struct kernel_arg {
    uint32_t offset, size;
    enum arg_kind kind;
};

struct kernel_metadata {
    char *name, *symbol; /* owned; symbol is that of the kernel descriptor */
    uint32_t kernarg_size, lds, scratch, wavefront, max_threads;
    bool dynamic_stack;
    int n_arg;
    struct kernel_arg *arg; /* owned */
};

struct metadata {
    int n_kernel;
    struct kernel_metadata *kernel; /* owned */
};

/* 0, else nonzero with one line in `why`. Sizes and offsets are checked against each other;
 * each argument lies inside kernarg_size. */
int metadata_read(const void *bytes, size_t size, struct metadata *ret, char *why,
                  size_t why_size);
/* Moves all kernels of `from` behind those of `to`; both stay what metadata_release takes. False
 * without memory. Code that was linked from many objects has a note of each. */
bool metadata_append(struct metadata *to, struct metadata *from);
void metadata_release(struct metadata *m); /* accepts a zeroed struct */

#endif
