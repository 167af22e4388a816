/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_KERNELTEXT_H
#define GPUPARITY_KERNELTEXT_H

/* The kernel sources, embedded while building: cases/device.h and every .cu file. The path is
 * relative to cases/: "device.h", "gemm/tiled.cu". The table ends with a NULL path. */
struct kernel_text {
    const char *path, *text;
};

extern const struct kernel_text kernel_texts[];

/* The text of that path, or NULL. */
const char *kernel_text_find(const char *path);

#endif
