/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_IMAGE_H
#define GPUPARITY_HIP_SIM_IMAGE_H

#include <stddef.h>
#include <stdint.h>

/* What a program hands to the runtime as code: a code object (ELF), or a bundle of them for
 * several targets, plain or compressed. */
struct image {
    uint8_t *bytes; /* owned: the code object for gfx1100 */
    size_t size;
};

/* Copies the code object out of `bytes`. 0, else nonzero with one line in `why`. */
int code_image_open(const void *bytes, size_t size, struct image *ret, char *why, size_t why_size);

/* The same when only the address is known: the size is read from the headers, and memory that
 * is not mapped is an error, not a crash. */
int code_image_open_at(const void *address, struct image *ret, char *why, size_t why_size);

void code_image_release(struct image *m); /* accepts a zeroed struct */

#endif
